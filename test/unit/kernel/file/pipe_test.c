/* pipe_test.c - pipe(7), as src/kernel/file/pipe.h promises it. */
#include "kernel/file/pipe.h"
#include "kernel/file/poll.h"
#include "native_runner.h"

/* Both ends in the hands of the test, which is no process: nothing here sleeps. */
typedef struct pair {
  native *world;
  k_file *in, *out;
} pair;

static pair pair_new(void) {
  pair p = { .world = native_new(NULL) };
  k_lock(native_kernel(p.world));
  EXPECT_EQ(k_pipe_new(native_kernel(p.world), 0, &p.in, &p.out), 0);
  return p;
}

static void pair_free(pair *p) {
  k_file_unref(p->in);
  k_file_unref(p->out);
  k_unlock(native_kernel(p->world));
  native_free(p->world);
}

static void close_end(k_file **f) {
  k_file_unref(*f);
  *f = NULL;
}

TEST(pipe_keeps_order_across_the_wrap) {
  pair p = pair_new();
  uint8_t in[K_PIPE_CAP / 2 + 100], back[sizeof in];
  for (int round = 0; round < 9; round++) {
    memset(in, 'a' + round, sizeof in);
    EXPECT_EQ(k_file_write(NULL, p.out, in, sizeof in), sizeof in);
    EXPECT_EQ(k_file_read(NULL, p.in, back, sizeof back), sizeof in);
    EXPECT_EQ(memcmp(in, back, sizeof in), 0);
  }
  pair_free(&p);
}

TEST(an_empty_pipe_is_again_while_a_writer_lives_and_end_of_file_after) {
  pair p = pair_new();
  char c;
  EXPECT_EQ(k_file_read(NULL, p.in, &c, 1), -K_EAGAIN);
  close_end(&p.out);
  EXPECT_EQ(k_file_read(NULL, p.in, &c, 1), 0);
  pair_free(&p);
}

TEST(closed_pipe_gives_its_rest_then_eof) {
  pair p = pair_new();
  char c = 0;
  EXPECT_EQ(k_file_write(NULL, p.out, "x", 1), 1);
  close_end(&p.out);
  EXPECT_EQ(k_file_read(NULL, p.in, &c, 1), 1);
  EXPECT_EQ(c, 'x');
  EXPECT_EQ(k_file_read(NULL, p.in, &c, 1), 0);
  pair_free(&p);
}

TEST(a_small_write_never_splits) {
  pair p = pair_new();
  static uint8_t block[K_PIPE_CAP - 1];
  EXPECT_EQ(k_file_write(NULL, p.out, block, sizeof block), sizeof block);
  EXPECT_EQ(k_file_write(NULL, p.out, "ab", 2), -K_EAGAIN);
  EXPECT_EQ(k_file_write(NULL, p.out, "a", 1), 1);
  pair_free(&p);
}

TEST(a_big_write_without_sleeping_moves_what_fits) {
  pair p = pair_new();
  static uint8_t block[K_PIPE_CAP + 10];
  EXPECT_EQ(k_file_write(NULL, p.out, block, sizeof block), K_PIPE_CAP);
  EXPECT_EQ(k_file_write(NULL, p.out, block, sizeof block), -K_EAGAIN);
  pair_free(&p);
}

TEST(writing_with_no_reader_is_a_broken_pipe) {
  pair p = pair_new();
  close_end(&p.in);
  EXPECT_EQ(k_file_write(NULL, p.out, "a", 1), -K_EPIPE);
  pair_free(&p);
}

TEST(the_ends_of_a_pipe_go_one_way) {
  pair p = pair_new();
  char c;
  EXPECT_EQ(k_file_read(NULL, p.out, &c, 1), -K_EBADF);
  EXPECT_EQ(k_file_write(NULL, p.in, "a", 1), -K_EBADF);
  EXPECT_EQ(k_file_seek(p.in, 0, K_SEEK_SET), -K_ESPIPE);
  EXPECT_EQ(k_file_pread(NULL, p.in, &c, 1, 0), -K_ESPIPE);
  pair_free(&p);
}

TEST(a_pipe_is_ready_as_pipe_7_says) {
  pair p = pair_new();
  EXPECT_EQ(p.in->ops->ready(p.in), 0);
  EXPECT_EQ(p.out->ops->ready(p.out), K_POLLOUT | K_POLLWRNORM);
  EXPECT_EQ(k_file_write(NULL, p.out, "a", 1), 1);
  EXPECT_EQ(p.in->ops->ready(p.in), K_POLLIN | K_POLLRDNORM);
  static uint8_t block[K_PIPE_CAP];
  EXPECT(k_file_write(NULL, p.out, block, sizeof block) > 0);
  EXPECT_EQ(p.out->ops->ready(p.out), 0);
  close_end(&p.out);
  EXPECT_EQ(p.in->ops->ready(p.in), K_POLLIN | K_POLLRDNORM | K_POLLHUP);
  pair_free(&p);
}

TEST(a_writer_without_a_reader_is_in_error) {
  pair p = pair_new();
  close_end(&p.in);
  EXPECT_EQ(p.out->ops->ready(p.out), K_POLLOUT | K_POLLWRNORM | K_POLLERR);
  pair_free(&p);
}

TEST(a_pipe_that_is_idle_holds_no_memory_of_the_sandbox) {
  pair p = pair_new();
  k_kernel *k = native_kernel(p.world);
  uint64_t idle = k->used.memory;
  EXPECT(idle >= 2 * sizeof(k_file) && idle < K_PAGE);
  EXPECT_EQ(k_file_write(NULL, p.out, "a", 1), 1);
  EXPECT_EQ(k->used.memory, idle + K_PAGE);
  close_end(&p.in);
  close_end(&p.out);
  EXPECT_EQ(k->used.memory, 0);
  pair_free(&p);
}

TEST(a_sandbox_without_memory_left_has_none_for_pipes) {
  pair p = pair_new();
  k_kernel *k = native_kernel(p.world);
  uint64_t all = k->limits.memory - k->used.memory;
  EXPECT_EQ(k_memory_charge(k, all), 0);
  EXPECT_EQ(k_file_write(NULL, p.out, "a", 1), -K_ENOMEM);
  k_memory_uncharge(k, K_PAGE);
  static uint8_t block[K_PIPE_CAP];
  EXPECT_EQ(k_file_write(NULL, p.out, block, sizeof block), K_PAGE);
  k_memory_uncharge(k, all - K_PAGE);
  pair_free(&p);
}

TEST(the_capacity_of_a_pipe_can_be_changed_but_not_below_its_contents) {
  pair p = pair_new();
  static uint8_t block[3 * K_PAGE], back[sizeof block];
  memset(block, 'x', sizeof block);
  EXPECT_EQ(k_pipe_capacity(p.in), K_PIPE_CAP);
  EXPECT_EQ(k_file_write(NULL, p.out, block, sizeof block), sizeof block);
  EXPECT_EQ(k_pipe_resize(p.out, K_PAGE), -K_EBUSY);
  EXPECT_EQ(k_pipe_resize(p.out, 3 * K_PAGE + 1), 4 * K_PAGE);
  EXPECT_EQ(k_pipe_resize(p.out, 1 << 30), -K_EPERM);
  EXPECT_EQ(k_file_write(NULL, p.out, block, sizeof block), K_PAGE);
  EXPECT_EQ(k_file_read(NULL, p.in, back, sizeof back), sizeof back);
  EXPECT_EQ(memcmp(block, back, sizeof back), 0);
  pair_free(&p);
}

TEST(fionread_counts_what_waits) {
  pair p = pair_new();
  int32_t n = -1;
  EXPECT_EQ(k_file_write(NULL, p.out, "abc", 3), 3);
  EXPECT_EQ(p.in->ops->ioctl(p.in, K_FIONREAD, &n, sizeof n), 0);
  EXPECT_EQ(n, 3);
  EXPECT_EQ(p.in->ops->ioctl(p.in, 0x5413, &n, sizeof n), -K_ENOTTY);
  pair_free(&p);
}

TEST(a_vector_of_up_to_a_page_goes_into_a_pipe_in_one_piece) {
  pair p = pair_new();
  static uint8_t block[K_PIPE_CAP - 3];
  char a[] = "ab", b[] = "cd";
  k_iov iov[] = { { a, 2 }, { b, 2 } };
  EXPECT_EQ(k_file_write(NULL, p.out, block, sizeof block), sizeof block);
  EXPECT_EQ(k_file_writev(NULL, p.out, iov, 2, -1), -K_EAGAIN);
  pair_free(&p);
}

TEST(no_memory_makes_no_pipe_and_leaks_nothing) {
  native *n = native_new(NULL);
  k_lock(native_kernel(n));
  AT_EVERY_FAULT {
    k_file *in = NULL, *out = NULL;
    k_ret r = k_pipe_new(native_kernel(n), 0, &in, &out);
    EXPECT(r == 0 ? in != NULL && out != NULL : r == -K_ENOMEM && in == NULL && out == NULL);
    k_file_unref(in);
    k_file_unref(out);
  }
  k_unlock(native_kernel(n));
  native_free(n);
}

/* ---- with processes ---- */

static int reader(k_process *p, void *arg) {
  int *fds = arg;
  char text[8] = "";
  NEED_EQ(native_close(p, fds[1]), 0);
  NEED_EQ(native_read(p, fds[0], text, 5), 5);
  NEED_EQ(strcmp(text, "hello"), 0);
  NEED_EQ(native_read(p, fds[0], text, 5), 0);
  return 3;
}

static int writer(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  k_ret pid = native_fork(p, reader, fds);
  NEED(pid > 0);
  native_until_asleep(p, (int32_t)pid);
  NEED_EQ(native_write(p, fds[1], "hello", 5), 5);
  NEED_EQ(native_close(p, fds[1]), 0);
  k_wait_result got;
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), pid);
  NEED_EQ(got.status, 3 << 8);
  return 0;
}

TEST(a_reader_sleeps_until_a_writer_writes) { EXPECT_EQ(native_run(writer, NULL), 0); }

static int drain(k_process *p, void *arg) {
  int *fds = arg;
  static char block[1000];
  NEED_EQ(native_close(p, fds[1]), 0);
  size_t total = 0;
  k_ret n;
  while ((n = native_read(p, fds[0], block, sizeof block)) > 0) total += (size_t)n;
  NEED_EQ(total, 3 * K_PIPE_CAP);
  return 0;
}

static int fill(k_process *p, void *arg) {
  (void)arg;
  static char block[3 * K_PIPE_CAP];
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED(native_fork(p, drain, fds) > 0);
  NEED_EQ(native_write(p, fds[1], block, sizeof block), sizeof block);
  NEED_EQ(native_close(p, fds[1]), 0);
  k_wait_result got;
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  return got.status;
}

TEST(a_big_write_sleeps_until_all_of_it_is_written) { EXPECT_EQ(native_run(fill, NULL), 0); }

static int broken(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(native_close(p, fds[0]), 0);
  (void)native_write(p, fds[1], "x", 1);
  return 0;
}

TEST(a_broken_pipe_kills_with_sigpipe) { EXPECT_EQ(native_run(broken, NULL), K_SIGPIPE); }

static int ignoring(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  k_sigaction ignore = { .handler = K_SIG_IGN };
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGPIPE, &ignore, NULL)), 0);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(native_close(p, fds[0]), 0);
  NEED_EQ(native_write(p, fds[1], "x", 1), -K_EPIPE);
  return 0;
}

TEST(a_broken_pipe_is_an_error_when_sigpipe_is_ignored) { EXPECT_EQ(native_run(ignoring, NULL), 0); }
