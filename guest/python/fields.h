/* fields.h - the form of what passes between the host and this program: u32 tag, u32 length, the bytes, and
 * padding to the next multiple of four; little endian. README.md lists the tags. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tag {
  TAG_CODE = 1,
  TAG_NAME = 2,
  TAG_FLAGS = 3,
  TAG_TRACE_FILTER = 4,
  TAG_INPUT = 5,
  TAG_STATUS = 16,
  TAG_REPR = 17,
  TAG_JSON = 18,
  TAG_ERROR_TYPE = 19,
  TAG_ERROR_TEXT = 20,
  TAG_TRACEBACK = 21,
  TAG_EXIT_CODE = 22,
  TAG_ERROR_LINE = 23,
  TAG_BYTES = 24,
  TAG_SEED = 25,
  TAG_ENV = 26,
};

typedef struct {
  uint32_t tag;
  const char *data; /* borrowed from the request */
  size_t len;
} field;

typedef struct {
  const uint8_t *at, *end;
} fields;

/* The next field of a request; false at its end, and at a field that reaches past the end. */
bool fields_next(fields *f, field *out);

/* The value of a field that holds a number; 0 when it has another size. */
uint32_t field_u32(const field *f);

/* A reply that is being built. Once memory has run out nothing more is added and `failed` is set. */
typedef struct {
  uint8_t *data;
  size_t len, cap;
  bool failed;
} reply;

void reply_bytes(reply *r, enum tag tag, const void *data, size_t len);
void reply_u32(reply *r, enum tag tag, uint32_t value);

/* Empties it for the next request, and gives a large buffer back. */
void reply_reset(reply *r);
