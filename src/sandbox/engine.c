/* engine.c - what all sandboxes of a process share: compiled guests, the files they start with, the timer
 * thread. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "engine/pool.h"
#include "sandbox/guests.h"
#include "sandbox/network.h"
#include "sandbox/sandbox.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of native stack a guest may use: bash recurses some 900 function calls deep in it. Only the part that is
 * touched is memory. */
enum { WASM_STACK = 32 << 20 };

/* Interpreters kept for the next session, each with a few megabytes of pages that are its own. */
enum { SPARES = 8 };

void sb_log(const cay_engine *engine, cay_log_level level, const char *area, const char *format, ...) {
  if (engine->log == NULL) return;
  char line[512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  text_clean(line, false);
  engine->log(engine->log_ctx, level, area, line);
}

/* <folder of libcay.so>/cay/guest */
static char *beside_library(void) {
  Dl_info info;
  if (dladdr((void *)(uintptr_t)cay_engine_new, &info) == 0 || info.dli_fname == NULL) return NULL;
  char *real = realpath(info.dli_fname, NULL);
  if (real == NULL) return NULL;
  buf path = BUF_INIT(BUF_UNLIMITED);
  char *slash = strrchr(real, '/');
  int folder = slash != NULL ? (int)(slash - real) : 0;
  cay_status status = buf_appendf(&path, "%.*s/cay/guest", folder, real);
  free(real); /* realpath's, not ours */
  char *result = status == CAY_OK ? mem_strdup(buf_text(&path)) : NULL;
  buf_free(&path);
  return result;
}

static char *find_guest_dir(const char *wanted) {
  if (wanted == NULL) wanted = secure_getenv("CAY_GUESTS");
  return wanted != NULL ? mem_strdup(wanted) : beside_library();
}

/* The folder of this name in that of the guests. */
static char *engine_folder(const char *guest_dir, const char *name) {
  size_t len = strlen(guest_dir), name_len = strlen(name);
  while (len > 1 && guest_dir[len - 1] == '/') len--;
  char *path = mem_alloc(len + name_len + 2);
  if (path == NULL) return NULL;
  memcpy(path, guest_dir, len);
  path[len] = '/';
  memcpy(path + len + 1, name, name_len + 1);
  return path;
}

/* The folder of further guests: $CAY_GUESTS_EXTRA, else `extra` in the other. */
static char *find_extra_dir(const char *guest_dir) {
  const char *wanted = secure_getenv("CAY_GUESTS_EXTRA");
  return wanted != NULL ? mem_strdup(wanted) : engine_folder(guest_dir, "extra");
}

bool cay_image_is_name(const char *image) {
  return *image != '\0' && strspn(image, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(image) &&
         strcmp(image, "extra") != 0 && strcmp(image, "guest") != 0;
}

/* The folder of an installed image: $CAY_GUESTS_SCIENCE for "science", else `science` in that of the guests. */
static char *find_image_dir(const char *guest_dir, const char *name) {
  char variable[64] = "CAY_GUESTS_";
  size_t at = strlen(variable);
  for (const char *c = name; *c != '\0' && at + 1 < sizeof variable; c++)
    variable[at++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
  variable[at] = '\0';
  const char *wanted = secure_getenv(variable);
  return wanted != NULL ? mem_strdup(wanted) : engine_folder(guest_dir, name);
}

static cay_status set_up(cay_engine *e, const cay_engine_options *o, cay_error *err) {
  e->guest_dir = find_guest_dir(o->guest_dir);
  e->extra_dir = e->guest_dir != NULL ? find_extra_dir(e->guest_dir) : NULL;
  if (e->extra_dir == NULL) return err_no_memory(err);
  if (o->image != NULL) {
    if (!cay_image_is_name(o->image))
      return err_set(err, CAY_INVALID, "\"%.60s\" is not the name of an image", o->image);
    e->image_dir = find_image_dir(e->guest_dir, o->image);
    if (e->image_dir == NULL) return err_no_memory(err);
  }
  S_TRY(alarm_set_new(&e->alarms, err));
  S_TRY(eng_engine_new(&(eng_options){ .wasm_stack = WASM_STACK, .cache_dir = o->cache_dir }, &e->wasm, err));
  S_TRY(thread_pool_new(
      &(thread_pool_options){
          .name = "cay-guest", .stack_len = eng_thread_stack(e->wasm), .keep = 4, .linger_ms = 2000 },
      &e->threads, err));
  S_TRY(eng_pool_new(SPARES, &e->spares, err));
  S_TRY(sb_network_host(e, o->net_limits, err));
  cay_status status = sb_guests_load(e, o->image, err);
  return status == CAY_OK || e->image_dir != NULL ? status : err_prefix(err, status, "guests");
}

cay_status cay_engine_new(const cay_engine_options *options, cay_engine **out, cay_error *err) {
  cay_engine_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "engine options: from a newer version of cay.h");
  cay_engine *e = mem_zalloc(sizeof *e);
  if (e == NULL) return err_no_memory(err);
  pthread_mutex_init(&e->boot_mu, NULL);
  e->several_processors = sysconf(_SC_NPROCESSORS_ONLN) > 1;
  e->log = o.log;
  e->log_ctx = o.log_ctx;
  cay_status status = set_up(e, &o, err);
  if (status != CAY_OK) {
    cay_engine_free(e);
    return status;
  }
  *out = e;
  return CAY_OK;
}

cay_status cay_cache_check(const char *dir, cay_error *err) {
  if (dir == NULL) return err_set(err, CAY_INVALID, "the cache folder has no name");
  return eng_cache_check(dir, err);
}

void cay_engine_free(cay_engine *e) {
  if (e == NULL) return;
  net_host_free(e->net);
  thread_pool_free(e->threads);
  eng_pool_free(e->spares);
  sb_guests_free(e);
  eng_engine_free(e->wasm);
  alarm_set_free(e->alarms);
  pthread_mutex_destroy(&e->boot_mu);
  mem_free(e->guest_dir);
  mem_free(e->extra_dir);
  mem_free(e->image_dir);
  mem_free(e);
}

size_t cay_engine_compiling(cay_engine *engine) { return eng_compiling(engine->wasm); }

size_t cay_engine_guests(cay_engine *engine, size_t index, cay_guest *out) {
  if (out != NULL && index < engine->guests->count) sb_guest_describe(&engine->guests->list[index], out);
  return engine->guests->count;
}

const char *cay_engine_guest_dir(cay_engine *engine) { return engine->guest_dir; }
