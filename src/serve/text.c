/* text.c - bytes appended as UTF-8, U+FFFD in place of invalid parts (text.h). */
#include "serve/text.h"

#include "base/utf8.h"

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
