/* job_terminal.c - a job on a terminal: its descriptors, its size, its screen. */
#include "kernel/core/job_inner.h"

#include "kernel/tty/tty.h"

#include <stdio.h>

K_LOCKED static k_ret job_make_terminal(k_job *job) {
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
K_LOCKED static k_ret job_open_slave(const k_job *job, k_process *p, k_file **out) {
  char path[32];
  snprintf(path, sizeof path, "/dev/pts/%u", job->tty->number);
  if (vfs_open(&p->view, NULL, path, K_O_RDWR, 0, out) >= 0) return 0;
  return k_tty_open(job->tty, p, NULL, K_O_RDWR, out);
}

K_LOCKED k_ret k_job_terminal(k_job *job, k_process *p, k_winsize size) {
  assert(job->tty == NULL && job->input == NULL);
  K_TRY(job_make_terminal(job));
  k_tty_resize(job->tty, size);
  k_file *f = NULL;
  k_ret r = job_open_slave(job, p, &f);
  for (int fd = 0; fd <= 2 && r >= 0; fd++) r = k_job_put(p, fd, 0, k_file_ref(f));
  k_file_unref(f);
  return r;
}

k_ret k_job_resize(k_job *job, k_winsize size) {
  if (job->tty == NULL) return -K_ENOTTY;
  k_tty_resize(job->tty, size);
  return 0;
}

K_LOCKED static void terminal_give_out(k_job *job, const void *data, size_t len) {
  k_wake(&job->tty->changed); /* there is room again */
  k_job_deliver(job, 1, data, len);
}

void k_job_show(k_job *job) {
  char chunk[8192];
  k_sleeper sleeper;
  k_waitq *queue = &job->tty->changed;
  bool can_sleep = k_sleeper_init(&sleeper, job->kernel, NULL) >= 0; /* always: it takes no memory */
  for (;;) {
    size_t n = k_ldisc_take(&job->tty->line, chunk, sizeof chunk);
    if (n > 0) {
      terminal_give_out(job, chunk, n);
      continue;
    }
    if (job->tty->hangups != 0 || !can_sleep) break;
    (void)!k_sleep(&sleeper, &queue, 1, K_FOREVER);
  }
  k_sleeper_destroy(&sleeper);
  job->shown = true;
  k_job_changed(job);
}
