/* fifo_test.c - fifo(7): what open(2) waits for. */
#include "kernel/file/pipe.h"
#include "native_runner.h"

static k_ret open_fifo(k_process *p, uint32_t flags) {
  k_file *f = NULL;
  K_TRY(vfs_open(&p->view, NULL, "/tmp/fifo", flags, 0, &f));
  k_ret r = k_fd_add(&p->fds, f, 0, false);
  if (r < 0) k_file_unref(f);
  return r;
}

static k_ret opens(k_process *p, uint32_t flags) { return SYS(open_fifo(p, flags)); }

static void make(k_process *p) {
  NEED_EQ(SYS(vfs_mknod(&p->view, NULL, "/tmp/fifo", K_S_IFIFO | 0644, 0)), 0);
}

static int reader(k_process *p, void *arg) {
  (void)arg;
  char text[8] = "";
  NEED_EQ(opens(p, K_O_RDONLY), 0);
  NEED_EQ(native_read(p, 0, text, 8), 2);
  NEED_EQ(native_read(p, 0, text, 8), 0);
  return 0;
}

static int writer(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  make(p);
  k_ret pid = native_fork(p, reader, NULL);
  native_until_asleep(p, (int32_t)pid);
  NEED_EQ(opens(p, K_O_WRONLY), 0);
  NEED_EQ(native_write(p, 0, "hi", 2), 2);
  NEED_EQ(native_close(p, 0), 0);
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  return got.status;
}

TEST(opening_a_fifo_waits_for_the_other_side) { EXPECT_EQ(native_run(writer, NULL), 0); }

static int nonblocking(k_process *p, void *arg) {
  (void)arg;
  char c;
  make(p);
  NEED_EQ(opens(p, K_O_WRONLY | K_O_NONBLOCK), -K_ENXIO);
  NEED_EQ(opens(p, K_O_RDONLY | K_O_NONBLOCK), 0);
  NEED_EQ(native_read(p, 0, &c, 1), 0); /* no writer: end of file */
  k_file *f = p->fds.slots[0].file;
  NEED_EQ(SYS(f->ops->ready(f)), 0); /* but there was no hang-up */
  NEED_EQ(opens(p, K_O_WRONLY | K_O_NONBLOCK), 1);
  NEED_EQ(native_read(p, 0, &c, 1), -K_EAGAIN);
  NEED_EQ(native_close(p, 1), 0);
  NEED_EQ(SYS(f->ops->ready(f)), K_POLLHUP);
  return 0;
}

TEST(a_fifo_without_blocking_opens_to_read_and_not_to_write) { EXPECT_EQ(native_run(nonblocking, NULL), 0); }

static int both_ways(k_process *p, void *arg) {
  (void)arg;
  char c;
  make(p);
  NEED_EQ(opens(p, K_O_RDWR), 0);
  NEED_EQ(native_write(p, 0, "x", 1), 1);
  NEED_EQ(native_read(p, 0, &c, 1), 1);
  return 0;
}

TEST(fifo_opened_rdwr_does_not_block) { EXPECT_EQ(native_run(both_ways, NULL), 0); }

static void on_alarm(k_process *p, int sig, const k_siginfo *info) { (void)p, (void)sig, (void)info; }

static int gives_up(k_process *p, void *arg) {
  (void)arg;
  make(p);
  native_on(p, K_SIGALRM, on_alarm, 0);
  NEED_EQ(SYS(k_itimer_set(p, K_ITIMER_REAL, NS_PER_MS, 0, NULL, NULL)), 0);
  NEED_EQ(opens(p, K_O_RDONLY), -K_EINTR);
  NEED_EQ(opens(p, K_O_WRONLY | K_O_NONBLOCK), -K_ENXIO); /* the reader that gave up is gone */
  return 0;
}

TEST(a_signal_interrupts_the_opening_of_a_fifo) { EXPECT_EQ(native_run(gives_up, NULL), 0); }

static int starts_empty(k_process *p, void *arg) {
  (void)arg;
  char c;
  make(p);
  NEED_EQ(opens(p, K_O_RDWR), 0);
  NEED_EQ(native_write(p, 0, "x", 1), 1);
  NEED_EQ(native_close(p, 0), 0);
  NEED_EQ(opens(p, K_O_RDONLY | K_O_NONBLOCK), 0);
  NEED_EQ(native_read(p, 0, &c, 1), 0);
  return 0;
}

TEST(fifo_contents_go_with_the_last_close) { EXPECT_EQ(native_run(starts_empty, NULL), 0); }
