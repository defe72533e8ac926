/* box_test.c - connections out of a kernel and into it, over sockets of this machine's loopback. */
#include "net/box.h"

#include "base/clock.h"
#include "base/thread.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/mem/memfs.h"
#include "kernel/sock/socket.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a kernel without processes ---- */

typedef struct world {
  alarm_set *alarms;
  net_host *host;
  net_box *box;
  k_kernel *kernel;
  int listener;
  uint16_t port;
  _Atomic int told, denied;
  _Atomic uint64_t asked;
} world;

static void on_decision(void *ctx, const net_decision *d) {
  world *w = ctx;
  w->told++;
  if (!d->allowed) w->denied++;
}

static void on_ask(void *ctx, const net_decision *d, uint64_t id) {
  world *w = ctx;
  EXPECT_EQ(d->rule, SIZE_MAX);
  w->asked = id;
}

static int listen_on(uint16_t *port) {
  struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t len = sizeof in;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(fd >= 0 && bind(fd, (struct sockaddr *)&in, len) == 0 && listen(fd, 100) == 0);
  EXPECT_EQ(getsockname(fd, (struct sockaddr *)&in, &len), 0);
  *port = ntohs(in.sin_port);
  return fd;
}

/* `rule` is the text of an allowing rule, without the port, which is the listener's. */
static world *world_new(const char *rule, net_limits limits, bool ask) {
  world *w = calloc(1, sizeof *w);
  char text[100];
  w->listener = listen_on(&w->port);
  (void)snprintf(text, sizeof text, "%s:%u", rule, w->port);
  const char *allow[] = { text, NULL };
  net_box_options o = { .limits = limits, .on_decision = on_decision, .ask = ask ? on_ask : NULL, .ctx = w };
  EXPECT_EQ(net_policy_build(&(net_policy_parts){ .allow = allow }, &o.policy, NULL), CAY_OK);
  EXPECT_EQ(net_host_new(&(net_host_options){ .limits = NET_LIMITS_DEFAULT }, &w->host, NULL), CAY_OK);
  EXPECT_EQ(net_box_new(w->host, &o, &w->box, NULL), CAY_OK);
  EXPECT_EQ(alarm_set_new(&w->alarms, NULL), CAY_OK);
  k_inode *root = NULL;
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  k_options options = {
    .runner = &(k_runner){ 0 },
    .alarms = w->alarms,
    .root = root,
    .seed = 1,
    .limits = { .memory = 256 << 20, .disk = 1 << 20, .inodes = 100, .processes = 10, .open_files = 4096 }
  };
  EXPECT_EQ(k_kernel_new(&options, &w->kernel), 0);
  net_box_attach(w->box, w->kernel);
  w->kernel->net = net_box_net(w->box);
  return w;
}

static void world_free(world *w) {
  k_kernel_stop(w->kernel);
  net_box_close(w->box);
  EXPECT_EQ(w->kernel->used.memory, 0);
  k_kernel_free(w->kernel);
  net_box_free(w->box);
  net_host_free(w->host);
  alarm_set_free(w->alarms);
  (void)close(w->listener);
  free(w);
}

static k_sockaddr address(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint16_t port) {
  return (k_sockaddr){ .family = K_AF_INET, .port = port, .ip = { [10] = 0xff, 0xff, a, b, c, d } };
}

/* ---- operations of a guest that never sleeps ---- */

static k_file *guest_socket(world *w, int type) {
  k_file *f = NULL;
  k_lock(w->kernel);
  EXPECT_EQ(k_socket_new(w->kernel, K_AF_INET, type, 0, K_O_NONBLOCK, &f), 0);
  k_unlock(w->kernel);
  return f;
}

static void guest_close(world *w, k_file *f) {
  k_lock(w->kernel);
  k_file_unref(f);
  k_unlock(w->kernel);
}

static k_ret guest_connect(world *w, k_file *f, k_sockaddr to) {
  k_lock(w->kernel);
  k_ret r = k_socket_connect(NULL, f, &to);
  k_unlock(w->kernel);
  return r;
}

static uint32_t guest_ready(world *w, k_file *f) {
  k_lock(w->kernel);
  uint32_t ready = f->ops->ready(f);
  k_unlock(w->kernel);
  return ready;
}

static void guest_await(world *w, k_file *f, uint32_t events) {
  while ((guest_ready(w, f) & events) == 0) usleep(200);
}

static k_ret guest_read(world *w, k_file *f, void *buf, size_t len) {
  guest_await(w, f, K_POLLIN);
  k_lock(w->kernel);
  k_ret r = k_file_read(NULL, f, buf, len);
  k_unlock(w->kernel);
  return r;
}

static k_ret guest_write(world *w, k_file *f, const void *buf, size_t len) {
  guest_await(w, f, K_POLLOUT);
  k_lock(w->kernel);
  k_ret r = k_socket_send(NULL, f, buf, len, K_MSG_NOSIGNAL, NULL);
  k_unlock(w->kernel);
  return r;
}

static int32_t guest_error(world *w, k_file *f) {
  int32_t value[K_OPTION_MAX];
  k_lock(w->kernel);
  EXPECT_EQ(k_socket_get(f, K_SOL_SOCKET, K_SO_ERROR, value), 1);
  k_unlock(w->kernel);
  return value[0];
}

/* Connected both ways: the guest's file, and the host's socket. */
static k_file *connected(world *w, int *peer) {
  k_file *f = guest_socket(w, K_SOCK_STREAM);
  EXPECT_EQ(guest_connect(w, f, address(192, 0, 2, 2, w->port)), -K_EINPROGRESS);
  *peer = accept(w->listener, NULL, NULL);
  guest_await(w, f, K_POLLOUT);
  EXPECT_EQ(guest_error(w, f), 0);
  EXPECT_EQ(guest_connect(w, f, address(192, 0, 2, 2, w->port)), 0);
  return f;
}

static const net_limits no_limits;

/* ---- connecting ---- */

TEST(bytes_go_both_ways) {
  world *w = world_new("127.0.0.1", no_limits, false);
  int peer;
  char buf[16];
  k_file *f = connected(w, &peer);
  EXPECT_EQ(guest_write(w, f, "\x01question", 9), 9);
  EXPECT_EQ(recv(peer, buf, sizeof buf, 0), 9);
  EXPECT_EQ(memcmp(buf, "\x01question", 9), 0);
  EXPECT_EQ(send(peer, "answer", 6, 0), 6);
  EXPECT_EQ(guest_read(w, f, buf, sizeof buf), 6);
  EXPECT_EQ(memcmp(buf, "answer", 6), 0);
  guest_close(w, f);
  EXPECT_EQ(recv(peer, buf, sizeof buf, 0), 0);
  (void)close(peer);
  world_free(w);
}

TEST(addresses_without_a_rule_are_refused_at_once) {
  world *w = world_new("127.0.0.1", no_limits, false);
  static const uint8_t denied[][4] = {
    { 8, 8, 8, 8 }, { 10, 0, 0, 1 }, { 169, 254, 169, 254 }, { 192, 0, 2, 1 }, { 224, 0, 0, 1 }
  };
  for (size_t i = 0; i < COUNT_OF(denied); i++) {
    k_file *f = guest_socket(w, K_SOCK_STREAM);
    EXPECT_EQ(guest_connect(w, f, address(denied[i][0], denied[i][1], denied[i][2], denied[i][3], w->port)),
              -K_EACCES);
    guest_close(w, f);
  }
  k_file *f = guest_socket(w, K_SOCK_STREAM);
  EXPECT_EQ(guest_connect(w, f, address(192, 0, 2, 2, (uint16_t)(w->port + 1))), -K_EACCES);
  guest_close(w, f);
  while (w->denied < 6) usleep(200);
  world_free(w);
}

TEST(a_port_without_a_server_is_refused) {
  world *w = world_new("127.0.0.1", no_limits, false);
  (void)close(w->listener);
  k_file *f = guest_socket(w, K_SOCK_STREAM);
  EXPECT_EQ(guest_connect(w, f, address(192, 0, 2, 2, w->port)), -K_EINPROGRESS);
  guest_await(w, f, K_POLLERR | K_POLLOUT);
  EXPECT_EQ(guest_error(w, f), K_ECONNREFUSED);
  guest_close(w, f);
  w->listener = dup(0);
  world_free(w);
}

TEST(udp_stays_inside) {
  world *w = world_new("127.0.0.1", no_limits, false);
  k_file *f = guest_socket(w, K_SOCK_DGRAM);
  k_sockaddr to = address(8, 8, 8, 8, 53);
  k_lock(w->kernel);
  EXPECT_EQ(k_socket_send(NULL, f, "x", 1, 0, &to), -K_EACCES);
  k_unlock(w->kernel);
  guest_close(w, f);
  world_free(w);
}

/* ---- ends ---- */

TEST(each_way_ends_by_itself) {
  world *w = world_new("127.0.0.1", no_limits, false);
  int peer;
  char buf[16];
  k_file *f = connected(w, &peer);
  EXPECT_EQ(guest_write(w, f, "\x01", 1), 1);
  k_lock(w->kernel);
  EXPECT_EQ(k_socket_shutdown(f, K_SHUT_WR), 0);
  k_unlock(w->kernel);
  EXPECT_EQ(recv(peer, buf, 16, 0), 1);
  EXPECT_EQ(recv(peer, buf, 16, 0), 0);
  EXPECT_EQ(send(peer, "late", 4, 0), 4);
  EXPECT_EQ(guest_read(w, f, buf, 16), 4);
  (void)close(peer);
  EXPECT_EQ(guest_read(w, f, buf, 16), 0);
  guest_close(w, f);
  world_free(w);
}

TEST(the_servers_end_leaves_the_other_way_open) {
  world *w = world_new("127.0.0.1", no_limits, false);
  int peer;
  char buf[16];
  k_file *f = connected(w, &peer);
  EXPECT_EQ(shutdown(peer, SHUT_WR), 0);
  EXPECT_EQ(guest_read(w, f, buf, 16), 0);
  EXPECT_EQ(guest_write(w, f, "\x01more", 5), 5);
  EXPECT_EQ(recv(peer, buf, 16, 0), 5);
  guest_close(w, f);
  EXPECT_EQ(recv(peer, buf, 16, 0), 0);
  (void)close(peer);
  world_free(w);
}

TEST(a_reset_is_a_reset) {
  world *w = world_new("127.0.0.1", no_limits, false);
  int peer;
  char buf[16];
  struct linger now = { .l_onoff = 1 };
  k_file *f = connected(w, &peer);
  EXPECT_EQ(setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
  (void)close(peer);
  EXPECT_EQ(guest_read(w, f, buf, 16), -K_ECONNRESET);
  EXPECT_EQ(guest_write(w, f, "x", 1), -K_EPIPE);
  guest_close(w, f);
  world_free(w);
}

TEST(closing_a_box_resets_its_connections) {
  world *w = world_new("127.0.0.1", no_limits, false);
  int peer;
  char buf[16];
  k_file *f = connected(w, &peer);
  net_box_close(w->box);
  EXPECT_EQ(recv(peer, buf, 16, 0), -1);
  EXPECT_EQ(guest_read(w, f, buf, 16), 0);
  guest_close(w, f);
  (void)close(peer);
  world_free(w);
}

TEST(a_guest_may_leave_while_it_is_connecting) {
  world *w = world_new("127.0.0.1", no_limits, false);
  for (int i = 0; i < 50; i++) {
    k_file *f = guest_socket(w, K_SOCK_STREAM);
    EXPECT_EQ(guest_connect(w, f, address(192, 0, 2, 2, w->port)), -K_EINPROGRESS);
    guest_close(w, f);
  }
  world_free(w);
}

/* ---- much ---- */

typedef struct transfer {
  int peer;
  size_t len;
} transfer;

static void echo(void *ctx) {
  transfer *t = ctx;
  char buf[5000];
  ssize_t n;
  while ((n = recv(t->peer, buf, sizeof buf, 0)) > 0)
    for (ssize_t done = 0; done < n;) done += send(t->peer, buf + done, (size_t)(n - done), 0);
  (void)shutdown(t->peer, SHUT_WR);
}

/* Both queues fill and drain many times; every byte arrives in its place. */
TEST(a_megabyte_there_and_back) {
  enum { LEN = 3 << 20 };
  world *w = world_new("127.0.0.1", no_limits, false);
  transfer t = { 0 };
  pthread_t thread;
  k_file *f = connected(w, &t.peer);
  EXPECT_EQ(thread_start("echo", 0, echo, &t, &thread, NULL), CAY_OK);
  uint8_t out[7001], in[6007];
  size_t sent = 0, got = 0;
  while (got < LEN) {
    uint32_t ready = guest_ready(w, f);
    if (sent < LEN && (ready & K_POLLOUT) != 0) {
      size_t n = LEN - sent < sizeof out ? LEN - sent : sizeof out;
      for (size_t i = 0; i < n; i++) out[i] = (uint8_t)((sent + i) % 251 + (sent + i) / 251 % 3);
      k_ret r = guest_write(w, f, out, n);
      EXPECT(r > 0);
      sent += (size_t)r;
    }
    if ((ready & K_POLLIN) != 0) {
      k_ret r = guest_read(w, f, in, sizeof in);
      EXPECT(r > 0);
      for (k_ret i = 0; i < r; i++, got++) EXPECT_EQ(in[i], (uint8_t)(got % 251 + got / 251 % 3));
    }
  }
  guest_close(w, f);
  thread_join(thread);
  (void)close(t.peer);
  net_usage used;
  net_box_usage(w->box, &used);
  EXPECT_EQ(used.sent, LEN);
  EXPECT_EQ(used.received, LEN);
  world_free(w);
}

TEST(many_connections_at_once) {
  enum { MANY = 200 };
  world *w = world_new("127.0.0.1", no_limits, false);
  static k_file *files[MANY];
  static int peers[MANY];
  char buf[4];
  for (int i = 0; i < MANY; i++) files[i] = connected(w, &peers[i]);
  for (int i = 0; i < MANY; i++) EXPECT_EQ(guest_write(w, files[i], "\x01z", 2), 2);
  for (int i = 0; i < MANY; i++) EXPECT_EQ(recv(peers[i], buf, 4, 0), 2);
  for (int i = 0; i < MANY; i++) EXPECT_EQ(send(peers[i], "y", 1, 0), 1);
  for (int i = 0; i < MANY; i++) EXPECT_EQ(guest_read(w, files[i], buf, 4), 1);
  for (int i = 0; i < MANY; i++) guest_close(w, files[i]);
  for (int i = 0; i < MANY; i++) (void)close(peers[i]);
  world_free(w);
}

/* ---- limits ---- */

TEST(no_more_connections_than_the_limit) {
  world *w = world_new("127.0.0.1", (net_limits){ .connections = 1 }, false);
  int peer;
  k_file *f = connected(w, &peer), *g = guest_socket(w, K_SOCK_STREAM);
  EXPECT_EQ(guest_connect(w, g, address(192, 0, 2, 2, w->port)), -K_EINPROGRESS);
  guest_await(w, g, K_POLLOUT);
  EXPECT_EQ(guest_error(w, g), K_EADDRNOTAVAIL);
  guest_close(w, f);
  guest_close(w, g);
  (void)close(peer);
  world_free(w);
}

TEST(a_connection_that_was_closed_makes_room_at_once) {
  world *w = world_new("127.0.0.1", (net_limits){ .connections = 1 }, false);
  for (int i = 0; i < 200; i++) {
    int peer;
    k_file *f = connected(w, &peer);
    guest_close(w, f);
    (void)close(peer);
  }
  world_free(w);
}

TEST(zero_is_the_hosts_limit_and_none_goes_beyond_it) {
  net_limits host = {
    .connections = 5, .sent = 100, .received = 200, .rate = 10, .connect_ms = 1000, .idle_ms = 2000
  };
  net_limits less = { .connections = 4, .sent = 1, .received = 2, .rate = 3, .connect_ms = 4, .idle_ms = 5 };
  net_limits more = { .connections = UINT32_MAX,
                      .sent = UINT64_MAX,
                      .received = 201,
                      .rate = UINT64_MAX,
                      .connect_ms = 1001,
                      .idle_ms = UINT32_MAX };
  const net_limits *wanted[] = { &no_limits, &more, &less }, *got[] = { &host, &host, &less };
  for (size_t i = 0; i < COUNT_OF(wanted); i++) {
    net_limits l = net_limits_under(wanted[i], &host);
    EXPECT(l.connections == got[i]->connections && l.sent == got[i]->sent && l.received == got[i]->received);
    EXPECT(l.rate == got[i]->rate && l.connect_ms == got[i]->connect_ms && l.idle_ms == got[i]->idle_ms);
  }
}

TEST(idle_connections_end) {
  world *w = world_new("127.0.0.1", (net_limits){ .idle_ms = 30 }, false);
  int peer;
  char buf[4];
  k_file *f = connected(w, &peer);
  EXPECT_EQ(guest_read(w, f, buf, 4), -K_ETIMEDOUT);
  guest_close(w, f);
  (void)close(peer);
  world_free(w);
}

TEST(no_more_bytes_than_the_limit) {
  world *w = world_new("127.0.0.1", (net_limits){ .sent = 10 }, false);
  int peer;
  char buf[64] = { 1 };
  k_file *f = connected(w, &peer);
  EXPECT_EQ(guest_write(w, f, buf, 11), 11);
  EXPECT_EQ(guest_read(w, f, buf, 4), -K_ECONNRESET);
  guest_close(w, f);
  (void)close(peer);
  world_free(w);
}

/* ---- first bytes ---- */

static const char *after_request(const char *rule, const char *request) {
  static char answer[600];
  world *w = world_new(rule, no_limits, false);
  int peer;
  k_file *f = connected(w, &peer);
  EXPECT_EQ(guest_write(w, f, request, strlen(request)), strlen(request));
  struct pollfd p = { .fd = peer, .events = POLLIN };
  k_ret n = -1;
  while (poll(&p, 1, 1) == 0 && (guest_ready(w, f) & K_POLLIN) == 0) {}
  memset(answer, 0, sizeof answer);
  if (p.revents == 0 || recv(peer, answer, sizeof answer - 1, 0) <= 0) {
    n = guest_read(w, f, answer, sizeof answer - 1);
    if (n < 0) (void)snprintf(answer, sizeof answer, "%s", k_errno_name((int)-n));
  }
  guest_close(w, f);
  (void)close(peer);
  world_free(w);
  return answer;
}

TEST(requests_pass_where_the_address_is_allowed) {
  EXPECT_TEXT(after_request("127.0.0.1", "GET / HTTP/1.1\r\nHost: any.org\r\n\r\n"),
              "GET / HTTP/1.1\r\nHost: any.org\r\n\r\n");
}

TEST(bytes_without_one_meaning_are_refused) {
  EXPECT_TEXT(after_request("127.0.0.1", "\x16\x03\x01\x7f\xffzzzz"), "EACCES");
}

/* ---- without the queues ---- */

/* Bytes that are no HTTP and no TLS have gone there and back: nothing looks at the next ones. */
static k_file *direct(world *w, int *peer) {
  char buf[16];
  k_file *f = connected(w, peer);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(guest_write(w, f, "\x01hello", 6), 6);
    EXPECT_EQ(recv(*peer, buf, 6, MSG_WAITALL), 6);
    EXPECT_EQ(send(*peer, "=", 1, 0), 1);
    EXPECT_EQ(guest_read(w, f, buf, sizeof buf), 1);
  }
  return f;
}

static k_ret guest_receive(world *w, k_file *f, void *buf, size_t len, uint32_t flags) {
  k_lock(w->kernel);
  k_ret r = k_socket_recv(NULL, f, buf, len, flags, NULL);
  k_unlock(w->kernel);
  return r;
}

TEST(bytes_that_are_peeked_at_stay) {
  world *w = world_new("127.0.0.1", no_limits, false);
  int peer;
  char buf[16] = "";
  k_file *f = direct(w, &peer);
  EXPECT_EQ(guest_receive(w, f, buf, 16, 0), -K_EAGAIN);
  EXPECT_EQ(guest_ready(w, f) & K_POLLIN, 0);
  EXPECT_EQ(send(peer, "abcdef", 6, 0), 6);
  guest_await(w, f, K_POLLIN);
  EXPECT_EQ(guest_receive(w, f, buf, 3, K_MSG_PEEK), 3);
  EXPECT_EQ(guest_receive(w, f, buf, 2, 0), 2);
  EXPECT_EQ(memcmp(buf, "ab", 2), 0);
  int32_t there = 0;
  k_lock(w->kernel);
  EXPECT_EQ(f->ops->ioctl(f, K_FIONREAD, &there, sizeof there), 0);
  k_unlock(w->kernel);
  EXPECT_EQ(there, 4);
  EXPECT_EQ(guest_receive(w, f, buf, 16, 0), 4);
  EXPECT_EQ(memcmp(buf, "cdef", 4), 0);
  EXPECT_EQ(guest_ready(w, f) & K_POLLIN, 0);
  guest_close(w, f);
  (void)close(peer);
  world_free(w);
}

TEST(the_end_comes_behind_the_last_bytes) {
  world *w = world_new("127.0.0.1", no_limits, false);
  int peer;
  char buf[16];
  k_file *f = direct(w, &peer);
  EXPECT_EQ(send(peer, "last", 4, 0), 4);
  EXPECT_EQ(shutdown(peer, SHUT_WR), 0);
  EXPECT_EQ(guest_read(w, f, buf, 16), 4);
  guest_await(w, f, K_POLLRDHUP);
  EXPECT_EQ(guest_read(w, f, buf, 16), 0);
  EXPECT_EQ(guest_write(w, f, "more", 4), 4);
  EXPECT_EQ(recv(peer, buf, 16, 0), 4);
  guest_close(w, f);
  EXPECT_EQ(recv(peer, buf, 16, 0), 0);
  (void)close(peer);
  world_free(w);
}

TEST(a_reset_that_a_read_finds_is_told_once) {
  world *w = world_new("127.0.0.1", no_limits, false);
  int peer;
  char buf[16];
  k_file *f = direct(w, &peer);
  struct linger now = { .l_onoff = 1 };
  EXPECT_EQ(setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
  (void)close(peer);
  guest_await(w, f, K_POLLERR | K_POLLHUP);
  EXPECT_EQ(guest_receive(w, f, buf, 16, 0), -K_ECONNRESET);
  EXPECT_EQ(guest_receive(w, f, buf, 16, 0), 0);
  guest_close(w, f);
  world_free(w);
}

TEST(a_limit_of_bytes_keeps_the_queues) {
  net_limits limits = { .received = 1000 };
  world *w = world_new("127.0.0.1", limits, false);
  int peer;
  char buf[2000] = { 0 };
  k_file *f = direct(w, &peer);
  EXPECT_EQ(send(peer, buf, sizeof buf, 0), (ssize_t)sizeof buf);
  guest_await(w, f, K_POLLERR | K_POLLHUP);
  guest_close(w, f);
  (void)close(peer);
  world_free(w);
}

TEST(traffic_without_the_queues_is_counted_and_is_no_idle_time) {
  net_limits limits = { .idle_ms = 300 };
  world *w = world_new("127.0.0.1", limits, false);
  int peer;
  char buf[16];
  net_usage used;
  k_file *f = direct(w, &peer);
  for (int i = 0; i < 12; i++) {
    usleep(50000);
    EXPECT_EQ(send(peer, "tick", 4, 0), 4);
    EXPECT_EQ(guest_read(w, f, buf, 16), 4);
  }
  net_box_usage(w->box, &used);
  EXPECT_EQ(used.received, 3 + 48);
  EXPECT_EQ(used.sent, 18);
  guest_await(w, f, K_POLLERR | K_POLLHUP); /* now it is idle */
  guest_close(w, f);
  (void)close(peer);
  world_free(w);
}

/* ---- asking ---- */

TEST(the_embedder_is_asked_where_no_rule_decides) {
  world *w = world_new("10.0.0.0/8", no_limits, true);
  for (int allow = 0; allow < 2; allow++) {
    k_file *f = guest_socket(w, K_SOCK_STREAM);
    w->asked = 0;
    EXPECT_EQ(guest_connect(w, f, address(192, 0, 2, 2, w->port)), -K_EINPROGRESS);
    while (w->asked == 0) usleep(200);
    EXPECT_EQ(guest_ready(w, f), 0);
    net_box_answer(w->box, w->asked, allow != 0);
    guest_await(w, f, K_POLLOUT | K_POLLERR);
    EXPECT_EQ(guest_error(w, f), allow != 0 ? 0 : K_EACCES);
    guest_close(w, f);
  }
  world_free(w);
}

/* ---- names ---- */

static size_t ask_for(world *w, const char *labels, size_t labels_len, uint8_t answer[static 512]) {
  uint8_t question[300] = { 0, 7, 1, 0, 0, 1 };
  k_sockaddr to = address(127, 0, 0, 53, 53);
  k_file *f = guest_socket(w, K_SOCK_DGRAM);
  size_t n = 12;
  memcpy(question + n, labels, labels_len);
  n += labels_len;
  question[n + 2] = 1, question[n + 4] = 1;
  k_lock(w->kernel);
  EXPECT_EQ(k_socket_send(NULL, f, question, n + 5, 0, &to), (k_ret)n + 5);
  k_unlock(w->kernel);
  k_ret len = guest_read(w, f, answer, 512);
  EXPECT(len > 12);
  guest_close(w, f);
  return (size_t)len;
}

TEST(the_resolver_answers) {
  world *w = world_new("localhost", no_limits, false);
  uint8_t answer[512];
  int peer;
  size_t len = ask_for(w, "\x09localhost", 10, answer);
  EXPECT_EQ(answer[7], 1);
  EXPECT_EQ(memcmp(answer + len - 4, (uint8_t[]){ 192, 0, 2, 2 }, 4), 0);
  len = ask_for(w,
                "\x04"
                "evil\x03"
                "org",
                9, answer); /* not asked for: it leads nowhere */
  EXPECT_EQ(memcmp(answer + len - 4, (uint8_t[]){ 192, 0, 2, 1 }, 4), 0);
  k_file *f = guest_socket(w, K_SOCK_STREAM);
  EXPECT_EQ(guest_connect(w, f, address(192, 0, 2, 1, w->port)), -K_EACCES);
  guest_close(w, f);
  f = connected(w, &peer); /* by the name that leads there */
  guest_close(w, f);
  (void)close(peer);
  world_free(w);
}

/* ---- in ---- */

TEST(a_published_port_reaches_a_server_inside) {
  world *w = world_new("127.0.0.1", no_limits, false);
  k_file *l = guest_socket(w, K_SOCK_STREAM), *f = NULL;
  k_sockaddr at = address(127, 0, 0, 1, 8000);
  uint16_t port = 0;
  char buf[16];
  k_lock(w->kernel);
  EXPECT_EQ(k_socket_bind(NULL, l, &at), 0);
  EXPECT_EQ(k_socket_listen(NULL, l, 5), 0);
  k_unlock(w->kernel);
  EXPECT_EQ(net_box_publish(w->box, 8000, "0", &port, NULL), CAY_OK);
  struct sockaddr_in in = { .sin_family = AF_INET,
                            .sin_port = htons(port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
  guest_await(w, l, K_POLLIN);
  k_lock(w->kernel);
  EXPECT_EQ(k_socket_accept(NULL, l, K_O_NONBLOCK, &f), 0);
  k_unlock(w->kernel);
  EXPECT_EQ(send(fd, "ping", 4, 0), 4);
  EXPECT_EQ(guest_read(w, f, buf, 16), 4);
  EXPECT_EQ(guest_write(w, f, "pong", 4), 4);
  EXPECT_EQ(recv(fd, buf, 16, 0), 4);
  guest_close(w, f);
  EXPECT_EQ(recv(fd, buf, 16, 0), 0);
  guest_close(w, l);
  (void)close(fd);
  world_free(w);
}

TEST(places_to_publish_at_are_checked) {
  world *w = world_new("127.0.0.1", no_limits, false);
  static const char *const bad[] = { "", "x", "70000", "1.2.3:80", "a:80", ":80", "80x" };
  uint16_t port;
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    EXPECT_EQ(net_box_publish(w->box, 80, bad[i], &port, NULL), CAY_INVALID);
  char own[16];
  (void)snprintf(own, sizeof own, "%u", w->port);
  EXPECT_EQ(net_box_publish(w->box, 80, own, &port, NULL), CAY_BUSY);
  EXPECT_EQ(net_box_publish(w->box, 0, "0", &port, NULL), CAY_INVALID);
  world_free(w);
}
