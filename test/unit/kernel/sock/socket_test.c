/* socket_test.c - socketpair(2), as src/kernel/sock/socket.h promises it. */
#include "kernel/file/pipe.h"
#include "kernel/sock/socket.h"
#include "native_runner.h"

typedef struct pair {
  native *world;
  k_file *a, *b;
} pair;

static pair pair_new(int type) {
  pair s = { .world = native_new(NULL) };
  k_lock(native_kernel(s.world));
  EXPECT_EQ(k_socketpair(NULL, native_kernel(s.world), type, 0, &s.a, &s.b), 0);
  return s;
}

static void pair_free(pair *s) {
  k_file_unref(s->a);
  k_file_unref(s->b);
  EXPECT_EQ(native_kernel(s->world)->used.memory, 0);
  k_unlock(native_kernel(s->world));
  native_free(s->world);
}

static void close_end(k_file **f) {
  k_file_unref(*f);
  *f = NULL;
}

TEST(a_stream_goes_both_ways) {
  pair s = pair_new(K_SOCK_STREAM);
  char buf[8];
  EXPECT_EQ(k_file_write(NULL, s.a, "ab", 2), 2);
  EXPECT_EQ(k_file_write(NULL, s.a, "cd", 2), 2);
  EXPECT_EQ(k_file_write(NULL, s.b, "x", 1), 1);
  EXPECT_EQ(k_file_read(NULL, s.b, buf, 8), 4);
  EXPECT_EQ(k_file_read(NULL, s.a, buf, 8), 1);
  EXPECT_EQ(k_file_read(NULL, s.a, buf, 8), -K_EAGAIN);
  pair_free(&s);
}

TEST(messages_keep_their_borders) {
  static const int types[] = { K_SOCK_DGRAM, K_SOCK_SEQPACKET };
  for (size_t i = 0; i < COUNT_OF(types); i++) {
    pair s = pair_new(types[i]);
    char buf[8];
    EXPECT_EQ(k_file_write(NULL, s.a, "ab", 2), 2);
    EXPECT_EQ(k_file_write(NULL, s.a, "", 0), 0);
    EXPECT_EQ(k_file_write(NULL, s.a, "cdefgh", 6), 6);
    EXPECT_EQ(k_file_read(NULL, s.b, buf, 8), 2);
    EXPECT_EQ(k_file_read(NULL, s.b, buf, 8), 0);
    EXPECT_EQ(k_file_read(NULL, s.b, buf, 2), 2); /* the rest is lost */
    EXPECT_EQ(k_file_read(NULL, s.b, buf, 8), -K_EAGAIN);
    pair_free(&s);
  }
}

TEST(a_peek_takes_nothing) {
  pair s = pair_new(K_SOCK_STREAM);
  char c;
  EXPECT_EQ(k_file_write(NULL, s.a, "ab", 2), 2);
  EXPECT_EQ(k_socket_recv(NULL, s.b, &c, 1, K_MSG_PEEK, NULL), 1);
  EXPECT_EQ(k_socket_recv(NULL, s.b, &c, 1, K_MSG_PEEK, NULL), 1);
  EXPECT_EQ(c, 'a');
  EXPECT_EQ(k_socket_recv(NULL, s.b, &c, 1, 0, NULL), 1);
  EXPECT_EQ(k_socket_recv(NULL, s.b, &c, 1, 0, NULL), 1);
  EXPECT_EQ(c, 'b');
  pair_free(&s);
}

TEST(a_message_that_is_cut_says_so) {
  pair s = pair_new(K_SOCK_DGRAM);
  char buf[2];
  k_received cut;
  EXPECT_EQ(k_file_write(NULL, s.a, "abcd", 4), 4);
  EXPECT_EQ(k_socket_recv(NULL, s.b, buf, 2, K_MSG_PEEK, &cut), 2);
  EXPECT(cut.truncated);
  EXPECT_EQ(k_socket_recv(NULL, s.b, buf, 2, K_MSG_TRUNC, &cut), 4);
  EXPECT_EQ(k_file_write(NULL, s.a, "ab", 2), 2);
  EXPECT_EQ(k_socket_recv(NULL, s.b, buf, 2, 0, &cut), 2);
  EXPECT(!cut.truncated);
  pair_free(&s);
}

TEST(a_closed_stream_is_end_of_file_and_a_broken_pipe) {
  pair s = pair_new(K_SOCK_STREAM);
  char c;
  EXPECT_EQ(k_file_write(NULL, s.a, "a", 1), 1);
  close_end(&s.a);
  EXPECT_EQ(k_file_read(NULL, s.b, &c, 1), 1);
  EXPECT_EQ(k_file_read(NULL, s.b, &c, 1), 0);
  EXPECT_EQ(k_file_write(NULL, s.b, "a", 1), -K_EPIPE);
  EXPECT_EQ(s.b->ops->ready(s.b),
            K_POLLIN | K_POLLRDNORM | K_POLLOUT | K_POLLWRNORM | K_POLLHUP | K_POLLRDHUP);
  pair_free(&s);
}

TEST(a_stream_closed_with_unread_bytes_is_reset_once) {
  pair s = pair_new(K_SOCK_STREAM);
  char c;
  EXPECT_EQ(k_file_write(NULL, s.a, "a", 1), 1);
  close_end(&s.b);
  EXPECT_EQ(k_file_read(NULL, s.a, &c, 1), -K_ECONNRESET);
  EXPECT_EQ(k_file_read(NULL, s.a, &c, 1), 0);
  pair_free(&s);
}

TEST(datagram_without_receiver_is_econnrefused) {
  pair s = pair_new(K_SOCK_DGRAM);
  char c;
  close_end(&s.b);
  EXPECT_EQ(k_file_write(NULL, s.a, "a", 1), -K_ECONNREFUSED);
  EXPECT_EQ(k_file_read(NULL, s.a, &c, 1), -K_EAGAIN);
  pair_free(&s);
}

TEST(a_half_that_is_shut_down_ends_one_way) {
  pair s = pair_new(K_SOCK_STREAM);
  char c;
  EXPECT_EQ(k_socket_shutdown(s.a, K_SHUT_WR), 0);
  EXPECT_EQ(k_file_read(NULL, s.b, &c, 1), 0);
  EXPECT_EQ(k_file_write(NULL, s.a, "a", 1), -K_EPIPE);
  EXPECT_EQ(k_file_write(NULL, s.b, "b", 1), 1);
  EXPECT_EQ(k_file_read(NULL, s.a, &c, 1), 1);
  EXPECT_EQ(k_socket_shutdown(s.a, 3), -K_EINVAL);
  EXPECT_EQ(k_socket_shutdown(s.a, K_SHUT_RD), 0);
  EXPECT_EQ(k_file_write(NULL, s.b, "b", 1), -K_EPIPE);
  pair_free(&s);
}

TEST(queues_of_sockets_are_bounded) {
  static const int types[] = { K_SOCK_STREAM, K_SOCK_DGRAM, K_SOCK_SEQPACKET };
  for (size_t i = 0; i < COUNT_OF(types); i++) {
    pair s = pair_new(types[i]);
    static char block[1000];
    int writes = 0;
    while (k_file_write(NULL, s.a, block, sizeof block) > 0) writes++;
    EXPECT(writes > 50 && writes < 1000);
    EXPECT_EQ(k_file_write(NULL, s.a, block, sizeof block), -K_EAGAIN);
    EXPECT_EQ(s.a->ops->ready(s.a) & K_POLLOUT, 0);
    pair_free(&s);
  }
}

TEST(a_message_too_long_for_the_queue_is_refused) {
  pair s = pair_new(K_SOCK_DGRAM);
  static char block[1 << 20];
  EXPECT_EQ(k_file_write(NULL, s.a, block, sizeof block), -K_EMSGSIZE);
  pair_free(&s);
}

TEST(only_sockets_are_sockets) {
  pair s = pair_new(K_SOCK_STREAM);
  k_file *in = NULL, *out = NULL;
  char c;
  EXPECT_EQ(k_pipe_new(native_kernel(s.world), 0, &in, &out), 0);
  EXPECT(!k_is_socket(in) && k_is_socket(s.a));
  EXPECT_EQ(k_socket_type(s.a), K_SOCK_STREAM);
  EXPECT_EQ(k_socket_shutdown(in, K_SHUT_RD), -K_ENOTSOCK);
  EXPECT_EQ(k_socket_send(NULL, out, "a", 1, 0, NULL), -K_ENOTSOCK);
  EXPECT_EQ(k_socket_recv(NULL, in, &c, 1, 0, NULL), -K_ENOTSOCK);
  EXPECT_EQ(k_socketpair(NULL, native_kernel(s.world), 77, 0, &in, &out), -K_EPROTOTYPE);
  k_file_unref(in);
  k_file_unref(out);
  pair_free(&s);
}

TEST(no_memory_makes_no_socket_pair_and_leaks_nothing) {
  native *n = native_new(NULL);
  k_lock(native_kernel(n));
  AT_EVERY_FAULT {
    k_file *a = NULL, *b = NULL;
    k_ret r = k_socketpair(NULL, native_kernel(n), K_SOCK_DGRAM, 0, &a, &b);
    EXPECT(r == 0 || (r == -K_ENOMEM && a == NULL && b == NULL));
    if (r == 0) {
      k_ret sent = k_file_write(NULL, a, "abc", 3);
      EXPECT(sent == 3 || sent == -K_ENOBUFS);
    }
    k_file_unref(a);
    k_file_unref(b);
    EXPECT_EQ(native_kernel(n)->used.memory, 0);
  }
  k_unlock(native_kernel(n));
  native_free(n);
}

/* ---- with processes ---- */

static k_ret make_pair(k_process *p, int type) {
  k_file *a = NULL, *b = NULL;
  K_TRY(k_socketpair(p, p->kernel, type, 0, &a, &b));
  K_TRY(k_fd_add(&p->fds, a, 0, false));
  return k_fd_add(&p->fds, b, 0, false);
}

static int answers(k_process *p, void *arg) {
  (void)arg;
  char buf[8];
  NEED_EQ(native_close(p, 0), 0);
  NEED_EQ(native_read(p, 1, buf, 8), 4);
  NEED_EQ(native_write(p, 1, "pong", 4), 4);
  return 0;
}

static int asks(k_process *p, void *arg) {
  (void)arg;
  char buf[8];
  NEED_EQ(SYS(make_pair(p, K_SOCK_STREAM)), 1);
  k_ret pid = native_fork(p, answers, NULL);
  NEED_EQ(native_close(p, 1), 0);
  native_until_asleep(p, (int32_t)pid);
  NEED_EQ(native_write(p, 0, "ping", 4), 4);
  NEED_EQ(native_read(p, 0, buf, 8), 4);
  NEED_EQ(native_read(p, 0, buf, 8), 0);
  return 0;
}

TEST(two_processes_talk_over_a_pair) { EXPECT_EQ(native_run(asks, NULL), 0); }

static int no_signal(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(SYS(make_pair(p, K_SOCK_STREAM)), 1);
  NEED_EQ(native_close(p, 1), 0);
  k_file *f = p->fds.slots[0].file;
  NEED_EQ(SYS(k_socket_send(p, f, "x", 1, K_MSG_NOSIGNAL, NULL)), -K_EPIPE);
  (void)SYS(k_socket_send(p, f, "x", 1, 0, NULL));
  return 0;
}

TEST(msg_nosignal_sends_no_sigpipe) { EXPECT_EQ(native_run(no_signal, NULL), K_SIGPIPE); }

static int sends_in_two(k_process *p, void *arg) {
  (void)arg;
  int32_t parent = (int32_t)SYS(p->parent->pid);
  NEED_EQ(native_write(p, 1, "abc", 3), 3);
  native_until_asleep(p, parent);
  NEED_EQ(native_write(p, 1, "def", 3), 3);
  return 0;
}

static int waits_for_all(k_process *p, void *arg) {
  (void)arg;
  char buf[6];
  NEED_EQ(SYS(make_pair(p, K_SOCK_STREAM)), 1);
  NEED(native_fork(p, sends_in_two, NULL) > 0);
  k_file *f = p->fds.slots[0].file;
  NEED_EQ(SYS(k_socket_recv(p, f, buf, 6, K_MSG_WAITALL, NULL)), 6);
  NEED_EQ(SYS(k_socket_recv(p, f, buf, 6, K_MSG_DONTWAIT, NULL)), -K_EAGAIN);
  return 0;
}

TEST(msg_waitall_waits_for_all) { EXPECT_EQ(native_run(waits_for_all, NULL), 0); }
