/* Messages about options, in glibc's words: programs and people know them. The recipe leads the calls of musl's
 * getopt and getopt_long here. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "getopt_msg.h"

void __getopt_msg(const char *program, const char *what, const char *letter, size_t len) {
  const char *text = strstr(what, "requires") ? "option requires an argument" : "invalid option";
  fprintf(stderr, "%s: %s -- '%.*s'\n", program, text, (int)len, letter);
}

static void list_candidates(const char *word, size_t len, const struct option *all, const char *dashes) {
  fprintf(stderr, "ambiguous; possibilities:");
  for (const struct option *o = all; o->name; o++)
    if (!strncmp(o->name, word, len)) fprintf(stderr, " '%s%s'", dashes, o->name);
  fputc('\n', stderr);
}

void __getopt_long_msg(const char *program, const char *what, const char *word, size_t len,
                       const struct option *all, int one_dash) {
  const char *dashes = one_dash ? "-" : "--";
  size_t name = strcspn(word, "=");
  if (strstr(what, "unrecognized")) {
    fprintf(stderr, "%s: unrecognized option '%s%.*s'\n", program, dashes, (int)len, word);
    return;
  }
  fprintf(stderr, "%s: option '%s%.*s' ", program, dashes, (int)len, word);
  if (strstr(what, "ambiguous"))
    fputs("is ", stderr), list_candidates(word, name, all, dashes);
  else
    fputs(strstr(what, "requires") ? "requires an argument\n" : "doesn't allow an argument\n", stderr);
}
