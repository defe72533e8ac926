/* sock_test.c - sockets that have names and addresses, as src/kernel/sock/socket.h promises them. */
#include "kernel/file/poll.h"
#include "kernel/sock/socket.h"
#include "native_runner.h"

static k_sockaddr v4(uint8_t first, uint8_t last, uint16_t port) {
  k_sockaddr a = { .family = K_AF_INET, .port = port, .ip = { [10] = 0xff, 0xff, first, 0, 0, last } };
  return a;
}

static k_sockaddr path(const char *text) {
  k_sockaddr a = { .family = K_AF_UNIX, .path_len = (uint8_t)strlen(text) };
  memcpy(a.path, text, a.path_len);
  return a;
}

static k_ret socket_fd(k_process *p, int family, int type) {
  k_file *f = NULL;
  K_TRY(k_socket_new(p->kernel, family, type, 0, 0, &f));
  k_ret r = k_fd_add(&p->fds, f, 0, false);
  if (r < 0) k_file_unref(f);
  return r;
}

/* Only the thread of the process changes its descriptors: no lock, so that it may stand inside SYS. */
static k_file *at(k_process *p, k_ret fd) {
  NEED(fd >= 0);
  return p->fds.slots[fd].file;
}

static k_ret accept_fd(k_process *p, k_file *l) {
  k_file *f = NULL;
  K_TRY(k_socket_accept(p, l, 0, &f));
  return k_fd_add(&p->fds, f, 0, false);
}

static k_file *new_at(k_process *p, int family, int type) { return at(p, SYS(socket_fd(p, family, type))); }

static k_file *listening(k_process *p, k_sockaddr a, int32_t backlog) {
  k_file *l = new_at(p, a.family, K_SOCK_STREAM);
  NEED_EQ(SYS(k_socket_bind(p, l, &a)), 0);
  NEED_EQ(SYS(k_socket_listen(p, l, backlog)), 0);
  return l;
}

/* ---- where it may lead ---- */

static int stays_inside(k_process *p, void *arg) {
  (void)arg;
  static const int types[] = { K_SOCK_STREAM, K_SOCK_DGRAM };
  static const uint8_t outside[][4] = { { 8, 8, 8, 8 },         { 10, 0, 0, 1 },   { 169, 254, 169, 254 },
                                        { 192, 168, 0, 1 },     { 172, 17, 0, 1 }, { 128, 0, 0, 1 },
                                        { 255, 255, 255, 255 }, { 224, 0, 0, 1 },  { 126, 255, 255, 255 } };
  for (size_t t = 0; t < COUNT_OF(types); t++) {
    k_file *s = new_at(p, K_AF_INET, types[t]);
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
      k_sockaddr a = v4(0, 0, 80);
      memcpy(a.ip + 12, outside[i], 4);
      NEED_EQ(SYS(k_socket_connect(p, s, &a)), -K_ENETUNREACH);
      NEED_EQ(SYS(k_socket_bind(p, s, &a)), -K_EADDRNOTAVAIL);
      if (types[t] == K_SOCK_DGRAM) NEED_EQ(SYS(k_socket_send(p, s, "x", 1, 0, &a)), -K_ENETUNREACH);
    }
  }
  k_sockaddr six = { .family = K_AF_INET6, .port = 80, .ip = { 0x20, 1, 0xd, 0xb8 } };
  k_file *s = new_at(p, K_AF_INET6, K_SOCK_STREAM);
  NEED_EQ(SYS(k_socket_connect(p, s, &six)), -K_ENETUNREACH);
  six = v4(8, 8, 80);
  six.family = K_AF_INET6; /* ::ffff:8.0.0.8 */
  NEED_EQ(SYS(k_socket_connect(p, s, &six)), -K_ENETUNREACH);
  k_file *none = NULL;
  NEED_EQ(SYS(k_socket_new(p->kernel, 16 /* AF_NETLINK */, 3, 0, 0, &none)), -K_EAFNOSUPPORT);
  NEED_EQ(SYS(k_socket_new(p->kernel, K_AF_INET, 3 /* SOCK_RAW */, 1, 0, &none)), -K_EPERM);
  return 0;
}

TEST(nothing_but_the_loopback_is_reached) { EXPECT_EQ(native_run(stays_inside, NULL), 0); }

static int has_a_port(k_process *p, void *arg) {
  (void)arg;
  (void)listening(p, v4(127, 1, 7000), 1);
  return 0;
}

TEST(each_kernel_has_all_ports_for_itself) {
  native *one = native_new(NULL), *two = native_new(NULL);
  EXPECT_EQ(native_run_with(one, has_a_port, NULL), 0);
  EXPECT_EQ(native_run_with(two, has_a_port, NULL), 0);
  EXPECT_EQ(native_run_with(one, has_a_port, NULL), 0); /* and it is free with the process */
  native_free(one);
  native_free(two);
}

/* ---- sleeping ---- */

static int connects(k_process *p, void *arg) {
  (void)arg;
  char buf[8];
  k_sockaddr a = v4(127, 1, 7000);
  k_ret fd = SYS(socket_fd(p, K_AF_INET, K_SOCK_STREAM));
  NEED_EQ(SYS(k_socket_connect(p, at(p, fd), &a)), 0);
  NEED_EQ(native_write(p, (int)fd, "ping", 4), 4);
  NEED_EQ(native_read(p, (int)fd, buf, 8), 4);
  return 0;
}

static int accepts(k_process *p, void *arg) {
  (void)arg;
  char buf[8];
  k_wait_result got;
  k_file *l = listening(p, v4(127, 1, 7000), 4);
  for (int i = 0; i < 3; i++) NEED(native_fork(p, connects, NULL) > 0);
  for (int i = 0; i < 3; i++) {
    int fd = (int)SYS(accept_fd(p, l));
    NEED_EQ(native_read(p, fd, buf, 8), 4);
    NEED_EQ(native_write(p, fd, "pong", 4), 4);
  }
  for (int i = 0; i < 3; i++) {
    NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
    NEED_EQ(got.status, 0);
  }
  return 0;
}

TEST(accept_sleeps_until_a_connection) { EXPECT_EQ(native_run(accepts, NULL), 0); }

static int is_refused(k_process *p, void *arg) {
  (void)arg;
  k_sockaddr a = v4(127, 1, 7000);
  k_file *s = new_at(p, K_AF_INET, K_SOCK_STREAM);
  NEED_EQ(SYS(k_socket_connect(p, s, &a)), -K_ECONNREFUSED);
  return 0;
}

static int goes_away(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  k_sockaddr a = v4(127, 1, 7000);
  k_ret l = SYS(socket_fd(p, K_AF_INET, K_SOCK_STREAM));
  NEED_EQ(SYS(k_socket_bind(p, at(p, l), &a)), 0);
  NEED_EQ(SYS(k_socket_listen(p, at(p, l), 0)), 0);
  k_file *s = new_at(p, K_AF_INET, K_SOCK_STREAM);
  NEED_EQ(SYS(k_socket_connect(p, s, &a)), 0);
  k_ret fd = SYS(socket_fd(p, K_AF_INET, K_SOCK_STREAM)); /* no room: it waits in the list */
  at(p, fd)->flags |= K_O_NONBLOCK;
  NEED_EQ(SYS(k_socket_connect(p, at(p, fd), &a)), -K_EINPROGRESS);
  NEED_EQ(SYS(k_socket_connect(p, at(p, fd), &a)), -K_EALREADY);
  k_ret pid = native_fork(p, is_refused, NULL);
  native_until_asleep(p, (int32_t)pid);
  /* The child has the listener, too: shutdown ends it for both. */
  NEED_EQ(SYS(k_socket_shutdown(at(p, l), K_SHUT_RD)), 0);
  NEED_EQ(SYS(k_wait(p, (int32_t)pid, K_WEXITED, &got)), pid);
  NEED_EQ(got.status, 0);
  int32_t value[K_OPTION_MAX];
  NEED_EQ(SYS(k_socket_get(at(p, fd), K_SOL_SOCKET, K_SO_ERROR, value)), 1);
  NEED_EQ(value[0], K_ECONNREFUSED);
  NEED_EQ(native_close(p, (int)fd), 0);
  return 0;
}

TEST(connect_to_a_closing_listener_is_refused) { EXPECT_EQ(native_run(goes_away, NULL), 0); }

static int comes_in_later(k_process *p, void *arg) {
  (void)arg;
  k_sockaddr a = v4(127, 1, 7000);
  k_file *l = listening(p, a, 0), *first = new_at(p, K_AF_INET, K_SOCK_STREAM);
  NEED_EQ(SYS(k_socket_connect(p, first, &a)), 0);
  k_ret fd = SYS(socket_fd(p, K_AF_INET, K_SOCK_STREAM));
  at(p, fd)->flags |= K_O_NONBLOCK;
  NEED_EQ(SYS(k_socket_connect(p, at(p, fd), &a)), -K_EINPROGRESS);
  k_pollfd poll = { .fd = (int32_t)fd, .events = K_POLLOUT };
  NEED_EQ(SYS(k_poll(p, &poll, 1, 0, NULL)), 0);
  NEED(SYS(accept_fd(p, l)) >= 0);
  NEED_EQ(SYS(k_poll(p, &poll, 1, 0, NULL)), 1);
  NEED_EQ(SYS(k_socket_connect(p, at(p, fd), &a)), 0);
  NEED_EQ(SYS(k_socket_connect(p, at(p, fd), &a)), -K_EISCONN);
  return 0;
}

TEST(accept_makes_room_for_one_that_waits) { EXPECT_EQ(native_run(comes_in_later, NULL), 0); }

static int gives_up(k_process *p, void *arg) {
  (void)arg;
  char c;
  k_sockaddr a = v4(127, 1, 7000);
  int32_t soon[K_OPTION_MAX] = { 20 * NS_PER_MS };
  k_file *l = listening(p, a, 4);
  NEED_EQ(SYS(k_socket_set(l, K_SOL_SOCKET, K_SO_RCVTIMEO, soon, 2)), 0);
  int64_t begun = clock_mono_ns();
  NEED_EQ(SYS(accept_fd(p, l)), -K_EAGAIN);
  NEED(clock_mono_ns() - begun >= 20 * NS_PER_MS);
  k_file *u = new_at(p, K_AF_INET, K_SOCK_DGRAM);
  NEED_EQ(SYS(k_socket_set(u, K_SOL_SOCKET, K_SO_RCVTIMEO, soon, 2)), 0);
  NEED_EQ(SYS(k_file_read(p, u, &c, 1)), -K_EAGAIN);
  NEED_EQ(SYS(k_socket_recv(p, u, &c, 1, 0, NULL)), -K_EAGAIN);
  return 0;
}

TEST(a_timeout_ends_a_sleep) { EXPECT_EQ(native_run(gives_up, NULL), 0); }

/* ---- charges ---- */

static int fills(k_process *p, void *arg) {
  (void)arg;
  static const char block[8192];
  k_sockaddr a = v4(127, 1, 7000);
  (void)listening(p, a, 4);
  uint64_t before = (uint64_t)SYS((k_ret)p->kernel->used.memory), after;
  k_ret fd = SYS(socket_fd(p, K_AF_INET, K_SOCK_STREAM));
  NEED_EQ(SYS(k_socket_connect(p, at(p, fd), &a)), 0);
  NEED((uint64_t)SYS((k_ret)p->kernel->used.memory) > before); /* for the unaccepted end */
  at(p, fd)->flags |= K_O_NONBLOCK;
  k_ret total = 0, n;
  while ((n = native_write(p, (int)fd, block, sizeof block)) > 0) total += n;
  NEED_EQ(n, -K_EAGAIN);
  NEED(total >= 64 << 10 && total <= 1 << 20);
  after = (uint64_t)SYS((k_ret)p->kernel->used.memory);
  NEED(after - before >= (uint64_t)total);
  return 0;
}

TEST(queued_socket_data_is_charged_and_released) {
  native *n = native_new(NULL);
  EXPECT_EQ(native_run_with(n, fills, NULL), 0);
  EXPECT_EQ(native_kernel(n)->used.memory, 0);
  EXPECT(list_empty(&native_kernel(n)->sockets));
  native_free(n);
}

static int no_memory(k_process *p, void *arg) {
  (void)arg;
  k_sockaddr a = v4(127, 1, 7000);
  (void)listening(p, a, 4000);
  for (int i = 0; i < 4000; i++) { /* each leaves an unaccepted end behind */
    k_ret fd = SYS(socket_fd(p, K_AF_INET, K_SOCK_STREAM));
    k_ret r = SYS(k_socket_connect(p, at(p, fd), &a));
    NEED_EQ(native_close(p, (int)fd), 0);
    if (r == -K_ENOBUFS) return 0;
    NEED_EQ(r, 0);
  }
  return 1;
}

TEST(names_of_sockets_are_bounded_and_can_be_had_again) {
  enum { MOST = 8192 };
  static k_file *files[MOST + 1];
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  uint64_t before = k->used.memory;
  for (int i = 0; i <= MOST; i++) {
    k_sockaddr a = v4(127, 1, (uint16_t)(1024 + i));
    EXPECT_EQ(k_socket_new(k, K_AF_INET, K_SOCK_DGRAM, 0, 0, &files[i]), 0);
    EXPECT_EQ(k_socket_bind(NULL, files[i], &a), i < MOST ? 0 : -K_ENOBUFS);
  }
  EXPECT(k->used.memory >= before + MOST * sizeof(k_file));
  k_file_unref(files[0]);
  EXPECT_EQ(
      k_socket_bind(NULL, files[MOST], &(k_sockaddr){ .family = K_AF_INET, .ip = { [10] = 0xff, 0xff } }), 0);
  for (int i = 1; i <= MOST; i++) k_file_unref(files[i]);
  EXPECT_EQ(k->used.memory, before);
  EXPECT_EQ(k->named_sockets, 0);
  native_free(n);
}

TEST(unaccepted_connections_are_bounded_by_memory) {
  k_limits limits = { .memory = 256 << 10, .disk = 1 << 20, .inodes = 20, .processes = 4, .open_files = 16 };
  native *n = native_new(&limits);
  EXPECT_EQ(native_run_with(n, no_memory, NULL), 0);
  EXPECT_EQ(native_kernel(n)->used.memory, 0);
  native_free(n);
}

static int at_every_fault(k_process *p, void *arg) {
  (void)arg;
  k_sockaddr a = v4(127, 1, 0), local = path("/tmp/s");
  for (size_t nth = 1; nth < 60; nth++) {
    mem_fail_at(nth);
    k_ret l = SYS(socket_fd(p, K_AF_INET, K_SOCK_STREAM)), c = SYS(socket_fd(p, K_AF_INET, K_SOCK_STREAM)),
          s = -1;
    k_ret u = SYS(socket_fd(p, K_AF_UNIX, K_SOCK_DGRAM));
    if (l >= 0 && c >= 0) {
      k_sockaddr name = a;
      if (SYS(k_socket_bind(p, at(p, l), &a)) >= 0 && SYS(k_socket_listen(p, at(p, l), 2)) >= 0 &&
          SYS(k_socket_name(at(p, l), &name)) >= 0 && SYS(k_socket_connect(p, at(p, c), &name)) >= 0) {
        at(p, l)->flags |= K_O_NONBLOCK;
        (void)native_write(p, (int)c, "x", 1);
        s = SYS(accept_fd(p, at(p, l)));
      }
    }
    if (u >= 0 && SYS(k_socket_bind(p, at(p, u), &local)) >= 0)
      (void)SYS(k_socket_send(p, at(p, u), "x", 1, 0, &local));
    mem_fail_at(0);
    (void)SYS(vfs_unlink(&p->view, NULL, "/tmp/s"));
    if (l >= 0) NEED_EQ(native_close(p, (int)l), 0);
    if (c >= 0) NEED_EQ(native_close(p, (int)c), 0);
    if (s >= 0) NEED_EQ(native_close(p, (int)s), 0);
    if (u >= 0) NEED_EQ(native_close(p, (int)u), 0);
  }
  return 0;
}

TEST(no_memory_breaks_no_socket_and_leaks_nothing) {
  native *n = native_new(NULL);
  EXPECT_EQ(native_run_with(n, at_every_fault, NULL), 0);
  EXPECT_EQ(native_kernel(n)->used.memory, 0);
  EXPECT(list_empty(&native_kernel(n)->sockets));
  native_free(n);
}

/* ---- names in the tree ---- */

static int keeps_its_inode(k_process *p, void *arg) {
  (void)arg;
  char c;
  k_sockaddr a = path("/tmp/s");
  k_received what;
  k_ret s = SYS(socket_fd(p, K_AF_UNIX, K_SOCK_DGRAM));
  k_file *other = new_at(p, K_AF_UNIX, K_SOCK_DGRAM);
  NEED_EQ(SYS(k_socket_bind(p, at(p, s), &a)), 0);
  NEED_EQ(SYS(k_socket_connect(p, other, &a)), 0);
  NEED_EQ(SYS(vfs_unlink(&p->view, NULL, "/tmp/s")), 0);
  NEED_EQ(SYS(k_file_write(p, other, "x", 1)), 1); /* it is known by more than its name */
  NEED_EQ(SYS(k_socket_recv(p, at(p, s), &c, 1, 0, &what)), 1);
  NEED_EQ(SYS(k_socket_send(p, other, "x", 1, 0, &a)), -K_ENOENT);
  NEED_EQ(native_close(p, (int)s), 0);
  NEED_EQ(SYS(k_file_write(p, other, "x", 1)), -K_ECONNREFUSED);
  k_sockaddr proc = path("/proc/s");
  k_file *third = new_at(p, K_AF_UNIX, K_SOCK_STREAM);
  NEED(SYS(k_socket_bind(p, third, &proc)) < 0);
  return 0;
}

TEST(a_name_may_go_before_its_socket) { EXPECT_EQ(native_run(keeps_its_inode, NULL), 0); }
