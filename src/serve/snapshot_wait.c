/* snapshot_wait.c - snapshots that wait until their sandbox rests (snapshot.take with waitMs). The reading thread goes on
 * meanwhile, since the sandbox may rest only after another request. */
#include "serve/snapshot.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#include <string.h>

enum { SLICE_MS = 50 /* after which the end of the sandbox is noticed */ };

typedef struct snapshot_wait {
  server *server;
  serve_box *box;
  serve_snapshot *one;
  rpc_id id;
  cay_snapshot_options how;
  char *label;
  int64_t deadline_ns;
} snapshot_wait;

static void wait_free(snapshot_wait *w) {
  mem_free(w->label);
  mem_free(w);
}

static bool wait_is_over(const snapshot_wait *w) {
  pthread_mutex_lock(&w->server->mu);
  bool over = w->box->takes_end;
  pthread_mutex_unlock(&w->server->mu);
  return over || clock_mono_ns() >= w->deadline_ns;
}

static cay_status wait_take(snapshot_wait *w, cay_snapshot **out, cay_error *err) {
  for (;;) {
    int64_t left_ms = (w->deadline_ns - clock_mono_ns()) / NS_PER_MS;
    w->how.wait_ms = left_ms < 1 ? 1 : left_ms < SLICE_MS ? (uint32_t)left_ms : SLICE_MS;
    cay_status status = cay_snapshot_take(w->box->sandbox, &w->how, out, err);
    if (status != CAY_BUSY || wait_is_over(w)) return status;
  }
}

static void wait_answer(const snapshot_wait *w, const cay_snapshot *snapshot, const cay_error *err) {
  call c = {
    .server = w->server, .id = &w->id, .doc = yyjson_mut_doc_new(&JSON_ALLOC), .kept = BUF_INIT(BUF_UNLIMITED)
  };
  size_t len = 0;
  c.result = c.doc != NULL ? yyjson_mut_obj(c.doc) : NULL;
  enum answer answer = c.result == NULL   ? fail_memory(&c)
                       : snapshot == NULL ? fail_status(&c, err)
                                          : snapshot_answer(&c, snapshot);
  char *line = answer == ANSWER_RESULT ? rpc_result_line(c.doc, &w->id, c.result, &len) : NULL;
  if (answer == ANSWER_RESULT)
    (void)server_send(w->server, &w->id, line, len);
  else
    server_send_error(w->server, &w->id, c.code, c.why);
  yyjson_mut_doc_free(c.doc);
  buf_free(&c.kept);
}

/* The snapshot is in the list before its answer is out, and the sandbox is let go of last. */
static void wait_run(void *ctx) {
  snapshot_wait *w = ctx;
  server *s = w->server;
  cay_snapshot *snapshot = NULL;
  cay_error err;
  cay_status status = wait_take(w, &snapshot, &err);
  cay_snapshot *kept = status == CAY_OK ? cay_snapshot_ref(snapshot) : NULL;
  pthread_mutex_lock(&s->mu);
  w->one->snapshot = kept;
  w->one->failed = kept == NULL;
  pthread_mutex_unlock(&s->mu);
  wait_answer(w, snapshot, &err);
  cay_snapshot_free(snapshot);
  pthread_mutex_lock(&s->mu);
  w->box->takes--;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
  wait_free(w);
}

cay_status snapshot_take_later(call *c, serve_snapshot *one, const cay_snapshot_options *how,
                               cay_error *err) {
  server *s = c->server;
  snapshot_wait *w = mem_zalloc(sizeof *w);
  if (w == NULL) return err_no_memory(err);
  *w = (snapshot_wait){ .server = s, .box = c->box, .one = one, .id = *c->id, .how = *how };
  w->deadline_ns = clock_mono_ns() + how->wait_ms * NS_PER_MS;
  w->label = how->label != NULL ? mem_strdup(how->label) : NULL;
  w->how.label = w->label;
  pthread_mutex_lock(&s->mu);
  c->box->takes++;
  pthread_mutex_unlock(&s->mu);
  bool copied = how->label == NULL || w->label != NULL;
  cay_status status = copied ? thread_pool_run(s->waiters, wait_run, w, err) : err_no_memory(err);
  if (status == CAY_OK) return CAY_OK;
  pthread_mutex_lock(&s->mu);
  c->box->takes--;
  one->failed = true;
  pthread_mutex_unlock(&s->mu);
  wait_free(w);
  return status;
}

void snapshot_takes_end(server *s, serve_box *box) {
  pthread_mutex_lock(&s->mu);
  LIST_EACH (b, &s->boxes, serve_box, in_server) {
    if (box != NULL && b != box) continue;
    b->takes_end = true;
    while (b->takes > 0) pthread_cond_wait(&s->changed, &s->mu);
  }
  pthread_mutex_unlock(&s->mu);
}
