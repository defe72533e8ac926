/* base64.c - base64 by nettle, in buffers that grow. */
#include "base/base64.h"

#include <nettle/base64.h>

cay_status base64_append(buf *out, const void *data, size_t len) {
  size_t encoded = BASE64_ENCODE_RAW_LENGTH(len);
  if (len == 0) return CAY_OK;
  char *room = buf_room(out, encoded);
  if (room == NULL) return CAY_NO_MEMORY;
  base64_encode_raw(room, len, data);
  buf_grew(out, encoded);
  return CAY_OK;
}

cay_status base64_decode(const char *text, size_t len, buf *out) {
  struct base64_decode_ctx ctx;
  size_t used = 0;
  uint8_t *room = buf_room(out, BASE64_DECODE_LENGTH(len) + 1);
  if (room == NULL) return CAY_NO_MEMORY;
  base64_decode_init(&ctx);
  if (!base64_decode_update(&ctx, &used, room, len, text) || !base64_decode_final(&ctx)) return CAY_INVALID;
  buf_grew(out, used);
  return CAY_OK;
}

cay_status base64_decode_new(const char *text, size_t len, cay_buf *out) {
  OWNED(buf_free) buf bytes = BUF_INIT(BUF_UNLIMITED);
  S_TRY(base64_decode(text, len, &bytes));
  *out = buf_take(&bytes);
  return CAY_OK;
}
