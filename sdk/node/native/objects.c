/* objects.c - items from the server as arguments of the function `deliver`.
 *
 *   0, number, line
 *   1, number, outcome, stdout, stderr, ms, json, repr, error type, error text, traceback, line, exit code, end, undone, detail, fuel, flags, bundle
 *   2, number, exit code, stdout, stderr, ms, end, detail, fuel, flags
 *   3, sandbox, name, arguments, call
 *   4, number, code, bytes, why
 *
 * The output of commands and the contents of files are Buffers; other texts are strings, in which ill-formed bytes are U+FFFD. Absent
 * values are undefined. */
#include "addon.h"

#include "base/alloc.h"

#include <string.h>

enum { ARGUMENTS_MAX = 20 };
enum { OUT_CUT = 1, ERR_CUT = 2, REPR_CUT = 4, VALUE_TOO_LARGE = 8, BUNDLE_TOO_LARGE = 16 };

typedef struct arguments {
  napi_env env;
  size_t count;
  napi_value values[ARGUMENTS_MAX];
} arguments;

/* ---- values ---- */

/* What could not be made, for lack of memory, is undefined. */
static void add(arguments *to, napi_status status, napi_value value) {
  if (status != napi_ok) (void)napi_get_undefined(to->env, &value);
  to->values[to->count++] = value;
}

static void add_nothing(arguments *to) { add(to, napi_generic_failure, NULL); }

static void add_number(arguments *to, double number) {
  napi_value value = NULL;
  napi_status status = napi_create_double(to->env, number, &value);
  add(to, status, value);
}

static void add_bool(arguments *to, bool fact) {
  napi_value value = NULL;
  napi_status status = napi_get_boolean(to->env, fact, &value);
  add(to, status, value);
}

static void add_text(arguments *to, cay_slice text) {
  napi_value value = NULL;
  napi_status status = napi_create_string_utf8(to->env, text.len != 0 ? text.data : "", text.len, &value);
  add(to, status, value);
}

static void add_name(arguments *to, const char *name) { add_text(to, (cay_slice){ name, strlen(name) }); }

static void add_text_if_any(arguments *to, cay_slice text) {
  if (text.len != 0)
    add_text(to, text);
  else
    add_nothing(to);
}

static void add_bytes(arguments *to, cay_slice bytes) {
  napi_value value = NULL;
  napi_status status = napi_create_buffer_copy(to->env, bytes.len, bytes.len != 0 ? bytes.data : "", NULL, &value);
  add(to, status, value);
}

static double ms_of(uint64_t ns) { return (double)(ns / 1000) / 1000.0; }

/* ---- evaluations and commands ---- */

static void add_error(arguments *to, const cay_value *v) {
  bool any = v->error_type.len != 0;
  add_text_if_any(to, v->error_type);
  add_text_if_any(to, any ? v->error_text : (cay_slice){ 0 });
  add_text_if_any(to, any ? v->traceback : (cay_slice){ 0 });
  add_number(to, any ? v->error_line : 0);
}

static int value_flags(const cay_value *v) {
  return (v->out_cut ? OUT_CUT : 0) | (v->err_cut ? ERR_CUT : 0) | (v->repr_cut ? REPR_CUT : 0) |
         (v->json_too_large ? VALUE_TOO_LARGE : 0) | (v->bundle_too_large ? BUNDLE_TOO_LARGE : 0);
}

static void add_value(arguments *to, const cay_value *v) {
  bool stopped = v->outcome == CAY_OUTCOME_STOPPED;
  add_name(to, cay_outcome_name(v->outcome));
  add_text(to, v->out);
  add_text(to, v->err);
  add_number(to, ms_of(v->wall_ns));
  add_text_if_any(to, v->json);
  add_text_if_any(to, v->repr);
  add_error(to, v);
  if (v->outcome == CAY_OUTCOME_EXIT || (stopped && v->end == CAY_END_EXIT))
    add_number(to, v->exit_code);
  else
    add_nothing(to);
  if (stopped)
    add_name(to, cay_end_name(v->end));
  else
    add_nothing(to);
  add_bool(to, stopped && v->undone);
  add_text_if_any(to, stopped ? v->detail : (cay_slice){ 0 });
  add_number(to, (double)v->fuel);
  add_number(to, value_flags(v));
  add_text_if_any(to, v->bundle);
}

static void add_run_end(arguments *to, const serve_run_end *e) {
  add_number(to, e->exit_code);
  add_bytes(to, e->out);
  add_bytes(to, e->err);
  add_number(to, ms_of(e->wall_ns));
  add_name(to, cay_end_name(e->end));
  add_text_if_any(to, e->detail);
  add_number(to, (double)e->fuel);
  add_number(to, (e->out_cut ? OUT_CUT : 0) | (e->err_cut ? ERR_CUT : 0));
}

/* ---- files ---- */

static void bytes_free(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  mem_free(data);
}

/* Takes the item's bytes. */
static void add_file(arguments *to, native_item *item) {
  napi_value value = NULL;
  cay_slice bytes = { item->line, item->len };
  add_number(to, item->code);
  if (item->line == NULL || item->code != 0) {
    add_nothing(to);
  } else if (napi_create_external_buffer(to->env, item->len, item->line, bytes_free, NULL, &value) == napi_ok) {
    item->line = NULL;
    add(to, napi_ok, value);
  } else {
    add_bytes(to, bytes);
  }
  add_text_if_any(to, item->code != 0 ? bytes : (cay_slice){ 0 });
}

/* ---- calls ---- */

static void call_forget(napi_env env, void *data, void *hint) {
  native_call *c = data;
  (void)env;
  native_call_fail(c, "the callback was not answered");
  native_call_unref(c);
  addon_server *s = hint;
  s->calls--;
  addon_server_release(s);
}

/* Takes the item's call. */
static void add_call(addon_server *s, arguments *to, native_item *item) {
  native_call *c = item->call;
  napi_value value = NULL;
  add_name(to, c->sandbox);
  add_name(to, c->name);
  add_text(to, (cay_slice){ c->args, c->args_len });
  napi_status status = napi_create_external(to->env, c, call_forget, s, &value);
  add(to, status, value);
  if (status != napi_ok) return; /* freed with the item, and the guest is told */
  item->call = NULL;
  s->calls++;
}

static native_call *call_of(napi_env env, napi_callback_info info, char **text, size_t *len) {
  napi_value given[2] = { NULL };
  size_t count = 2;
  void *call = NULL;
  if (napi_get_cb_info(env, info, &count, given, NULL, NULL) != napi_ok ||
      napi_get_value_external(env, given[0], &call) != napi_ok) {
    (void)napi_throw_type_error(env, NULL, "the first argument must be a call");
    return NULL;
  }
  *text = addon_text(env, given[1], len);
  return *text != NULL ? call : NULL;
}

napi_value addon_answer(napi_env env, napi_callback_info info) {
  char *text = NULL;
  size_t len = 0;
  native_call *c = call_of(env, info, &text, &len);
  if (c != NULL) native_call_answer(c, (cay_slice){ text, len });
  mem_free(text);
  return NULL;
}

napi_value addon_fail(napi_env env, napi_callback_info info) {
  char *text = NULL;
  size_t len = 0;
  native_call *c = call_of(env, info, &text, &len);
  if (c != NULL) native_call_fail(c, text);
  mem_free(text);
  return NULL;
}

/* ---- items ---- */

static void item_arguments(addon_server *s, native_item *item, arguments *to) {
  add_number(to, item->kind);
  if (item->kind != NATIVE_CALL) add_number(to, (double)item->number);
  switch (item->kind) {
  case NATIVE_LINE: add_text(to, (cay_slice){ item->line, item->len }); break;
  case NATIVE_VALUE: add_value(to, item->value); break;
  case NATIVE_RUN_END: add_run_end(to, item->end); break;
  case NATIVE_CALL: add_call(s, to, item); break;
  case NATIVE_FILE: add_file(to, item); break;
  }
}

/* `deliver` lets no exception out; one of the engine itself, at its termination, stays pending. */
void addon_deliver(addon_server *s, native_item *item) {
  arguments to = { .env = s->env };
  napi_handle_scope scope = NULL;
  napi_value deliver = NULL, receiver = NULL;
  if (napi_open_handle_scope(s->env, &scope) == napi_ok) {
    item_arguments(s, item, &to);
    if (napi_get_reference_value(s->env, s->deliver, &deliver) == napi_ok &&
        napi_get_undefined(s->env, &receiver) == napi_ok)
      (void)napi_call_function(s->env, receiver, deliver, to.count, to.values, NULL);
    (void)napi_close_handle_scope(s->env, scope);
  }
  native_item_free(item);
}
