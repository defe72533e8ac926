/* pb.c - a reader and a writer of protocol buffers: varints, fixed numbers, bytes, nested messages (pb.h). */
#include "grpc/wire/pb.h"

#include <string.h>

/* ---- reading ---- */

pb_reader pb_read(cay_slice message) {
  const uint8_t *at = message.data;
  return (pb_reader){ .at = at, .end = message.len != 0 ? at + message.len : at };
}

static bool pb_fail(pb_reader *r) {
  r->bad = true;
  return false;
}

/* At most ten bytes; bits beyond the 64th are dropped, as protoc's own readers do. */
static bool read_varint(pb_reader *r, uint64_t *out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (r->at == r->end) return pb_fail(r);
    uint8_t byte = *r->at++;
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      *out = value;
      return true;
    }
  }
  return pb_fail(r);
}

static bool read_fixed(pb_reader *r, size_t len, uint64_t *out) {
  if ((size_t)(r->end - r->at) < len) return pb_fail(r);
  *out = 0;
  for (size_t i = 0; i < len; i++) *out |= (uint64_t)r->at[i] << (8 * i);
  r->at += len;
  return true;
}

static bool read_bytes(pb_reader *r, cay_slice *out) {
  uint64_t len;
  if (!read_varint(r, &len)) return false;
  if (len > (uint64_t)(r->end - r->at)) return pb_fail(r);
  *out = (cay_slice){ r->at, (size_t)len };
  r->at += len;
  return true;
}

bool pb_next(pb_reader *r, pb_field *out) {
  if (r->bad || r->at == r->end) return false;
  uint64_t tag;
  if (!read_varint(r, &tag)) return false;
  *out = (pb_field){ .number = (uint32_t)(tag >> 3), .type = (enum pb_type)(tag & 7) };
  if (tag > UINT32_MAX || out->number == 0 || out->number > 0x1fffffff) return pb_fail(r);
  switch (out->type) {
  case PB_VARINT: return read_varint(r, &out->value);
  case PB_FIXED64: return read_fixed(r, 8, &out->value);
  case PB_FIXED32: return read_fixed(r, 4, &out->value);
  case PB_BYTES: return read_bytes(r, &out->bytes);
  default: return pb_fail(r);
  }
}

/* ---- writing ---- */

static void pb_append(pb_writer *w, const void *data, size_t len) {
  if (w->failed == CAY_OK) w->failed = buf_append(&w->out, data, len);
}

static size_t varint_bytes(uint64_t value, uint8_t out[static 10]) {
  size_t len = 0;
  for (; value > 0x7f; value >>= 7) out[len++] = (uint8_t)(value | 0x80);
  out[len++] = (uint8_t)value;
  return len;
}

static void put_varint(pb_writer *w, uint64_t value) {
  uint8_t bytes[10];
  pb_append(w, bytes, varint_bytes(value, bytes));
}

static void put_tag(pb_writer *w, uint32_t number, enum pb_type type) {
  put_varint(w, (uint64_t)number << 3 | (uint64_t)type);
}

void pb_put_int_always(pb_writer *w, uint32_t number, int64_t value) {
  put_tag(w, number, PB_VARINT);
  put_varint(w, (uint64_t)value);
}

void pb_put_int(pb_writer *w, uint32_t number, int64_t value) {
  if (value != 0) pb_put_int_always(w, number, value);
}

void pb_put_bytes_always(pb_writer *w, uint32_t number, cay_slice bytes) {
  put_tag(w, number, PB_BYTES);
  put_varint(w, bytes.len);
  pb_append(w, bytes.data, bytes.len);
}

void pb_put_bytes(pb_writer *w, uint32_t number, cay_slice bytes) {
  if (bytes.len != 0) pb_put_bytes_always(w, number, bytes);
}

void pb_put_text(pb_writer *w, uint32_t number, const char *text) {
  pb_put_bytes(w, number, (cay_slice){ text, strlen(text) });
}

size_t pb_begin(pb_writer *w, uint32_t number) {
  put_tag(w, number, PB_BYTES);
  return w->out.len;
}

/* The length stands before the contents and has as many bytes as it needs: the contents move up. */
void pb_end(pb_writer *w, size_t begun) {
  uint8_t head[10];
  size_t len = w->out.len - begun, head_len = varint_bytes(len, head);
  pb_append(w, head, head_len);
  if (w->failed != CAY_OK) return;
  memmove(w->out.data + begun + head_len, w->out.data + begun, len);
  memcpy(w->out.data + begun, head, head_len);
}
