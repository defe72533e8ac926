/* fake_session.c - sessions that answer with their code: "wait" as code sleeps until it is
 * cancelled, "ask NAME" puts a question to a grant. */
#include "fake_cay.h"

#include "base/alloc.h"
#include "base/error.h"

#include <cay/session.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct cay_session {
  pthread_mutex_t mu;
  pthread_cond_t changed;
  bool cancelled;
};

struct cay_image {
  int unused;
};

struct cay_callback_call {
  pthread_mutex_t mu;
  pthread_cond_t changed;
  bool answered, refused;
  char text[256];
};

/* The last grant; the tests make one at a time. */
static struct {
  char name[64];
  cay_callback_fn *fn;
  void *ctx;
} granted;

static cay_status no_memory(cay_error *err) {
  if (err != NULL) *err = (cay_error){ .status = CAY_NO_MEMORY, .message = "out of memory" };
  return CAY_NO_MEMORY;
}

cay_status cay_session_new(cay_sandbox *box, const cay_session_options *options, cay_session **out,
                           cay_error *err) {
  (void)box, (void)options;
  cay_session *s = mem_zalloc(sizeof *s);
  if (s == NULL) return no_memory(err);
  pthread_mutex_init(&s->mu, NULL);
  pthread_cond_init(&s->changed, NULL);
  *out = s;
  return CAY_OK;
}

void cay_session_free(cay_session *s) { mem_free(s); }

void cay_session_cancel(cay_session *s) {
  pthread_mutex_lock(&s->mu);
  s->cancelled = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

/* ---- grants ---- */

cay_status cay_callback_add(cay_sandbox *box, const cay_callback_options *options, cay_error *err) {
  (void)box;
  if (strcmp(options->name, "bad name") == 0) {
    *err = (cay_error){ .status = CAY_INVALID, .message = "a bad name" };
    return CAY_INVALID;
  }
  (void)snprintf(granted.name, sizeof granted.name, "%s", options->name);
  granted.fn = options->fn;
  granted.ctx = options->ctx;
  return CAY_OK;
}

cay_status cay_callback_remove(cay_sandbox *box, const char *name, cay_error *err) {
  (void)box;
  if (strcmp(granted.name, name) == 0) {
    granted.name[0] = '\0';
    return CAY_OK;
  }
  *err = (cay_error){ .status = CAY_NOT_FOUND, .message = "no grant is called that" };
  return CAY_NOT_FOUND;
}

static void settle(cay_callback_call *r, bool refused, const void *text, size_t len) {
  pthread_mutex_lock(&r->mu);
  (void)snprintf(r->text, sizeof r->text, "%.*s", (int)len, (const char *)text);
  r->refused = refused;
  r->answered = true;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mu);
}

void cay_callback_answer(cay_callback_call *r, cay_slice json) { settle(r, false, json.data, json.len); }
void cay_callback_fail(cay_callback_call *r, const char *message) {
  settle(r, true, message, strlen(message));
}
bool cay_callback_cancelled(cay_callback_call *r) { return (void)r, false; }

static void put_question(char *out, size_t cap) {
  static const char args[] = "{\"a\":\n1}"; /* a line end must not get into a line */
  cay_callback_call r = { .mu = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
  granted.fn(granted.ctx, &r, granted.name, (cay_slice){ args, sizeof args - 1 });
  pthread_mutex_lock(&r.mu);
  while (!r.answered) pthread_cond_wait(&r.changed, &r.mu);
  pthread_mutex_unlock(&r.mu);
  (void)snprintf(out, cap, "%s%s", r.refused ? "refused: " : "", r.text);
}

/* ---- evaluations ---- */

static bool wait_until_cancelled(cay_session *s) {
  pthread_mutex_lock(&s->mu);
  while (!s->cancelled) pthread_cond_wait(&s->changed, &s->mu);
  s->cancelled = false;
  pthread_mutex_unlock(&s->mu);
  return true;
}

typedef struct value {
  cay_value public;
  char repr[512];
} value;

cay_status cay_session_eval(cay_session *s, const cay_eval_options *o, cay_value **out, cay_error *err) {
  value *v = mem_zalloc(sizeof *v);
  if (v == NULL) return no_memory(err);
  (void)snprintf(v->repr, sizeof v->repr, "%.*s", (int)o->code.len, (const char *)o->code.data);
  if (strcmp(v->repr, "wait") == 0 && wait_until_cancelled(s)) {
    v->public.outcome = CAY_OUTCOME_STOPPED;
    v->public.end = CAY_END_CANCELLED;
  } else if (strcmp(v->repr, "ask") == 0) {
    put_question(v->repr, sizeof v->repr);
  } else if (strcmp(v->repr, "print") == 0 && o->output != NULL) {
    o->output(o->output_ctx, 1, (cay_slice){ "out", 3 });
  } else if (strcmp(v->repr, "busy") == 0) {
    mem_free(v);
    *err = (cay_error){ .status = CAY_BUSY, .message = "the session is running something else" };
    return CAY_BUSY;
  }
  v->public.repr = (cay_slice){ v->repr, strlen(v->repr) };
  v->public.json = (cay_slice){ v->repr, strlen(v->repr) };
  *out = &v->public;
  return CAY_OK;
}

typedef struct start {
  cay_session *session;
  cay_eval_options options;
  cay_eval_done_fn *done;
  void *ctx;
} start;

static void *start_run(void *ctx) {
  start *a = ctx;
  cay_value *value = NULL;
  cay_error err = { 0 };
  cay_status status = cay_session_eval(a->session, &a->options, &value, &err);
  a->done(a->ctx, status, value, &err);
  mem_free(a);
  return NULL;
}

/* The code "busy" and "pool" find the session still busy. */
cay_status cay_session_start(cay_session *s, const cay_eval_options *o, cay_eval_done_fn *done, void *ctx,
                             cay_error *err) {
  pthread_t thread;
  start *a = mem_alloc(sizeof *a);
  if (a == NULL) return no_memory(err);
  bool busy =
      o->code.len == 4 && (memcmp(o->code.data, "busy", 4) == 0 || memcmp(o->code.data, "pool", 4) == 0);
  *a = (start){ s, *o, done, ctx };
  if (!busy && pthread_create(&thread, NULL, start_run, a) == 0) return pthread_detach(thread), CAY_OK;
  mem_free(a);
  *err = (cay_error){ .status = CAY_BUSY, .message = "the session is running something else" };
  return CAY_BUSY;
}

void cay_value_free(cay_value *v) { mem_free(v); }

const char *cay_outcome_name(cay_outcome outcome) {
  return outcome == CAY_OUTCOME_STOPPED ? "stopped" : outcome == CAY_OUTCOME_VALUE ? "value" : "other";
}

/* ---- state and images ---- */

cay_status cay_session_save_state(cay_session *s, cay_buf *out, cay_error *err) {
  (void)s;
  void *data = mem_dup("state", 5);
  if (data == NULL) return no_memory(err);
  *out = (cay_buf){ data, 5 };
  return CAY_OK;
}

cay_status cay_session_load_state(cay_session *s, cay_slice bytes, cay_error *err) {
  (void)s;
  if (bytes.len == 5) return CAY_OK;
  *err = (cay_error){ .status = CAY_CORRUPT, .message = "not a saved state" };
  return CAY_CORRUPT;
}

cay_status cay_session_clear_state(cay_session *s, cay_error *err) { return (void)s, (void)err, CAY_OK; }

cay_status cay_session_freeze(cay_session *s, cay_image **out, cay_error *err) {
  (void)s;
  cay_image *image = mem_alloc(sizeof *image);
  if (image == NULL) return no_memory(err);
  *out = image;
  return CAY_OK;
}

cay_status cay_image_load(cay_engine *engine, const char *language, const char *path, cay_image **out,
                          cay_error *err) {
  (void)engine, (void)language;
  if (strcmp(path, "/image") != 0) return err_set(err, CAY_NOT_FOUND, "%.150s: no such file", path);
  *out = mem_alloc(sizeof **out);
  return *out != NULL ? CAY_OK : err_no_memory(err);
}

void cay_image_free(cay_image *image) { mem_free(image); }
