/* getopt - getopt(3), getopt_long(3): clusters, arguments, long names, unknown options and missing arguments.
 */
#include "posix.h"

#include <getopt.h>

static void parse(const char *line) {
  static const struct option longs[] = {
    { "verbose", no_argument, NULL, 'v' },
    { "output", required_argument, NULL, 'o' },
    { "level", optional_argument, NULL, 'l' },
    { NULL, 0, NULL, 0 },
  };
  char copy[128], *argv[16] = { (char *)"program" };
  int argc = 1, c;
  snprintf(copy, sizeof copy, "%s", line);
  for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) argv[argc++] = word;
  argv[argc] = NULL;
  say("%s:", line);
  opterr = 0;
  optind = 0; /* begin anew */
  while ((c = getopt_long(argc, argv, "+:ab:vo:", longs, NULL)) != -1) {
    if (c == '?' || c == ':')
      say(" %c", c);
    else
      say(" -%c%s%s", c, optarg == NULL ? "" : "=", optarg == NULL ? "" : optarg);
  }
  say(" | %d left:", optind < argc ? argc - optind : 0);
  for (int i = optind; i < argc; i++) say(" %s", argv[i]);
  say("\n");
}

int main(void) {
  parse("-a -b value rest");
  parse("-ab value");
  parse("-bvalue -a");
  parse("-x -a");
  parse("-b");
  parse("-a -- -b x");
  parse("-a - -b");
  parse("--verbose --output=file --level --level=3 end");
  parse("--output file --verb x");
  parse("--unknown -a");
  parse("--output");
  parse("--verbose=1");
  parse("");
  parse("word -a");
  return 0;
}
