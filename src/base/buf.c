/* buf.c - a buffer that grows by half up to its cap, with formatted appends (buf.h). */
#include "base/buf.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Room for `len` more bytes and the NUL. */
static cay_status buf_reserve(buf *b, size_t len) {
  if (len > b->max - b->len) return CAY_LIMIT;
  size_t need = b->len + len + 1;
  if (need <= b->cap) return CAY_OK;
  size_t cap = b->cap < 64 ? 64 : b->cap + b->cap / 2;
  if (cap < need) cap = need;
  if (cap > b->max + 1) cap = b->max + 1;
  uint8_t *data = mem_realloc(b->data, cap);
  if (data == NULL) return CAY_NO_MEMORY;
  b->data = data;
  b->cap = cap;
  return CAY_OK;
}

void *buf_room(buf *b, size_t len) { return buf_reserve(b, len) == CAY_OK ? b->data + b->len : NULL; }

void buf_grew(buf *b, size_t len) {
  assert(len < b->cap - b->len);
  b->len += len;
  b->data[b->len] = '\0';
}

cay_status buf_append(buf *b, const void *data, size_t len) {
  S_TRY(buf_reserve(b, len));
  if (len != 0) memcpy(b->data + b->len, data, len);
  buf_grew(b, len);
  return CAY_OK;
}

cay_status buf_append_text(buf *b, const char *text) { return buf_append(b, text, strlen(text)); }

cay_status buf_append_byte(buf *b, uint8_t byte) { return buf_append(b, &byte, 1); }

cay_status buf_appendf(buf *b, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int wanted = vsnprintf(NULL, 0, format, args);
  va_end(args);
  cay_status status = wanted < 0 ? CAY_INVALID : buf_reserve(b, (size_t)wanted);
  if (status == CAY_OK) {
    (void)vsnprintf((char *)b->data + b->len, (size_t)wanted + 1, format, again);
    b->len += (size_t)wanted;
  }
  va_end(again);
  return status;
}

const char *buf_text(const buf *b) { return b->data != NULL ? (const char *)b->data : ""; }

void buf_clear(buf *b) {
  b->len = 0;
  if (b->data != NULL) b->data[0] = '\0';
}

cay_buf buf_take(buf *b) {
  cay_buf taken = { .data = b->data, .len = b->len };
  *b = BUF_INIT(b->max);
  return taken;
}

void buf_free(buf *b) {
  mem_free(b->data);
  *b = BUF_INIT(b->max);
}
