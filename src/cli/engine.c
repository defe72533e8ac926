#include "cli/engine.h"

#include "cli/log.h"
#include "cli/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the cache ---- */

static char *cache_path(void) {
  char *path = NULL;
  const char *own = getenv("CAY_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own != NULL && own[0] == '\0') return strdup("");
  int len = -1;
  if (own != NULL)
    len = asprintf(&path, "%s/code", own);
  else if (xdg != NULL && xdg[0] == '/')
    len = asprintf(&path, "%s/cay/code", xdg);
  else if (home != NULL && home[0] == '/')
    len = asprintf(&path, "%s/.cache/cay/code", home);
  return len < 0 ? NULL : path;
}

/* mkdir -p, for this user alone. */
static bool make_private(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Files there are run as code: no other user may have put them there. */
static const char *why_unfit(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0) return strerror(errno);
  if (!S_ISDIR(st.st_mode)) return "not a directory";
  if (st.st_uid != geteuid()) return "belongs to somebody else";
  if ((st.st_mode & 0022) != 0) return "others may write to it";
  if (access(path, W_OK | X_OK) != 0) return strerror(errno);
  return NULL;
}

char *engine_cache_dir(cay_error *why) {
  *why = (cay_error){ 0 };
  char *path = cache_path();
  const char *reason = path == NULL ? "neither HOME nor XDG_CACHE_HOME is set" : NULL;
  if (path != NULL && path[0] != '\0') reason = make_private(path) ? why_unfit(path) : strerror(errno);
  if (reason == NULL && path != NULL && path[0] != '\0') return path;

  if (reason != NULL)
    (void)snprintf(why->message, sizeof why->message, "%s%s%s", path != NULL ? path : "",
                   path != NULL ? ": " : "", reason);
  free(path);
  return NULL;
}

/* ---- the engine ---- */

static void explain(const cay_error *err) {
  say("cannot start: %s", err->message);
  if (err->status == CAY_NOT_FOUND)
    say_hint("the guests (bash, busybox, ...) are built by `make`; name their folder with CAY_GUESTS=DIR");
  else if (err->status == CAY_CORRUPT)
    say_hint("build or install the guests again");
  else
    say_hint("`cay doctor` looks for the cause");
}

cay_engine *engine_open(void) {
  static cay_log_level level; /* lives as long as the engine, which keeps the address */
  level = log_level_wanted();
  cay_error err = { 0 }, no_cache;
  char *cache = engine_cache_dir(&no_cache);
  cay_engine_options options = {
    .size = sizeof options, .cache_dir = cache, .log = log_line, .log_ctx = &level
  };
  cay_engine *engine = NULL;
  if (cay_engine_new(&options, &engine, &err) != CAY_OK) explain(&err);
  free(cache);
  return engine;
}
