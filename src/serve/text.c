#include "serve/text.h"

#include "base/alloc.h"

#include <nettle/base64.h>

/* The bytes that may follow a lead byte, in the first place (Unicode, table 3-7). */
static void second_range(uint8_t lead, uint8_t *low, uint8_t *high) {
  *low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  *high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
}

static size_t length_of(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

/* How many bytes at `p` belong to one character or one ill-formed part; *good says which; *cut: the input
 * ends inside. */
static size_t scan_one(const uint8_t *p, size_t left, bool *good, bool *cut) {
  size_t want = length_of(p[0]);
  *good = *cut = false;
  if (want == 0) return 1;
  uint8_t low, high;
  second_range(p[0], &low, &high);
  for (size_t i = 1; i < want; i++, low = 0x80, high = 0xbf) {
    if (i == left) {
      *cut = true;
      return i;
    }
    if (p[i] < low || p[i] > high) return i;
  }
  *good = true;
  return want;
}

bool text_put_utf8(buf *out, const void *data, size_t len) {
  const uint8_t *p = data;
  size_t at = 0, plain = 0; /* [plain, at) is good and not yet appended */
  while (at < len) {
    bool good, cut;
    size_t n = scan_one(p + at, len - at, &good, &cut);
    if (!good) {
      if (at != plain && buf_append(out, p + plain, at - plain) != CAY_OK) return false;
      if (buf_append(out, "\xef\xbf\xbd", 3) != CAY_OK) return false;
      plain = at + n;
    }
    at += n;
  }
  return at == plain || buf_append(out, p + plain, at - plain) == CAY_OK;
}

size_t text_whole(const void *data, size_t len) {
  const uint8_t *p = data;
  for (size_t back = 1; back <= 3 && back <= len; back++) {
    bool good, cut;
    if (length_of(p[len - back]) == 0) continue;
    (void)scan_one(p + len - back, back, &good, &cut);
    return cut ? len - back : len;
  }
  return len;
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
