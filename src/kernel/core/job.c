/* job.c - the life of a job: its processes, its deadline, its end. */
#include "kernel/core/job_inner.h"

#include "base/alloc.h"
#include "kernel/proc/inner.h"
#include "kernel/tty/tty.h"

/* ---- life ---- */

/* On the alarm thread; it cannot outlive the job, whose end disarms it. */
static void job_on_deadline(void *ctx) {
  k_job *job = ctx;
  k_lock(job->kernel);
  k_job_kill(job, K_JOB_TIME);
  k_unlock(job->kernel);
}

static bool job_try_deadline(void *ctx) {
  k_job *job = ctx;
  if (!k_try_lock(job->kernel)) return false;
  k_job_kill(job, K_JOB_TIME);
  k_unlock(job->kernel);
  return true;
}

k_ret k_job_new(k_kernel *k, k_output_fn *output, void *output_ctx, k_job **out) {
  k_job *job = mem_zalloc(sizeof *job);
  if (job == NULL) return -K_ENOMEM;
  job->kernel = k;
  job->deadline_ns = K_FOREVER;
  job->refs = 1;
  job->output = output;
  job->output_ctx = output_ctx;
  job->deadline = (alarm_entry){ .fn = job_on_deadline, .try_fn = job_try_deadline, .ctx = job };
  k_waitq_init(&job->changed);
  k_waitq_init(&job->output_free);
  k_cpu_budget_admit(job);
  *out = job;
  return 0;
}

k_job *k_job_ref(k_job *job) {
  job->refs++;
  return job;
}

/* Without memory there is nothing to say. */
void k_job_explain(k_job *job, const char *why) {
  if (job->detail == NULL) job->detail = mem_strdup(why);
}

void k_job_unref(k_job *job) {
  if (job == NULL || --job->refs > 0) return;
  k_file *input = job->input;
  job->input = NULL;
  k_file_unref(input);
  k_tty_unref(job->tty);
  if (job->has_deadline) {
    /* Its callback takes kernel.mu. No other thread can find the job any more. */
    k_unlock(job->kernel);
    alarm_disarm(job->kernel->alarms, &job->deadline);
    k_lock(job->kernel);
  }
  mem_free(job->detail);
  mem_free(job);
}

void k_job_entered(k_job *job, k_process *p) {
  p->job = k_job_ref(job);
  job->alive++;
  if (job->pid == 0) job->pid = p->pid;
  if (job->stop != K_JOB_RUNNING && !p->resident) k_process_end(p, K_SIGKILL);
}

K_LOCKED static bool job_is_over(const k_job *job) { return job->ended && (job->tty == NULL || job->shown); }

void k_job_changed(k_job *job) {
  void (*on_over)(void *) = job->on_over;
  k_wake(&job->changed);
  if (on_over == NULL || !job_is_over(job)) return;
  job->on_over = NULL;
  on_over(job->on_over_ctx);
}

/* Arming takes the lock of the alarms inside kernel.mu; only disarming must not. */
K_LOCKED static void job_limit_background(k_job *job) {
  k_kernel *k = job->kernel;
  if (k->limits.background_ms == 0 || job->alive == 0) return;
  int64_t due = clock_mono_ns() + k->limits.background_ms * NS_PER_MS;
  if (due >= job->deadline_ns) return;
  job->has_deadline = true;
  job->deadline_ns = due;
  if (alarm_arm(k->alarms, &job->deadline, due, NULL) != CAY_OK)
    k_job_kill(job, K_JOB_TIME); /* no memory to hold it to its limit */
}

void k_job_left(k_process *p, bool ran) {
  k_job *job = p->job;
  if (job == NULL) return;
  p->job = NULL;
  job->alive--;
  if (job->pid == p->pid && !job->ended) {
    if (ran) {
      job->ended = true;
      job->exit_status = p->exit_status;
      job_limit_background(job);
      if (job->tty != NULL) k_tty_hang_up(job->tty);
    } else {
      job->pid = 0;
      if (job->tty != NULL) k_tty_hang_up(job->tty);
    }
  }
  k_job_changed(job);
}

void k_job_kill(k_job *job, enum k_job_stop why) {
  if (job->stop == K_JOB_RUNNING && !job->ended) job->stop = why;
  LIST_EACH (p, &job->kernel->processes, k_process, in_kernel) {
    if (p->job != job) continue;
    if (p->resident && job->on_stop != NULL)
      job->on_stop(job->on_stop_ctx, why);
    else
      k_process_end(p, K_SIGKILL);
  }
}

k_ret k_job_set_deadline(k_job *job, int64_t deadline_ns) {
  k_lock(job->kernel);
  job->deadline_ns = deadline_ns;
  if (deadline_ns != K_FOREVER) job->has_deadline = true;
  k_unlock(job->kernel);
  if (deadline_ns == K_FOREVER) {
    alarm_disarm(job->kernel->alarms, &job->deadline);
    return 0;
  }
  return alarm_arm(job->kernel->alarms, &job->deadline, deadline_ns, NULL) == CAY_OK ? 0 : -K_ENOMEM;
}

k_ret k_job_wait(k_job *job, int64_t deadline_ns) {
  k_sleeper sleeper;
  K_TRY(k_sleeper_init(&sleeper, job->kernel, NULL));
  k_waitq *queue = &job->changed;
  k_ret r = 0;
  while (!job_is_over(job) && r >= 0) r = k_sleep(&sleeper, &queue, 1, deadline_ns);
  k_sleeper_destroy(&sleeper);
  return job_is_over(job) ? 0 : r;
}

/* ---- residents ---- */

K_LOCKED k_ret k_job_attach(k_job *job, k_process *p) {
  assert(p->resident && p->job == NULL);
  k_ret r = k_job_stdio(job, p, false);
  if (r >= 0) k_job_entered(job, p);
  return r;
}

void k_job_detach(k_process *p, int32_t status) {
  k_job *job = p->job;
  p->exit_status = status;
  k_job_left(p, true);
  p->exit_status = 0;
  k_job_output_wait(job);
  job->output = NULL;
  job->on_stop = NULL;
  k_job_unref(job);
}
