/* buf.h - bytes that grow at the end, up to a cap.
 *
 *   OWNED(buf_free) buf b = BUF_INIT(1 << 20);       (a buf is not a pointer: see buf_free_p)
 *   S_TRY(buf_appendf(&b, "%s=%d\n", name, value));
 *   *out = buf_take(&b);
 *
 * A NUL always follows the contents and is not counted, so text can be used in place. A failed append changes
 * nothing: CAY_LIMIT beyond `max`, CAY_NO_MEMORY otherwise. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

typedef struct buf {
  uint8_t *data; /* NULL while nothing was ever appended */
  size_t len, cap;
  size_t max; /* the most it may hold, in bytes */
} buf;

#define BUF_INIT(most) ((buf){ .max = (most) })
#define BUF_UNLIMITED (SIZE_MAX / 4)

cay_status buf_append(buf *b, const void *data, size_t len) CHECKED;
cay_status buf_append_text(buf *b, const char *text) CHECKED;
cay_status buf_append_byte(buf *b, uint8_t byte) CHECKED;
cay_status buf_appendf(buf *b, const char *format, ...) PRINTF(2, 3) CHECKED;

/* Room for `len` more bytes at the returned place; NULL when there is none. buf_grew says how many were used. */
void *buf_room(buf *b, size_t len) CHECKED;
void buf_grew(buf *b, size_t len);

const char *buf_text(const buf *b); /* "" when empty; borrowed until the next append */
void buf_clear(buf *b);             /* keeps the memory */
cay_buf buf_take(buf *b);           /* the contents are the caller's (cay_buf_free); the buf is empty again */
void buf_free(buf *b);

static inline void buf_free_p(buf *b) { buf_free(b); }
