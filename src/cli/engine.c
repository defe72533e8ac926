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

char *engine_cache_dir(cay_error *why) {
  *why = (cay_error){ 0 };
  char *path = cache_path();
  if (path == NULL)
    (void)snprintf(why->message, sizeof why->message, "neither HOME nor XDG_CACHE_HOME is set");
  if (path != NULL && path[0] != '\0' && cay_cache_check(path, why) == CAY_OK) return path;
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
  if (no_cache.message[0] != '\0' && getenv("CAY_CACHE") != NULL)
    say("compiled code is not kept: %s", no_cache.message);
  cay_engine_options options = {
    .size = sizeof options, .cache_dir = cache, .log = log_line, .log_ctx = &level
  };
  cay_engine *engine = NULL;
  if (cay_engine_new(&options, &engine, &err) != CAY_OK) explain(&err);
  free(cache);
  return engine;
}

/* ---- images ---- */

cay_status engine_load_image(cay_engine *engine, const char *language, const char *path, cay_image **out,
                             cay_error *err) {
  static const char *const languages[] = { "python", "javascript" };
  cay_status status = CAY_UNSUPPORTED;
  if (language != NULL) return cay_image_load(engine, language, path, out, err);
  for (size_t i = 0; i < sizeof languages / sizeof *languages && status == CAY_UNSUPPORTED; i++)
    status = cay_image_load(engine, languages[i], path, out, err);
  return status;
}
