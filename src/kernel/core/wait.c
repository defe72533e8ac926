/* wait.c - sleepers and wait queues: registration, wakes, and sleeps that signals interrupt (wait.h). */
#include "kernel/core/wait.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "kernel/proc/inner.h"

enum { FEW = 8 };

k_ret k_sleeper_init(k_sleeper *s, k_kernel *kernel, k_thread *thread) {
  *s = (k_sleeper){ .kernel = kernel, .thread = thread };
  (void)pthread_mutex_init(&s->mu, NULL);
  clock_cond_init(&s->cond);
  return 0;
}

void k_sleeper_destroy(k_sleeper *s) {
  (void)pthread_cond_destroy(&s->cond);
  (void)pthread_mutex_destroy(&s->mu);
}

/* A sleeper that is not asleep looks at everything again before it is. */
void k_nudge_sleeper(k_sleeper *s) {
  k_assert_held(s->kernel);
  if (!s->asleep) return;
  (void)pthread_mutex_lock(&s->mu);
  s->nudged = true;
  (void)pthread_mutex_unlock(&s->mu);
  (void)pthread_cond_signal(&s->cond);
}

void k_wake_sleeper(k_sleeper *s) {
  s->woken = true;
  k_nudge_sleeper(s);
}

void k_wake(k_waitq *q) {
  q->wakes++;
  LIST_EACH (w, &q->waiters, k_waiter, node) {
    k_watch *watch = CONTAINER_OF(w, k_watch, waiter);
    if (w->sleeper != NULL)
      k_wake_sleeper(w->sleeper);
    else
      watch->fn(watch);
  }
}

void k_watch_add(k_watch *watch, k_waitq *q, void (*fn)(k_watch *watch)) {
  watch->waiter.sleeper = NULL;
  watch->fn = fn;
  list_push(&q->waiters, &watch->waiter.node);
}

void k_watch_remove(k_watch *watch) { list_remove(&watch->waiter.node); }

static void wait_for_nudge(k_sleeper *s, int64_t deadline_ns) {
  struct timespec until = clock_timespec(deadline_ns);
  int late = 0;
  while (!s->nudged && late == 0)
    late = deadline_ns == K_FOREVER ? pthread_cond_wait(&s->cond, &s->mu)
                                    : pthread_cond_timedwait(&s->cond, &s->mu, &until);
}

/* kernel.mu is released in here and nowhere else in a sleep. */
K_LOCKED static void rest(k_sleeper *s, int64_t deadline_ns) {
  (void)pthread_mutex_lock(&s->mu);
  k_mutex_unlock(&s->kernel->mu);
  wait_for_nudge(s, deadline_ns);
  (void)pthread_mutex_unlock(&s->mu);
  k_lock(s->kernel);
}

K_LOCKED static void doze(k_sleeper *s, int64_t deadline_ns) {
  s->asleep = true;
  s->nudged = false;
  k_finish_chores(s->kernel); /* before: they wait for kernel.mu */
  if (s->thread != NULL) k_turn_leave(s->thread);
  rest(s, deadline_ns);
  if (s->thread != NULL) k_turn_take(s->thread);
  s->asleep = false;
}

void k_sleep_for_turn(k_thread *t, int64_t deadline_ns) {
  k_sleeper *s = &t->sleeper;
  bool was_asleep = s->asleep;
  s->asleep = true;
  s->nudged = false;
  rest(s, deadline_ns);
  s->asleep = was_asleep;
}

void k_sleep_until_alone(k_thread *t) {
  while (t->process->thread_count > 1) doze(&t->sleeper, K_FOREVER);
}

void k_sleep_stopped(k_thread *t) {
  while (t->process->stopped && !k_is_ending(t)) doze(&t->sleeper, K_FOREVER);
}

K_LOCKED static k_ret interruption(k_thread *t) {
  if (t == NULL) return 0;
  bool restart = false;
  switch (k_signal_settle(t)) {
  case K_SIGNAL_END: return -K_EKILLED;
  case K_SIGNAL_HANDLER: (void)k_signal_wants_attention(t, &restart); return restart ? -K_ERESTART : -K_EINTR;
  default: return 0;
  }
}

/* A wake goes before a signal, so that the caller first repeats its operation; its next sleep sees the
 * signal. */
K_LOCKED static k_ret sleep_registered(k_sleeper *s, int64_t deadline_ns) {
  K_TRY(interruption(s->thread));
  while (!s->woken) {
    if (deadline_ns != K_FOREVER && clock_mono_ns() >= deadline_ns) return -K_ETIMEDOUT;
    doze(s, deadline_ns);
    if (s->thread != NULL && k_is_ending(s->thread)) return -K_EKILLED;
    if (!s->woken) K_TRY(interruption(s->thread));
  }
  return 0;
}

k_ret k_sleep(k_sleeper *s, k_waitq *const *queues, size_t count, int64_t deadline_ns) {
  k_waiter few[FEW], *waiters = few;
  if (count > K_SLEEP_MAX_QUEUES) return -K_EINVAL;
  if (count > FEW && (waiters = mem_zalloc_array(count, sizeof *waiters)) == NULL) return -K_ENOMEM;

  s->woken = false;
  for (size_t i = 0; i < count; i++) {
    waiters[i].sleeper = s;
    list_push(&queues[i]->waiters, &waiters[i].node);
  }
  k_ret r = sleep_registered(s, deadline_ns);
  for (size_t i = 0; i < count; i++) list_remove(&waiters[i].node);
  if (waiters != few) mem_free(waiters);
  return r;
}
