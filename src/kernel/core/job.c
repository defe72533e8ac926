#include "kernel/core/job.h"

#include "base/alloc.h"
#include "kernel/file/pipe.h"
#include "kernel/proc/inner.h"
#include "kernel/tty/tty.h"

#include <stdio.h>
#include <string.h>

/* ---- life ---- */

/* On the alarm thread; it cannot outlive the job, whose end disarms it. */
static void on_deadline(void *ctx) {
  k_job *job = ctx;
  k_lock(job->kernel);
  k_job_kill(job, K_JOB_TIME);
  k_unlock(job->kernel);
}

static bool try_deadline(void *ctx) {
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
  job->refs = 1;
  job->output = output;
  job->output_ctx = output_ctx;
  job->deadline = (alarm_entry){ .fn = on_deadline, .try_fn = try_deadline, .ctx = job };
  k_waitq_init(&job->changed);
  k_waitq_init(&job->output_free);
  *out = job;
  return 0;
}

k_job *k_job_ref(k_job *job) {
  job->refs++;
  return job;
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
  mem_free(job);
}

void k_job_entered(k_job *job, k_process *p) {
  p->job = k_job_ref(job);
  job->alive++;
  if (job->pid == 0) job->pid = p->pid;
  if (job->stop != K_JOB_RUNNING) k_process_end(p, K_SIGKILL);
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
      if (job->tty != NULL) k_tty_hang_up(job->tty);
    } else {
      job->pid = 0;
      if (job->tty != NULL) k_tty_hang_up(job->tty);
    }
  }
  k_wake(&job->changed);
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
  if (deadline_ns == K_FOREVER) {
    alarm_disarm(job->kernel->alarms, &job->deadline);
    return 0;
  }
  k_lock(job->kernel);
  job->has_deadline = true;
  k_unlock(job->kernel);
  return alarm_arm(job->kernel->alarms, &job->deadline, deadline_ns, NULL) == CAY_OK ? 0 : -K_ENOMEM;
}

static bool is_over(const k_job *job) { return job->ended && (job->tty == NULL || job->shown); }

k_ret k_job_wait(k_job *job, int64_t deadline_ns) {
  k_sleeper sleeper;
  K_TRY(k_sleeper_init(&sleeper, job->kernel, NULL));
  k_waitq *queue = &job->changed;
  k_ret r = 0;
  while (!is_over(job) && r >= 0) r = k_sleep(&sleeper, &queue, 1, deadline_ns);
  k_sleeper_destroy(&sleeper);
  return is_over(job) ? 0 : r;
}

/* ---- output ---- */

typedef struct output {
  k_job *job; /* a reference */
  int fd;
} output;

K_LOCKED static k_ret output_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)pos;
  const output *o = f->object;
  k_job *job = o->job;
  if (len == 0) return 0;
  if (job->output_busy) return -K_EAGAIN;
  job->output_busy = true;
  k_unlock(job->kernel);
  if (job->output != NULL) job->output(job->output_ctx, o->fd, buf, len);
  k_lock(job->kernel);
  job->output_busy = false;
  k_wake(&job->output_free);
  return (k_ret)len;
}

static uint32_t output_ready(k_file *f) {
  const output *o = f->object;
  return o->job->output_busy ? 0 : K_POLLOUT | K_POLLWRNORM;
}

static k_waitq *output_queue(k_file *f) { return &((output *)f->object)->job->output_free; }

static k_ret output_stat(k_file *f, k_stat *out) {
  const output *o = f->object;
  *out = (k_stat){
    .ino = (uint64_t)o->fd + 1,
    .mode = K_S_IFIFO | 0600,
    .nlink = 1,
    .uid = K_UID,
    .gid = K_GID,
    .dev_minor = 14,
  };
  return 0;
}

K_LOCKED static void output_release(k_file *f) {
  output *o = f->object;
  k_job_unref(o->job);
  mem_free(o);
}

static const k_file_ops output_ops = {
  .write = output_write,
  .stat = output_stat,
  .ready = output_ready,
  .queue = output_queue,
  .release = output_release,
};

static k_ret open_output(k_job *job, int fd, k_file **out) {
  output *o = mem_alloc(sizeof *o);
  if (o == NULL) return -K_ENOMEM;
  *o = (output){ .job = job, .fd = fd };
  k_ret r = k_file_new(job->kernel, &output_ops, K_O_WRONLY, NULL, o, out);
  if (r < 0) {
    mem_free(o);
    return r;
  }
  k_job_ref(job);
  return 0;
}

K_LOCKED static void wait_for_output(k_job *job) {
  k_sleeper sleeper;
  if (k_sleeper_init(&sleeper, job->kernel, NULL) < 0) return; /* cannot: it takes no memory */
  k_waitq *queue = &job->output_free;
  while (job->output_busy) (void)!k_sleep(&sleeper, &queue, 1, K_FOREVER);
  k_sleeper_destroy(&sleeper);
}

K_LOCKED void k_job_mute(k_job *job) {
  job->output = NULL;
  wait_for_output(job);
}

/* ---- input ---- */

static k_ret null_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)f, (void)buf, (void)len, (void)pos;
  return 0;
}

static k_ret null_stat(k_file *f, k_stat *out) {
  (void)f;
  *out = (k_stat){ .ino = 1, .mode = K_S_IFCHR | 0666, .nlink = 1, .rdev_major = 1, .rdev_minor = 3 };
  return 0;
}

static const k_file_ops null_ops = { .read = null_read, .stat = null_stat };

/* /dev/null itself where there is one, so that it has a name. */
K_LOCKED static k_ret open_null(k_job *job, k_process *p, k_file **out) {
  if (vfs_open(&p->view, NULL, "/dev/null", K_O_RDONLY, 0, out) >= 0) return 0;
  return k_file_new(job->kernel, &null_ops, K_O_RDONLY, NULL, NULL, out);
}

static k_ret open_input(k_job *job, k_file **out) {
  k_file *writer = NULL;
  K_TRY(k_pipe_new(job->kernel, 0, out, &writer));
  k_job_close_input(job);
  job->input = writer;
  return 0;
}

K_LOCKED static k_ret put(k_process *p, int fd, k_ret opened, k_file *f) {
  if (opened < 0) return opened;
  k_ret r = k_fd_put(&p->fds, f, fd, false);
  if (r < 0) k_file_unref(f);
  return r;
}

K_LOCKED k_ret k_job_stdio(k_job *job, k_process *p, bool input_open) {
  k_file *f = NULL;
  k_ret r = input_open ? open_input(job, &f) : open_null(job, p, &f);
  K_TRY(put(p, 0, r, f));
  for (int fd = 1; fd <= 2; fd++) {
    r = open_output(job, fd, &f);
    K_TRY(put(p, fd, r, f));
  }
  return 0;
}

static bool is_hung_up(const k_file *f) {
  const k_tty *t = k_tty_of(f);
  return t != NULL && (t->hangups != 0 || t->input_ended);
}

/* The file is held while this sleeps: another thread may close the input meanwhile. */
K_LOCKED static k_ret write_input(k_sleeper *sleeper, k_file *f, const void *data, size_t len,
                                  int64_t deadline_ns) {
  size_t done = 0;
  k_waitq *queue = f->ops->queue(f);
  while (done < len) {
    k_ret r = is_hung_up(f) ? -K_EPIPE : k_file_write(NULL, f, (const char *)data + done, len - done);
    if (r > 0) done += (size_t)r;
    if (r == -K_EAGAIN) r = k_sleep(sleeper, &queue, 1, deadline_ns);
    if (r == -K_ETIMEDOUT) break;
    if (r < 0) return done > 0 ? (k_ret)done : r;
  }
  return (k_ret)done;
}

k_ret k_job_write(k_job *job, const void *data, size_t len, int64_t deadline_ns) {
  if (job->input == NULL) return -K_EPIPE;
  k_sleeper sleeper;
  K_TRY(k_sleeper_init(&sleeper, job->kernel, NULL));
  k_file *f = k_file_ref(job->input);
  k_ret r = write_input(&sleeper, f, data, len, deadline_ns);
  k_file_unref(f);
  k_sleeper_destroy(&sleeper);
  return r;
}

void k_job_close_input(k_job *job) {
  if (job->tty != NULL) {
    job->tty->input_ended = true;
    k_tty_changed(job->tty);
    return;
  }
  k_file *f = job->input;
  job->input = NULL;
  k_file_unref(f);
}

/* ---- a terminal ---- */

static k_ret make_terminal(k_job *job) {
  k_file *master = NULL;
  K_TRY(k_tty_new(job->kernel, NULL, 0, &master));
  k_tty *t = k_tty_ref(k_tty_of(master));
  t->locked = false;
  t->line.t.iflag |= K_IUTF8;
  job->input = master;
  job->tty = t;
  return 0;
}

/* By its name where there is one, so that ttyname(3) finds it. */
K_LOCKED static k_ret open_slave(const k_job *job, k_process *p, k_file **out) {
  char path[32];
  snprintf(path, sizeof path, "/dev/pts/%u", job->tty->number);
  if (vfs_open(&p->view, NULL, path, K_O_RDWR, 0, out) >= 0) return 0;
  return k_tty_open(job->tty, p, NULL, K_O_RDWR, out);
}

K_LOCKED k_ret k_job_terminal(k_job *job, k_process *p, k_winsize size) {
  assert(job->tty == NULL && job->input == NULL);
  K_TRY(make_terminal(job));
  k_tty_resize(job->tty, size);
  k_file *f = NULL;
  k_ret r = open_slave(job, p, &f);
  for (int fd = 0; fd <= 2 && r >= 0; fd++) r = put(p, fd, 0, k_file_ref(f));
  k_file_unref(f);
  return r;
}

k_ret k_job_resize(k_job *job, k_winsize size) {
  if (job->tty == NULL) return -K_ENOTTY;
  k_tty_resize(job->tty, size);
  return 0;
}

K_LOCKED static void give_out(k_job *job, const void *data, size_t len) {
  k_wake(&job->tty->changed); /* there is room again */
  job->output_busy = true;
  k_unlock(job->kernel);
  if (job->output != NULL) job->output(job->output_ctx, 1, data, len);
  k_lock(job->kernel);
  job->output_busy = false;
  k_wake(&job->output_free);
}

void k_job_show(k_job *job) {
  char chunk[8192];
  k_sleeper sleeper;
  k_waitq *queue = &job->tty->changed;
  bool can_sleep = k_sleeper_init(&sleeper, job->kernel, NULL) >= 0; /* always: it takes no memory */
  for (;;) {
    size_t n = k_ldisc_take(&job->tty->line, chunk, sizeof chunk);
    if (n > 0) {
      give_out(job, chunk, n);
      continue;
    }
    if (job->tty->hangups != 0 || !can_sleep) break;
    (void)!k_sleep(&sleeper, &queue, 1, K_FOREVER);
  }
  k_sleeper_destroy(&sleeper);
  job->shown = true;
  k_wake(&job->changed);
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
  wait_for_output(job);
  job->output = NULL;
  job->on_stop = NULL;
  k_job_unref(job);
}
