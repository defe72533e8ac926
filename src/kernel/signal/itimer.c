/* itimer.c - timers that send a signal (setitimer(2)).
 *
 * The alarm's callback takes kernel.mu, so an alarm cannot be disarmed with it held. A timer that is stopped
 * or moved therefore leaves its alarm be: one that goes off early finds that nothing is due, and arms itself
 * for the next expiry. Only the end of the process waits for it, without the mutex.
 *
 * ITIMER_VIRTUAL and ITIMER_PROF count the processor time of the thread that runs the process. One thread
 * cannot use more than the wall clock gives, so the alarm is set for the earliest moment it could be due, and
 * again for the time that is missing then. */
#include "kernel/proc/inner.h"

static const int signal_of[K_ITIMER_COUNT] = { K_SIGALRM, K_SIGVTALRM, K_SIGPROF };

/* The timer's own clock. A thread that has ended has stopped its clock. */
static int64_t now_of(const k_itimer *t) {
  return t->which == K_ITIMER_REAL ? clock_mono_ns() : clock_read_ns(t->clock, t->started_ns);
}

static int64_t soonest(const k_itimer *t) {
  int64_t left = t->due_ns - now_of(t);
  return clock_mono_ns() + (left > 0 ? left : 0);
}

static void arm(k_itimer *t) {
  if (alarm_arm(t->process->kernel->alarms, &t->entry, soonest(t), NULL) != CAY_OK) t->due_ns = 0;
}

K_LOCKED static void expire(k_itimer *t, int64_t now) {
  k_signal_send(t->process, &(k_siginfo){ .signo = signal_of[t->which], .code = K_SI_KERNEL });
  if (t->interval_ns == 0) {
    t->due_ns = 0;
    return;
  }
  t->due_ns += ((now - t->due_ns) / t->interval_ns + 1) * t->interval_ns;
}

K_LOCKED static void look(k_itimer *t) {
  if (t->due_ns == 0 || t->process->dying) return;
  int64_t now = now_of(t);
  if (now >= t->due_ns) expire(t, now);
  if (t->due_ns != 0) arm(t);
}

static void on_alarm(void *ctx) {
  k_itimer *t = ctx;
  k_kernel *k = t->process->kernel;
  k_lock(k);
  look(t);
  k_unlock(k);
}

static bool try_alarm(void *ctx) {
  k_itimer *t = ctx;
  k_kernel *k = t->process->kernel;
  if (!k_try_lock(k)) return false;
  look(t);
  k_unlock(k);
  return true;
}

void k_itimers_init(k_process *p) {
  for (int which = 0; which < K_ITIMER_COUNT; which++) {
    p->timers[which] = (k_itimer){ .process = p, .which = which };
    p->timers[which].entry = (alarm_entry){ .fn = on_alarm, .try_fn = try_alarm, .ctx = &p->timers[which] };
  }
}

/* Unchecked: disarming waits for the alarm's function, which takes kernel.mu; nothing else uses the timers of a process
 * that ends. */
K_UNCHECKED void k_itimers_stop(k_process *p) {
  bool any = false;
  for (int which = 0; which < K_ITIMER_COUNT; which++) {
    any |= p->timers[which].used;
    p->timers[which].due_ns = 0;
  }
  if (!any) return;
  k_unlock(p->kernel);
  for (int which = 0; which < K_ITIMER_COUNT; which++) {
    if (p->timers[which].used) alarm_disarm(p->kernel->alarms, &p->timers[which].entry);
    p->timers[which].used = false;
  }
  k_lock(p->kernel);
}

void k_itimers_off(k_process *p) {
  for (int which = 0; which < K_ITIMER_COUNT; which++)
    p->timers[which].due_ns = p->timers[which].interval_ns = 0;
}

void k_itimer_get(k_process *p, int which, int64_t *left_ns, int64_t *interval_ns) {
  const k_itimer *t = &p->timers[which];
  int64_t left = t->due_ns == 0 ? 0 : t->due_ns - now_of(t);
  *left_ns = t->due_ns != 0 && left <= 0 ? 1 : left; /* 0 would say that it is off */
  *interval_ns = t->interval_ns;
}

k_ret k_itimer_set(k_process *p, int which, int64_t first_ns, int64_t interval_ns, int64_t *old_first_ns,
                   int64_t *old_interval_ns) {
  if (which < 0 || which >= K_ITIMER_COUNT || first_ns < 0 || interval_ns < 0) return -K_EINVAL;
  int64_t left, interval;
  k_itimer_get(p, which, &left, &interval);
  k_itimer *t = &p->timers[which];
  if (first_ns != 0) {
    if (which != K_ITIMER_REAL && pthread_getcpuclockid(pthread_self(), &t->clock) != 0) return -K_EINVAL;
    t->used = true;
    t->started_ns = now_of(t);
    if (__builtin_add_overflow(t->started_ns, first_ns, &t->due_ns)) t->due_ns = INT64_MAX;
    t->interval_ns = interval_ns;
    arm(t);
    if (t->due_ns == 0) return -K_ENOMEM;
  } else {
    t->due_ns = t->interval_ns = 0;
  }
  if (old_first_ns != NULL) *old_first_ns = left;
  if (old_interval_ns != NULL) *old_interval_ns = interval;
  return 0;
}
