/* grpc_filter.c - any filter answers for any name, as a slow and simple matcher does; any code has a name. */
#include "base/utf8.h"
#include "grpc/service/glob.h"
#include "grpc/service/kubernetes.h"
#include "grpc/service/name.h"

#include "input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint8_t small(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c; }

static size_t char_len(const uint8_t *at, size_t left) {
  size_t len = 1;
  while (len < left && (at[len] & 0xc0) == 0x80) len++;
  return len;
}

/* A table of which ends of the filter match which ends of the name. */
static bool simple_match(const uint8_t *f, size_t fl, const uint8_t *n, size_t nl) {
  static bool fits[65][65];
  for (size_t i = fl + 1; i-- > 0;)
    for (size_t j = nl + 1; j-- > 0;) {
      if (i == fl)
        fits[i][j] = j == nl;
      else if (f[i] == '*')
        fits[i][j] = fits[i + 1][j] || (j < nl && fits[i][j + 1]);
      else if (j == nl)
        fits[i][j] = false;
      else if (f[i] == '?')
        fits[i][j] = fits[i + 1][j + char_len(n + j, nl - j)];
      else
        fits[i][j] = small(f[i]) == small(n[j]) && fits[i + 1][j + 1];
    }
  return fits[0][0];
}

static void check_filter(input in) {
  size_t fl = next_byte(&in) % 65;
  if (fl > in.len) fl = in.len;
  size_t nl = in.len - fl < 64 ? in.len - fl : 64;
  const uint8_t *f = in.data, *n = f + fl;
  bool got = glob_matches((cay_slice){ f, fl }, (cay_slice){ n, nl });
  /* Only of texts: within broken characters `?` may end elsewhere. */
  bool texts = utf8_valid_len(f, fl) == fl && utf8_valid_len(n, nl) == nl;
  if (fl != 0 && texts && (memchr(f, '*', fl) != NULL || memchr(f, '?', fl) != NULL))
    must(got == simple_match(f, fl, n, nl));
}

static void check_name(const uint8_t *data, size_t len) {
  code_name name;
  char full[NAME_MAX_LEN];
  code_name_of((cay_slice){ data, len }, &name);
  must(name.stem[0] != '\0' && strlen(name.stem) < NAME_STEM && strlen(name.text) < NAME_TEXT);
  must(strspn(name.stem, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name.stem));
  must(utf8_valid_len(data, len) != len || utf8_valid_len(name.text, strlen(name.text)) == strlen(name.text));
  digest of = digest_of(data, len);
  code_name_full(&name, &of, 64, ".ts", full);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  char context[64];
  check_filter((input){ data, len });
  check_name(data, len);
  (void)kubernetes_context_in((cay_slice){ data, len }, context, sizeof context);
  return 0;
}
