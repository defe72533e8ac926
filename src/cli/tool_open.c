/* tool_open.c - the words of `cay tool`, and the set of tools that they open. */
#include "cli/tool.h"

#include "cli/engine.h"
#include "cli/log.h"
#include "cli/say.h"
#include "cli/value.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- words ---- */

enum { W_CONFIG = 1, W_DIR, W_DB, W_AUDIT, W_USER, W_JSON, W_ENTRY, W_DEV, W_VERIFY, W_TIMEOUT, W_ROUNDS };

static const struct {
  const char *verb;
  bool argument, json_text; /* --json takes the input, and else asks for JSON */
} verbs[] = {
  { "check", true, false },  { "run", true, true },   { "list", false, false },
  { "audit", false, false }, { "due", false, false },
};

static bool tool_open_take(tool_words *w, int word, const char *value) {
  uint64_t n;
  switch (word) {
  case W_CONFIG: w->config = value; return true;
  case W_DIR: w->dir = value; return true;
  case W_DB: w->database = value; return true;
  case W_AUDIT: w->audit = value; return true;
  case W_USER: w->user = value; return true;
  case W_ENTRY: w->entrypoint = value; return true;
  case W_DEV: w->dev = true; return true;
  case W_VERIFY: w->verify = true; return true;
  case 'h': w->help = true; return true;
  case W_JSON:
    w->as_json = true;
    w->input = value;
    return true;
  case W_TIMEOUT:
    if (value_duration(value, &w->timeout_ms) && w->timeout_ms != UINT32_MAX) return true;
    say("--timeout takes a duration such as 500ms or 5s, not %.60s", value);
    return false;
  case W_ROUNDS:
    if (value_count(value, 64, &n)) {
      w->rounds = (uint32_t)n;
      return true;
    }
    say("--rounds takes a number from 1 to 64, not %.60s", value);
    return false;
  default: say("cay tool has no such option, or it lacks its value"); return false;
  }
}

static bool find_verb(const char *word, size_t *out) {
  static const char *const names[] = { "check", "run", "list", "audit", "due", NULL };
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    if (strcmp(word, verbs[i].verb) != 0) continue;
    *out = i;
    return true;
  }
  const char *near = say_nearest(word, names);
  if (near != NULL)
    say("cay tool has no %.60s; did you mean %s?", word, near);
  else
    say("cay tool knows check, run, list, audit and due, not %.60s", word);
  return false;
}

static bool tool_open_read_options(int argc, char **argv, bool json_text, tool_words *w) {
  const struct option known[] = { { "config", required_argument, NULL, W_CONFIG },
                                  { "dir", required_argument, NULL, W_DIR },
                                  { "db", required_argument, NULL, W_DB },
                                  { "audit", required_argument, NULL, W_AUDIT },
                                  { "user", required_argument, NULL, W_USER },
                                  { "entrypoint", required_argument, NULL, W_ENTRY },
                                  { "timeout", required_argument, NULL, W_TIMEOUT },
                                  { "rounds", required_argument, NULL, W_ROUNDS },
                                  { "dev", no_argument, NULL, W_DEV },
                                  { "verify", no_argument, NULL, W_VERIFY },
                                  { "json", json_text ? required_argument : no_argument, NULL, W_JSON },
                                  { "help", no_argument, NULL, 'h' },
                                  { NULL, 0, NULL, 0 } };
  optind = 0;
  opterr = 0;
  for (int word; (word = getopt_long(argc, argv, "h", known, NULL)) != -1;)
    if (!tool_open_take(w, word, optarg)) return false;
  return true;
}

static bool tool_open_read_words(int argc, char **argv, tool_words *w) {
  size_t verb;
  if (argc < 2) {
    say("cay tool wants check, run, list, audit or due");
    return false;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return w->help = true;
  if (!find_verb(argv[1], &verb) || !tool_open_read_options(argc - 1, argv + 1, verbs[verb].json_text, w))
    return false;
  w->verb = verbs[verb].verb;
  if (w->help) return true;
  int words = argc - 1 - optind;
  if (words != (verbs[verb].argument ? 1 : 0)) {
    say(verbs[verb].argument ? "cay tool %s wants one name" : "cay tool %s takes no other words", w->verb);
    return false;
  }
  if (words == 1) w->argument = argv[1 + optind];
  return true;
}

bool tool_words_read(int argc, char **argv, tool_words *out) {
  *out = (tool_words){ 0 };
  if (tool_open_read_words(argc, argv, out)) return true;
  say_hint("`cay help tool` explains");
  return false;
}

/* ---- files ---- */

/* $XDG_DATA_HOME/cay/NAME or ~/.local/share/cay/NAME, its folder made for this user alone; NULL: none. */
static char *data_path(const char *name) {
  const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  char *path = NULL;
  int len = -1;
  if (xdg != NULL && xdg[0] == '/')
    len = asprintf(&path, "%s/cay/%s", xdg, name);
  else if (home != NULL && home[0] == '/')
    len = asprintf(&path, "%s/.local/share/cay/%s", home, name);
  if (len < 0) return NULL;
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
  }
  return path;
}

static char *chosen_path(const char *wanted, const char *name) {
  if (wanted != NULL) return strcmp(wanted, "none") == 0 ? NULL : strdup(wanted);
  return data_path(name);
}

char *tool_audit_path(const tool_words *w) { return chosen_path(w->audit, "tool-audit.log"); }

static bool read_config(const char *path, char **text, size_t *len) {
  FILE *file = fopen(path, "re");
  size_t cap = 0;
  ssize_t n = file != NULL ? getdelim(text, &cap, '\0', file) : -1;
  bool fine = file != NULL && ferror(file) == 0;
  if (!fine) {
    say("%s: %s", path, strerror(errno));
    free(*text);
    *text = NULL;
  }
  if (file != NULL) (void)fclose(file);
  *len = n > 0 ? (size_t)n : 0;
  return fine;
}

/* ---- the set ---- */

cay_tools *tool_open(const tool_words *w, bool keeps) {
  static cay_log_level level; /* lives as long as the set, which keeps the address */
  level = log_level_wanted();
  char *config = NULL;
  cay_error err = { 0 }, no_cache;
  cay_tools *tools = NULL;
  cay_tools_options options = { .size = sizeof options,
                                .base_dir = w->dir,
                                .allow_placeholders = w->dev,
                                .user = w->user,
                                .rounds = w->rounds,
                                .log = log_line,
                                .log_ctx = &level };
  if (w->config != NULL && !read_config(w->config, &config, &options.config.len)) return NULL;
  options.config.data = config;
  char *cache = engine_cache_dir(&no_cache);
  char *database = keeps ? chosen_path(w->database, "tools.db") : NULL;
  char *audit = keeps ? tool_audit_path(w) : NULL;
  options.cache_dir = cache;
  options.database = database;
  options.audit = audit;
  if (cay_tools_open(&options, &tools, &err) != CAY_OK) say("%s", err.message);
  free(config);
  free(cache);
  free(database);
  free(audit);
  return tools;
}
