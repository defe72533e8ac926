/* header.c - values of header fields: timeout, content type, list of encodings, percent-encoded message
 * (header.h). */
#include "grpc/wire/header.h"

#include "base/clock.h"

#include <string.h>
#include <strings.h>

enum { TIMEOUT_DIGITS = 8 };

static int64_t unit_ns(char unit) {
  switch (unit) {
  case 'H': return 3600 * NS_PER_SEC;
  case 'M': return 60 * NS_PER_SEC;
  case 'S': return NS_PER_SEC;
  case 'm': return NS_PER_MS;
  case 'u': return 1000;
  case 'n': return 1;
  default: return 0;
  }
}

bool header_timeout(cay_slice value, int64_t *out_ns) {
  const char *text = value.data;
  if (value.len < 2 || value.len > TIMEOUT_DIGITS + 1) return false;
  int64_t count = 0, unit = unit_ns(text[value.len - 1]);
  for (size_t i = 0; i + 1 < value.len; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    count = count * 10 + (text[i] - '0');
  }
  if (unit == 0) return false;
  const int64_t most = INT64_MAX / 4; /* 73 years: can be added to a clock */
  *out_ns = count > most / unit ? most : count * unit;
  return true;
}

bool header_is_grpc(cay_slice content_type) {
  static const char word[] = "application/grpc";
  enum { LEN = sizeof word - 1 };
  if (content_type.len < LEN || strncasecmp(content_type.data, word, LEN) != 0) return false;
  const char *rest = (const char *)content_type.data + LEN;
  size_t left = content_type.len - LEN;
  return left == 0 || *rest == ';' ||
         (left >= 6 && strncasecmp(rest, "+proto", 6) == 0 && (left == 6 || rest[6] == ';'));
}

bool header_lists(cay_slice list, const char *word) {
  const char *at = list.data, *end = list.len != 0 ? at + list.len : at;
  size_t len = strlen(word);
  while (at < end) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    const char *stop = comma != NULL ? comma : end;
    while (at < stop && *at == ' ') at++;
    const char *last = stop;
    while (last > at && last[-1] == ' ') last--;
    if ((size_t)(last - at) == len && strncasecmp(at, word, len) == 0) return true;
    at = stop + 1;
  }
  return false;
}

size_t header_escape(const char *text, char *out, size_t cap) {
  static const char digits[] = "0123456789ABCDEF";
  size_t len = 0;
  for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
    bool plain = *at >= 0x20 && *at <= 0x7e && *at != '%';
    if (len + (plain ? 1 : 3) > cap) break;
    if (plain) {
      out[len++] = (char)*at;
      continue;
    }
    out[len++] = '%';
    out[len++] = digits[*at >> 4];
    out[len++] = digits[*at & 15];
  }
  return len;
}
