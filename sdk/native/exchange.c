/* exchange.c - items from the server, and the threads of the language that wait for them. */
#include "exchange.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/spin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- spinning ---- */

static bool asker_has_news(void *ctx) { return atomic_load(&((native_asker *)ctx)->news) != 0; }
static bool call_is_answered(void *ctx) { return atomic_load(&((native_call *)ctx)->answered); }

static void native_spin(const native *n, bool (*predicate)(void *ctx), void *ctx, int64_t ns) {
  if (!n->several_processors) return;
  int64_t until = clock_mono_ns() + ns;
  while (!predicate(ctx) && clock_mono_ns() < until)
    for (int i = 0; i < 64 && !predicate(ctx); i++) spin_pause();
}

/* ---- items ---- */

native_call *native_call_unref(native_call *call) {
  if (call == NULL || atomic_fetch_sub(&call->refs, 1) > 1) return NULL;
  mem_free(call->sandbox);
  mem_free(call->name);
  mem_free(call->args);
  mem_free(call);
  return NULL;
}

void native_item_free(native_item *item) {
  if (item == NULL) return;
  mem_free(item->line);
  cay_value_free(item->value);
  mem_free(item->end);
  if (item->call != NULL) {
    native_call_fail(item->call, "the client has ended");
    native_call_unref(item->call);
  }
  mem_free(item);
}

native_item *native_item_new(native_kind kind, uint64_t number) {
  native_item *item = mem_zalloc(sizeof *item);
  if (item == NULL) return NULL;
  item->kind = kind;
  item->number = number;
  return item;
}

static uint64_t number_of(const rpc_id *about) { return about != NULL ? strtoull(about->text, NULL, 10) : 0; }

/* ---- askers ---- */

static void asker_wake(native_asker *a) {
  atomic_fetch_add(&a->news, 1);
  sem_post(&a->wake);
}

void native_asker_enter(native *n, native_asker *a, uint64_t number, const char *sandbox) {
  *a = (native_asker){ .number = number, .sandbox = sandbox };
  sem_init(&a->wake, 0, 0);
  list_init(&a->calls);
  pthread_mutex_lock(&n->mu);
  list_push(&n->askers, &a->in_native);
  pthread_mutex_unlock(&n->mu);
}

/* With mu. */
static void queue_put(native *n, native_item *item) {
  bool first = list_empty(&n->queue);
  list_push(&n->queue, &item->in_queue);
  pthread_cond_signal(&n->queued);
  if (!first || !n->open) return;
  if (n->on_queued != NULL)
    n->on_queued(n->on_queued_ctx);
  else
    (void)eventfd_write(n->queued_fd, 1);
}

void native_queue_put(native *n, native_item *item) {
  pthread_mutex_lock(&n->mu);
  queue_put(n, item);
  pthread_mutex_unlock(&n->mu);
}

static void asker_give_calls_away(native *n, native_asker *a) {
  LIST_EACH_SAFE (item, &a->calls, native_item, in_queue) {
    list_remove(&item->in_queue);
    item->call->asker = NULL;
    atomic_fetch_sub(&a->news, 1);
    queue_put(n, item);
  }
}

void native_asker_leave(native *n, native_asker *a) {
  pthread_mutex_lock(&n->mu);
  list_remove(&a->in_native);
  asker_give_calls_away(n, a);
  native_item *answer = a->answer;
  a->answer = NULL;
  pthread_mutex_unlock(&n->mu);
  native_item_free(answer);
  sem_destroy(&a->wake);
}

/* With mu: a call before the answer, since a guest waits for it. */
static native_item *asker_take(native *n, native_asker *a) {
  if (list_empty(&a->calls)) {
    native_item *answer = a->answer;
    a->answer = NULL;
    return answer;
  }
  native_item *item = CONTAINER_OF(a->calls.next, native_item, in_queue);
  list_remove(&item->in_queue);
  a->busy = true;
  asker_give_calls_away(n, a); /* they run at once, not one after the other */
  return item;
}

bool native_asker_next(native *n, native_asker *a, native_item **out) {
  int64_t start = clock_mono_ns();
  for (;;) {
    native_spin(n, asker_has_news, a, spin_patience(n->waited_ns));
    pthread_mutex_lock(&n->mu);
    *out = asker_take(n, a);
    if (*out != NULL) atomic_fetch_sub(&a->news, 1);
    bool open = n->open;
    pthread_mutex_unlock(&n->mu);
    if (*out != NULL) {
      atomic_store(&n->waited_ns, clock_mono_ns() - start);
      return true;
    }
    if (!open) return false;
    if (sem_wait(&a->wake) != 0 && errno == EINTR) return true;
  }
}

void native_call_done(native *n, native_asker *a, native_call *call) {
  pthread_mutex_lock(&n->mu);
  call->asker = NULL;
  a->busy = false;
  pthread_mutex_unlock(&n->mu);
}

/* ---- the queue ---- */

void native_queue_take(native *n, list *out, int64_t timeout_ms) {
  struct timespec until = clock_timespec(clock_mono_ns() + (timeout_ms > 0 ? timeout_ms : 0) * NS_PER_MS);
  int waited = 0;
  pthread_mutex_lock(&n->mu);
  while (list_empty(&n->queue) && n->open && waited == 0)
    waited = timeout_ms < 0 ? pthread_cond_wait(&n->queued, &n->mu)
                            : pthread_cond_timedwait(&n->queued, &n->mu, &until);
  eventfd_t count;
  if (!list_empty(&n->queue) && n->queued_fd >= 0) (void)eventfd_read(n->queued_fd, &count);
  LIST_EACH_SAFE (item, &n->queue, native_item, in_queue) {
    list_remove(&item->in_queue);
    list_push(out, &item->in_queue);
  }
  pthread_mutex_unlock(&n->mu);
}

/* ---- from the server ---- */

/* To the asker of this request, or into the queue. */
static void native_deliver(native *n, native_item *item) {
  pthread_mutex_lock(&n->mu);
  native_asker *to = NULL;
  LIST_EACH (a, &n->askers, native_asker, in_native) {
    if (a->number == item->number) to = a;
  }
  if (to != NULL) {
    to->answer = item;
    asker_wake(to);
  } else {
    queue_put(n, item);
  }
  pthread_mutex_unlock(&n->mu);
}


static void native_on_line(void *ctx, const rpc_id *about, char *line, size_t len) {
  native_item *item = native_item_new(NATIVE_LINE, number_of(about));
  if (item == NULL) {
    mem_free(line);
    return;
  }
  item->line = line;
  item->len = len;
  native_deliver(ctx, item);
}

static void native_on_value(void *ctx, const rpc_id *about, cay_value *value) {
  native_item *item = native_item_new(NATIVE_VALUE, number_of(about));
  if (item == NULL) {
    cay_value_free(value);
    return;
  }
  item->value = value;
  native_deliver(ctx, item);
}

static cay_slice slice_copy(char **at, cay_slice from) {
  cay_slice copy = { *at, from.len };
  if (from.len != 0) memcpy(*at, from.data, from.len);
  *at += from.len;
  return copy;
}

static void native_on_run_end(void *ctx, const rpc_id *about, const serve_run_end *end) {
  native_item *item = native_item_new(NATIVE_RUN_END, number_of(about));
  serve_run_end *copy = mem_alloc(sizeof *copy + end->out.len + end->err.len + end->detail.len);
  if (item == NULL || copy == NULL) {
    mem_free(item);
    mem_free(copy);
    return;
  }
  char *at = (char *)(copy + 1);
  *copy = *end;
  copy->out = slice_copy(&at, end->out);
  copy->err = slice_copy(&at, end->err);
  copy->detail = slice_copy(&at, end->detail);
  item->end = copy;
  native_deliver(ctx, item);
}

/* ---- calls ---- */

static native_call *call_new(native *n, const char *sandbox, cay_callback_call *call, const char *name,
                             cay_slice args) {
  native_call *c = mem_zalloc(sizeof *c);
  if (c == NULL) return NULL;
  atomic_store(&c->refs, 2);
  c->owner = n;
  c->call = call;
  c->sandbox = mem_strdup(sandbox);
  c->name = mem_strdup(name);
  c->args = mem_strndup(args.data, args.len);
  c->args_len = args.len;
  if (c->sandbox != NULL && c->name != NULL && c->args != NULL) return c;
  atomic_store(&c->refs, 1);
  return native_call_unref(c);
}

/* With mu: one that waits for something of this sandbox, and runs no other function. */
static native_asker *asker_for(native *n, const char *sandbox) {
  LIST_EACH (a, &n->askers, native_asker, in_native) {
    if (!a->busy && strcmp(a->sandbox, sandbox) == 0) return a;
  }
  return NULL;
}

/* On the guest's thread. */
static void native_on_callback(void *ctx, const char *sandbox, cay_callback_call *call, const char *name,
                               cay_slice args) {
  native *n = ctx;
  native_item *item = native_item_new(NATIVE_CALL, 0);
  native_call *c = item != NULL ? call_new(n, sandbox, call, name, args) : NULL;
  if (c == NULL) {
    mem_free(item);
    cay_callback_fail(call, "out of memory");
    return;
  }
  item->call = c;
  pthread_mutex_lock(&n->mu);
  native_asker *to = asker_for(n, sandbox);
  c->asker = to;
  if (to != NULL) {
    list_push(&to->calls, &item->in_queue);
    asker_wake(to);
  } else {
    queue_put(n, item);
  }
  pthread_mutex_unlock(&n->mu);
  if (to != NULL || n->on_queued != NULL) native_spin(n, call_is_answered, c, SPIN_NS);
  native_call_unref(c);
}

/* The guest may make its next call before the thread that answered is back: it counts as free from here on. */
static cay_callback_call *call_begin_answer(native_call *c) {
  cay_callback_call *call = c->call;
  c->call = NULL;
  if (call == NULL || c->owner->pid != getpid()) return NULL;
  pthread_mutex_lock(&c->owner->mu);
  if (c->asker != NULL) c->asker->busy = false;
  pthread_mutex_unlock(&c->owner->mu);
  return call;
}

void native_call_answer(native_call *c, cay_slice json) {
  cay_callback_call *call = call_begin_answer(c);
  if (call != NULL) cay_callback_answer(call, json);
  atomic_store(&c->answered, true);
}

void native_call_fail(native_call *c, const char *message) {
  cay_callback_call *call = call_begin_answer(c);
  if (call != NULL) cay_callback_fail(call, message);
  atomic_store(&c->answered, true);
}

/* ---- requests ---- */

void native_line(native *n, const char *line, size_t len) {
  pthread_mutex_lock(&n->call_mu);
  if (n->open) (void)server_line(&n->server, line, len);
  pthread_mutex_unlock(&n->call_mu);
}

bool native_line_try(native *n, const char *line, size_t len) {
  if (pthread_mutex_trylock(&n->call_mu) != 0) return false;
  if (n->open) (void)server_line(&n->server, line, len);
  pthread_mutex_unlock(&n->call_mu);
  return true;
}

/* ---- life ---- */

static void native_close_fd(native *n) {
  if (n->queued_fd >= 0) close(n->queued_fd);
  n->queued_fd = -1;
}

cay_status native_open(native *n, const char *guest_dir, const char *cache_dir, cay_error *err) {
  n->client = (serve_client){ .ctx = n,
                              .line = native_on_line,
                              .value = native_on_value,
                              .run_end = native_on_run_end,
                              .callback = native_on_callback };
  /* A cache folder that others could write to is not used, as by the program. */
  bool keeps = cache_dir != NULL && cay_cache_check(cache_dir, NULL) == CAY_OK;
  n->guest_dir = guest_dir != NULL ? mem_strdup(guest_dir) : NULL;
  n->cache_dir = keeps ? mem_strdup(cache_dir) : NULL;
  if ((guest_dir != NULL && n->guest_dir == NULL) || (keeps && n->cache_dir == NULL))
    return err_no_memory(err);
  serve_options options = {
    .guest_dir = n->guest_dir, .cache_dir = n->cache_dir, .client = &n->client, .unfinished = &n->unfinished
  };
  n->pid = getpid();
  n->queued_fd = n->on_queued == NULL ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
  if (n->queued_fd < 0 && n->on_queued == NULL) return err_errno(err, errno, "eventfd");
  n->several_processors = sysconf(_SC_NPROCESSORS_ONLN) > 1;
  pthread_mutex_init(&n->call_mu, NULL);
  pthread_mutex_init(&n->mu, NULL);
  clock_cond_init(&n->queued);
  list_init(&n->askers);
  list_init(&n->queue);
  cay_status status = server_open(&n->server, &options, err);
  n->open = status == CAY_OK;
  if (!n->open) native_close_fd(n);
  return status;
}

void native_close(native *n) {
  pthread_mutex_lock(&n->call_mu);
  if (n->open) {
    server_close(&n->server);
    pthread_mutex_lock(&n->mu);
    n->open = false;
    native_close_fd(n);
    pthread_cond_broadcast(&n->queued);
    LIST_EACH (a, &n->askers, native_asker, in_native) asker_wake(a);
    pthread_mutex_unlock(&n->mu);
  }
  pthread_mutex_unlock(&n->call_mu);
}

void native_free(native *n) {
  if (n == NULL) return;
  mem_free(n->guest_dir);
  mem_free(n->cache_dir);
  mem_free(n);
}
