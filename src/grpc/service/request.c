/* request.c - the messages that clients send. */
#include "grpc/service/inner.h"

#include "base/utf8.h"
#include "grpc/service/glob.h"

#include <string.h>

enum { AT_ONCE_MAX = 16 * 1024, CACHED_FIELD = 2 };

typedef bool field_fn(request *r, const pb_field *f);

static bool request_take_bytes(cay_slice *to, bool *has, const pb_field *f) {
  if (f->type != PB_BYTES) return false;
  *to = f->bytes;
  if (to->data == NULL) to->data = "";
  if (has != NULL) *has = true;
  return true;
}

static bool take_int(int64_t *to, bool *has, const pb_field *f, bool is_int32) {
  if (f->type != PB_VARINT) return false;
  *to = is_int32 ? (int32_t)f->value : (int64_t)f->value;
  if (has != NULL) *has = true;
  return true;
}

/* The last of a oneof counts. */
static bool execute_field(request *r, const pb_field *f) {
  switch (f->number) {
  case 1: r->has_cached = false; return request_take_bytes(&r->code, &r->has_code, f);
  case 2: r->has_code = false; return request_take_bytes(&r->cached, &r->has_cached, f);
  case 3: return take_int(&r->timeout_ms, &r->has_timeout, f, true);
  default: return true;
  }
}

static bool test_field(request *r, const pb_field *f) {
  switch (f->number) {
  case 1: return request_take_bytes(&r->code, &r->has_code, f);
  case 2: return request_take_bytes(&r->tests, &r->has_tests, f);
  case 3: return take_int(&r->timeout_ms, &r->has_timeout, f, true);
  default: return true;
  }
}

static bool get_field(request *r, const pb_field *f) {
  int64_t wait = 0;
  switch (f->number) {
  case 1: return request_take_bytes(&r->id, NULL, f);
  case 2:
    if (!take_int(&wait, NULL, f, false)) return false;
    r->wait = wait != 0;
    return true;
  case 3: return take_int(&r->offset, NULL, f, false);
  default: return true;
  }
}

static bool id_field(request *r, const pb_field *f) {
  return f->number != 1 || request_take_bytes(&r->id, NULL, f);
}
static bool filter_field(request *r, const pb_field *f) {
  return f->number != 1 || request_take_bytes(&r->filter, NULL, f);
}

static bool add_state(request *r, uint64_t state) {
  if (state < EXECUTION_STATES)
    r->states |= 1u << state;
  else
    r->states |= 1u << 31; /* a state of a newer contract: no execution has it */
  return true;
}

/* Repeated numbers come packed or one by one; readers take both. */
static bool list_field(request *r, const pb_field *f) {
  if (f->number == 2) return take_int(&r->limit, NULL, f, true);
  if (f->number == 3) return take_int(&r->within_ms, NULL, f, false);
  if (f->number != 1) return true;
  if (f->type == PB_VARINT) return add_state(r, f->value);
  if (f->type != PB_BYTES) return false;
  const uint8_t *at = f->bytes.data;
  for (size_t i = 0; i < f->bytes.len;) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
      if (i == f->bytes.len || shift > 63) return false;
      byte = at[i++];
      value |= (uint64_t)(byte & 0x7f) << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    (void)add_state(r, value);
  }
  return true;
}

static bool no_field(request *r, const pb_field *f) { return (void)r, (void)f, true; }

static bool is_text(cay_slice text) {
  return text.len == 0 || utf8_valid_len(text.data, text.len) == text.len;
}

bool request_read(call *c, cay_slice message, enum request_kind kind, request *out) {
  static field_fn *const fields[] = {
    [REQUEST_EXECUTE] = execute_field, [REQUEST_TEST] = test_field, [REQUEST_GET] = get_field,
    [REQUEST_ID] = id_field,           [REQUEST_LIST] = list_field, [REQUEST_FILTER] = filter_field,
    [REQUEST_EMPTY] = no_field
  };
  *out = (request){ 0 };
  pb_reader reader = pb_read(message);
  pb_field f;
  bool good = true;
  while (good && pb_next(&reader, &f)) good = fields[kind](out, &f);
  if (!good || reader.bad)
    return call_finish(c, GRPC_INVALID_ARGUMENT, "the request is not the message of this method"), false;
  if (!is_text(out->code) || !is_text(out->cached) || !is_text(out->tests) || !is_text(out->id) ||
      !is_text(out->filter))
    return call_finish(c, GRPC_INVALID_ARGUMENT, "a text of the request is not UTF-8"), false;
  if (out->filter.len > GLOB_MAX)
    return call_finishf(c, GRPC_INVALID_ARGUMENT, "a filter has at most %d bytes", GLOB_MAX), false;
  return true;
}

bool request_is_short(cay_slice message) {
  pb_reader reader = pb_read(message);
  pb_field f;
  if (message.len > AT_ONCE_MAX) return false;
  while (pb_next(&reader, &f))
    if (f.number == CACHED_FIELD) return false;
  return true;
}
