#include "base/utf8.h"

#include <string.h>

/* Length of the character at `at`: 1 to 4; 0: none. `left` is at least 1. */
static size_t char_len(const uint8_t *at, size_t left) {
  uint8_t c = at[0], low = 0x80, high = 0xbf;
  size_t len;
  if (c < 0x80) return 1;
  if (c < 0xc2 || c > 0xf4) return 0;
  len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  if (c == 0xe0) low = 0xa0;
  if (c == 0xed) high = 0x9f;
  if (c == 0xf0) low = 0x90;
  if (c == 0xf4) high = 0x8f;
  if (left < len || at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < len; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  return len;
}

size_t utf8_valid_len(const void *data, size_t len) {
  const uint8_t *at = data;
  size_t done = 0;
  while (done < len) {
    uint64_t word;
    if (len - done >= sizeof word &&
        (memcpy(&word, at + done, sizeof word), (word & 0x8080808080808080) == 0)) {
      done += sizeof word;
      continue;
    }
    size_t n = char_len(at + done, len - done);
    if (n == 0) break;
    done += n;
  }
  return done;
}

size_t utf8_whole_len(const void *data, size_t len) {
  const uint8_t *at = data;
  for (size_t back = 1; back <= 3 && back <= len; back++) {
    uint8_t c = at[len - back];
    if (c < 0x80) return len;
    if (c < 0xc0) continue;
    size_t want = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return c >= 0xc2 && c <= 0xf4 && want > back ? len - back : len;
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
