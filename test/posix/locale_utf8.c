/* locale_utf8 - mbrtowc(3), wprintf(3), towupper(3): UTF-8 in and out, and bytes that are not UTF-8. */
#include "posix.h"

#include <locale.h>
#include <wchar.h>
#include <wctype.h>

static void decode(const char *text) {
  mbstate_t state = { 0 };
  for (const char *p = text;;) {
    wchar_t c = 0;
    size_t n = mbrtowc(&c, p, 6, &state);
    if (n == (size_t)-1) {
      say(" %s\n", error_name(errno));
      return;
    }
    if (n == (size_t)-2) {
      say(" incomplete\n");
      return;
    }
    if (n == 0) break;
    say(" U+%04X", (unsigned)c);
    p += n;
  }
  say("\n");
}

int main(void) {
  IS(setlocale(LC_ALL, "C.UTF-8") != NULL);
  SHOW(MB_CUR_MAX > 1);
  decode("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  decode("\xc3(");
  decode("\xff");
  decode("\xc0\x80");
  decode("\xed\xa0\x80");
  decode("\x80");
  char out[MB_LEN_MAX];
  mbstate_t state = { 0 };
  static const wchar_t points[] = { 0x41, 0xe4, 0x20ac, 0x1f600 };
  for (size_t i = 0; i < COUNT_OF(points); i++) SHOW(wcrtomb(out, points[i], &state));
  wchar_t wide[32];
  char narrow[64];
  SHOW(mbstowcs(wide, "gr\xc3\xbc\xc3\x9f \xce\xa9", 32));
  SHOW(wcslen(wide));
  SHOW(wcstombs(narrow, wide, sizeof narrow));
  TEXT(narrow);
  SHOW(mbstowcs(NULL, "\xe2\x82\xac\xe2\x82\xac", 0));
  SHOW(mblen("\xe2\x82\xac", 4));
  IS(iswalpha(0xe4) && !iswalpha('1') && iswupper(0xc4) && iswspace(' ') && iswdigit('7') && iswpunct('!'));
  say("U+%04X U+%04X U+%04X\n", (unsigned)towupper(0xe4), (unsigned)towlower(0x3a9), (unsigned)towupper('z'));
  SHOW(wcwidth(0x4e2d));
  SHOW(wcwidth('a'));
  SHOW(swprintf(wide, 32, L"%ls-%d-%s", L"w\x20ac", 5, "\xc3\xa9"));
  say("%ls\n", wide);
  IS(wcscmp(L"abc", L"abd") < 0 && wcschr(L"abc", L'c') != NULL && wcstol(L"42x", NULL, 10) == 42);
  FILE *f = fopen("wide", "w+");
  IS(fwide(f, 0) == 0);
  fputws(L"\x20ac\n", f);
  IS(fwide(f, 0) > 0);
  SHOW(ftell(f));
  rewind(f);
  SHOW(fgetwc(f));
  fclose(f);
  get("wide");
  return 0;
}
