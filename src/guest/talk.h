/* talk.h - how the host speaks with the driver of an interpreter at rest (guest/python/README.md).
 *
 * Requests and replies are sequences of fields: u32 tag, u32 length, the bytes, zeros up to a multiple of 4;
 * all little endian. A reply comes out of a guest's memory: whatever it says is checked here and hurts only
 * the guest. */
#pragma once

#include "base/buf.h"

enum talk_op {
  TALK_EXECUTE = 1,
  TALK_SAVE_STATE = 2,
  TALK_LOAD_STATE = 3,
  TALK_CLEAR_STATE = 4,
  TALK_GREET = 5, /* a copy of an image has begun: TALK_SEED, and TALK_ENV for each variable */
  TALK_NAMES = 6,
};

enum talk_tag {
  TALK_CODE = 1,
  TALK_NAME = 2,
  TALK_FLAGS = 3,
  TALK_TRACE_FILTER = 4,
  TALK_STATUS = 16,
  TALK_REPR = 17,
  TALK_JSON = 18,
  TALK_ERROR_TYPE = 19,
  TALK_ERROR_TEXT = 20,
  TALK_TRACEBACK = 21,
  TALK_EXIT_CODE = 22,
  TALK_ERROR_LINE = 23,
  TALK_BYTES = 24,
  TALK_SEED = 25,
  TALK_ENV = 26,
  TALK_TAG_END,
};

/* Of TALK_FLAGS. */
enum {
  TALK_WANT_JSON = 1,
  TALK_TRACE_LINES = 2,
  TALK_TRACE_CALLS = 4,
  TALK_TRACE_RETURNS = 8,
  TALK_TRACE_EXCEPTIONS = 16,
  TALK_TRACE_WITH_LOCALS = 32,
  TALK_GRANTS_CHANGED = 64,
};

enum talk_status { TALK_OK, TALK_EXCEPTION, TALK_EXIT, TALK_STOPPED };

/* Appends a field. CAY_NO_MEMORY, CAY_LIMIT. */
cay_status talk_put(buf *to, enum talk_tag tag, const void *data, size_t len) CHECKED;
cay_status talk_put_text(buf *to, enum talk_tag tag, const char *text) CHECKED;
cay_status talk_put_u32(buf *to, enum talk_tag tag, uint32_t value) CHECKED;

/* The fields of a reply by tag: the first of each; absent: data NULL. They point into the reply. */
typedef struct talk_reply {
  cay_slice fields[TALK_TAG_END];
} talk_reply;

/* False: fields that run out of the bytes. Tags that nobody knows are passed over. */
bool talk_read(cay_slice bytes, talk_reply *out) CHECKED;

/* A field of exactly four bytes, else `otherwise`. */
uint32_t talk_u32(const talk_reply *reply, enum talk_tag tag, uint32_t otherwise);
