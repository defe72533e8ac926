/* job_stdio.c - the standard streams of a job: its input, and outputs that the embedder is given. */
#include "kernel/core/job_inner.h"

#include "base/alloc.h"
#include "kernel/file/pipe.h"
#include "kernel/tty/tty.h"

/* ---- output ---- */

typedef struct job_output {
  k_job *job; /* a reference */
  int fd;
} job_output;

/* The function is read with the mutex: k_job_mute clears it, and waits while a delivery is busy. */
K_LOCKED void k_job_deliver(k_job *job, int fd, const void *data, size_t len) {
  k_output_fn *output = job->output;
  void *ctx = job->output_ctx;
  job->output_busy = true;
  k_unlock(job->kernel);
  if (output != NULL) output(ctx, fd, data, len);
  k_lock(job->kernel);
  job->output_busy = false;
  k_wake(&job->output_free);
}

K_LOCKED static k_ret output_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)pos;
  const job_output *o = f->object;
  k_job *job = o->job;
  if (len == 0) return 0;
  if (job->output_busy) return -K_EAGAIN;
  k_job_deliver(job, o->fd, buf, len);
  return (k_ret)len;
}

K_LOCKED static uint32_t output_ready(k_file *f) {
  const job_output *o = f->object;
  return o->job->output_busy ? 0 : K_POLLOUT | K_POLLWRNORM;
}

static k_waitq *output_queue(k_file *f) { return &((job_output *)f->object)->job->output_free; }

static k_ret output_stat(k_file *f, k_stat *out) {
  const job_output *o = f->object;
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
  job_output *o = f->object;
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

K_LOCKED static k_ret job_open_output(k_job *job, int fd, k_file **out) {
  job_output *o = mem_alloc(sizeof *o);
  if (o == NULL) return -K_ENOMEM;
  *o = (job_output){ .job = job, .fd = fd };
  k_ret r = k_file_new(job->kernel, &output_ops, K_O_WRONLY, NULL, o, out);
  if (r < 0) {
    mem_free(o);
    return r;
  }
  k_job_ref(job);
  return 0;
}

K_LOCKED void k_job_output_wait(k_job *job) {
  k_sleeper sleeper;
  if (k_sleeper_init(&sleeper, job->kernel, NULL) < 0) return; /* cannot: it takes no memory */
  k_waitq *queue = &job->output_free;
  while (job->output_busy) (void)!k_sleep(&sleeper, &queue, 1, K_FOREVER);
  k_sleeper_destroy(&sleeper);
}

K_LOCKED void k_job_end_output(k_job *job) {
  for (int fd = 1; fd <= 2; fd++) {
    k_job_output_wait(job);
    k_job_deliver(job, fd, NULL, 0);
  }
}

K_LOCKED void k_job_mute(k_job *job) {
  job->output = NULL;
  k_job_output_wait(job);
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
K_LOCKED static k_ret job_open_null(k_job *job, k_process *p, k_file **out) {
  if (vfs_open(&p->view, NULL, "/dev/null", K_O_RDONLY, 0, out) >= 0) return 0;
  return k_file_new(job->kernel, &null_ops, K_O_RDONLY, NULL, NULL, out);
}

K_LOCKED static k_ret job_open_input(k_job *job, k_file **out) {
  k_file *writer = NULL;
  K_TRY(k_pipe_new(job->kernel, 0, out, &writer));
  k_job_close_input(job);
  job->input = writer;
  return 0;
}

static bool input_is_hung_up(const k_file *f) {
  const k_tty *t = k_tty_of(f);
  return t != NULL && (t->hangups != 0 || t->input_ended);
}

/* The file is held while this sleeps: another thread may close the input meanwhile. */
K_LOCKED static k_ret input_write(k_sleeper *sleeper, k_file *f, const void *data, size_t len,
                                  int64_t deadline_ns) {
  size_t done = 0;
  k_waitq *queue = f->ops->queue(f);
  while (done < len) {
    k_ret r = input_is_hung_up(f) ? -K_EPIPE : k_file_write(NULL, f, (const char *)data + done, len - done);
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
  k_ret r = input_write(&sleeper, f, data, len, deadline_ns);
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

/* ---- descriptors ---- */

K_LOCKED k_ret k_job_put(k_process *p, int fd, k_ret opened, k_file *f) {
  if (opened < 0) return opened;
  k_ret r = k_fd_put(&p->fds, f, fd, false);
  if (r < 0) k_file_unref(f);
  return r;
}

K_LOCKED k_ret k_job_stdio(k_job *job, k_process *p, bool input_open) {
  k_file *f = NULL;
  k_ret r = input_open ? job_open_input(job, &f) : job_open_null(job, p, &f);
  K_TRY(k_job_put(p, 0, r, f));
  for (int fd = 1; fd <= 2; fd++) {
    r = job_open_output(job, fd, &f);
    K_TRY(k_job_put(p, fd, r, f));
  }
  return 0;
}
