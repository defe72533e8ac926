/* pb.h - the wire format of protocol buffers: fields of a message in, fields of a message out.
 *
 * Reading copies nothing and believes nothing: every length is checked against the buffer. A group (wire types 3
 * and 4, removed from the language) makes a message bad. Texts are bytes here, so that a NUL inside is kept.
 *
 * A writer keeps its first failure in `failed` and does nothing after it. */
#pragma once

#include "base/buf.h"

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

typedef struct pb_field {
  uint32_t number;
  enum pb_type type;
  uint64_t value;  /* of a number */
  cay_slice bytes; /* of PB_BYTES; borrowed from the message */
} pb_field;

typedef struct pb_reader {
  const uint8_t *at, *end;
  bool bad; /* the rest cannot be read */
} pb_reader;

pb_reader pb_read(cay_slice message);
bool pb_next(pb_reader *r, pb_field *out); /* false: at the end, or bad */

typedef struct pb_writer {
  buf out;
  cay_status failed;
} pb_writer;

#define PB_WRITER(most) ((pb_writer){ .out = BUF_INIT(most) })

/* Fields with the default value of proto3 (0, "") are left out; the functions named _always write them. */
void pb_put_int(pb_writer *w, uint32_t number, int64_t value);
void pb_put_int_always(pb_writer *w, uint32_t number, int64_t value);
void pb_put_bytes(pb_writer *w, uint32_t number, cay_slice bytes);
void pb_put_bytes_always(pb_writer *w, uint32_t number, cay_slice bytes);
void pb_put_text(pb_writer *w, uint32_t number, const char *text);

/* A message within: everything that is put between the two calls. */
size_t pb_begin(pb_writer *w, uint32_t number);
void pb_end(pb_writer *w, size_t begun);
