/* thread.c - the start of a named thread with its signals masked, and a pool of threads that park between
 * two pieces of work (thread.h). */
#include "base/thread.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/stack.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

typedef struct start {
  thread_fn *fn;
  void *ctx;
  stack_area *stack; /* NULL: an ordinary one */
  char name[16];
} start;

static void *thread_main(void *opaque) {
  start *given = opaque;
  start s = *given;
  mem_free(given);
  (void)pthread_setname_np(pthread_self(), s.name);
  if (s.stack != NULL) stack_enter(s.stack);
  s.fn(s.ctx);
  if (s.stack != NULL) stack_leave();
  return NULL;
}

/* A new thread inherits the mask of its creator, so it is set around the creation. */
static void mask_library_signals(sigset_t *before) {
  sigset_t blocked;
  sigfillset(&blocked);
  static const int synchronous[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
  for (size_t i = 0; i < COUNT_OF(synchronous); i++) sigdelset(&blocked, synchronous[i]);
  (void)pthread_sigmask(SIG_SETMASK, &blocked, before);
}

/* The edge and the signal stack below it are not the thread's. */
static int stack_lend(const stack_area *stack, pthread_attr_t *attr) {
  uint8_t *end = stack_end(stack);
  return pthread_attr_setstack(attr, end, (size_t)(stack->top - end));
}

static int thread_create(size_t stack_len, start *s, pthread_t *out) {
  pthread_attr_t attr;
  int failed = pthread_attr_init(&attr);
  if (failed != 0) return failed;
  if (s->stack != NULL)
    failed = stack_lend(s->stack, &attr);
  else if (stack_len != 0)
    failed = pthread_attr_setstacksize(&attr, stack_len);
  if (failed == 0) {
    sigset_t before;
    mask_library_signals(&before);
    failed = pthread_create(out, &attr, thread_main, s);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  (void)pthread_attr_destroy(&attr);
  return failed;
}

static cay_status thread_start_on(const char *name, size_t stack_len, stack_area *stack, thread_fn *fn,
                                  void *ctx, pthread_t *out, cay_error *err) {
  start *s = mem_alloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  *s = (start){ .fn = fn, .ctx = ctx, .stack = stack };
  (void)snprintf(s->name, sizeof s->name, "%s", name);

  pthread_t thread;
  if (mem_fault_here() || thread_create(stack_len, s, &thread) != 0) {
    mem_free(s);
    return err_set(err, CAY_NO_MEMORY, "the host gives no more threads");
  }
  *out = thread;
  return CAY_OK;
}

cay_status thread_start(const char *name, size_t stack_len, thread_fn *fn, void *ctx, pthread_t *out,
                        cay_error *err) {
  return thread_start_on(name, stack_len, NULL, fn, ctx, out, err);
}

void thread_join(pthread_t thread) { (void)pthread_join(thread, NULL); }

/* ---- the pool ---- */

/* On exactly one of the three lists of its pool, except while it works. All fields belong to pool.mu. */
typedef struct worker {
  list node;
  thread_pool *pool;
  pthread_t thread;
  pthread_cond_t wake;
  stack_area stack; /* low NULL: an ordinary one */
  thread_fn *fn;    /* NULL: nothing to do */
  void *ctx;
} worker;

struct thread_pool {
  pthread_mutex_t mu;
  pthread_cond_t gone; /* a worker moved to `finished` */
  list idle;           /* the longest idle first */
  list finished;       /* about to return, to be joined by the next caller */
  size_t idle_count, live_count;
  bool closing;
  size_t stack_len, keep;
  uint32_t linger_ms;
  char name[16];
};

cay_status thread_pool_new(const thread_pool_options *options, thread_pool **out, cay_error *err) {
  thread_pool *pool = mem_zalloc(sizeof *pool);
  if (pool == NULL) return err_no_memory(err);
  pool->stack_len = options->stack_len;
  pool->keep = options->keep;
  pool->linger_ms = options->linger_ms;
  (void)snprintf(pool->name, sizeof pool->name, "%s", options->name);
  list_init(&pool->idle);
  list_init(&pool->finished);
  (void)pthread_mutex_init(&pool->mu, NULL);
  (void)pthread_cond_init(&pool->gone, NULL);
  *out = pool;
  return CAY_OK;
}

/* Sleeps until there is work. False: this thread is to end. Requires pool.mu. */
static bool park(worker *w) {
  thread_pool *pool = w->pool;
  list_push(&pool->idle, &w->node);
  pool->idle_count++;

  int64_t until_ns = clock_mono_ns() + pool->linger_ms * NS_PER_MS;
  while (w->fn == NULL && !pool->closing) {
    struct timespec until = clock_timespec(until_ns);
    bool waited_out = pthread_cond_timedwait(&w->wake, &pool->mu, &until) != 0 && w->fn == NULL;
    if (waited_out && pool->idle_count > pool->keep) break;
    /* One of those kept: look again now and then, but do not spin where linger_ms is 0. */
    if (waited_out) until_ns = clock_mono_ns() + pool->linger_ms * NS_PER_MS + NS_PER_SEC;
  }
  if (w->fn != NULL) return true; /* thread_pool_run has unlinked it */
  list_remove(&w->node);
  pool->idle_count--;
  return false;
}

static void worker_main(void *ctx) {
  worker *w = ctx;
  thread_pool *pool = w->pool;
  (void)pthread_mutex_lock(&pool->mu);
  do {
    thread_fn *fn = w->fn;
    void *work = w->ctx;
    w->fn = NULL;
    (void)pthread_mutex_unlock(&pool->mu);
    fn(work);
    if (w->stack.low != NULL) (void)stack_trim(&w->stack);
    (void)pthread_mutex_lock(&pool->mu);
  } while (park(w));
  list_push(&pool->finished, &w->node);
  pool->live_count--;
  (void)pthread_cond_signal(&pool->gone);
  (void)pthread_mutex_unlock(&pool->mu);
}

static void worker_free(worker *w) {
  if (w->stack.low != NULL) stack_release(&w->stack);
  (void)pthread_cond_destroy(&w->wake);
  mem_free(w);
}

/* Requires pool.mu, which it drops and takes again. */
static void join_finished(thread_pool *pool) {
  while (!list_empty(&pool->finished)) {
    worker *w = CONTAINER_OF(pool->finished.next, worker, node);
    list_remove(&w->node);
    (void)pthread_mutex_unlock(&pool->mu);
    thread_join(w->thread);
    worker_free(w);
    (void)pthread_mutex_lock(&pool->mu);
  }
}

static worker *worker_new(thread_pool *pool, thread_fn *fn, void *ctx) {
  worker *w = mem_zalloc(sizeof *w);
  if (w == NULL) return NULL;
  w->pool = pool;
  w->fn = fn;
  w->ctx = ctx;
  list_init(&w->node);
  clock_cond_init(&w->wake);
  if (pool->stack_len > STACK_FIRST) w->stack = stack_reserve(pool->stack_len);
  return w;
}

/* Requires pool.mu: a worker that ended before `thread` was stored could not be joined. */
static cay_status start_worker(thread_pool *pool, thread_fn *fn, void *ctx, cay_error *err) {
  worker *w = worker_new(pool, fn, ctx);
  if (w == NULL) return err_no_memory(err);
  stack_area *stack = w->stack.low != NULL ? &w->stack : NULL;
  cay_status status = thread_start_on(pool->name, pool->stack_len, stack, worker_main, w, &w->thread, err);
  if (status != CAY_OK) {
    worker_free(w);
    return status;
  }
  pool->live_count++;
  return CAY_OK;
}

cay_status thread_pool_run(thread_pool *pool, thread_fn *fn, void *ctx, cay_error *err) {
  cay_status status = CAY_OK;
  (void)pthread_mutex_lock(&pool->mu);
  join_finished(pool);
  if (list_empty(&pool->idle)) {
    status = start_worker(pool, fn, ctx, err);
  } else {
    worker *w = CONTAINER_OF(pool->idle.prev, worker, node);
    list_remove(&w->node);
    pool->idle_count--;
    w->fn = fn;
    w->ctx = ctx;
    (void)pthread_cond_signal(&w->wake);
  }
  (void)pthread_mutex_unlock(&pool->mu);
  return status;
}

size_t thread_pool_idle(thread_pool *pool) {
  (void)pthread_mutex_lock(&pool->mu);
  size_t count = pool->idle_count;
  (void)pthread_mutex_unlock(&pool->mu);
  return count;
}

void thread_pool_free(thread_pool *pool) {
  if (pool == NULL) return;
  (void)pthread_mutex_lock(&pool->mu);
  pool->closing = true;
  LIST_EACH (w, &pool->idle, worker, node) (void)pthread_cond_signal(&w->wake);
  while (pool->live_count != 0) (void)pthread_cond_wait(&pool->gone, &pool->mu);
  join_finished(pool);
  (void)pthread_mutex_unlock(&pool->mu);
  (void)pthread_cond_destroy(&pool->gone);
  (void)pthread_mutex_destroy(&pool->mu);
  mem_free(pool);
}
