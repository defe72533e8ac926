/* queue.c - queues of executions by client, the executors that take from them in turn, and their limits
 * (queue.h). */
#include "grpc/service/queue.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

#include <stdio.h>
#include <string.h>

enum { EXECUTOR_STACK = 512 * 1024 };

typedef struct queue_client {
  list in_turn; /* at the end of the queue's clients */
  char name[EXECUTION_CLIENT];
  list waiting; /* execution */
  size_t count, bytes;
} queue_client;

struct queue {
  queue_options options;
  pthread_mutex_t mu;
  pthread_cond_t there, rest; /* something waits; nothing runs */
  list clients;               /* that have something waiting; the first one's turn it is */
  size_t count, bytes, client_count, running;
  bool closed;
  pthread_t *threads;
  uint32_t thread_count;
};

/* ---- clients ---- */

static queue_client *client_find(queue *q, const char *name) {
  LIST_EACH (c, &q->clients, queue_client, in_turn) {
    if (strcmp(c->name, name) == 0) return c;
  }
  return NULL;
}

static queue_client *client_add(queue *q, const char *name) {
  queue_client *c = mem_zalloc(sizeof *c);
  if (c == NULL) return NULL;
  (void)snprintf(c->name, sizeof c->name, "%s", name);
  list_init(&c->waiting);
  list_push(&q->clients, &c->in_turn);
  q->client_count++;
  return c;
}

static void client_drop_if_empty(queue *q, queue_client *c) {
  if (c->count != 0) return;
  list_remove(&c->in_turn);
  q->client_count--;
  mem_free(c);
}

static size_t execution_bytes(const execution *e) { return e->code.len + e->tests.len + sizeof *e; }

static void client_take(queue *q, queue_client *c, execution *e) {
  size_t bytes = execution_bytes(e);
  list_remove(&e->in_queue);
  c->count--, q->count--;
  c->bytes -= bytes, q->bytes -= bytes;
}

/* ---- adding and removing ---- */

static cay_status queue_check_room(queue *q, const queue_client *c, size_t bytes, cay_error *err) {
  const queue_options *o = &q->options;
  if (q->closed) return err_set(err, CAY_CANCELLED, "the server is shutting down");
  if (q->count >= o->total_max || q->bytes + bytes > o->total_bytes)
    return err_set(err, CAY_LIMIT, "the queue is full: %zu executions wait", q->count);
  if (c != NULL && (c->count >= o->client_max || c->bytes + bytes > o->client_bytes))
    return err_set(err, CAY_LIMIT, "the queue is full: %zu executions of this client wait", c->count);
  return CAY_OK;
}

static cay_status add_locked(queue *q, execution *e, cay_error *err) {
  size_t bytes = execution_bytes(e);
  queue_client *c = client_find(q, e->client);
  S_TRY(queue_check_room(q, c, bytes, err));
  if (c == NULL && (c = client_add(q, e->client)) == NULL) return err_no_memory(err);
  list_push(&c->waiting, &execution_ref(e)->in_queue);
  c->count++, q->count++;
  c->bytes += bytes, q->bytes += bytes;
  (void)pthread_cond_signal(&q->there);
  return CAY_OK;
}

cay_status queue_add(queue *q, execution *e, cay_error *err) {
  (void)pthread_mutex_lock(&q->mu);
  cay_status status = add_locked(q, e, err);
  (void)pthread_mutex_unlock(&q->mu);
  return status;
}

bool queue_remove(queue *q, execution *e) {
  (void)pthread_mutex_lock(&q->mu);
  bool waits = list_linked(&e->in_queue);
  if (waits) {
    queue_client *c = client_find(q, e->client);
    client_take(q, c, e);
    client_drop_if_empty(q, c);
  }
  (void)pthread_mutex_unlock(&q->mu);
  return waits;
}

/* ---- running ---- */

/* q->mu. The client goes to the end of the row. */
static execution *take_next(queue *q) {
  if (list_empty(&q->clients)) return NULL;
  queue_client *c = CONTAINER_OF(q->clients.next, queue_client, in_turn);
  execution *e = CONTAINER_OF(c->waiting.next, execution, in_queue);
  client_take(q, c, e);
  list_remove(&c->in_turn);
  list_push(&q->clients, &c->in_turn);
  client_drop_if_empty(q, c);
  return e;
}

static void executor(void *ctx) {
  queue *q = ctx;
  (void)pthread_mutex_lock(&q->mu);
  for (execution *e;;) {
    while ((e = take_next(q)) == NULL && !q->closed) (void)pthread_cond_wait(&q->there, &q->mu);
    if (e == NULL) break;
    q->running++;
    (void)pthread_mutex_unlock(&q->mu);
    q->options.run(q->options.ctx, e);
    execution_unref(e);
    (void)pthread_mutex_lock(&q->mu);
    if (--q->running == 0) (void)pthread_cond_broadcast(&q->rest);
  }
  (void)pthread_mutex_unlock(&q->mu);
}

/* ---- life ---- */

static cay_status start_threads(queue *q, cay_error *err) {
  q->threads = mem_zalloc_array(q->options.executors, sizeof *q->threads);
  if (q->threads == NULL) return err_no_memory(err);
  for (; q->thread_count < q->options.executors; q->thread_count++)
    S_TRY(thread_start("grpc-run", EXECUTOR_STACK, executor, q, &q->threads[q->thread_count], err));
  return CAY_OK;
}

static void queue_ignore(void *ctx, execution *e) { (void)ctx, execution_unref(e); }

cay_status queue_new(const queue_options *options, queue **out, cay_error *err) {
  queue *q = mem_zalloc(sizeof *q);
  if (q == NULL) return err_no_memory(err);
  q->options = *options;
  list_init(&q->clients);
  (void)pthread_mutex_init(&q->mu, NULL);
  (void)pthread_cond_init(&q->there, NULL);
  clock_cond_init(&q->rest);
  cay_status status = start_threads(q, err);
  if (status != CAY_OK) {
    queue_close(q, queue_ignore, NULL);
    queue_free(q);
    return status;
  }
  *out = q;
  return CAY_OK;
}

void queue_close(queue *q, void (*each)(void *ctx, execution *e), void *ctx) {
  (void)pthread_mutex_lock(&q->mu);
  q->closed = true;
  for (execution *e; (e = take_next(q)) != NULL;) {
    (void)pthread_mutex_unlock(&q->mu);
    each(ctx, e);
    (void)pthread_mutex_lock(&q->mu);
  }
  (void)pthread_cond_broadcast(&q->there);
  (void)pthread_mutex_unlock(&q->mu);
}

bool queue_wait(queue *q, int64_t until_ns) {
  struct timespec until = clock_timespec(until_ns);
  (void)pthread_mutex_lock(&q->mu);
  while (q->running != 0 && pthread_cond_timedwait(&q->rest, &q->mu, &until) == 0) continue;
  bool rests = q->running == 0;
  (void)pthread_mutex_unlock(&q->mu);
  return rests;
}

void queue_free(queue *q) {
  if (q == NULL) return;
  for (; q->thread_count > 0; q->thread_count--) thread_join(q->threads[q->thread_count - 1]);
  mem_free(q->threads);
  (void)pthread_cond_destroy(&q->there);
  (void)pthread_cond_destroy(&q->rest);
  (void)pthread_mutex_destroy(&q->mu);
  mem_free(q);
}

void queue_counts_read(queue *q, queue_counts *out) {
  (void)pthread_mutex_lock(&q->mu);
  *out = (queue_counts){ .waiting = q->count, .running = q->running, .clients = q->client_count };
  (void)pthread_mutex_unlock(&q->mu);
}
