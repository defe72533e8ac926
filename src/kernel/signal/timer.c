/* timer.c - timers of a process that send a signal (timer_create(2)).
 *
 * At most one signal of a timer is pending. Expiries while it is pending are counted, and the count goes with the
 * signal: timer_getoverrun(2). Expiries are computed from the clock, so an interval that is shorter than the
 * pause between two alarms costs nothing.
 *
 * As with itimers, a timer that is stopped or moved leaves its alarm be; only deletion waits for it, without
 * kernel.mu. A clock of processor time cannot run ahead of the wall clock: the alarm is set for the earliest moment
 * that the expiry could be due, and again for the time that is missing then. */
#include "kernel/signal/timer.h"

#include "base/alloc.h"
#include "kernel/proc/inner.h"

enum { TIMERS_MAX = 128, OVERRUN_MAX = INT32_MAX };
static const int64_t shortest_pause_ns = NS_PER_MS / 10; /* between two alarms of one timer */

struct k_timer {
  struct k_timer *next;
  k_process *process;
  alarm_entry entry;
  k_timer_options how;
  int32_t id;
  int32_t overrun, last_overrun; /* of the pending signal; of the last that was taken */
  int64_t due_ns, interval_ns;   /* of timer_now; due 0: off */
};

K_LOCKED static int64_t timer_now(const k_timer *t) {
  return t->how.clock == K_TIMER_CPU ? k_cpu_time_ns(t->process) : clock_mono_ns();
}

static int64_t later(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

K_LOCKED static k_ret timer_arm(k_timer *t, int64_t pause_ns) {
  int64_t left = t->due_ns - timer_now(t);
  int64_t due = later(clock_mono_ns(), left > pause_ns ? left : pause_ns);
  return alarm_arm(t->process->kernel->alarms, &t->entry, due, NULL) == CAY_OK ? 0 : -K_ENOMEM;
}

/* Counts the expiries until now, and moves `due_ns` behind them. */
K_LOCKED static int64_t timer_catch_up(k_timer *t) {
  int64_t late = timer_now(t) - t->due_ns;
  if (t->due_ns == 0 || late < 0) return 0;
  if (t->interval_ns == 0) {
    t->due_ns = 0;
    return 1;
  }
  int64_t count = late / t->interval_ns + 1;
  t->due_ns = later(t->due_ns, count * t->interval_ns);
  return count;
}

static void add_overruns(k_timer *t, int64_t count) {
  t->overrun = count < OVERRUN_MAX - t->overrun ? t->overrun + (int32_t)count : OVERRUN_MAX;
}

static bool is_of(const k_timer *t, const k_siginfo *info) {
  return info->code == K_SI_TIMER && info->pid == t->id;
}

K_LOCKED static bool timer_signal_pends(const k_timer *t) {
  const k_pending *s = &t->process->signals.pending;
  int sig = t->how.signo;
  if ((s->set & k_sigbit(sig)) == 0) return false;
  if (sig < K_FIRST_REALTIME && s->info != NULL && is_of(t, &s->info[sig])) return true;
  for (const k_sigqueued *q = s->queue; q != NULL; q = q->next)
    if (q->info.signo == sig && is_of(t, &q->info)) return true;
  return false;
}

K_LOCKED static void timer_signal(k_timer *t, int64_t count) {
  if (!t->how.signals || count == 0) return;
  if (timer_signal_pends(t)) {
    add_overruns(t, count);
    return;
  }
  t->overrun = 0;
  add_overruns(t, count - 1);
  k_siginfo info = { .signo = t->how.signo, .code = K_SI_TIMER, .pid = t->id, .value = t->how.value };
  k_signal_send(t->process, &info);
}

K_LOCKED static void timer_look(k_timer *t) {
  if (t->due_ns == 0 || t->process->dying) return;
  timer_signal(t, timer_catch_up(t));
  if (t->due_ns != 0 && timer_arm(t, shortest_pause_ns) < 0) t->due_ns = 0;
}

static void on_alarm(void *ctx) {
  k_timer *t = ctx;
  k_kernel *k = t->process->kernel;
  k_lock(k);
  timer_look(t);
  k_unlock(k);
}

static bool try_alarm(void *ctx) {
  k_timer *t = ctx;
  k_kernel *k = t->process->kernel;
  if (!k_try_lock(k)) return false;
  timer_look(t);
  k_unlock(k);
  return true;
}

/* ---- calls ---- */

K_LOCKED static k_timer *timer_find(const k_process *p, int32_t id) {
  k_timer *t = p->posix_timers;
  while (t != NULL && t->id != id) t = t->next;
  return t;
}

K_LOCKED static int32_t lowest_free_id(const k_process *p) {
  int32_t id = 0;
  while (timer_find(p, id) != NULL) id++;
  return id;
}

k_ret k_timer_create(k_process *p, const k_timer_options *how) {
  int32_t id = lowest_free_id(p);
  if (how->signals && (how->signo < 1 || how->signo > K_NSIG)) return -K_EINVAL;
  if (id >= TIMERS_MAX) return -K_EAGAIN;
  K_TRY(k_memory_charge(p->kernel, sizeof(k_timer)));
  k_timer *t = mem_zalloc(sizeof *t);
  if (t == NULL) {
    k_memory_uncharge(p->kernel, sizeof *t);
    return -K_ENOMEM;
  }
  *t = (k_timer){ .next = p->posix_timers, .process = p, .how = *how, .id = id };
  if (!how->has_value) t->how.value = (uint32_t)id;
  t->entry = (alarm_entry){ .fn = on_alarm, .try_fn = try_alarm, .ctx = t };
  p->posix_timers = t;
  return id;
}

K_LOCKED static void timer_get(k_timer *t, k_timer_value *out) {
  /* Expiries that no alarm has told of yet */
  if (t->interval_ns != 0) timer_signal(t, timer_catch_up(t));
  int64_t left = t->due_ns == 0 ? 0 : t->due_ns - timer_now(t);
  out->first_ns = t->due_ns != 0 && left <= 0 ? 1 : left; /* 0 would say that it is off */
  out->interval_ns = t->interval_ns;
}

k_ret k_timer_get(k_process *p, int32_t id, k_timer_value *out) {
  k_timer *t = timer_find(p, id);
  if (t == NULL) return -K_EINVAL;
  timer_get(t, out);
  return 0;
}

/* Never 0, which is "off". */
K_LOCKED static int64_t due_of(const k_timer *t, bool absolute, int64_t first_ns) {
  k_kernel *k = t->process->kernel;
  int64_t from = 0;
  if (absolute && t->how.clock == K_TIMER_REALTIME) from = k_real_ns(k);
  if (absolute && t->how.clock == K_TIMER_MONOTONIC) from = k_mono_ns(k);
  if (absolute && t->how.clock == K_TIMER_CPU) from = timer_now(t);
  int64_t due = later(timer_now(t), first_ns - from);
  return due > 0 ? due : 1;
}

k_ret k_timer_set(k_process *p, int32_t id, bool absolute, const k_timer_value *given, k_timer_value *old) {
  k_timer *t = timer_find(p, id);
  if (t == NULL || given->first_ns < 0 || given->interval_ns < 0) return -K_EINVAL;
  timer_get(t, old);
  t->overrun = t->last_overrun = 0;
  t->due_ns = given->first_ns == 0 ? 0 : due_of(t, absolute, given->first_ns);
  t->interval_ns = given->interval_ns;
  return t->due_ns == 0 ? 0 : timer_arm(t, 0);
}

k_ret k_timer_overrun(const k_process *p, int32_t id) {
  const k_timer *t = timer_find(p, id);
  return t == NULL ? -K_EINVAL : t->last_overrun;
}

void k_timer_delivered(k_process *p, k_siginfo *info) {
  k_timer *t = timer_find(p, info->pid);
  if (t == NULL) return;
  if (t->interval_ns != 0) add_overruns(t, timer_catch_up(t));
  info->uid = t->last_overrun = t->overrun;
  t->overrun = 0;
}

/* ---- the end ---- */

K_LOCKED static void timer_free(k_timer *t) {
  k_kernel *k = t->process->kernel;
  t->due_ns = 0;
  k_unlock(k);
  alarm_disarm(k->alarms, &t->entry);
  k_lock(k);
  k_memory_uncharge(k, sizeof *t);
  mem_free(t);
}

k_ret k_timer_delete(k_process *p, int32_t id) {
  for (k_timer **at = &p->posix_timers; *at != NULL; at = &(*at)->next) {
    k_timer *t = *at;
    if (t->id != id) continue;
    *at = t->next;
    timer_free(t);
    return 0;
  }
  return -K_EINVAL;
}

void k_timers_delete(k_process *p) {
  while (p->posix_timers != NULL) {
    k_timer *t = p->posix_timers;
    p->posix_timers = t->next;
    timer_free(t);
  }
}

void k_timers_off(k_process *p) {
  for (k_timer *t = p->posix_timers; t != NULL; t = t->next) t->due_ns = t->interval_ns = 0;
}
