/* utf8.c - a decoder of UTF-8, checks of whole texts, and copies without ill-formed bytes (utf8.h). */
#include "base/utf8.h"

#include <string.h>

/* Length of the character that begins with `lead`; 0: none does. */
static size_t utf8_len_of(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

size_t utf8_scan(const void *data, size_t left, enum utf8_part *part) {
  const uint8_t *at = data;
  size_t want = utf8_len_of(at[0]);
  *part = UTF8_ILL_FORMED;
  if (want == 0) return 1;
  /* The second byte has a narrower range after four leads (Unicode, table 3-7). */
  uint8_t low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
  uint8_t high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < want; i++, low = 0x80, high = 0xbf) {
    if (i == left) *part = UTF8_CUT;
    if (i == left || at[i] < low || at[i] > high) return i;
  }
  *part = UTF8_CHARACTER;
  return want;
}

/* Most text is ASCII, which is checked eight bytes at once. */
static size_t utf8_ascii_len(const uint8_t *at, size_t len) {
  size_t done = 0;
  for (uint64_t word; len - done >= sizeof word; done += sizeof word) {
    memcpy(&word, at + done, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  while (done < len && at[done] < 0x80) done++;
  return done;
}

size_t utf8_next(const void *data, size_t len, uint32_t *out) {
  static const uint8_t leads[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
  const uint8_t *at = data;
  enum utf8_part part;
  size_t n = utf8_scan(at, len, &part);
  if (part != UTF8_CHARACTER) return 0;
  uint32_t code = at[0] & leads[n];
  for (size_t i = 1; i < n; i++) code = code << 6 | (at[i] & 0x3f);
  *out = code;
  return n;
}

size_t utf8_valid_len(const void *data, size_t len) {
  const uint8_t *at = data;
  size_t done = 0;
  if (len == 0) return 0; /* `data` may be NULL */
  while ((done += utf8_ascii_len(at + done, len - done)) < len) {
    enum utf8_part part;
    size_t n = utf8_scan(at + done, len - done, &part);
    if (part != UTF8_CHARACTER) break;
    done += n;
  }
  return done;
}

bool utf8_is_valid(const void *data, size_t len) { return utf8_valid_len(data, len) == len; }

size_t utf8_whole_len(const void *data, size_t len) {
  const uint8_t *at = data;
  for (size_t back = 1; back <= 3 && back <= len; back++) {
    if (utf8_len_of(at[len - back]) == 0) continue;
    enum utf8_part part;
    (void)utf8_scan(at + len - back, back, &part);
    return part == UTF8_CUT ? len - back : len;
  }
  return len;
}

void utf8_copy_clean(char *to, const void *data, size_t len) {
  const uint8_t *at = data;
  for (size_t done = 0; done < len;) {
    size_t n = utf8_valid_len(at + done, len - done);
    memcpy(to + done, at + done, n);
    done += n;
    if (done < len) to[done++] = '?';
  }
}
