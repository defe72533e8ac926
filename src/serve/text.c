#include "serve/text.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <nettle/base64.h>

bool text_put_utf8(buf *out, const void *data, size_t len) {
  const uint8_t *p = data;
  size_t at = 0, plain = 0; /* [plain, at) is good and not yet appended */
  while (at < len) {
    enum utf8_part part;
    size_t n = utf8_scan(p + at, len - at, &part);
    if (part != UTF8_CHARACTER) {
      if (at != plain && buf_append(out, p + plain, at - plain) != CAY_OK) return false;
      if (buf_append(out, "\xef\xbf\xbd", 3) != CAY_OK) return false;
      plain = at + n;
    }
    at += n;
  }
  return at == plain || buf_append(out, p + plain, at - plain) == CAY_OK;
}

bool text_put_base64(buf *out, const void *data, size_t len) {
  size_t encoded = BASE64_ENCODE_RAW_LENGTH(len);
  if (len == 0) return true;
  char *room = buf_room(out, encoded);
  if (room == NULL) return false;
  base64_encode_raw(room, len, data);
  buf_grew(out, encoded);
  return true;
}

cay_status text_from_base64(const char *text, size_t len, cay_buf *out) {
  struct base64_decode_ctx ctx;
  size_t decoded = BASE64_DECODE_LENGTH(len);
  uint8_t *bytes = mem_alloc(decoded);
  if (bytes == NULL) return CAY_NO_MEMORY;
  base64_decode_init(&ctx);
  if (!base64_decode_update(&ctx, &decoded, bytes, len, text) || !base64_decode_final(&ctx)) {
    mem_free(bytes);
    return CAY_INVALID;
  }
  *out = (cay_buf){ bytes, decoded };
  return CAY_OK;
}
