/* iconv - convert a text from one character encoding to another (iconv(1)), by the C library's iconv(3). */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <iconv.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool omit; /* -c: what cannot be converted is left out */

static const char names[] =
    "ASCII UTF-8 UTF-16 UTF-16LE UTF-16BE UTF-32 UTF-32LE UTF-32BE UCS-2 UCS-4 WCHAR_T ISO-8859-1 ISO-8859-2 ISO-8859-3 ISO-8859-4 "
    "ISO-8859-5 ISO-8859-6 ISO-8859-7 ISO-8859-8 ISO-8859-9 ISO-8859-10 ISO-8859-11 ISO-8859-13 ISO-8859-14 ISO-8859-15 "
    "ISO-8859-16 CP1250 CP1251 CP1252 CP1253 CP1254 CP1255 CP1256 CP1257 CP1258 KOI8-R KOI8-U CP437 CP850 CP866 EUC-JP SHIFT_JIS "
    "ISO-2022-JP GB18030 GBK GB2312 BIG5 EUC-KR";

static int fail(const char *format, const char *what) {
  fprintf(stderr, "iconv: ");
  fprintf(stderr, format, what);
  fputc('\n', stderr);
  return 1;
}

/* The whole text is read first: an offset can be named then, and a sequence never ends between two reads. */
static char *read_all(FILE *in, size_t *len) {
  size_t room = 65536;
  char *text = malloc(room);
  *len = 0;
  for (size_t n; text && (n = fread(text + *len, 1, room - *len, in)) > 0;) {
    *len += n;
    if (*len < room) continue;
    char *more = realloc(text, room *= 2);
    if (!more) free(text);
    text = more;
  }
  return text;
}

static int convert(iconv_t cd, char *text, size_t left, FILE *out) {
  char room[65536], *from = text;
  int result = 0;
  while (left > 0) {
    char *to = room;
    size_t free_bytes = sizeof room;
    size_t r = iconv(cd, &from, &left, &to, &free_bytes);
    int failed = errno;
    fwrite(room, 1, (size_t)(to - room), out);
    if (r != (size_t)-1 || failed == E2BIG) continue;
    if (!omit) {
      fflush(out);
      if (failed == EINVAL) return fail("%s", "incomplete character or shift sequence at end of buffer");
      fprintf(stderr, "iconv: illegal input sequence at position %ld\n", (long)(from - text));
      return 1;
    }
    from++, left--, result = 1;
  }
  char *to = room;
  size_t free_bytes = sizeof room;
  iconv(cd, NULL, NULL, &to, &free_bytes);
  fwrite(room, 1, (size_t)(to - room), out);
  return result;
}

static int convert_file(const char *path, const char *from, const char *to, FILE *out) {
  FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
  size_t len = 0;
  if (!in) {
    fprintf(stderr, "iconv: cannot open input file `%s': %s\n", path, strerror(errno));
    return 1;
  }
  char *text = read_all(in, &len);
  if (in != stdin) fclose(in);
  iconv_t cd = iconv_open(to, from);
  if (!text || cd == (iconv_t)-1) return free(text), fail("%s", strerror(errno));
  int result = convert(cd, text, len, out);
  iconv_close(cd);
  free(text);
  return result;
}

/* `UTF-8//IGNORE` and `ASCII//TRANSLIT`: the encoding, and what becomes of the rest. */
static const char *plain(char *name) {
  char *suffix = strstr(name, "//");
  if (suffix) {
    if (strstr(suffix, "IGNORE")) omit = true;
    *suffix = 0;
  }
  return *name ? name : "UTF-8";
}

static int check(const char *from, const char *to) {
  iconv_t cd = iconv_open(to, from);
  if (cd != (iconv_t)-1) return iconv_close(cd);
  bool from_known = (cd = iconv_open("UTF-8", from)) != (iconv_t)-1;
  if (from_known) iconv_close(cd);
  bool to_known = (cd = iconv_open(to, "UTF-8")) != (iconv_t)-1;
  if (to_known) iconv_close(cd);
  if (!from_known && !to_known)
    fprintf(stderr, "iconv: conversions from `%s' and to `%s' are not supported\n", from, to);
  else
    fprintf(stderr, "iconv: conversion %s `%s' is not supported\n", from_known ? "to" : "from",
            from_known ? to : from);
  fputs("Try `iconv --help' or `iconv --usage' for more information.\n", stderr);
  return 1;
}

static void list_names(void) {
  for (const char *p = names; *p; p++) putchar(*p == ' ' ? '\n' : *p);
  putchar('\n');
}

int main(int argc, char **argv) {
  static const struct option options[] = {
    { "from-code", 1, 0, 'f' },
    { "to-code", 1, 0, 't' },
    { "output", 1, 0, 'o' },
    { "list", 0, 0, 'l' },
    { "silent", 0, 0, 's' },
    { "help", 0, 0, '?' },
    { 0 },
  };
  char utf8_from[] = "UTF-8", utf8_to[] = "UTF-8", *from = utf8_from, *to = utf8_to;
  FILE *out = stdout;
  for (int c; (c = getopt_long(argc, argv, "f:t:o:lcs?", options, NULL)) != -1;) switch (c) {
    case 'f': from = optarg; break;
    case 't': to = optarg; break;
    case 'c': omit = true; break;
    case 's': break;
    case 'l': list_names(); return 0;
    case 'o':
      if (!(out = fopen(optarg, "w"))) return fail("cannot open output file: %s", strerror(errno));
      break;
    default:
      fputs("Usage: iconv [-c] [-f NAME] [-t NAME] [-o FILE] [FILE...]; iconv -l\n", stderr);
      return 64;
    }
  const char *source = plain(from), *target = plain(to);
  if (check(source, target)) return 1;
  char *standard[] = { "-", NULL }, **files = optind < argc ? argv + optind : standard;
  int result = 0;
  for (; *files && !result; files++) result = convert_file(*files, source, target, out);
  return fclose(out) ? fail("%s", strerror(errno)) : result;
}
