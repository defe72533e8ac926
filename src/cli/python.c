/* python.c - `cay python`: `cay run` of the interpreter, with a script of this machine and the modules
 * beside it. */
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/say.h"
#include "cli/siblings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_script(int argc, char **argv, int at) {
  return at < argc && argv[at][0] != '-' && is_file(argv[at]);
}

/* The options of Python in front of the script; -c and -m end them, with all that follows. */
static int python_options(int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    const char *word = argv[i];
    if (word[0] != '-' || word[1] == '\0' || word[1] == 'c' || word[1] == 'm') return i;
    if ((strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0) && i + 1 < argc) i++;
  }
  return argc;
}

/* "run" OPTIONS ["--in" SCRIPT] ["--in" MODULE]... "--" "python3" WORDS, the script by the name that its copy has. */
static int run_script(int argc, char **argv, int options, int script, const siblings *modules) {
  char tty[] = "--tty", run[] = "run", in[] = "--in", end[] = "--", python[] = "python3";
  char **words = calloc((size_t)argc + 7 + 2 * modules->count, sizeof *words);
  if (words == NULL) {
    say("out of memory");
    return EXIT_CAY;
  }
  int count = 0;
  words[count++] = run;
  for (int i = 0; i < options; i++) words[count++] = argv[i];
  if (script == argc && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) words[count++] = tty; /* to talk to */
  bool copied = is_script(argc, argv, script);
  if (copied) {
    words[count++] = in;
    words[count++] = argv[script];
  }
  for (size_t i = 0; i < modules->count; i++) {
    words[count++] = in;
    words[count++] = modules->items[i];
  }
  words[count++] = end;
  words[count++] = python;
  for (int i = options; i < argc; i++) {
    char *slash = i == script && copied ? strrchr(argv[i], '/') : NULL;
    words[count++] = slash != NULL ? slash + 1 : argv[i];
  }
  int code = command_run(count, words);
  free(words);
  return code;
}

static int run_words(int argc, char **argv, int options) {
  int script = options + python_options(argc - options, argv + options);
  siblings modules = { 0 };
  if (is_script(argc, argv, script) && !siblings_find(argv[script], &modules)) {
    say("out of memory");
    return EXIT_CAY;
  }
  int code = run_script(argc, argv, options, script, &modules);
  siblings_free(&modules);
  return code;
}

int command_python(int argc, char **argv) {
  int options = request_option_words(argc - 1, argv + 1);
  for (int i = 1; i <= options; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
      return help_show("python") ? 0 : EXIT_CAY;
  if (options < argc - 1 && strncmp(argv[1 + options], "--", 2) == 0 &&
      strcmp(argv[1 + options], "--version") != 0) {
    cay_error why = { 0 };
    if (request_unknown(argv[1 + options], &why) != CAY_OK) say("%s", why.message);
    say_hint("`cay help run` shows the options");
    return EXIT_CAY;
  }
  return run_words(argc - 1, argv + 1, options);
}
