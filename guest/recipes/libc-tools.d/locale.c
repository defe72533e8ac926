/* locale - the locale of the environment, and those that there are (locale(1)). */
#define _GNU_SOURCE
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct category {
  const char *name;
  int number; /* -1: glibc's alone */
} categories[] = {
  { "LC_CTYPE", LC_CTYPE },
  { "LC_NUMERIC", LC_NUMERIC },
  { "LC_TIME", LC_TIME },
  { "LC_COLLATE", LC_COLLATE },
  { "LC_MONETARY", LC_MONETARY },
  { "LC_MESSAGES", LC_MESSAGES },
  { "LC_PAPER", -1 },
  { "LC_NAME", -1 },
  { "LC_ADDRESS", -1 },
  { "LC_TELEPHONE", -1 },
  { "LC_MEASUREMENT", -1 },
  { "LC_IDENTIFICATION", -1 },
};

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static void show_environment(void) {
  const char *all = variable("LC_ALL"), *lang = variable("LANG");
  printf("LANG=%s\nLANGUAGE=%s\n", lang, variable("LANGUAGE"));
  for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
    const char *name = categories[i].name, *own = variable(name);
    if (*all)
      printf("%s=\"%s\"\n", name, all);
    else if (*own)
      printf("%s=%s\n", name, own);
    else
      printf("%s=\"%s\"\n", name, *lang ? lang : "POSIX");
  }
  printf("LC_ALL=%s\n", all);
}

static const struct keyword {
  const char *name;
  nl_item item;
  int count; /* of items in a row, shown in one line */
} keywords[] = {
  { "charmap", CODESET, 1 },       { "decimal_point", RADIXCHAR, 1 },
  { "thousands_sep", THOUSEP, 1 }, { "yesexpr", YESEXPR, 1 },
  { "noexpr", NOEXPR, 1 },         { "d_fmt", D_FMT, 1 },
  { "t_fmt", T_FMT, 1 },           { "d_t_fmt", D_T_FMT, 1 },
  { "t_fmt_ampm", T_FMT_AMPM, 1 }, { "am_pm", AM_STR, 2 },
  { "abday", ABDAY_1, 7 },         { "day", DAY_1, 7 },
  { "abmon", ABMON_1, 12 },        { "mon", MON_1, 12 },
};

/* ASCII has the name by which glibc calls it. */
static const char *text_of(nl_item item) {
  const char *text = nl_langinfo(item);
  return strcmp(text, "ASCII") ? text : "ANSI_X3.4-1968";
}

static int show_keyword(const char *name) {
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
    const struct keyword *k = &keywords[i];
    if (strcmp(name, k->name) != 0) continue;
    for (int n = 0; n < k->count; n++) printf("%s%s", n ? ";" : "", text_of(k->item + n));
    return putchar('\n'), 0;
  }
  fprintf(stderr, "locale: unknown name \"%s\"\n", name);
  return 1;
}

int main(int argc, char **argv) {
  int result = 0;
  if (!setlocale(LC_ALL, ""))
    fputs("locale: Cannot set LC_ALL to default locale: No such file or directory\n", stderr);
  if (argc == 1) return show_environment(), 0;
  if (strcmp(argv[1], "-a") == 0) return puts("C\nC.utf8\nPOSIX"), 0;
  if (strcmp(argv[1], "-m") == 0) return puts("UTF-8"), 0;
  for (int i = 1; i < argc; i++)
    if (argv[i][0] != '-') result |= show_keyword(argv[i]);
  return result;
}
