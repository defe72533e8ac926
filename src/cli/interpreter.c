/* interpreter.c - `cay python` and `cay js`: `cay run` of an interpreter, with a script of this machine and
 * the modules beside it. */
#include "base/text.h"
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/say.h"
#include "cli/siblings.h"

#include <errno.h>
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

typedef struct interpreter {
  char program[8];
  const char *code;  /* options of one letter that end the interpreter's options, with all that follows */
  const char *apart; /* options of one letter whose value is the next word */
} interpreter;

static const interpreter PYTHON = { "python3", "cm", "WX" };
static const interpreter NODE = { "node", "ep", "rC" };

static bool is_letter_of(const char *word, const char *letters) {
  return word[0] == '-' && word[1] != '\0' && strchr(letters, word[1]) != NULL;
}

/* As require does: "a" is a.js where there is no file a. *out: the longer name, the caller's; NULL: the word stays as it is.
 * False: out of memory. */
static bool script_find_js(const char *word, char **out) {
  *out = NULL;
  if (word[0] == '-' || is_file(word)) return true;
  char *name = malloc(strlen(word) + 4);
  if (name == NULL) return false;
  (void)sprintf(name, "%s.js", word);
  if (is_file(name))
    *out = name;
  else
    free(name);
  return true;
}

/* The options of the interpreter in front of the script. */
static int own_options(const interpreter *in, int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    const char *word = argv[i];
    if (word[0] != '-' || word[1] == '\0' || is_letter_of(word, in->code)) return i;
    if (is_letter_of(word, in->apart) && word[2] == '\0' && i + 1 < argc) i++;
  }
  return argc;
}

/* "run" OPTIONS ["--in" SCRIPT] ["--in" MODULE]... "--" PROGRAM WORDS, the script by the name that its copy has. */
static int run_script(const interpreter *in, int argc, char **argv, int options, int script,
                      const siblings *modules) {
  char tty[] = "--tty", run[] = "run", copy[] = "--in", end[] = "--", program[sizeof in->program];
  char **words = calloc((size_t)argc + 7 + 2 * modules->count, sizeof *words);
  if (words == NULL) {
    say("out of memory");
    return EXIT_CAY;
  }
  int count = 0;
  memcpy(program, in->program, sizeof program);
  words[count++] = run;
  for (int i = 0; i < options; i++) words[count++] = argv[i];
  if (script == argc && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) words[count++] = tty; /* to talk to */
  bool copied = is_script(argc, argv, script);
  if (copied) {
    words[count++] = copy;
    words[count++] = argv[script];
  }
  for (size_t i = 0; i < modules->count; i++) {
    words[count++] = copy;
    words[count++] = modules->items[i];
  }
  words[count++] = end;
  words[count++] = program;
  for (int i = options; i < argc; i++) {
    char *slash = i == script && copied ? strrchr(argv[i], '/') : NULL;
    words[count++] = slash != NULL ? slash + 1 : argv[i];
  }
  int code = command_run(count, words);
  free(words);
  return code;
}

/* Whether one of these options brings files, so that a relative path may be one of the sandbox. */
static bool brings_files(int options, char **argv) {
  static const char *const names[] = { "--in",       "--mount",   "--cwd",   "-C",
                                       "--snapshot", "--package", "--wheel", "--image" };
  for (int i = 0; i < options; i++)
    for (size_t n = 0; n < COUNT_OF(names); n++)
      if (strncmp(argv[i], names[n], strlen(names[n])) == 0) return true;
  return false;
}

/* A script that is nowhere: said here, by the name that was typed; the interpreter would name the place of its copy. */
static bool says_missing(int argc, char **argv, int options, int script) {
  if (script >= argc || argv[script][0] == '-' || argv[script][0] == '/' || is_file(argv[script]) ||
      brings_files(options, argv))
    return false;
  struct stat st;
  bool found = stat(argv[script], &st) == 0;
  if (!found)
    say("%s: %s", TEXT_NAME(argv[script]), strerror(errno));
  else if (S_ISDIR(st.st_mode))
    say("%s: it is a directory", TEXT_NAME(argv[script]));
  else
    say("%s: it is not a regular file", TEXT_NAME(argv[script]));
  if (found) say_hint("--mount HOST:GUEST lets the sandbox see a directory");
  return true;
}

static int run_found(const interpreter *in, int argc, char **argv, int options, int script) {
  siblings modules = { 0 };
  if (says_missing(argc, argv, options, script)) return EXIT_CAY;
  bool (*find)(const char *, siblings *) = in == &PYTHON ? siblings_find_python : siblings_find_js;
  if (is_script(argc, argv, script) && !find(argv[script], &modules)) {
    say("out of memory");
    return EXIT_CAY;
  }
  int code = run_script(in, argc, argv, options, script, &modules);
  siblings_free(&modules);
  return code;
}

static int run_words(const interpreter *in, int argc, char **argv, int options) {
  int script = options + own_options(in, argc - options, argv + options);
  char *longer = NULL;
  if (in == &NODE && script < argc && !script_find_js(argv[script], &longer)) {
    say("out of memory");
    return EXIT_CAY;
  }
  char *typed = longer != NULL ? argv[script] : NULL;
  if (longer != NULL) argv[script] = longer;
  int code = run_found(in, argc, argv, options, script);
  if (longer != NULL) argv[script] = typed;
  free(longer);
  return code;
}

/* The options of `cay run` in front. -e is node's own; a variable is --env there. */
static int run_options(const interpreter *in, int argc, char **argv) {
  int options = request_option_words(argc, argv);
  for (int i = 0; in == &NODE && i < options; i++)
    if (strcmp(argv[i], "-e") == 0) return i;
  return options;
}

static int command_interpreter(const interpreter *in, int argc, char **argv) {
  int options = run_options(in, argc - 1, argv + 1);
  const char *next = options < argc - 1 ? argv[1 + options] : "";
  for (int i = 1; i <= options; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
      return help_show(argv[0]) ? 0 : EXIT_CAY;
  bool own = in == &NODE ? request_counterpart(next) == NULL : strcmp(next, "--version") == 0;
  if (strncmp(next, "--", 2) == 0 && !own) {
    cay_error why = { 0 };
    if (request_unknown(next, &why) != CAY_OK) say("%s", why.message);
    say_hint("`cay help run` shows the options");
    return EXIT_CAY;
  }
  return run_words(in, argc - 1, argv + 1, options);
}

int command_python(int argc, char **argv) { return command_interpreter(&PYTHON, argc, argv); }
int command_js(int argc, char **argv) { return command_interpreter(&NODE, argc, argv); }
