/* run_stream.c - output of a command: kept for its answer, or as notifications while it runs. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "serve/run.h"
#include "serve/text.h"

#include <string.h>

static const char *const STREAMS[] = { "stdout", "stderr" };

/* ---- one notification ---- */

static bool put_data(const run *r, yyjson_mut_doc *doc, yyjson_mut_val *params, buf *kept, cay_slice bytes) {
  if (r->base64) return put_base64(doc, params, "data", kept, bytes.data, bytes.len);
  return put_text(doc, params, "data", bytes.data, bytes.len);
}

static void run_stream_notify(run *r, int which, cay_slice bytes) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  buf kept = BUF_INIT(BUF_UNLIMITED);
  size_t len = 0;
  char *line = NULL;
  bool fine = yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, r->id.text)) &&
              yyjson_mut_obj_add_str(doc, params, "stream", STREAMS[which]) &&
              put_data(r, doc, params, &kept, bytes) &&
              (r->window == 0 || yyjson_mut_obj_add_uint(doc, params, "bytes", bytes.len));
  if (fine) line = rpc_notification_line(doc, "run.output", params, &len);
  server_send(r->server, &r->id, line, len);
  buf_free(&kept);
  yyjson_mut_doc_free(doc);
}

/* ---- the client's pace ---- */

/* Until the client has taken enough of the output, or waiting is no use any more. The deadline is looked at
 * here because a guest that sleeps in our hands cannot be ended. False: the run is over. */
static bool wait_for_client(run *r, size_t len) {
  server *s = r->server;
  pthread_mutex_lock(&s->mu);
  struct timespec until = clock_timespec(r->deadline_ns);
  int waited = 0;
  while (r->window != 0 && r->unacked >= r->window && !r->ended && waited == 0)
    waited = pthread_cond_timedwait(&s->changed, &s->mu, &until);
  bool go_on = !r->ended && waited == 0;
  if (go_on) r->unacked += len;
  if (waited != 0 && !r->ended) { /* output lost from here on must not look like success */
    r->timed_out = true;
    if (r->process != NULL) cay_process_kill(r->process);
  }
  pthread_mutex_unlock(&s->mu);
  return go_on;
}

static void run_stream_deliver(run *r, int which, cay_slice bytes) {
  if (bytes.len != 0 && wait_for_client(r, bytes.len)) run_stream_notify(r, which, bytes);
}

/* The end of `bytes` that is the beginning of a character is held back until the rest of it comes. */
static void write_text(run *r, int which, cay_slice bytes) {
  buf *held = &r->held[which];
  if (buf_append(held, bytes.data, bytes.len) != CAY_OK) return;
  size_t whole = utf8_whole_len(held->data, held->len);
  run_stream_deliver(r, which, (cay_slice){ held->data, whole });
  memmove(held->data, held->data + whole, held->len - whole);
  held->len -= whole;
}

/* ---- what the answer will hold ---- */

static void run_stream_keep(run *r, int which, cay_slice bytes) {
  buf *to = &r->kept[which];
  size_t room = r->box->output_max - to->len;
  size_t take = bytes.len < room ? bytes.len : room;
  if (take != 0 && buf_append(to, bytes.data, take) != CAY_OK) take = 0; /* no memory: it is cut here */
  if (take < bytes.len) r->cut[which] = true;
}

/* ---- the sink ---- */

static run *run_stream_enter(sink *to) {
  pthread_mutex_lock(&to->server->mu);
  run *r = to->run;
  if (r != NULL) r->writing = true;
  pthread_mutex_unlock(&to->server->mu);
  return r;
}

static void run_stream_leave(run *r) {
  server *s = r->server;
  pthread_mutex_lock(&s->mu);
  r->writing = false;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

/* On the guest's thread, one at a time for this run. */
void sink_write(void *ctx, int fd, cay_slice bytes) {
  run *r = run_stream_enter(ctx);
  if (r == NULL) return;
  if (!r->stream)
    run_stream_keep(r, fd - 1, bytes);
  else if (r->base64)
    run_stream_deliver(r, fd - 1, bytes);
  else
    write_text(r, fd - 1, bytes);
  run_stream_leave(r);
}

static void sweep(serve_box *box) {
  cay_usage usage;
  if (list_empty(&box->sinks)) return;
  cay_sandbox_usage(box->sandbox, &usage);
  if (usage.processes != 0) return;
  LIST_EACH_SAFE (old, &box->sinks, sink, in_box) {
    if (old->run != NULL) continue;
    list_remove(&old->in_box);
    mem_free(old);
  }
}

cay_status sink_new(run *r, cay_error *err) {
  sink *new = mem_zalloc(sizeof *new);
  if (new == NULL) return err_no_memory(err);
  *new = (sink){ .server = r->server, .run = r };
  pthread_mutex_lock(&r->server->mu);
  sweep(r->box);
  list_push(&r->box->sinks, &new->in_box);
  pthread_mutex_unlock(&r->server->mu);
  r->sink = new;
  return CAY_OK;
}

void sink_close(run *r) {
  server *s = r->server;
  pthread_mutex_lock(&s->mu);
  r->sink->run = NULL;
  r->ended = true; /* writers that wait for the client need not */
  pthread_cond_broadcast(&s->changed);
  while (r->writing) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  for (int i = 0; i < 2; i++)
    if (r->held[i].len != 0) run_stream_notify(r, i, (cay_slice){ r->held[i].data, r->held[i].len });
}

void sinks_free(serve_box *box) {
  LIST_EACH_SAFE (s, &box->sinks, sink, in_box) mem_free(s);
}
