/* check_engine.c - checks of cay's own parts for `cay doctor`: cache, guests, a run. */
#include "cli/check.h"
#include "cli/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void check_cache(check *c) {
  cay_error why;
  char *dir = engine_cache_dir(&why);
  if (dir != NULL) {
    check_says(c, CHECK_OK, "%.200s", dir);
  } else {
    check_says(c, CHECK_NOTE, "compiled code is not kept%s%.200s", why.message[0] != '\0' ? ": " : "",
               why.message);
    check_advises(c, "set CAY_CACHE to a directory that only you can write to");
  }
  free(dir);
}

static cay_engine *open_quietly(check *c) {
  cay_engine_options options = { .size = sizeof options };
  cay_engine *engine = NULL;
  cay_error err = { 0 };
  if (cay_engine_new(&options, &engine, &err) == CAY_OK) return engine;
  check_says(c, CHECK_FAIL, "%s", err.message);
  check_advises(c, "build them with `make`, or name their folder with CAY_GUESTS=DIR");
  return NULL;
}

void check_guests(check *c) {
  cay_engine *engine = open_quietly(c);
  if (engine == NULL) return;
  size_t count = cay_engine_guests(engine, 0, NULL), missing = 0;
  for (size_t i = 0; i < count; i++) {
    cay_guest guest;
    (void)cay_engine_guests(engine, i, &guest);
    if (!guest.precompiled) missing++;
  }
  check_says(c, missing == 0 ? CHECK_OK : CHECK_NOTE,
             "%zu programs in %.150s, %zu with machine code for this host", count,
             cay_engine_guest_dir(engine), count - missing);
  if (missing > 0)
    check_advises(c, "the others are compiled when they are first run, which takes seconds: run `make` here");
  cay_engine_free(engine);
}

/* One line that needs the shell, a pipe, two processes and a file. */
void check_run(check *c) {
  cay_engine *engine = open_quietly(c);
  cay_sandbox *box = NULL;
  cay_result *result = NULL;
  cay_error err = { 0 };
  if (engine == NULL) return;

  cay_run_options options = { .size = sizeof options, .command = "echo works | cat > /tmp/x && cat /tmp/x" };
  cay_status s = cay_sandbox_new(engine, NULL, &box, &err);
  if (s == CAY_OK) s = cay_run(box, &options, &result, &err);
  bool works = s == CAY_OK && result->out.len == 6 && memcmp(result->out.data, "works\n", 6) == 0;
  if (works)
    check_says(c, CHECK_OK, "a pipeline in a new sandbox took %.1f ms", (double)result->wall_ns / 1e6);
  else if (s != CAY_OK)
    check_says(c, CHECK_FAIL, "%s", err.message);
  else
    check_says(c, CHECK_FAIL, "a pipeline ended with %s %d: %.*s", cay_end_name(result->end), result->code,
               (int)(result->err.len < 120 ? result->err.len : 120), (const char *)result->err.data);
  if (!works) check_advises(c, "CAY_LOG=debug cay run true shows more; please report it");
  cay_result_free(result);
  cay_sandbox_free(box);
  cay_engine_free(engine);
}
