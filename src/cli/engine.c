/* engine.c - the engine of a command: its cache folder, its log level, and the image by name or file
 * (engine.h). */
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

/* `image`: the name of an installed one; NULL: none. */
static cay_status engine_try(const char *image, cay_engine **out, cay_error *err) {
  static cay_log_level level; /* lives as long as the engine, which keeps the address */
  level = log_level_wanted();
  cay_error no_cache;
  char *cache = engine_cache_dir(&no_cache);
  if (no_cache.message[0] != '\0' && getenv("CAY_CACHE") != NULL)
    say("compiled code is not kept: %s", no_cache.message);
  cay_engine_options options = {
    .size = sizeof options, .cache_dir = cache, .log = log_line, .log_ctx = &level, .image = image
  };
  cay_status status = cay_engine_new(&options, out, err);
  free(cache);
  return status;
}

cay_engine *engine_open(void) {
  cay_engine *engine = NULL;
  cay_error err = { 0 };
  if (engine_try(NULL, &engine, &err) != CAY_OK) explain(&err);
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

/* Installed images on which the image of a file may be built, after the standard ones. */
static const char *const BASES[] = { NULL, "science" };

static cay_status engine_use_file(cay_engine *engine, const char *path, cay_error *err) {
  cay_image *image = NULL;
  cay_status status = engine_load_image(engine, NULL, path, &image, err);
  if (status == CAY_OK) status = cay_image_use(engine, image, err);
  cay_image_free(image);
  return status;
}

/* CAY_UNSUPPORTED: the file's image does not fit this base. */
static cay_status engine_try_file(const char *base, const char *path, cay_engine **out, cay_error *err) {
  cay_engine *engine = NULL;
  cay_status status = engine_try(base, &engine, err);
  if (status == CAY_OK) status = engine_use_file(engine, path, err);
  if (status == CAY_OK)
    *out = engine;
  else
    cay_engine_free(engine);
  return status;
}

static cay_engine *engine_open_file(const char *path) {
  cay_engine *engine = NULL;
  cay_error err = { 0 }, other;
  cay_status status = engine_try_file(NULL, path, &engine, &err);
  for (size_t i = 1; i < sizeof BASES / sizeof *BASES && status == CAY_UNSUPPORTED; i++)
    if (engine_try_file(BASES[i], path, &engine, &other) == CAY_OK) return engine;
  if (status != CAY_OK) say("--image: %s", err.message);
  return engine;
}

cay_engine *engine_open_image(const char *image) {
  cay_engine *engine = NULL;
  cay_error err = { 0 };
  if (image == NULL) return engine_open();
  if (!cay_image_is_name(image)) return engine_open_file(image);
  cay_status status = engine_try(image, &engine, &err);
  if (status == CAY_NOT_FOUND && access(image, F_OK) == 0) return engine_open_file(image);
  if (status == CAY_NOT_FOUND && strstr(err.message, "is not installed") != NULL)
    say("--image: there is no file %s, and %s", image, err.message);
  else if (status != CAY_OK)
    say("--image: %s", err.message);
  return engine;
}
