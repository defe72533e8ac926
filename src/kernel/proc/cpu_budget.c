/* cpu_budget.c - the processor time of all processes together (k_limits.cpu_ms).
 *
 * A thread that computes for a process has a meter: its clock, and where the clock stood when it began. Spent is
 * what ended meters have counted, and what the running ones show now. N threads use at most N times what the
 * wall clock gives, so the alarm is set for the earliest moment at which the budget could be used up by as many
 * threads as there may be processes, and again for the rest. While nothing computes there is no alarm.
 *
 * When the budget is used up every process is ended, as by a deadline. A job that is made afterwards is stopped before
 * its first process runs: the alarm alone would let a program of less than a millisecond end first. */
#include "kernel/core/job.h"
#include "kernel/proc/inner.h"

#include <stdio.h>

enum { SOONEST_MS = 20 /* between two looks */ };

static int64_t meter_ns(const k_cpu_meter *m) {
  return m->running ? clock_read_ns(m->clock, m->from_ns) - m->from_ns : 0;
}

int64_t k_cpu_meter_read_ns(const k_cpu_meter *m) { return m->running ? clock_read_ns(m->clock, 0) : 0; }

K_LOCKED int64_t k_cpu_spent_ns(k_kernel *k) {
  int64_t ns = k->cpu.ended_ns;
  LIST_EACH (p, &k->processes, k_process, in_kernel)
    LIST_EACH (t, &p->threads, k_thread, in_process) ns += meter_ns(&t->meter);
  return ns;
}

static int64_t budget_ns(const k_kernel *k) {
  uint64_t ms = k->limits.cpu_ms;
  return ms == 0 || ms > INT64_MAX / NS_PER_MS ? INT64_MAX : (int64_t)ms * NS_PER_MS;
}

K_LOCKED static void budget_explain(k_job *job) {
  char why[100];
  (void)snprintf(why, sizeof why, "the processor time of the sandbox is used up (cpu_ms %llu)",
                 (unsigned long long)job->kernel->limits.cpu_ms);
  k_job_explain(job, why);
}

K_LOCKED static void budget_end_one(k_process *p) {
  k_job *job = p->job;
  if (job == NULL) {
    k_process_end(p, K_SIGKILL);
    return;
  }
  if (!job->ended) budget_explain(job);
  k_job_kill(job, K_JOB_TIME);
}

void k_cpu_budget_admit(k_job *job) {
  if (k_cpu_spent_ns(job->kernel) < budget_ns(job->kernel)) return;
  budget_explain(job);
  job->stop = K_JOB_TIME;
}

K_LOCKED static void budget_end_all(k_kernel *k) {
  LIST_EACH_SAFE (p, &k->processes, k_process, in_kernel) budget_end_one(p);
}

K_LOCKED static void budget_arm(k_kernel *k) {
  int64_t left = budget_ns(k) - k->cpu.ended_ns,
          period = left / (k->limits.processes > 0 ? k->limits.processes : 1);
  if (period < SOONEST_MS * NS_PER_MS) period = SOONEST_MS * NS_PER_MS;
  if (left <= 0) period = 0;
  k->cpu.armed = k->cpu.was_armed = true;
  if (alarm_arm(k->alarms, &k->cpu.alarm, clock_mono_ns() + period, NULL) == CAY_OK) return;
  k->cpu.armed = false;
  budget_end_all(k); /* no memory to hold it to its limit */
}

/* Everything that a running meter shows is counted as ended first, so that budget_arm sees the rest. */
K_LOCKED static void budget_settle(k_kernel *k) {
  LIST_EACH (p, &k->processes, k_process, in_kernel)
    LIST_EACH (t, &p->threads, k_thread, in_process) {
      int64_t ns = meter_ns(&t->meter);
      k->cpu.ended_ns += ns;
      t->meter.from_ns += ns;
    }
}

K_LOCKED static void budget_look(k_kernel *k) {
  k->cpu.armed = false;
  budget_settle(k);
  if (k->cpu.ended_ns >= budget_ns(k)) budget_end_all(k);
  if (k->cpu.running > 0) budget_arm(k);
}

static void budget_on_alarm(void *ctx) {
  k_kernel *k = ctx;
  k_lock(k);
  budget_look(k);
  k_unlock(k);
}

static bool budget_try_alarm(void *ctx) {
  k_kernel *k = ctx;
  if (!k_try_lock(k)) return false;
  budget_look(k);
  k_unlock(k);
  return true;
}

K_UNCHECKED void k_cpu_budget_init(k_kernel *k) {
  k->cpu.alarm = (alarm_entry){ .fn = budget_on_alarm, .try_fn = budget_try_alarm, .ctx = k };
}

K_UNCHECKED void k_cpu_budget_stop(k_kernel *k) {
  if (k->cpu.was_armed) alarm_disarm(k->alarms, &k->cpu.alarm);
}

K_LOCKED int64_t k_cpu_meter_begin(k_process *p) {
  k_kernel *k = p->kernel;
  k_cpu_meter *m = &k_self(p)->meter;
  int64_t now = clock_thread_cpu_ns();
  if (m->running || pthread_getcpuclockid(pthread_self(), &m->clock) != 0) return now;
  m->from_ns = now;
  m->running = true;
  k->cpu.running++;
  if (!k->cpu.armed && budget_ns(k) != INT64_MAX) budget_arm(k);
  return now;
}

K_LOCKED void k_cpu_meter_end(k_process *p) {
  k_kernel *k = p->kernel;
  k_cpu_meter *m = &k_self(p)->meter;
  if (!m->running) return;
  k->cpu.ended_ns += meter_ns(m);
  m->running = false;
  k->cpu.running--;
}
