/* fields.h - the fields of requests and replies, on the driver's side (src/guest/talk.def). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "talk_words.h"

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

/* The message of an exception that stops what runs, for this TALK_REASON. */
const char *reason_text(uint32_t reason);

/* A reply that is being built. Once memory has run out nothing more is added and `failed` is set. */
typedef struct {
  uint8_t *data;
  size_t len, cap;
  bool failed;
} reply;

void reply_bytes(reply *r, enum talk_tag tag, const void *data, size_t len);
void reply_u32(reply *r, enum talk_tag tag, uint32_t value);

/* Empties it for the next request, and gives a large buffer back. */
void reply_reset(reply *r);
