/* cpu_limit.c - processor time that is used up (RLIMIT_CPU, setrlimit(2)).
 *
 * As with the timers of itimer.c: one thread cannot use more processor time than the wall clock gives, so the
 * alarm is set for the earliest moment at which the limit could be reached, and again for the missing time
 * then; it is not disarmed but at the end of the process. */
#include "kernel/proc/inner.h"

/* Of all threads but the leader. */
K_LOCKED static int64_t others_ns(const k_process *p) {
  int64_t ns = p->ended_threads_ns;
  LIST_EACH (t, &p->threads, k_thread, in_process)
    if (t != &p->leader && t->meter.running) ns += clock_read_ns(t->meter.clock, t->began_ns) - t->began_ns;
  return ns;
}

K_LOCKED static int64_t clock_of(const k_process *p) { return clock_read_ns(p->cpu.clock, 0) + others_ns(p); }

/* INT64_MAX: never. */
static int64_t in_ns(uint64_t seconds) {
  return seconds < INT64_MAX / NS_PER_SEC ? (int64_t)seconds * NS_PER_SEC : INT64_MAX;
}

K_LOCKED static void arm(k_process *p, int64_t used_ns) {
  const k_rlimit *limit = &p->rlimits[K_RLIMIT_CPU];
  int64_t next = in_ns(limit->soft < limit->hard ? limit->soft : limit->hard);
  if (next == INT64_MAX) return;
  p->cpu.armed = true;
  int64_t left = next - used_ns, now = clock_mono_ns();
  if (alarm_arm(p->kernel->alarms, &p->cpu.entry, now + (left > 0 ? left : 0), NULL) != CAY_OK)
    k_process_end(p, K_SIGKILL); /* no memory to hold it to its limit */
}

/* Linux moves the soft limit by a second with each SIGXCPU. */
K_LOCKED static void look(k_process *p) {
  k_rlimit *limit = &p->rlimits[K_RLIMIT_CPU];
  int64_t used = clock_of(p) - p->cpu.base_ns;
  if (used >= in_ns(limit->hard)) {
    k_process_end(p, K_SIGKILL);
    return;
  }
  if (used >= in_ns(limit->soft)) {
    limit->soft++;
    k_signal_send(p, &(k_siginfo){ .signo = K_SIGXCPU, .code = K_SI_KERNEL });
  }
  if (!p->dying) arm(p, used);
}

static void on_alarm(void *ctx) {
  k_process *p = ctx;
  k_kernel *k = p->kernel;
  k_lock(k);
  if (p->cpu.running && !p->dying) look(p);
  k_unlock(k);
}

static bool try_alarm(void *ctx) {
  k_process *p = ctx;
  k_kernel *k = p->kernel;
  if (!k_try_lock(k)) return false;
  if (p->cpu.running && !p->dying) look(p);
  k_unlock(k);
  return true;
}

void k_cpu_limit_init(k_process *p) {
  p->cpu.entry = (alarm_entry){ .fn = on_alarm, .try_fn = try_alarm, .ctx = p };
}

K_LOCKED int64_t k_cpu_time_ns(const k_process *p) {
  return p->cpu.running ? clock_of(p) - p->cpu.base_ns : p->user_ns + p->system_ns;
}

/* The clock is a system call of the machine: it is not read in vain. */
void k_cpu_limit_changed(k_process *p) {
  if (p->cpu.running && !p->dying && k_cpu_limit_is_set(p)) arm(p, clock_of(p) - p->cpu.base_ns);
}

int64_t k_cpu_limit_begin(k_process *p) {
  int64_t now = k_cpu_meter_begin(p);
  if (pthread_getcpuclockid(pthread_self(), &p->cpu.clock) != 0) return now; /* cannot: the thread is there */
  p->cpu.base_ns = now + others_ns(p) - p->user_ns - p->system_ns;
  p->cpu.running = true;
  k_cpu_limit_changed(p);
  return now;
}

void k_cpu_limit_pause(k_process *p) {
  if (p->cpu.running) k_cpu_limit_stop(p);
}

K_LOCKED void k_cpu_limit_stop(k_process *p) {
  p->cpu.running = false;
  if (!p->cpu.armed) return;
  p->cpu.armed = false;
  k_unlock(p->kernel);
  alarm_disarm(p->kernel->alarms, &p->cpu.entry);
  k_lock(p->kernel);
}
