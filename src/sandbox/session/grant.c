#include "sandbox/session/grant.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "sandbox/session/json.h"
#include "sandbox/session/schema.h"

#include <stdatomic.h>
#include <string.h>

enum { NAME_MAX_LEN = 128, GRANTS_MAX = 1024, TEXT_MAX = 1 << 20, WHY_MAX = 2048 };

typedef struct grant {
  list node;
  uint32_t refs; /* the list's, and one for each question that is being put */
  char *name, *description;
  sb_schema *schema; /* NULL: any object */
  cay_grant_fn *fn;
  void *ctx;
} grant;

struct sb_grants {
  atomic_uint refs; /* the sandbox's, and one for each question */
  pthread_mutex_t mu;
  cay_sandbox *box;
  k_asker asker;
  list grants;   /* by name */
  list requests; /* that wait */
  size_t count;
  uint64_t version;
};

struct cay_request {
  sb_grants *grants;
  list node;
  k_ask *ask; /* a reference; NULL: the answer has no receiver any more */
};

/* ---- life ---- */

static void unref(sb_grants *g) {
  if (atomic_fetch_sub(&g->refs, 1) > 1) return;
  pthread_mutex_destroy(&g->mu);
  mem_free(g);
}

/* With mu. */
static void grant_unref(grant *one) {
  if (one == NULL || --one->refs > 0) return;
  mem_free(one->name);
  mem_free(one->description);
  sb_schema_free(one->schema);
  mem_free(one);
}

static grant *grant_find(sb_grants *g, const char *name, size_t len) {
  LIST_EACH (one, &g->grants, grant, node) {
    if (strlen(one->name) == len && memcmp(one->name, name, len) == 0) return one;
  }
  return NULL;
}

static void grant_drop(sb_grants *g, grant *one) {
  list_remove(&one->node);
  g->count--;
  grant_unref(one);
}

void sb_grants_close(sb_grants *g) {
  if (g == NULL) return;
  pthread_mutex_lock(&g->mu);
  LIST_EACH_SAFE (one, &g->grants, grant, node) grant_drop(g, one);
  LIST_EACH_SAFE (request, &g->requests, cay_request, node) {
    list_remove(&request->node);
    k_lock(g->box->kernel);
    k_ask_unref(request->ask);
    k_unlock(g->box->kernel);
    request->ask = NULL;
  }
  g->box = NULL;
  pthread_mutex_unlock(&g->mu);
  unref(g);
}

/* ---- questions ---- */

/* With mu. Takes over `data`. */
static void grant_settle(cay_request *request, bool refused, uint8_t *data, size_t len) {
  k_kernel *k = request->ask->kernel;
  list_remove(&request->node);
  k_lock(k);
  k_ask_answer(request->ask, refused, data, len);
  k_unlock(k);
  request->ask = NULL;
}

/* An answer that there is no memory for is a refusal without text. */
static void grant_answer(cay_request *request, bool refused, const void *text, size_t len) {
  sb_grants *g = request->grants;
  uint8_t *copy = len != 0 ? mem_dup(text, len) : NULL;
  pthread_mutex_lock(&g->mu);
  if (request->ask != NULL)
    grant_settle(request, refused || (len != 0 && copy == NULL), copy, copy != NULL ? len : 0);
  else
    mem_free(copy);
  pthread_mutex_unlock(&g->mu);
  mem_free(request);
  unref(g);
}

void cay_request_answer(cay_request *request, cay_slice json) {
  grant_answer(request, false, json.data, json.len);
}

void cay_request_fail(cay_request *request, const char *message) {
  grant_answer(request, true, message, strlen(message));
}

bool cay_request_cancelled(cay_request *request) {
  sb_grants *g = request->grants;
  pthread_mutex_lock(&g->mu);
  bool cancelled = request->ask == NULL;
  if (!cancelled) {
    k_lock(request->ask->kernel);
    cancelled = request->ask->dropped;
    k_unlock(request->ask->kernel);
  }
  pthread_mutex_unlock(&g->mu);
  return cancelled;
}

static cay_request *request_new(sb_grants *g, k_ask *ask) {
  cay_request *request = mem_alloc(sizeof *request);
  if (request == NULL) return NULL;
  *request = (cay_request){ .grants = g, .ask = ask };
  atomic_fetch_add(&g->refs, 1);
  pthread_mutex_lock(&g->mu);
  list_push(&g->requests, &request->node);
  pthread_mutex_unlock(&g->mu);
  return request;
}

static k_ret grant_ask(void *ctx, k_ask *question, const char *name, size_t name_len, const void *args,
                       size_t args_len) {
  sb_grants *g = ctx;
  char why[WHY_MAX];
  pthread_mutex_lock(&g->mu);
  grant *one = grant_find(g, name, name_len);
  if (one != NULL) one->refs++;
  pthread_mutex_unlock(&g->mu);
  if (one == NULL) return -K_ENOENT;
  enum sb_fit fit = sb_schema_fits(one->schema, (cay_slice){ args, args_len }, why, sizeof why);
  cay_request *request = fit == SB_FIT_NO_MEMORY ? NULL : request_new(g, question);
  if (request != NULL && fit == SB_FIT)
    one->fn(one->ctx, request, one->name, (cay_slice){ args, args_len });
  else if (request != NULL)
    cay_request_fail(request, why);
  pthread_mutex_lock(&g->mu);
  grant_unref(one);
  pthread_mutex_unlock(&g->mu);
  return request != NULL ? 0 : -K_ENOMEM;
}

/* ---- the list ---- */

static cay_status append_one(buf *to, const grant *one) {
  if (to->len > 1) S_TRY(buf_append_byte(to, ','));
  S_TRY(buf_appendf(to, "{\"name\":\"%s\",\"description\":", one->name)); /* a name has nothing to escape */
  S_TRY(sb_json_text(to, one->description != NULL ? one->description : ""));
  S_TRY(buf_append_text(to, ",\"parameters\":"));
  S_TRY(buf_append_text(to, one->schema != NULL ? sb_schema_text(one->schema) : "{\"type\":\"object\"}"));
  return buf_append_byte(to, '}');
}

static cay_status append_all(sb_grants *g, buf *to) {
  S_TRY(buf_append_byte(to, '['));
  LIST_EACH (one, &g->grants, grant, node) S_TRY(append_one(to, one));
  return buf_append_byte(to, ']');
}

static k_ret grant_list_all(void *ctx, char **out, size_t *len) {
  sb_grants *g = ctx;
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

cay_status sb_grants_new(cay_sandbox *box, sb_grants **out, cay_error *err) {
  sb_grants *g = mem_zalloc(sizeof *g);
  if (g == NULL) return err_no_memory(err);
  atomic_init(&g->refs, 1);
  pthread_mutex_init(&g->mu, NULL);
  g->box = box;
  g->asker = (k_asker){ .ask = grant_ask, .list = grant_list_all, .ctx = g };
  list_init(&g->grants);
  list_init(&g->requests);
  *out = g;
  return CAY_OK;
}

const k_asker *sb_grants_asker(const sb_grants *grants) { return &grants->asker; }

uint64_t sb_grants_version(sb_grants *g) {
  pthread_mutex_lock(&g->mu);
  uint64_t version = g->version;
  pthread_mutex_unlock(&g->mu);
  return version;
}

static bool grant_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool is_name(const char *name) {
  size_t len = strlen(name);
  if (len == 0 || len > NAME_MAX_LEN || name[0] == '.' || name[len - 1] == '.') return false;
  for (size_t i = 0; i < len; i++)
    if (!grant_is_word(name[i]) && !(name[i] == '.' && name[i + 1] != '.')) return false;
  return true;
}

static cay_status grant_fill(grant *one, const cay_grant_options *o, cay_error *err) {
  one->name = mem_strdup(o->name);
  if (one->name == NULL) return err_no_memory(err);
  if (o->description != NULL && (one->description = mem_strdup(o->description)) == NULL)
    return err_no_memory(err);
  if (o->schema == NULL) return CAY_OK;
  cay_status status = sb_schema_new(o->schema, &one->schema, err);
  return status == CAY_OK ? CAY_OK : err_prefix(err, status, "schema of %.100s", o->name);
}

/* With mu. */
static cay_status grant_add(sb_grants *g, grant *one, cay_error *err) {
  grant *before = grant_find(g, one->name, strlen(one->name));
  if (before == NULL && g->count == GRANTS_MAX)
    return err_set(err, CAY_LIMIT, "a sandbox has at most %d grants", GRANTS_MAX);
  if (before != NULL) grant_drop(g, before);
  list_push(&g->grants, &one->node);
  g->count++;
  g->version++;
  return CAY_OK;
}

cay_status cay_grant(cay_sandbox *box, const cay_grant_options *options, cay_error *err) {
  cay_grant_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "grant options: from a newer version of session.h");
  if (o.name == NULL || !is_name(o.name) || o.fn == NULL)
    return err_set(err, CAY_INVALID,
                   "a grant needs a function and a name of letters, digits, '_', '-' and single '.'");
  grant *one = mem_zalloc(sizeof *one);
  if (one == NULL) return err_no_memory(err);
  *one = (grant){ .refs = 1, .fn = o.fn, .ctx = o.ctx };
  list_init(&one->node);
  cay_status status = grant_fill(one, &o, err);
  pthread_mutex_lock(&box->grants->mu);
  if (status == CAY_OK) status = grant_add(box->grants, one, err);
  if (status != CAY_OK) grant_unref(one);
  pthread_mutex_unlock(&box->grants->mu);
  return status;
}

cay_status cay_revoke(cay_sandbox *box, const char *name, cay_error *err) {
  sb_grants *g = box->grants;
  pthread_mutex_lock(&g->mu);
  grant *one = grant_find(g, name, strlen(name));
  if (one != NULL) {
    grant_drop(g, one);
    g->version++;
  }
  pthread_mutex_unlock(&g->mu);
  return one != NULL ? CAY_OK : err_set(err, CAY_NOT_FOUND, "no grant is called %.100s", name);
}
