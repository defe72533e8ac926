/* epoll_test.c - epoll(7). */
#include "kernel/file/epoll.h"
#include "kernel/file/pipe.h"
#include "native_runner.h"

enum { SET = 0, IN = 1, OUT = 2 };

static k_ret make_set(k_process *p) {
  k_file *f = NULL;
  K_TRY(k_epoll_new(p->kernel, &f));
  return k_fd_add(&p->fds, f, 0, false);
}

static k_file *set_of(k_process *p) { return p->fds.slots[SET].file; }

static void set_up(k_process *p) {
  int fds[2];
  NEED_EQ(SYS(make_set(p)), SET);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(fds[0], IN);
}

static k_ret ctl(k_process *p, int op, int fd, uint32_t events) {
  k_epoll_event event = { .events = events, .data = (uint64_t)fd };
  return SYS(k_epoll_ctl(p, set_of(p), op, fd, &event));
}

static k_ret wait_for(k_process *p, k_epoll_event *events, size_t count, int64_t deadline) {
  return SYS(k_epoll_wait(p, set_of(p), events, count, deadline, NULL));
}

static int levels(k_process *p, void *arg) {
  (void)arg;
  k_epoll_event got[4];
  set_up(p);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, IN, K_POLLIN), 0);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, IN, K_POLLIN), -K_EEXIST);
  NEED_EQ(wait_for(p, got, 4, 0), 0);
  NEED_EQ(native_write(p, OUT, "x", 1), 1);
  for (int i = 0; i < 2; i++) {
    NEED_EQ(wait_for(p, got, 4, K_FOREVER), 1);
    NEED_EQ(got[0].events, K_POLLIN);
    NEED_EQ(got[0].data, IN);
  }
  NEED_EQ(ctl(p, K_EPOLL_CTL_MOD, IN, 0), 0);
  NEED_EQ(wait_for(p, got, 4, 0), 0);
  NEED_EQ(ctl(p, K_EPOLL_CTL_DEL, IN, 0), 0);
  NEED_EQ(ctl(p, K_EPOLL_CTL_DEL, IN, 0), -K_ENOENT);
  NEED_EQ(ctl(p, K_EPOLL_CTL_MOD, IN, 0), -K_ENOENT);
  return 0;
}

TEST(a_level_is_told_as_long_as_it_holds) { EXPECT_EQ(native_run(levels, NULL), 0); }

static int edges(k_process *p, void *arg) {
  (void)arg;
  k_epoll_event got[4];
  char c;
  set_up(p);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, IN, K_POLLIN | K_EPOLLET), 0);
  NEED_EQ(native_write(p, OUT, "x", 1), 1);
  NEED_EQ(wait_for(p, got, 4, 0), 1);
  NEED_EQ(wait_for(p, got, 4, 0), 0);
  NEED_EQ(native_read(p, IN, &c, 1), 1);
  NEED_EQ(native_write(p, OUT, "y", 1), 1); /* ready again, without a look in between */
  NEED_EQ(wait_for(p, got, 4, 0), 1);
  return 0;
}

TEST(an_edge_is_told_once_and_none_is_lost) { EXPECT_EQ(native_run(edges, NULL), 0); }

static int one_shot(k_process *p, void *arg) {
  (void)arg;
  k_epoll_event got[4];
  set_up(p);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, IN, K_POLLIN | K_EPOLLONESHOT), 0);
  NEED_EQ(native_write(p, OUT, "x", 1), 1);
  NEED_EQ(wait_for(p, got, 4, 0), 1);
  NEED_EQ(wait_for(p, got, 4, 0), 0);
  NEED_EQ(ctl(p, K_EPOLL_CTL_MOD, IN, K_POLLIN | K_EPOLLONESHOT), 0);
  NEED_EQ(wait_for(p, got, 4, 0), 1);
  return 0;
}

TEST(one_shot_is_told_once_until_it_is_armed_again) { EXPECT_EQ(native_run(one_shot, NULL), 0); }

static int forgets(k_process *p, void *arg) {
  (void)arg;
  k_epoll_event got[4];
  set_up(p);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, IN, K_POLLIN), 0);
  NEED_EQ(native_close(p, OUT), 0);
  NEED_EQ(wait_for(p, got, 4, 0), 1);
  NEED_EQ(got[0].events, K_POLLHUP);
  NEED_EQ(native_close(p, IN), 0);
  NEED_EQ(wait_for(p, got, 4, 0), 0);
  NEED_EQ(p->kernel->interest_count, 0);
  return 0;
}

TEST(a_closed_description_leaves_the_set) { EXPECT_EQ(native_run(forgets, NULL), 0); }

static int pokes(k_process *p, void *arg) {
  (void)arg;
  native_until_asleep(p, (int32_t)SYS(p->parent->pid));
  NEED_EQ(native_write(p, OUT, "x", 1), 1);
  return 0;
}

static int sleeps_for_it(k_process *p, void *arg) {
  (void)arg;
  k_epoll_event got[4];
  set_up(p);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, IN, K_POLLIN), 0);
  NEED(native_fork(p, pokes, NULL) > 0);
  NEED_EQ(wait_for(p, got, 4, K_FOREVER), 1);
  char c;
  NEED_EQ(native_read(p, IN, &c, 1), 1);
  NEED_EQ(wait_for(p, got, 4, clock_mono_ns() + NS_PER_MS), 0);
  return 0;
}

TEST(epoll_wait_sleeps_until_something_is_ready) { EXPECT_EQ(native_run(sleeps_for_it, NULL), 0); }

static int takes_turns(k_process *p, void *arg) {
  (void)arg;
  k_epoll_event got[1];
  int fds[2];
  set_up(p);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, OUT, K_POLLOUT), 0);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, fds[1], K_POLLOUT), 0);
  NEED_EQ(wait_for(p, got, 1, 0), 1);
  uint64_t first = got[0].data;
  NEED_EQ(wait_for(p, got, 1, 0), 1);
  NEED(got[0].data != first);
  return 0;
}

TEST(a_short_array_shows_all_in_turn) { EXPECT_EQ(native_run(takes_turns, NULL), 0); }

static int refuses(k_process *p, void *arg) {
  (void)arg;
  set_up(p);
  int file = (int)native_open(p, "/tmp/f", K_O_RDWR);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, file, K_POLLIN), -K_EPERM);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, 99, K_POLLIN), -K_EBADF);
  NEED_EQ(ctl(p, K_EPOLL_CTL_ADD, SET, K_POLLIN), -K_EINVAL);
  NEED_EQ(ctl(p, 9, IN, K_POLLIN), -K_EINVAL);
  k_epoll_event got[1];
  NEED_EQ(SYS(k_epoll_wait(p, p->fds.slots[IN].file, got, 1, 0, NULL)), -K_EINVAL);
  return 0;
}

TEST(epoll_refuses_as_its_page_says) { EXPECT_EQ(native_run(refuses, NULL), 0); }

TEST(no_memory_for_a_set_leaks_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_process *p = NULL;
  k_lock(k);
  EXPECT_EQ(k_process_new(k, NULL, &p), 0);
  AT_EVERY_FAULT {
    k_file *set = NULL, *in = NULL, *out = NULL;
    k_epoll_event event = { .events = K_POLLIN };
    k_ret r = k_epoll_new(k, &set);
    if (r >= 0) r = k_pipe_new(k, 0, &in, &out);
    if (r >= 0) r = k_fd_put(&p->fds, k_file_ref(in), 0, false);
    if (r < 0 && in != NULL) k_file_unref(in);
    if (r >= 0) r = k_epoll_ctl(p, set, K_EPOLL_CTL_ADD, 0, &event);
    if (r >= 0) r = k_epoll_wait(p, set, &event, 1, clock_mono_ns() + 1, NULL);
    EXPECT(r == 0 || r == -K_ENOMEM);
    k_file_unref(set);
    k_file_unref(in);
    k_file_unref(out);
    k_fdtable_clear(&p->fds);
    EXPECT_EQ(k->interest_count, 0);
  }
  k_process_discard(p);
  k_unlock(k);
  native_free(n);
}
