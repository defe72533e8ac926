/* poll_test.c - ppoll(2). */
#include "kernel/file/pipe.h"
#include "kernel/file/poll.h"
#include "native_runner.h"

static int looks(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  int file = (int)native_open(p, "/tmp/f", K_O_RDWR);
  k_pollfd all[] = {
    { .fd = fds[0], .events = K_POLLIN },
    { .fd = fds[1], .events = K_POLLOUT | K_POLLIN },
    { .fd = 99, .events = K_POLLIN },
    { .fd = -1, .events = K_POLLIN, .revents = 77 },
    { .fd = file, .events = K_POLLIN | K_POLLOUT },
  };
  NEED_EQ(SYS(k_poll(p, all, COUNT_OF(all), 0, NULL)), 3);
  NEED_EQ(all[0].revents, 0);
  NEED_EQ(all[1].revents, K_POLLOUT);
  NEED_EQ(all[2].revents, K_POLLNVAL);
  NEED_EQ(all[3].revents, 0);
  NEED_EQ(all[4].revents, K_POLLIN | K_POLLOUT);
  NEED_EQ(native_close(p, fds[1]), 0);
  all[0].events = 0;
  NEED_EQ(SYS(k_poll(p, all, 1, K_FOREVER, NULL)), 1);
  NEED_EQ(all[0].revents, K_POLLHUP); /* told without being asked for */
  return 0;
}

TEST(poll_tells_what_is_ready) { EXPECT_EQ(native_run(looks, NULL), 0); }

static int times_out(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  k_pollfd in = { .fd = fds[0], .events = K_POLLIN };
  NEED_EQ(SYS(k_poll(p, &in, 1, clock_mono_ns() + NS_PER_MS, NULL)), 0);
  NEED_EQ(SYS(k_poll(p, NULL, 0, clock_mono_ns() + NS_PER_MS, NULL)), 0);
  NEED_EQ(SYS(k_poll(p, &in, 1025, 0, NULL)), -K_EINVAL);
  return 0;
}

TEST(poll_gives_up_when_its_time_has_passed) { EXPECT_EQ(native_run(times_out, NULL), 0); }

static int pokes(k_process *p, void *arg) {
  int32_t parent = (int32_t)SYS(p->parent->pid);
  native_until_asleep(p, parent);
  NEED_EQ(native_write(p, *(int *)arg, "x", 1), 1);
  return 0;
}

static int polls_many(k_process *p, void *arg) {
  (void)arg;
  enum { PIPES = 100 };
  static int fds[PIPES][2];
  static k_pollfd in[PIPES];
  for (int i = 0; i < PIPES; i++) {
    NEED_EQ(native_pipe(p, fds[i], 0), 0);
    in[i] = (k_pollfd){ .fd = fds[i][0], .events = K_POLLIN };
  }
  for (int i = 0; i < PIPES; i += 33) {
    char c;
    NEED(native_fork(p, pokes, &fds[i][1]) > 0);
    NEED_EQ(SYS(k_poll(p, in, PIPES, K_FOREVER, NULL)), 1);
    NEED_EQ(in[i].revents, K_POLLIN);
    NEED_EQ(native_read(p, fds[i][0], &c, 1), 1);
  }
  return 0;
}

TEST(poll_sleeps_on_many_descriptors_at_once) { EXPECT_EQ(native_run(polls_many, NULL), 0); }
