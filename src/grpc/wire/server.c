/* server.c - the I/O loop of the server: new connections, events, timers, and draining at the end
 * (server.h). */
#include "grpc/wire/inner.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, ACCEPTS = 64, HELD_FOR_ALL = 8 };

void server_log(server *s, cay_log_level level, const char *format, ...) {
  if (s->options.log == NULL) return;
  char line[400];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  s->options.log(s->options.log_ctx, level, line);
}

void server_wake(server *s) { (void)eventfd_write(s->wake, 1); }

void server_stop(server *s) {
  int before = errno;
  atomic_store(&s->stopped, true);
  server_wake(s);
  errno = before;
}

/* ---- connections ---- */

/* The client without token and certificate: all of one remote host, one connection of this machine. */
static void name_client(server *s, const struct sockaddr *from, char *out, size_t cap) {
  char host[INET6_ADDRSTRLEN] = "";
  const struct sockaddr_in *v4 = (const void *)from;
  const struct sockaddr_in6 *v6 = (const void *)from;
  bool near = true;
  if (from->sa_family == AF_INET) {
    near = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    (void)inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
  } else if (from->sa_family == AF_INET6) {
    near = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) != 0;
    (void)inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
  }
  if (near)
    (void)snprintf(out, cap, "local:%llu", atomic_load(&s->connections));
  else
    (void)snprintf(out, cap, "host:%s", host);
}

static void take_connection(server *s, const listener *l, int fd, const struct sockaddr *from) {
  if (s->conn_count >= s->options.connections_max) {
    atomic_fetch_add(&s->refused, 1);
    (void)close(fd);
    return;
  }
  if (!l->is_unix) {
    int one = 1, dead_ms = (int)s->options.stall_ms;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
  }
  char client[CLIENT_MAX];
  name_client(s, from, client, sizeof client);
  conn_open(s, fd, client);
}

static void accept_some(server *s, const listener *l) {
  for (int i = 0; i < ACCEPTS; i++) {
    struct sockaddr_storage from = { 0 };
    socklen_t len = sizeof from;
    int fd = accept4(l->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
      server_log(s, CAY_LOG_WARN, "a connection has to wait: too many open files");
      (void)usleep(10000); /* the listener stays readable: without a pause this loop would only burn */
    }
    if (fd < 0) return;
    take_connection(s, l, fd, (const struct sockaddr *)&from);
  }
}

/* ---- the loop ---- */

static void respond_dirty(server *s) {
  for (;;) {
    (void)pthread_mutex_lock(&s->mu);
    call *c = list_empty(&s->dirty) ? NULL : CONTAINER_OF(s->dirty.next, call, in_dirty);
    if (c != NULL) list_remove(&c->in_dirty);
    (void)pthread_mutex_unlock(&s->mu);
    if (c == NULL) return;
    (void)pthread_mutex_lock(&c->mu);
    c->dirty = false;
    (void)pthread_mutex_unlock(&c->mu);
    respond(c);
    call_unref(c);
  }
}

static void flush_touched(server *s) {
  while (!list_empty(&s->touched)) {
    conn *c = CONTAINER_OF(s->touched.next, conn, in_touched);
    list_remove(&c->in_touched);
    conn_flush(c);
    if (c->dead) conn_close(c);
  }
}

static void begin_drain(server *s) {
  s->draining = true;
  s->drain_ns = clock_mono_ns() + s->options.drain_ms * NS_PER_MS;
  listen_close(s);
  LIST_EACH_SAFE (c, &s->conns, conn, in_server) {
    conn_drain(c);
  }
  if (s->options.on_drain != NULL) s->options.on_drain(s->options.app);
}

/* True: the loop ends. */
static bool server_done(server *s) {
  if (atomic_load(&s->stopped) && !s->draining) begin_drain(s);
  if (!s->draining) return false;
  flush_touched(s);
  return list_empty(&s->conns) || clock_mono_ns() >= s->drain_ns;
}

static int wait_ms(const server *s) {
  int64_t due = timers_next(&s->timers);
  if (s->draining && s->drain_ns < due) due = s->drain_ns;
  if (due == INT64_MAX) return -1;
  int64_t left = due - clock_mono_ns();
  if (left <= 0) return 0;
  left = (left + NS_PER_MS - 1) / NS_PER_MS;
  return left > 60000 ? 60000 : (int)left;
}

static void handle_event(server *s, const struct epoll_event *event) {
  void *of = event->data.ptr;
  if (of == s) {
    eventfd_t count;
    (void)eventfd_read(s->wake, &count);
    return;
  }
  for (size_t i = 0; i < s->listener_count; i++) {
    if (of != &s->listeners[i]) continue;
    if (s->listeners[i].fd >= 0) accept_some(s, &s->listeners[i]);
    return;
  }
  conn_event(of, event->events);
}

cay_status server_run(server *s, cay_error *err) {
  S_TRY(work_start(s, err));
  struct epoll_event events[EVENTS];
  cay_status status = CAY_OK;
  while (!server_done(s)) {
    int count = epoll_wait(s->epoll, events, EVENTS, wait_ms(s));
    if (count < 0 && errno != EINTR) {
      status = err_errno(err, errno, "cannot wait for connections");
      break;
    }
    for (int i = 0; i < count; i++) handle_event(s, &events[i]);
    timers_run(&s->timers, clock_mono_ns());
    respond_dirty(s);
    flush_touched(s);
  }
  work_stop(s);
  return status;
}

/* ---- life ---- */

static cay_status server_watch(server *s, int fd, void *of, cay_error *err) {
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = of };
  if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
    return err_errno(err, errno, "cannot watch a descriptor");
  return CAY_OK;
}

static cay_status server_open(server *s, cay_error *err) {
  s->epoll = epoll_create1(EPOLL_CLOEXEC);
  s->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (s->epoll < 0 || s->wake < 0) return err_errno(err, errno, "cannot make descriptors");
  s->account = account_new(NULL, s->options.held_max * HELD_FOR_ALL);
  if (s->account == NULL) return err_no_memory(err);
  S_TRY(stream_setup(s, err));
  for (size_t i = 0; s->options.addresses[i] != NULL; i++) S_TRY(listen_on(s, s->options.addresses[i], err));
  for (size_t i = 0; i < s->listener_count; i++)
    S_TRY(server_watch(s, s->listeners[i].fd, &s->listeners[i], err));
  return server_watch(s, s->wake, s, err);
}

cay_status server_new(const server_options *options, server **out, cay_error *err) {
  server *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  s->options = *options;
  s->epoll = s->wake = -1;
  list_init(&s->conns);
  list_init(&s->touched);
  list_init(&s->work);
  list_init(&s->dirty);
  (void)pthread_mutex_init(&s->mu, NULL);
  (void)pthread_cond_init(&s->work_there, NULL);
  cay_status status = server_open(s, err);
  if (status != CAY_OK) {
    server_free(s);
    return status;
  }
  *out = s;
  return CAY_OK;
}

size_t server_address_count(const server *s) { return s->listener_count; }
const char *server_address(const server *s, size_t index) { return s->listeners[index].address; }

int64_t server_patience(const server *s) { return s->drain_ns; }

void server_counts_read(server *s, server_counts *out) {
  *out = (server_counts){ .connections = atomic_load(&s->connections),
                          .connections_refused = atomic_load(&s->refused),
                          .calls = atomic_load(&s->calls),
                          .connections_now = atomic_load(&s->connections_now),
                          .calls_now = atomic_load(&s->calls_now) };
}

void server_end_conns(server *s) {
  LIST_EACH_SAFE (c, &s->conns, conn, in_server) {
    conn_close(c);
  }
}

/* Calls that others hold are gone by now, or are let go by those before the server is freed. */
static void drop_dirty(server *s) {
  while (!list_empty(&s->dirty)) {
    call *c = CONTAINER_OF(s->dirty.next, call, in_dirty);
    list_remove(&c->in_dirty);
    call_unref(c);
  }
}

void server_free(server *s) {
  if (s == NULL) return;
  listen_close(s);
  server_end_conns(s);
  work_stop(s);
  drop_dirty(s);
  timers_free(&s->timers);
  account_unref(s->account);
  if (s->callbacks != NULL) nghttp2_session_callbacks_del(s->callbacks);
  if (s->h2_option != NULL) nghttp2_option_del(s->h2_option);
  if (s->epoll >= 0) (void)close(s->epoll);
  if (s->wake >= 0) (void)close(s->wake);
  (void)pthread_cond_destroy(&s->work_there);
  (void)pthread_mutex_destroy(&s->mu);
  mem_free(s);
}
