/* metrics.c - counters of service and server as text for Prometheus, and the thread that serves them over
 * HTTP (metrics.h). */
#include "grpc/metrics.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { METRICS_TEXT_MAX = 16 * 1024, METRICS_WAIT_S = 2 };

struct metrics {
  service *service;
  server *server;
  int fd, stop;
  unsigned port;
  pthread_t thread;
  bool started;
};

/* ---- the text ---- */

static cay_status put_number(buf *b, const char *name, const char *type, uint64_t value) {
  return buf_appendf(b, "# TYPE %s %s\n%s %llu\n", name, type, name, (unsigned long long)value);
}

static cay_status put_service(buf *b, service *s) {
  static const char *const names[] = { "", "", "", "completed", "failed", "cancelled", "timeout" };
  service_counts c;
  service_counts_read(s, &c);
  S_TRY(buf_append_text(b, "# TYPE cay_executions_total counter\n"));
  for (size_t i = EXECUTION_COMPLETED; i < EXECUTION_STATES; i++)
    S_TRY(buf_appendf(b, "cay_executions_total{state=\"%s\"} %llu\n", names[i],
                      (unsigned long long)c.ended[i]));
  S_TRY(put_number(b, "cay_executions_refused_total", "counter", c.refused));
  S_TRY(put_number(b, "cay_execution_milliseconds_total", "counter", c.took_ms));
  S_TRY(put_number(b, "cay_executions_waiting", "gauge", c.queue.waiting));
  S_TRY(put_number(b, "cay_executions_running", "gauge", c.queue.running));
  S_TRY(put_number(b, "cay_clients_waiting", "gauge", c.queue.clients));
  return c.cached < 0 ? CAY_OK : put_number(b, "cay_cache_entries", "gauge", (uint64_t)c.cached);
}

static cay_status put_server(buf *b, server *s) {
  server_counts c;
  server_counts_read(s, &c);
  S_TRY(put_number(b, "cay_connections", "gauge", c.connections_now));
  S_TRY(put_number(b, "cay_connections_total", "counter", c.connections));
  S_TRY(put_number(b, "cay_connections_refused_total", "counter", c.connections_refused));
  S_TRY(put_number(b, "cay_calls", "gauge", c.calls_now));
  return put_number(b, "cay_calls_total", "counter", c.calls);
}

/* ---- HTTP, as much of it as is needed ---- */

static void send_all(int fd, const void *data, size_t len) {
  const char *at = data;
  for (ssize_t sent; len > 0; at += sent, len -= (size_t)sent)
    if ((sent = send(fd, at, len, MSG_NOSIGNAL)) <= 0) return;
}

static void metrics_answer(metrics *m, int fd) {
  char request[2048];
  ssize_t len = recv(fd, request, sizeof request, 0);
  bool known = len > 13 && memcmp(request, "GET /metrics ", 13) == 0;
  buf text = BUF_INIT(METRICS_TEXT_MAX), head = BUF_INIT(METRICS_TEXT_MAX);
  cay_status status = known ? put_service(&text, m->service) : CAY_OK;
  if (status == CAY_OK && known) status = put_server(&text, m->server);
  if (status == CAY_OK)
    status = buf_appendf(&head,
                         "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %zu\r\n"
                         "Connection: close\r\n\r\n",
                         known ? "200 OK" : "404 Not Found", text.len);
  if (status == CAY_OK && len > 0) {
    send_all(fd, head.data, head.len);
    send_all(fd, text.data, text.len);
  }
  buf_free(&head);
  buf_free(&text);
}

static void metrics_serve(metrics *m) {
  int fd = accept4(m->fd, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  struct timeval most = { .tv_sec = METRICS_WAIT_S };
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  metrics_answer(m, fd);
  (void)close(fd);
}

static void metrics_loop(void *ctx) {
  metrics *m = ctx;
  for (;;) {
    struct pollfd wait[] = { { .fd = m->fd, .events = POLLIN }, { .fd = m->stop, .events = POLLIN } };
    if (poll(wait, COUNT_OF(wait), -1) < 0 && errno != EINTR) return;
    if (wait[1].revents != 0) return;
    if (wait[0].revents != 0) metrics_serve(m);
  }
}

/* ---- life ---- */

static cay_status metrics_listen(metrics *m, const char *address, cay_error *err) {
  char host[32];
  uint64_t port = 0;
  struct sockaddr_in at = { .sin_family = AF_INET };
  socklen_t len = sizeof at;
  const char *colon = strrchr(address, ':');
  if (colon == NULL || (size_t)(colon - address) >= sizeof host ||
      text_number(colon + 1, 65535, &port, NULL) != CAY_OK)
    return err_set(err, CAY_INVALID, "--metrics takes an address such as 127.0.0.1:9090, not %.60s", address);
  (void)snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
  at.sin_port = htons((uint16_t)port);
  if (inet_pton(AF_INET, host, &at.sin_addr) != 1 || ntohl(at.sin_addr.s_addr) >> 24 != 127)
    return err_set(err, CAY_INVALID, "--metrics takes an address of loopback (127.0.0.1:9090), not %.60s",
                   address);
  m->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int one = 1;
  if (m->fd >= 0) (void)setsockopt(m->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (m->fd < 0 || bind(m->fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(m->fd, 16) != 0 ||
      getsockname(m->fd, (struct sockaddr *)&at, &len) != 0)
    return err_errno(err, errno, "cannot listen on %.60s", address);
  m->port = ntohs(at.sin_port);
  return CAY_OK;
}

cay_status metrics_open(const char *address, service *s, server *of, metrics **out, cay_error *err) {
  metrics *m = mem_zalloc(sizeof *m);
  if (m == NULL) return err_no_memory(err);
  m->service = s;
  m->server = of;
  m->fd = -1;
  m->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  cay_status status =
      m->stop >= 0 ? metrics_listen(m, address, err) : err_errno(err, errno, "cannot make descriptors");
  if (status == CAY_OK) status = thread_start("grpc-metrics", 0, metrics_loop, m, &m->thread, err);
  m->started = status == CAY_OK;
  if (status != CAY_OK) {
    metrics_close(m);
    return status;
  }
  *out = m;
  return CAY_OK;
}

unsigned metrics_port(const metrics *m) { return m->port; }

void metrics_close(metrics *m) {
  if (m == NULL) return;
  if (m->started) {
    (void)eventfd_write(m->stop, 1);
    thread_join(m->thread);
  }
  if (m->fd >= 0) (void)close(m->fd);
  if (m->stop >= 0) (void)close(m->stop);
  mem_free(m);
}
