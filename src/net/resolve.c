/* resolve.c - a name resolved by getaddrinfo(3) on a thread of its own, until a deadline (resolve.h). */
#include "net/resolve.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "net/policy.h"

#include <netdb.h>
#include <stdatomic.h>
#include <string.h>

enum { LEFT_MAX = 16 };

/* Shared by the caller and the resolving thread; freed by the last. */
typedef struct question {
  pthread_mutex_t mu;
  pthread_cond_t answered;
  bool done, abandoned;
  int code; /* of getaddrinfo */
  net_addrs addrs;
  char host[NET_HOST_MAX + 1];
} question;

/* Number of threads of this process that wait for a name server without a caller: a fact of the
 * process, as its threads are. */
static atomic_int left;

static void question_free(question *q) {
  pthread_cond_destroy(&q->answered);
  pthread_mutex_destroy(&q->mu);
  mem_free(q);
}

static void resolve_take(const struct addrinfo *found, net_addrs *out) {
  for (; found != NULL && out->count < NET_ADDRS_MAX; found = found->ai_next)
    if (net_addr_from(found->ai_addr, &out->list[out->count])) out->count++;
}

static void resolve_ask(void *ctx) {
  question *q = ctx;
  struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *found = NULL;
  int code = getaddrinfo(q->host, NULL, &hints, &found);
  pthread_mutex_lock(&q->mu);
  q->code = code;
  if (code == 0) resolve_take(found, &q->addrs);
  q->done = true;
  bool abandoned = q->abandoned;
  pthread_cond_signal(&q->answered);
  pthread_mutex_unlock(&q->mu);
  if (found != NULL) freeaddrinfo(found);
  if (!abandoned) return;
  atomic_fetch_sub(&left, 1);
  question_free(q);
}

static cay_status resolve_answer_of(const question *q, net_addrs *out, cay_error *err) {
  if (q->code == EAI_MEMORY) return err_no_memory(err);
  if (q->code == EAI_NONAME || q->code == EAI_NODATA || (q->code == 0 && q->addrs.count == 0))
    return err_set(err, CAY_NOT_FOUND, "no such host: %.100s", q->host);
  if (q->code != 0) return err_set(err, CAY_IO, "%.100s: %s", q->host, gai_strerror(q->code));
  *out = q->addrs;
  return CAY_OK;
}

static void resolve_on_cancel(void *ctx) {
  question *q = ctx;
  pthread_mutex_lock(&q->mu);
  pthread_cond_broadcast(&q->answered);
  pthread_mutex_unlock(&q->mu);
}

/* False: the time is over or the call was cancelled; the thread owns the question. */
static bool await_answer(question *q, int64_t deadline_ns, cancel *stop) {
  struct timespec until = clock_timespec(deadline_ns);
  cancel_watch watch = { .fn = resolve_on_cancel, .ctx = q };
  cancel_add(stop, &watch);
  pthread_mutex_lock(&q->mu);
  while (!q->done && clock_mono_ns() < deadline_ns && !cancel_raised(stop))
    pthread_cond_timedwait(&q->answered, &q->mu, &until);
  pthread_mutex_unlock(&q->mu);
  cancel_remove(stop, &watch); /* before the question may go away */
  pthread_mutex_lock(&q->mu);
  bool done = q->done;
  q->abandoned = !done;
  if (!done) atomic_fetch_add(&left, 1);
  pthread_mutex_unlock(&q->mu);
  return done;
}

static cay_status ask_host(const char *host, int64_t deadline_ns, cancel *stop, net_addrs *out,
                           cay_error *err) {
  if (atomic_load(&left) >= LEFT_MAX) return err_set(err, CAY_BUSY, "the name server does not answer");
  question *q = mem_zalloc(sizeof *q);
  if (q == NULL) return err_no_memory(err);
  pthread_mutex_init(&q->mu, NULL);
  clock_cond_init(&q->answered);
  memcpy(q->host, host, strlen(host) + 1);
  pthread_t thread;
  cay_status status = thread_start("cay-resolve", 256 << 10, resolve_ask, q, &thread, err);
  if (status != CAY_OK) {
    question_free(q);
    return status;
  }
  if (!await_answer(q, deadline_ns, stop)) {
    pthread_detach(thread);
    if (cancel_raised(stop)) return err_set(err, CAY_CANCELLED, "cancelled");
    return err_set(err, CAY_TIMEOUT, "no answer from the name server in time");
  }
  thread_join(thread);
  status = resolve_answer_of(q, out, err);
  question_free(q);
  return status;
}

cay_status net_resolve(const net_resolver *resolver, const char *host, int64_t deadline_ns, cancel *stop,
                       net_addrs *out, cay_error *err) {
  net_addrs found = { .count = 1 };
  if (!net_addr_parse(host, &found.list[0])) {
    found.count = 0;
    S_TRY(resolver != NULL && resolver->fn != NULL
              ? resolver->fn(resolver->ctx, host, deadline_ns, &found, err)
              : ask_host(host, deadline_ns, stop, &found, err));
  }
  *out = found;
  return CAY_OK;
}
