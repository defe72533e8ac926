/* path.c - paths of HTTP requests in one form, for rules about their beginning. */
#include "net/policy.h"

#include <string.h>

static int path_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One character, decoded; -1: one that servers read in several ways. */
static int path_char(const char **at, const char *end) {
  const char *p = *at;
  int c = (uint8_t)*p++;
  if (c == '%') {
    int high = p < end ? path_hex(p[0]) : -1, low = p + 1 < end ? path_hex(p[1]) : -1;
    if (high < 0 || low < 0) return -1;
    c = high << 4 | low;
    p += 2;
    if (c == '/' || c == '%') return -1;
  }
  *at = p;
  return c <= ' ' || c == 0x7f || c == '\\' || c == '#' || c == ';' ? -1 : c;
}

/* The segment that ends at out[len] is "." or "..": it goes, with the one before. False: above the root. */
static bool path_fold(char *out, size_t *len) {
  size_t start = *len;
  while (out[start - 1] != '/') start--;
  size_t n = *len - start;
  if (n == 1 && out[start] == '.') *len = start;
  if (n != 2 || out[start] != '.' || out[start + 1] != '.') return true;
  if (start == 1) return false;
  for (start--; out[start - 1] != '/';) start--;
  *len = start;
  return true;
}

bool net_path_clean(const char *target, size_t len, char *out, size_t cap) {
  const char *query = memchr(target, '?', len), *end = query != NULL ? query : target + len;
  size_t n = 0;
  if (target == end || *target != '/') return false;
  while (target < end) {
    int c = path_char(&target, end);
    if (c < 0 || n + 1 >= cap) return false;
    if (c == '/' && n > 0) {
      /* An empty segment: some servers drop it, for others ".." takes it and not the one before. */
      if (out[n - 1] == '/' || !path_fold(out, &n)) return false;
      if (out[n - 1] == '/') continue;
    }
    out[n++] = (char)c;
  }
  if (!path_fold(out, &n)) return false;
  out[n] = '\0';
  return true;
}
