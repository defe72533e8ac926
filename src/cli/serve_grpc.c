/* serve_grpc.c - the words that ask for `cay serve --grpc`, the search for the program cay-grpc, and its
 * execution (serve_grpc.h). */
#include "cli/serve_grpc.h"

#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/say.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool serve_grpc_is_word(const char *text, const char *word) {
  size_t len = strlen(word);
  return strncmp(text, word, len) == 0 && (text[len] == '\0' || text[len] == '=');
}

static bool serve_grpc_has_word(int argc, char **argv, const char *word) {
  for (int i = 1; i < argc; i++)
    if (serve_grpc_is_word(argv[i], word)) return true;
  return false;
}

bool serve_grpc_wanted(int argc, char **argv) { return serve_grpc_has_word(argc, argv, "--grpc"); }

bool serve_help_wanted(int argc, char **argv) {
  return serve_grpc_has_word(argc, argv, "--help") || serve_grpc_has_word(argc, argv, "-h");
}

/* Installed as PREFIX/lib/cay/cay-grpc beside PREFIX/bin/cay; in the build tree the folders are neighbours. */
static bool find_program(char out[static PATH_MAX]) {
  static const char *const places[] = { "../lib/cay", "../grpc" };
  char self[PATH_MAX];
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  if (len <= 0) return false;
  self[len] = '\0';
  char *slash = strrchr(self, '/');
  if (slash == NULL) return false;
  *slash = '\0';
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int wanted = snprintf(out, PATH_MAX, "%s/%s/cay-grpc", self, places[i]);
    if (wanted > 0 && wanted < PATH_MAX && access(out, X_OK) == 0) return true;
  }
  return false;
}

int serve_grpc(int argc, char **argv) {
  char program[PATH_MAX];
  cay_error no_cache;
  if (!find_program(program)) {
    say("cay-grpc is not installed: it belongs into lib/cay beside the folder of cay");
    say_hint("the packages for Python and Node have no gRPC server; `make install` brings it");
    return EXIT_CAY;
  }
  char **words = calloc((size_t)argc + 5, sizeof *words);
  if (words == NULL) return EXIT_CAY;
  char *cache = engine_cache_dir(&no_cache);
  int count = 0;
  words[count++] = program;
  if (cache != NULL) words[count++] = (char *)"--cache-dir", words[count++] = cache;
  for (int i = 1; i < argc; i++) words[count++] = argv[i];
  (void)execv(program, words);
  say("cannot start %s: %s", program, strerror(errno));
  free(cache);
  free(words);
  return EXIT_CAY;
}
