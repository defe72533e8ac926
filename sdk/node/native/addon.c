/* addon.c - the module: open, line, read, write, and what keeps the loop alive. */
#include "addon.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

char *addon_text(napi_env env, napi_value from, size_t *len) {
  size_t need = 0;
  if (napi_get_value_string_utf8(env, from, NULL, 0, &need) != napi_ok) {
    (void)napi_throw_type_error(env, NULL, "the argument must be a string");
    return NULL;
  }
  char *text = mem_alloc(need + 1);
  if (text == NULL) {
    (void)napi_throw_error(env, NULL, "out of memory");
    return NULL;
  }
  (void)napi_get_value_string_utf8(env, from, text, need + 1, len);
  return text;
}

static char *text_or_null(napi_env env, napi_value from) {
  napi_valuetype type = napi_undefined;
  size_t len;
  (void)napi_typeof(env, from, &type);
  return type == napi_string ? addon_text(env, from, &len) : NULL;
}

/* A copy of the bytes of a Buffer, with a NUL behind it. NULL: an exception is pending. */
static char *bytes_copy(napi_env env, napi_value from, size_t *len) {
  void *data = NULL;
  if (napi_get_buffer_info(env, from, &data, len) != napi_ok) {
    (void)napi_throw_type_error(env, NULL, "the argument must be a Buffer");
    return NULL;
  }
  char *copy = mem_alloc(*len + 1);
  if (copy == NULL) {
    (void)napi_throw_error(env, NULL, "out of memory");
    return NULL;
  }
  if (*len != 0) memcpy(copy, data, *len);
  copy[*len] = '\0';
  return copy;
}

static double number_of(napi_env env, napi_value from) {
  double number = 0;
  (void)napi_get_value_double(env, from, &number);
  return number >= 0 ? number : 0;
}

/* -1: at the end. */
static uint64_t offset_of(napi_env env, napi_value from) {
  double number = 0;
  (void)napi_get_value_double(env, from, &number);
  return number < 0 ? UINT64_MAX : (uint64_t)number;
}

static bool bool_of(napi_env env, napi_value from) {
  bool fact = false;
  (void)napi_get_value_bool(env, from, &fact);
  return fact;
}

/* The server and the other arguments. NULL: an exception is pending, or everything has ended. */
static addon_server *server_of(napi_env env, napi_callback_info info, napi_value *given, size_t count) {
  void *server = NULL;
  size_t most = count;
  if (napi_get_cb_info(env, info, &most, given, NULL, NULL) != napi_ok || most < count ||
      napi_get_value_external(env, given[0], &server) != napi_ok) {
    (void)napi_throw_type_error(env, NULL, "the first argument must be a server");
    return NULL;
  }
  addon_server *s = server;
  return s->closed ? NULL : s;
}

/* ---- life ---- */

void addon_server_release(addon_server *s) {
  if (!s->closed || s->calls != 0) return;
  native_free(s->native);
  pthread_mutex_destroy(&s->mu);
  pthread_cond_destroy(&s->given);
  mem_free(s);
}

static void server_wake(void *ctx) {
  addon_server *s = ctx;
  (void)napi_call_threadsafe_function(s->wake, NULL, napi_tsfn_nonblocking);
}

/* On the loop's thread; env is NULL when it ends. */
static void addon_server_drain(napi_env env, napi_value function, void *ctx, void *nothing) {
  addon_server *s = ctx;
  list items;
  (void)function;
  (void)nothing;
  if (env == NULL || s->closed) return;
  list_init(&items);
  native_queue_take(s->native, &items, 0);
  LIST_EACH_SAFE (item, &items, native_item, in_queue) {
    list_remove(&item->in_queue);
    addon_deliver(s, item);
  }
}

/* At the end of the environment. No answer reaches JavaScript any more. */
static void addon_server_close(void *ctx) {
  addon_server *s = ctx;
  list items;
  requests_end(s);
  native_close(s->native);
  list_init(&items);
  native_queue_take(s->native, &items, 0);
  LIST_EACH_SAFE (item, &items, native_item, in_queue) {
    list_remove(&item->in_queue);
    native_item_free(item);
  }
  (void)napi_release_threadsafe_function(s->wake, napi_tsfn_abort);
  s->closed = true;
  addon_server_release(s);
}

static napi_status server_connect(addon_server *s, napi_value deliver) {
  napi_value name;
  napi_status status = napi_create_reference(s->env, deliver, 1, &s->deliver);
  if (status == napi_ok) status = napi_create_string_utf8(s->env, "cay", 3, &name);
  if (status == napi_ok)
    status = napi_create_threadsafe_function(s->env, NULL, NULL, name, 0, 1, NULL, NULL, s, addon_server_drain, &s->wake);
  if (status == napi_ok) status = napi_unref_threadsafe_function(s->env, s->wake);
  return status;
}

static addon_server *server_new(napi_env env) {
  addon_server *s = mem_zalloc(sizeof *s);
  native *n = mem_zalloc(sizeof *n);
  if (s == NULL || n == NULL) {
    mem_free(s);
    mem_free(n);
    return NULL;
  }
  *s = (addon_server){ .native = n, .env = env };
  n->on_queued = server_wake;
  n->on_queued_ctx = s;
  pthread_mutex_init(&s->mu, NULL);
  pthread_cond_init(&s->given, NULL);
  list_init(&s->requests);
  return s;
}

/* Frees a server that could not be opened. */
static napi_value server_refuse(addon_server *s, const char *why) {
  if (s->wake != NULL) (void)napi_release_threadsafe_function(s->wake, napi_tsfn_abort);
  (void)napi_throw_error(s->env, NULL, why);
  s->closed = true;
  addon_server_release(s);
  return NULL;
}

static napi_value addon_open(napi_env env, napi_callback_info info) {
  napi_value given[3] = { NULL }, external = NULL;
  size_t count = 3;
  cay_error err = { .message = "out of memory" };
  (void)napi_get_cb_info(env, info, &count, given, NULL, NULL);
  addon_server *s = server_new(env);
  if (s == NULL) {
    (void)napi_throw_error(env, NULL, err.message);
    return NULL;
  }
  if (server_connect(s, given[2]) != napi_ok) return server_refuse(s, "the loop cannot be reached");
  char *guest_dir = text_or_null(env, given[0]), *cache_dir = text_or_null(env, given[1]);
  cay_status status = native_open(s->native, guest_dir, cache_dir, &err);
  mem_free(guest_dir);
  mem_free(cache_dir);
  if (status != CAY_OK) return server_refuse(s, err.message);
  (void)napi_add_env_cleanup_hook(env, addon_server_close, s);
  (void)napi_create_external(env, s, NULL, NULL, &external);
  return external;
}

/* ---- requests ---- */

static void request_put(addon_server *s, request *r) {
  if (!requests_put(s, r)) (void)napi_throw_error(s->env, NULL, "there is no thread for requests");
}

static request *request_new(napi_env env, request_kind kind) {
  request *r = mem_zalloc(sizeof *r);
  if (r == NULL) (void)napi_throw_error(env, NULL, "out of memory");
  if (r != NULL) r->kind = kind;
  return r;
}

/* line(server, text, now): answered through deliver. now: it only starts something, and need not wait for the thread of requests. */
static napi_value addon_line(napi_env env, napi_callback_info info) {
  napi_value given[3];
  size_t len = 0;
  addon_server *s = server_of(env, info, given, 3);
  char *text = s != NULL ? addon_text(env, given[1], &len) : NULL;
  if (text == NULL) return NULL;
  if (bool_of(env, given[2]) && requests_idle(s) && native_line_try(s->native, text, len)) {
    mem_free(text);
    return NULL;
  }
  request *r = request_new(env, REQUEST_LINE);
  if (r == NULL) {
    mem_free(text);
    return NULL;
  }
  r->data = text;
  r->len = len;
  request_put(s, r);
  return NULL;
}

/* What read and write have in common. NULL: an exception is pending. */
static request *file_request(napi_env env, const napi_value *given, request_kind kind) {
  size_t len;
  request *r = request_new(env, kind);
  if (r == NULL) return NULL;
  r->number = (uint64_t)number_of(env, given[1]);
  r->sandbox = addon_text(env, given[2], &len);
  r->path = r->sandbox != NULL ? bytes_copy(env, given[3], &len) : NULL;
  r->offset = offset_of(env, given[4]);
  if (r->path != NULL && strlen(r->path) == len) return r;
  if (r->path != NULL) (void)napi_throw_error(env, NULL, "EINVAL: the path has a NUL in it");
  request_free(r);
  return NULL;
}

/* read(server, number, sandbox, path, offset, length) */
static napi_value addon_read(napi_env env, napi_callback_info info) {
  napi_value given[6];
  addon_server *s = server_of(env, info, given, 6);
  request *r = s != NULL ? file_request(env, given, REQUEST_READ) : NULL;
  if (r == NULL) return NULL;
  r->len = (size_t)number_of(env, given[5]);
  request_put(s, r);
  return NULL;
}

/* write(server, number, sandbox, path, offset, data, mode, part); offset -1: at the end */
static napi_value addon_write(napi_env env, napi_callback_info info) {
  napi_value given[8];
  addon_server *s = server_of(env, info, given, 8);
  request *r = s != NULL ? file_request(env, given, REQUEST_WRITE) : NULL;
  if (r == NULL) return NULL;
  r->data = bytes_copy(env, given[5], &r->len);
  r->mode = (unsigned)number_of(env, given[6]);
  r->part = bool_of(env, given[7]);
  if (r->data != NULL)
    request_put(s, r);
  else
    request_free(r);
  return NULL;
}

/* hold(server, on): while on, answers that are to come keep the loop alive. */
static napi_value addon_hold(napi_env env, napi_callback_info info) {
  napi_value given[2];
  addon_server *s = server_of(env, info, given, 2);
  if (s == NULL) return NULL;
  if (bool_of(env, given[1]))
    (void)napi_ref_threadsafe_function(env, s->wake);
  else
    (void)napi_unref_threadsafe_function(env, s->wake);
  return NULL;
}

/* ---- the module ---- */

static const struct {
  const char *name;
  napi_callback fn;
} FUNCTIONS[] = {
  { "open", addon_open },   { "line", addon_line }, { "read", addon_read }, { "write", addon_write },
  { "answer", addon_answer }, { "fail", addon_fail }, { "hold", addon_hold },
};

NAPI_MODULE_INIT() {
  for (size_t i = 0; i < COUNT_OF(FUNCTIONS); i++) {
    napi_value function = NULL;
    if (napi_create_function(env, FUNCTIONS[i].name, NAPI_AUTO_LENGTH, FUNCTIONS[i].fn, NULL, &function) != napi_ok ||
        napi_set_named_property(env, exports, FUNCTIONS[i].name, function) != napi_ok)
      return NULL;
  }
  return exports;
}
