/* conn.c - one connection: bytes in, bytes out, and how long it may take. */
#include "grpc/wire/inner.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  READ_LEN = 32 * 1024,
  READS = 16,         /* before other connections have their turn */
  PARTING_MS = 1000,  /* for the client to close, once all is said */
  CHEAP_BURST = 2000, /* frames that cost nothing, at once */
  CHEAP_RATE = 200,   /* and in a second from then on */
};

void conn_touch(conn *c) {
  if (!list_linked(&c->in_touched)) list_push(&c->server->touched, &c->in_touched);
}

/* A bucket of CHEAP_BURST that fills with CHEAP_RATE, as the moment at which it will be full. */
bool conn_pay(conn *c) {
  const int64_t price = NS_PER_SEC / CHEAP_RATE;
  int64_t now = clock_mono_ns();
  if (c->credit_ns < now) c->credit_ns = now;
  c->credit_ns += price;
  return c->credit_ns - now <= CHEAP_BURST * price;
}

/* ---- the socket ---- */

static enum tls_result sock_result(ssize_t len, size_t *out, enum tls_result wanted) {
  if (len > 0) return *out = (size_t)len, TLS_DONE;
  return len < 0 && (errno == EAGAIN || errno == EINTR) ? wanted : TLS_FAILED;
}

static enum tls_result conn_recv(conn *c, void *to, size_t cap, size_t *out) {
  if (c->ssl != NULL) return tls_read(c->ssl, to, cap, out);
  return sock_result(recv(c->fd, to, cap, 0), out, TLS_WANT_READ);
}

static enum tls_result conn_send(conn *c, const void *from, size_t len, size_t *out) {
  if (c->ssl != NULL) return tls_write(c->ssl, from, len, out);
  return sock_result(send(c->fd, from, len, MSG_NOSIGNAL), out, TLS_WANT_WRITE);
}

static void conn_watch(conn *c) {
  uint32_t events = EPOLLIN | (c->want_write ? (uint32_t)EPOLLOUT : 0);
  if (events == c->events) return;
  struct epoll_event event = { .events = events, .data.ptr = c };
  if (epoll_ctl(c->server->epoll, c->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd, &event) != 0)
    c->dead = true;
  c->events = events;
}

/* ---- writing ---- */

/* Frames from nghttp2 into the buffer until it is full or there are no more. */
static bool fill_out(conn *c) {
  while (c->out_len < CONN_OUT_MAX / 2) {
    const uint8_t *data;
    ssize_t len = nghttp2_session_mem_send(c->h2, &data);
    if (len == 0) break;
    if (len < 0 || (size_t)len > CONN_OUT_MAX - c->out_len) return false;
    memcpy(c->out + c->out_len, data, (size_t)len);
    c->out_len += (size_t)len;
  }
  return true;
}

/* False: no more can be written now. */
static bool conn_write_out(conn *c) {
  size_t len = 0;
  switch (conn_send(c, c->out + c->out_at, c->out_len - c->out_at, &len)) {
  case TLS_DONE: break;
  case TLS_WANT_WRITE: return c->want_write = true, false;
  case TLS_WANT_READ: return false;
  case TLS_FAILED: return c->dead = true, false;
  }
  c->out_at += len;
  c->write_ns = clock_mono_ns();
  if (c->out_at == c->out_len) c->out_at = c->out_len = 0;
  return true;
}

static void conn_drop_calls(conn *c) {
  LIST_EACH_SAFE (of, &c->calls, call, in_conn) {
    (void)nghttp2_session_set_stream_user_data(c->h2, of->id, NULL);
    call_drop(of);
  }
}

/* A close with unread bytes would take back those which are on their way to the client: our half is closed first,
 * and further bytes of the client are dropped. */
static void conn_part(conn *c) {
  c->parting = true;
  c->parting_ns = clock_mono_ns();
  tls_part(c->ssl);
  conn_drop_calls(c);
  if (shutdown(c->fd, SHUT_WR) != 0 ||
      !timers_set(&c->server->timers, &c->timer, c->parting_ns + PARTING_MS * NS_PER_MS))
    c->dead = true;
}

void conn_flush(conn *c) {
  if (c->dead || c->parting || !c->secured) return;
  c->want_write = false;
  for (bool more = true; more && !c->dead;) {
    if (c->out_len == 0 && !fill_out(c)) c->dead = true;
    if (c->out_len == 0) break;
    more = conn_write_out(c);
  }
  if (c->dead) return;
  conn_watch(c);
  bool done = nghttp2_session_want_read(c->h2) == 0 && nghttp2_session_want_write(c->h2) == 0;
  if (c->out_len == 0 && (done || (c->settled && list_empty(&c->calls)))) conn_part(c);
}

/* ---- reading ---- */

static void conn_hello(conn *c) {
  switch (tls_hello(c->ssl)) {
  case TLS_DONE:
    c->secured = true;
    c->want_write = false;
    tls_client(c->ssl, c->client, sizeof c->client);
    conn_touch(c);
    break;
  case TLS_WANT_WRITE: c->want_write = true; break;
  case TLS_WANT_READ: c->want_write = false; break;
  case TLS_FAILED: c->dead = true; break;
  }
  if (!c->dead) conn_watch(c);
}

/* The client has closed, too: the connection is over. */
static void conn_drop_rest(conn *c) {
  uint8_t bytes[READ_LEN];
  size_t len;
  for (int i = 0; i < READS; i++)
    switch (sock_result(recv(c->fd, bytes, sizeof bytes, 0), &len, TLS_WANT_READ)) {
    case TLS_DONE: break;
    case TLS_WANT_READ: return;
    default: c->dead = true; return;
    }
}

static void conn_read(conn *c) {
  uint8_t bytes[READ_LEN];
  for (int i = 0; !c->dead && (i < READS || (c->ssl != NULL && tls_pending(c->ssl))); i++) {
    size_t len = 0;
    enum tls_result result = conn_recv(c, bytes, sizeof bytes, &len);
    if (result == TLS_FAILED) c->dead = true;
    if (result != TLS_DONE) break;
    c->read_ns = clock_mono_ns();
    if (nghttp2_session_mem_recv(c->h2, bytes, len) < 0) {
      (void)nghttp2_session_terminate_session(c->h2, NGHTTP2_PROTOCOL_ERROR);
      conn_flush(c);
      if (!c->parting) c->dead = true;
      break;
    }
    if (c->ssl == NULL && len < sizeof bytes) break;
  }
}

void conn_event(conn *c, uint32_t events) {
  conn_touch(c);
  if (!c->secured) conn_hello(c);
  if (c->parting)
    conn_drop_rest(c);
  else if (c->secured && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
    conn_read(c);
}

/* ---- time ---- */

typedef struct conn_due {
  int64_t now, next;
} conn_due;

/* Whether `ms` from `since` have passed; else the moment when they will have is one to look again. */
static bool passed(conn_due *d, int64_t since, uint32_t ms) {
  int64_t due = since + ms * NS_PER_MS;
  if (due <= d->now) return true;
  if (due < d->next) d->next = due;
  return false;
}

static void conn_ask(conn *c, int64_t now) {
  c->ping_ns = now;
  (void)nghttp2_submit_ping(c->h2, NGHTTP2_FLAG_NONE, NULL);
  conn_touch(c);
}

static bool conn_overdue(conn *c, conn_due *d) {
  const server_options *o = &c->server->options;
  if (c->parting) return passed(d, c->parting_ns, PARTING_MS);
  if ((!c->secured || !c->greeted) && passed(d, c->began_ns, o->hello_ms)) return true;
  if (c->out_len != 0 && passed(d, c->write_ns, o->stall_ms)) return true;
  if (c->ping_ns != 0) return passed(d, c->ping_ns, o->ping_ms / 2);
  if (c->greeted && passed(d, c->read_ns, o->ping_ms)) {
    conn_ask(c, d->now);
    (void)passed(d, d->now, o->ping_ms / 2);
  }
  return false;
}

static void conn_time(void *ctx) {
  conn *c = ctx;
  const server_options *o = &c->server->options;
  conn_due d = { .now = clock_mono_ns() };
  d.next = d.now + (o->hello_ms < 1000 ? o->hello_ms : 1000) * NS_PER_MS * 5;
  if (conn_overdue(c, &d)) c->dead = true;
  if (!list_empty(&c->calls))
    c->idle_ns = d.now;
  else if (!c->draining && passed(&d, c->idle_ns, o->idle_ms))
    conn_drain(c);
  if (!timers_set(&c->server->timers, &c->timer, d.next)) c->dead = true;
  if (c->dead) conn_touch(c);
}

/* ---- life ---- */

static bool conn_session(conn *c) {
  server *s = c->server;
  nghttp2_mem memory = stream_memory();
  if (nghttp2_session_server_new3(&c->h2, s->callbacks, c, s->h2_option, &memory) != 0) return false;
  nghttp2_settings_entry settings[] = {
    { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, s->options.streams_max },
    { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, CALL_WINDOW },
    { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)s->options.header_max },
  };
  return nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings)) == 0 &&
         nghttp2_session_set_local_window_size(c->h2, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW) == 0;
}

static bool conn_start(conn *c, const char *client) {
  server *s = c->server;
  (void)snprintf(c->client, sizeof c->client, "%s", client);
  c->read_ns = c->write_ns = c->idle_ns = c->began_ns = clock_mono_ns();
  c->timer = (timer_entry){ .fn = conn_time, .ctx = c };
  c->account = account_new(s->account, s->options.held_max);
  c->out = mem_alloc(CONN_OUT_MAX);
  if (c->account == NULL || c->out == NULL || !conn_session(c)) return false;
  if (s->options.tls != NULL && (c->ssl = tls_accept(s->options.tls, c->fd)) == NULL) return false;
  c->secured = c->ssl == NULL;
  int64_t hello = c->began_ns + s->options.hello_ms * NS_PER_MS;
  if (!timers_set(&s->timers, &c->timer, hello)) return false;
  conn_watch(c);
  conn_touch(c);
  return !c->dead;
}

void conn_open(server *s, int fd, const char *client) {
  conn *c = mem_zalloc(sizeof *c);
  if (c == NULL) {
    (void)close(fd);
    return;
  }
  c->server = s;
  c->fd = fd;
  list_init(&c->in_touched);
  list_init(&c->calls);
  list_push(&s->conns, &c->in_server);
  s->conn_count++;
  atomic_fetch_add(&s->connections, 1);
  atomic_fetch_add(&s->connections_now, 1);
  if (!conn_start(c, client)) conn_close(c);
}

/* Says that no further calls are taken, waits for the answer to a ping, so that those under way have arrived, and
 * then says which was the last. */
void conn_drain(conn *c) {
  if (c->draining || c->dead) return;
  c->draining = true;
  if (!c->greeted || nghttp2_submit_shutdown_notice(c->h2) != 0) c->dead = true;
  conn_touch(c);
}

/* nghttp2 would send a ping before the notice if both were there at once. */
void conn_noticed(conn *c) {
  static const uint8_t mark[8] = "drain";
  if (!c->draining || c->settled || c->noticed) return;
  c->noticed = true;
  if (nghttp2_submit_ping(c->h2, NGHTTP2_FLAG_NONE, mark) != 0) c->dead = true;
  if (c->ping_ns == 0) c->ping_ns = clock_mono_ns();
}

void conn_close(conn *c) {
  server *s = c->server;
  conn_drop_calls(c);
  timers_stop(&s->timers, &c->timer);
  if (c->h2 != NULL) nghttp2_session_del(c->h2);
  tls_end(c->ssl);
  (void)close(c->fd);
  account_unref(c->account);
  mem_free(c->out);
  list_remove(&c->in_touched);
  list_remove(&c->in_server);
  s->conn_count--;
  atomic_fetch_sub(&s->connections_now, 1);
  mem_free(c);
}
