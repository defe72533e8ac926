/* cc.c - ext-cc and ext-c++: the compiler that the builds of Python's extension modules call.
 *
 * A build of a hundred extension modules calls its compiler thousands of times, and cay-cc is a script: this compiles by calling clang
 * with the flags that cay-cc would give it. They are read from EXT_FLAGS_C and EXT_FLAGS_CXX, files with one argument in a line, of which the
 * first is the compiler. A link of a program, which only the probes of a build do, goes to cay-cc or cay-c++ (EXT_LINK_C, EXT_LINK_CXX). Where
 * a shared library is asked for, the objects, archives and libraries of which it would consist are written in its place, one in a line. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct arguments {
  char **list;
  size_t count, cap;
} arguments;

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "ext-cc: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void add(arguments *to, char *text) {
  if (to->count + 1 >= to->cap) {
    to->cap = 2 * to->cap + 64;
    to->list = realloc(to->list, to->cap * sizeof *to->list);
    if (to->list == NULL) fail("memory");
  }
  to->list[to->count++] = text;
  to->list[to->count] = NULL;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static bool ends(const char *text, const char *with) {
  size_t len = strlen(text), end = strlen(with);
  return len >= end && strcmp(text + len - end, with) == 0;
}

static const char *setting(const char *name) {
  const char *value = getenv(name);
  if (value != NULL) return value;
  fprintf(stderr, "ext-cc: %s is not set\n", name);
  exit(1);
}

static void add_lines(arguments *to, const char *path) {
  FILE *file = fopen(path, "re");
  char *line = NULL;
  size_t cap = 0;
  if (file == NULL) fail(path);
  while (getline(&line, &cap, file) > 0) {
    line[strcspn(line, "\n")] = '\0';
    char *copy = strdup(line);
    if (copy == NULL) fail("memory");
    if (*copy != '\0') add(to, copy);
  }
  free(line);
  fclose(file);
}

typedef struct request {
  arguments rest; /* what the compiler gets */
  char *out;
  bool shared, compiles;
} request;

/* Options that speak of other machines. */
static bool is_foreign(const char *argument) {
  static const char *const beginnings[] = { "-Wl,-rpath", "-Wl,--allow-shlib", "-Wl,-soname",
                                            "-Wl,-O1",    "-march=",           "-mtune=" };
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (begins(argument, beginnings[i])) return true;
  return strcmp(argument, "-ftrapping-math") == 0 /* there are no flags of it */ ||
         strcmp(argument, "-fPIC") == 0 || strcmp(argument, "-pthread") == 0;
}

static bool is_of_build_python(const char *folder) {
  return strstr(folder, "/include/python3.") != NULL && strstr(folder, ".parts/") == NULL;
}

static bool only_compiles(const char *argument) {
  static const char *const words[] = { "-c", "-E", "-S", "--version", "-dM", "-fsyntax-only" };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(argument, words[i]) == 0) return true;
  return begins(argument, "-print") || begins(argument, "-dump");
}

static void read_request(request *r, char **argv) {
  for (char **at = argv + 1; *at != NULL; at++) {
    r->compiles |= only_compiles(*at);
    if (strcmp(*at, "-shared") == 0)
      r->shared = true;
    else if (strcmp(*at, "-o") == 0 && at[1] != NULL)
      r->out = *++at;
    else if (strcmp(*at, "-isystem") == 0 && at[1] != NULL && is_of_build_python(at[1]))
      at++;
    else if (!is_foreign(*at) && !(begins(*at, "-I") && is_of_build_python(*at)))
      add(&r->rest, *at);
  }
}

static int write_manifest(const request *r) {
  char path[PATH_MAX];
  FILE *file = fopen(r->out != NULL ? r->out : "a.out", "we");
  if (file == NULL) fail(r->out);
  for (size_t i = 0; i < r->rest.count; i++) {
    const char *item = r->rest.list[i];
    if (ends(item, ".o") || ends(item, ".a"))
      fprintf(file, "%s\n", realpath(item, path) != NULL ? path : item);
    else if (begins(item, "-l") || begins(item, "-L"))
      fprintf(file, "%s\n", item);
  }
  if (fclose(file) != 0) fail(r->out);
  return 0;
}

int main(int argc, char **argv) {
  bool plus = ends(argv[0], "++");
  request r = { 0 };
  arguments command = { 0 };
  if (argc > 1 && strcmp(argv[1], "-Wl,--version") == 0)
    return puts("LLD 19.1.7 (compatible with GNU linkers)") < 0;
  read_request(&r, argv);
  if (r.shared) return write_manifest(&r);
  if (r.compiles)
    add_lines(&command, setting(plus ? "EXT_FLAGS_CXX" : "EXT_FLAGS_C"));
  else
    add(&command, strdup(setting(plus ? "EXT_LINK_CXX" : "EXT_LINK_C")));
  for (size_t i = 0; i < r.rest.count; i++) add(&command, r.rest.list[i]);
  if (r.out != NULL) {
    add(&command, strdup("-o"));
    add(&command, r.out);
  }
  execv(command.list[0], command.list);
  fail(command.list[0]);
}
