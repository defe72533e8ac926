/* serve.c - `cay serve --stdio`: the JSON-RPC server over standard input and output. */
#include "serve/serve.h"

#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/log.h"
#include "cli/say.h"
#include "cli/serve_grpc.h"
#include "cli/value.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void log_line_with_level(void *ctx, cay_log_level level, const char *area, const char *text) {
  if (level <= *(const cay_log_level *)ctx) say("%s: %s: %s", log_level_name(level), area, text);
}

/* ---- words ---- */

struct words {
  bool stdio;
  cay_log_level level;
  uint64_t line_max;
};

enum { WORD_STDIO = 1, WORD_LEVEL, WORD_LINE_MAX };

static bool serve_take(struct words *w, int word, const char *value) {
  switch (word) {
  case WORD_STDIO: w->stdio = true; return true;
  case WORD_LEVEL:
    if (log_level_from(value, &w->level)) return true;
    say("--log-level takes error, warn, info or debug, not %.60s", value);
    return false;
  case WORD_LINE_MAX:
    if (value_size(value, &w->line_max) && w->line_max >= 1024 && w->line_max <= UINT64_C(1) << 32)
      return true;
    say("--line-max takes a size from 1K to 4G, not %.60s", value);
    return false;
  default: say("cay serve has no such option; `cay help serve` lists them"); return false;
  }
}

static bool serve_read_words(int argc, char **argv, struct words *w) {
  static const struct option known[] = { { "stdio", no_argument, NULL, WORD_STDIO },
                                         { "log-level", required_argument, NULL, WORD_LEVEL },
                                         { "line-max", required_argument, NULL, WORD_LINE_MAX },
                                         { NULL, 0, NULL, 0 } };
  optind = 0;
  opterr = 0;
  for (int word; (word = getopt_long(argc, argv, "", known, NULL)) != -1;)
    if (!serve_take(w, word, optarg)) return false;
  if (optind < argc) {
    say("cay serve takes no word %.60s", argv[optind]);
    return false;
  }
  if (!w->stdio) {
    say("cay serve has to know where to listen");
    say_hint(
        "`cay serve --stdio` answers on standard input and output, `cay serve --grpc 127.0.0.1:50051` calls of gRPC");
  }
  return w->stdio;
}

/* ---- serving ---- */

static int cli_serve(struct words *w) {
  cay_error err = { 0 }, no_cache;
  bool unfinished = false;
  char *cache = engine_cache_dir(&no_cache);
  serve_options options = { .in = STDIN_FILENO,
                            .out = STDOUT_FILENO,
                            .cache_dir = cache,
                            .line_max = (size_t)w->line_max,
                            .log = log_line_with_level,
                            .log_ctx = &w->level,
                            .unfinished = &unfinished };
  cay_status status = serve_stdio(&options, &err);
  if (unfinished) _exit(status == CAY_OK ? 0 : EXIT_WRONG); /* without waiting for the compiler */
  free(cache);
  if (status == CAY_OK) return 0;
  say("the server cannot go on: %s", err.message);
  return EXIT_WRONG;
}

int command_serve(int argc, char **argv) {
  struct words w = { .level = log_level_wanted() };
  if (serve_help_wanted(argc, argv)) return help_show("serve") ? 0 : EXIT_WRONG;
  if (serve_grpc_wanted(argc, argv)) return serve_grpc(argc, argv);
  if (!serve_read_words(argc, argv, &w)) return EXIT_USAGE;
  if (isatty(STDIN_FILENO)) say_hint("one JSON-RPC request a line; end of file ends the server");
  return cli_serve(&w);
}
