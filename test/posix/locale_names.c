/* locale_names - setlocale(3), newlocale(3): known names and unknown ones, alone and from the environment. */
#include "posix.h"

#include <locale.h>
#include <stdlib.h>

static void set(int category, const char *name) {
  const char *now = setlocale(category, name);
  say("setlocale(\"%s\") = %s\n", name, now == NULL ? "NULL" : now);
}

static void make(const char *name) {
  locale_t made = newlocale(LC_CTYPE_MASK, name, (locale_t)0);
  say("newlocale(\"%s\") = %s\n", name, made != (locale_t)0 ? "ok" : "NULL");
  if (made != (locale_t)0) freelocale(made);
}

int main(void) {
  static const char *const names[] = { "C", "POSIX", "xx_YY", "xx_YY.ISO-8859-1", "tlh", "C" };
  unsetenv("LC_ALL");
  unsetenv("LC_CTYPE");
  for (size_t i = 0; i < COUNT_OF(names); i++) set(LC_CTYPE, names[i]);
  set(LC_NUMERIC, "xx_YY");
  set(LC_CTYPE, "C.UTF-8");
  IS(MB_CUR_MAX > 1);
  set(LC_CTYPE, "no such locale");
  TEXT(setlocale(LC_CTYPE, NULL));
  MUST(setenv("LANG", "xx_YY", 1));
  set(LC_ALL, "");
  set(LC_CTYPE, "");
  TEXT(setlocale(LC_CTYPE, NULL));
  MUST(setenv("LANG", "C.UTF-8", 1));
  set(LC_CTYPE, "");
  MUST(setenv("LANG", "xx_YY", 1));
  make("C");
  make("C.UTF-8");
  make("xx_YY");
  return 0;
}
