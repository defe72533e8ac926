/* callback.c - the callbacks of a sandbox: their list, calls from guests, and answers (callback.h). */
#include "sandbox/session/callback.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "sandbox/scrub.h"
#include "sandbox/session/json.h"
#include "sandbox/session/schema.h"

#include <stdatomic.h>
#include <string.h>

enum { NAME_MAX_LEN = 128, CALLBACKS_MAX = 1024, TEXT_MAX = 1 << 20, WHY_MAX = 2048 };

typedef struct callback {
  list node;
  uint32_t refs; /* the list's, and one for each call that is being made */
  char *name, *description;
  sb_schema *schema; /* NULL: any object */
  cay_callback_fn *fn;
  void *ctx;
} callback;

struct sb_callbacks {
  atomic_uint refs; /* the sandbox's, and one for each call */
  pthread_mutex_t mu;
  cay_sandbox *box;
  k_callback_host callback_host;
  list callbacks; /* by name */
  list requests;  /* that wait */
  size_t count;
  uint64_t version;
};

struct cay_callback_call {
  sb_callbacks *callbacks;
  list node;
  k_callback *call; /* a reference; NULL: the answer has no receiver any more */
};

/* ---- life ---- */

static void unref(sb_callbacks *g) {
  if (atomic_fetch_sub(&g->refs, 1) > 1) return;
  pthread_mutex_destroy(&g->mu);
  mem_free(g);
}

/* With mu. */
static void callback_unref(callback *one) {
  if (one == NULL || --one->refs > 0) return;
  mem_free(one->name);
  mem_free(one->description);
  sb_schema_free(one->schema);
  mem_free(one);
}

static callback *callback_find(sb_callbacks *g, const char *name, size_t len) {
  LIST_EACH (one, &g->callbacks, callback, node) {
    if (strlen(one->name) == len && memcmp(one->name, name, len) == 0) return one;
  }
  return NULL;
}

static void callback_drop(sb_callbacks *g, callback *one) {
  list_remove(&one->node);
  g->count--;
  callback_unref(one);
}

void sb_callbacks_close(sb_callbacks *g) {
  if (g == NULL) return;
  pthread_mutex_lock(&g->mu);
  LIST_EACH_SAFE (one, &g->callbacks, callback, node) callback_drop(g, one);
  LIST_EACH_SAFE (request, &g->requests, cay_callback_call, node) {
    list_remove(&request->node);
    k_lock(g->box->kernel);
    k_callback_unref(request->call);
    k_unlock(g->box->kernel);
    request->call = NULL;
  }
  g->box = NULL;
  pthread_mutex_unlock(&g->mu);
  unref(g);
}

/* ---- questions ---- */

/* With mu. Takes over `data`. */
static void callback_settle(cay_callback_call *request, bool refused, uint8_t *data, size_t len) {
  k_kernel *k = request->call->kernel;
  list_remove(&request->node);
  k_lock(k);
  k_callback_answer(request->call, refused, data, len);
  k_unlock(k);
  request->call = NULL;
}

/* An answer that there is no memory for is a refusal without text. */
static void callback_answer(cay_callback_call *request, bool refused, const void *text, size_t len) {
  sb_callbacks *g = request->callbacks;
  uint8_t *copy = len != 0 ? mem_dup(text, len) : NULL;
  pthread_mutex_lock(&g->mu);
  if (request->call != NULL)
    callback_settle(request, refused || (len != 0 && copy == NULL), copy, copy != NULL ? len : 0);
  else
    mem_free(copy);
  pthread_mutex_unlock(&g->mu);
  mem_free(request);
  unref(g);
}

void cay_callback_answer(cay_callback_call *request, cay_slice json) {
  callback_answer(request, false, json.data, json.len);
}

void cay_callback_fail(cay_callback_call *request, const char *message) {
  callback_answer(request, true, message, strlen(message));
}

bool cay_callback_cancelled(cay_callback_call *request) {
  sb_callbacks *g = request->callbacks;
  pthread_mutex_lock(&g->mu);
  bool cancelled = request->call == NULL;
  if (!cancelled) {
    k_lock(request->call->kernel);
    cancelled = request->call->dropped;
    k_unlock(request->call->kernel);
  }
  pthread_mutex_unlock(&g->mu);
  return cancelled;
}

static cay_callback_call *request_new(sb_callbacks *g, k_callback *call) {
  cay_callback_call *request = mem_alloc(sizeof *request);
  if (request == NULL) return NULL;
  *request = (cay_callback_call){ .callbacks = g, .call = call };
  atomic_fetch_add(&g->refs, 1);
  pthread_mutex_lock(&g->mu);
  list_push(&g->requests, &request->node);
  pthread_mutex_unlock(&g->mu);
  return request;
}

static void callback_give(const cay_sandbox *box, const callback *one, cay_callback_call *request,
                          cay_slice args) {
  OWNED(buf_free) buf copy = BUF_INIT(BUF_UNLIMITED);
  if (sb_scrubs(box) && buf_append(&copy, args.data, args.len) != CAY_OK) {
    cay_callback_fail(request, "no memory for its arguments");
    return;
  }
  if (sb_scrubs(box)) {
    args.data = copy.data;
    sb_scrub_slice(box, args);
  }
  one->fn(one->ctx, request, one->name, args);
}

static k_ret callback_call(void *ctx, k_callback *call, const char *name, size_t name_len, const void *args,
                           size_t args_len) {
  sb_callbacks *g = ctx;
  char why[WHY_MAX];
  pthread_mutex_lock(&g->mu);
  callback *one = callback_find(g, name, name_len);
  if (one != NULL) one->refs++;
  pthread_mutex_unlock(&g->mu);
  if (one == NULL) return -K_ENOENT;
  enum sb_fit fit = sb_schema_fits(one->schema, (cay_slice){ args, args_len }, why, sizeof why);
  cay_callback_call *request = fit == SB_FIT_NO_MEMORY ? NULL : request_new(g, call);
  if (request != NULL && fit == SB_FIT)
    callback_give(g->box, one, request, (cay_slice){ args, args_len });
  else if (request != NULL)
    cay_callback_fail(request, why);
  pthread_mutex_lock(&g->mu);
  callback_unref(one);
  pthread_mutex_unlock(&g->mu);
  return request != NULL ? 0 : -K_ENOMEM;
}

/* ---- the list ---- */

static cay_status append_one(buf *to, const callback *one) {
  if (to->len > 1) S_TRY(buf_append_byte(to, ','));
  S_TRY(buf_appendf(to, "{\"name\":\"%s\",\"description\":", one->name)); /* a name has nothing to escape */
  S_TRY(sb_json_text(to, one->description != NULL ? one->description : ""));
  S_TRY(buf_append_text(to, ",\"parameters\":"));
  S_TRY(buf_append_text(to, one->schema != NULL ? sb_schema_text(one->schema) : "{\"type\":\"object\"}"));
  return buf_append_byte(to, '}');
}

static cay_status append_all(sb_callbacks *g, buf *to) {
  S_TRY(buf_append_byte(to, '['));
  LIST_EACH (one, &g->callbacks, callback, node) S_TRY(append_one(to, one));
  return buf_append_byte(to, ']');
}

static k_ret callback_list_all(void *ctx, char **out, size_t *len) {
  sb_callbacks *g = ctx;
  buf text = BUF_INIT(INT32_MAX);
  pthread_mutex_lock(&g->mu);
  cay_status status = append_all(g, &text);
  pthread_mutex_unlock(&g->mu);
  if (status != CAY_OK) {
    buf_free(&text);
    return -K_ENOMEM;
  }
  cay_buf taken = buf_take(&text);
  *out = taken.data;
  *len = taken.len;
  return 0;
}

/* ---- granting ---- */

cay_status sb_callbacks_new(cay_sandbox *box, sb_callbacks **out, cay_error *err) {
  sb_callbacks *g = mem_zalloc(sizeof *g);
  if (g == NULL) return err_no_memory(err);
  atomic_init(&g->refs, 1);
  pthread_mutex_init(&g->mu, NULL);
  g->box = box;
  g->callback_host = (k_callback_host){ .call = callback_call, .list = callback_list_all, .ctx = g };
  list_init(&g->callbacks);
  list_init(&g->requests);
  *out = g;
  return CAY_OK;
}

const k_callback_host *sb_callbacks_host(const sb_callbacks *callbacks) { return &callbacks->callback_host; }

uint64_t sb_callbacks_version(sb_callbacks *g) {
  pthread_mutex_lock(&g->mu);
  uint64_t version = g->version;
  pthread_mutex_unlock(&g->mu);
  return version;
}

static bool callback_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool is_name(const char *name) {
  size_t len = strlen(name);
  if (len == 0 || len > NAME_MAX_LEN || name[0] == '.' || name[len - 1] == '.') return false;
  for (size_t i = 0; i < len; i++)
    if (!callback_is_word(name[i]) && !(name[i] == '.' && name[i + 1] != '.')) return false;
  return true;
}

static cay_status callback_fill(callback *one, const cay_callback_options *o, cay_error *err) {
  one->name = mem_strdup(o->name);
  if (one->name == NULL) return err_no_memory(err);
  if (o->description != NULL && (one->description = mem_strdup(o->description)) == NULL)
    return err_no_memory(err);
  if (o->schema == NULL) return CAY_OK;
  cay_status status = sb_schema_new(o->schema, &one->schema, err);
  return status == CAY_OK ? CAY_OK : err_prefix(err, status, "schema of %.100s", o->name);
}

/* With mu. */
static cay_status callback_add(sb_callbacks *g, callback *one, cay_error *err) {
  callback *before = callback_find(g, one->name, strlen(one->name));
  if (before == NULL && g->count == CALLBACKS_MAX)
    return err_set(err, CAY_LIMIT, "a sandbox has at most %d callbacks", CALLBACKS_MAX);
  if (before != NULL) callback_drop(g, before);
  list_push(&g->callbacks, &one->node);
  g->count++;
  g->version++;
  return CAY_OK;
}

cay_status cay_callback_add(cay_sandbox *box, const cay_callback_options *options, cay_error *err) {
  cay_callback_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "callback options: from a newer version of session.h");
  if (o.name == NULL || !is_name(o.name) || o.fn == NULL)
    return err_set(err, CAY_INVALID,
                   "a callback needs a function and a name of letters, digits, '_', '-' and single '.'");
  callback *one = mem_zalloc(sizeof *one);
  if (one == NULL) return err_no_memory(err);
  *one = (callback){ .refs = 1, .fn = o.fn, .ctx = o.ctx };
  list_init(&one->node);
  cay_status status = callback_fill(one, &o, err);
  pthread_mutex_lock(&box->callbacks->mu);
  if (status == CAY_OK) status = callback_add(box->callbacks, one, err);
  if (status != CAY_OK) callback_unref(one);
  pthread_mutex_unlock(&box->callbacks->mu);
  return status;
}

cay_status cay_callback_remove(cay_sandbox *box, const char *name, cay_error *err) {
  sb_callbacks *g = box->callbacks;
  pthread_mutex_lock(&g->mu);
  callback *one = callback_find(g, name, strlen(name));
  if (one != NULL) {
    callback_drop(g, one);
    g->version++;
  }
  pthread_mutex_unlock(&g->mu);
  return one != NULL ? CAY_OK : err_set(err, CAY_NOT_FOUND, "no callback is called %.100s", name);
}
