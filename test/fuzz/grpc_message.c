/* grpc_message.c - bytes of a client: as data of a stream, cut anywhere, they give the same messages; as a message of
 * protocol buffers each field lies within it, and a message that was read can be written and read again. */
#include "grpc/wire/frame.h"
#include "grpc/wire/gzip.h"
#include "grpc/wire/header.h"
#include "grpc/wire/pb.h"

#include "input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { MESSAGE_MAX = 4096, UNPACKED_MAX = 65536, EVENTS = 64 };

static void write_field(pb_writer *w, const pb_field *f) {
  if (f->type == PB_BYTES) pb_put_bytes_always(w, f->number, f->bytes);
  if (f->type == PB_VARINT) pb_put_int_always(w, f->number, (int64_t)f->value);
}

static void read_message(cay_slice message) {
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  pb_reader r = pb_read(message);
  const uint8_t *begin = message.data;
  size_t count = 0, again = 0;
  for (pb_field f; pb_next(&r, &f);) {
    const uint8_t *at = f.bytes.data;
    must(f.type != PB_BYTES || f.bytes.len == 0 || (at >= begin && at + f.bytes.len <= begin + message.len));
    write_field(&w, &f);
    count += f.type == PB_BYTES || f.type == PB_VARINT;
  }
  must(r.at <= r.end);
  pb_reader copy = pb_read((cay_slice){ w.out.data, w.out.len });
  for (pb_field f; pb_next(&copy, &f);) again++;
  must(!copy.bad && again == count && w.failed == CAY_OK);
  buf_free(&w.out);
}

typedef struct events {
  size_t lens[EVENTS], count;
  enum frame_event last;
} events;

/* In pieces of `step` bytes. */
static void read_frames(cay_slice all, size_t step, events *out) {
  frame_reader f;
  frame_reader_init(&f, MESSAGE_MAX);
  *out = (events){ .last = FRAME_MORE };
  for (size_t from = 0; from < all.len; from += step) {
    cay_slice part = { (const uint8_t *)all.data + from, all.len - from < step ? all.len - from : step };
    while (part.len != 0 && out->count < EVENTS && (out->last == FRAME_MORE || out->last == FRAME_MESSAGE)) {
      out->last = frame_take(&f, &part);
      must(f.message.len <= f.want && f.message.len <= MESSAGE_MAX);
      if (out->last != FRAME_MESSAGE) continue;
      out->lens[out->count++] = f.message.len;
      read_message((cay_slice){ f.message.data, f.message.len });
      frame_next(&f);
    }
  }
  frame_reader_free(&f);
}

static void unpack(cay_slice packed) {
  buf plain = BUF_INIT(UNPACKED_MAX), again = BUF_INIT(BUF_UNLIMITED), back = BUF_INIT(UNPACKED_MAX);
  if (gzip_unpack(packed, &plain) == CAY_OK) {
    must(gzip_pack((cay_slice){ plain.data, plain.len }, &again) == CAY_OK);
    must(gzip_unpack((cay_slice){ again.data, again.len }, &back) == CAY_OK && back.len == plain.len);
    must(plain.len == 0 || memcmp(plain.data, back.data, plain.len) == 0);
  }
  must(plain.len <= UNPACKED_MAX);
  buf_free(&plain);
  buf_free(&again);
  buf_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  input in = { data, len };
  size_t step = 1 + next_byte(&in) % 16;
  cay_slice rest = { in.data, in.len };
  events whole, cut;
  read_frames(rest, in.len + 1, &whole);
  read_frames(rest, step, &cut);
  must(whole.count == cut.count && memcmp(whole.lens, cut.lens, sizeof whole.lens[0] * whole.count) == 0);
  read_message(rest);
  unpack(rest);
  int64_t ns = 0;
  if (header_timeout(rest, &ns)) must(ns >= 0);
  (void)header_is_grpc(rest);
  (void)header_lists(rest, "gzip");
  return 0;
}
