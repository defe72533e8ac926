/* relay.c - the relay of a connection: both handshakes, plain bytes to and from the exchange (relay.h). */
#include "net/relay.h"

#include "base/alloc.h"
#include "net/exchange.h"
#include "net/h2.h"
#include "net/tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TLS_RECORD_MAX = 16 << 10 };

typedef struct net_relay {
  net_outer outer;
  net_poller *poller;
  net_conn *conn;
  net_outer *world;
  bool plain;  /* no TLS on either side */
  bool replay; /* there is no world */
  net_tls *inner,
      *far;   /* inner NULL: plain, or the server's handshake is not over; far NULL: plain, or no world */
  net_h2 *h2; /* on the far side; NULL: HTTP/1.1 */
  buf frames; /* of the server, for h2 */
  buf early;  /* of the guest, until there is an inner side */
  buf sealed; /* for the world, which did not take it yet */
  net_exchange exchange;
  bool guest_ended, world_ended, far_closed, finished;
  bool inner_closed;
  const char *alert; /* sent to the guest in place of a handshake */
  bool broken;       /* nothing more can be done: the guest's connection is reset */
} net_relay;

static net_relay *relay_of(net_outer *o) { return CONTAINER_OF(o, net_relay, outer); }

/* ---- the exchange asks ---- */

static bool relay_on_check(void *ctx, const net_hello *head, const char **why) {
  net_relay *r = ctx;
  net_choice choice;
  bool allowed =
      r->plain ? net_decide_hello(r->conn, head, &choice) : net_decide_request(r->conn, head, &choice);
  *why = choice.rule != SIZE_MAX ? "a rule denies it" : "no rule allows it";
  net_tell_request(r->conn, head, &choice, allowed);
  return allowed;
}

static void relay_on_tell(void *ctx, const char *secret, bool put) {
  const net_relay *r = ctx;
  net_tell_secret(r->conn, r->exchange.host, secret, put);
}

static const net_exchange_ops relay_ops = { .check = relay_on_check, .tell = relay_on_tell };

/* ---- the world ---- */

/* The sealed bytes go out as far as the socket takes them. False: the socket has failed. */
static bool relay_flush(net_relay *r) {
  for (;;) {
    if (r->sealed.len == 0) {
      size_t n = r->far != NULL ? net_tls_take(r->far, r->poller->chunk, NET_CHUNK) : 0;
      if (n == 0) break;
      if (buf_append(&r->sealed, r->poller->chunk, n) != CAY_OK) return false;
    }
    ssize_t sent = r->world->send(r->world, r->sealed.data, r->sealed.len);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    net_buf_drop(&r->sealed, (size_t)sent);
  }
  if (r->far_closed && !r->finished) {
    r->finished = true;
    r->world->finish(r->world);
  }
  return true;
}

static bool relay_fill(net_relay *r, bool *moved) {
  if (r->replay || r->world_ended || r->exchange.answer_in.len >= NET_EXCHANGE_WINDOW) return true;
  if (r->far != NULL && net_tls_unread(r->far) >= NET_EXCHANGE_WINDOW) return true; /* the server waits */
  ssize_t n = r->world->recv(r->world, r->poller->chunk, NET_EXCHANGE_WINDOW);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  *moved = true;
  if (n == 0) r->world_ended = true;
  if (r->plain) return buf_append(&r->exchange.answer_in, r->poller->chunk, (size_t)n) == CAY_OK;
  return net_tls_put(r->far, r->poller->chunk, (size_t)n);
}

/* ---- handshakes ---- */

/* A fatal alert (RFC 8446, 6.2), for a guest whose server speaks no TLS, or has a certificate that was revoked. */
static void relay_alert(net_relay *r, bool revoked) {
  static const char handshake_failure[] = { 21, 3, 3, 0, 2, 2, 40, 0 },
                    certificate_revoked[] = { 21, 3, 3, 0, 2, 2, 44, 0 };
  r->alert = revoked ? certificate_revoked : handshake_failure;
}

static bool relay_begin_inner(net_relay *r, enum net_leaf kind) {
  r->inner = net_tls_server(r->conn->box->authority, r->exchange.host, kind);
  if (r->inner == NULL || !net_tls_put(r->inner, r->early.data, r->early.len)) return false;
  net_buf_drop(&r->early, r->early.len);
  return true;
}

/* The server's handshake is over, one way or the other: the guest's begins. */
static bool relay_far_done(net_relay *r, enum net_tls_state far) {
  enum net_leaf kind = NET_LEAF_GOOD;
  const char *why = "the server ended during the handshake of TLS";
  if (far == NET_TLS_READY && net_tls_is_h2(r->far) && (r->h2 = net_h2_new()) == NULL) return false;
  if (far == NET_TLS_READY) return relay_begin_inner(r, kind);
  bool revoked = net_tls_is_revoked(r->far), certificate = net_tls_fault(r->far, &kind, &why);
  if (revoked) why = "the server's certificate was revoked";
  r->exchange.broken = why;
  net_tell_fault(r->conn, r->exchange.host, why);
  if (certificate && !revoked) return relay_begin_inner(r, kind);
  relay_alert(r, revoked);
  return true;
}

static bool relay_shake(net_relay *r) {
  if (r->plain) return true;
  if (r->replay && r->inner == NULL && !relay_begin_inner(r, NET_LEAF_GOOD)) return false;
  if (r->inner == NULL && r->alert == NULL) {
    enum net_tls_state far = net_tls_shake(r->far);
    if (far == NET_TLS_SHAKING && r->world_ended) far = NET_TLS_FAILED;
    if (far != NET_TLS_SHAKING && !relay_far_done(r, far)) return false;
  }
  return r->inner == NULL || net_tls_shake(r->inner) != NET_TLS_FAILED || net_tls_waiting(r->inner) > 0;
}

static bool relay_is_ready(net_relay *r) {
  return r->plain || (r->inner != NULL && net_tls_shake(r->inner) == NET_TLS_READY);
}

static size_t relay_waiting(const net_tls *t) { return t != NULL ? net_tls_waiting(t) : 0; }

/* ---- plain bytes ---- */

/* Reads the bytes that came on one side. False: it is no TLS. *ended: the peer sends no more. */
static bool relay_read(net_relay *r, net_tls *t, buf *to, bool *ended, bool *moved) {
  while (to->len < NET_EXCHANGE_WINDOW) {
    int64_t n = net_tls_read(t, r->poller->chunk, NET_CHUNK);
    if (n == -2) return false;
    if (n == 0) *ended = true;
    if (n <= 0) return true;
    *moved = true;
    /* With room for all at once, so that growing leaves no copies behind. */
    bool fine = buf_room(to, NET_EXCHANGE_WINDOW + TLS_RECORD_MAX - to->len) != NULL &&
                buf_append(to, r->poller->chunk, (size_t)n) == CAY_OK;
    explicit_bzero(r->poller->chunk, (size_t)n);
    if (!fine) return false;
  }
  return true;
}

/* Frames for the server, whether there was a request or not: windows and settings. */
static bool relay_write_frames(net_relay *r, bool *moved) {
  OWNED(buf_free) buf out = BUF_INIT(BUF_UNLIMITED);
  bool fine = net_h2_write(r->h2, &out) && net_tls_write(r->far, out.data, out.len);
  if (out.len > 0) *moved = true;
  net_wipe(&out);
  return fine;
}

static bool relay_up_h2(net_relay *r, bool *moved) {
  buf *request = &r->exchange.request_out;
  size_t before = request->len;
  if (!net_h2_put(r->h2, request)) return false;
  if (request->len != before) *moved = true;
  return relay_write_frames(r, moved);
}

static bool relay_up(net_relay *r, bool *moved) {
  net_exchange *x = &r->exchange;
  if (!r->plain && !relay_read(r, r->inner, &x->request_in, &r->guest_ended, moved)) return false;
  size_t backlog = r->h2 != NULL ? net_h2_waiting(r->h2) + x->request_out.len : 0;
  if (r->sealed.len + relay_waiting(r->far) + backlog >= NET_EXCHANGE_WINDOW)
    return r->h2 == NULL || relay_write_frames(r, moved);
  if (!net_exchange_request(x)) return false;
  if (r->h2 != NULL) return relay_up_h2(r, moved);
  if (x->request_out.len > 0) {
    *moved = true;
    bool fine = r->plain ? buf_append(&r->sealed, x->request_out.data, x->request_out.len) == CAY_OK
                         : net_tls_write(r->far, x->request_out.data, x->request_out.len);
    if (!fine) return false;
    net_buf_drop(&x->request_out, x->request_out.len);
  }
  return true;
}

/* The server's plain bytes, as HTTP/1.1. */
static bool relay_read_far(net_relay *r, bool *ended, bool *moved) {
  net_exchange *x = &r->exchange;
  if (r->h2 == NULL) return relay_read(r, r->far, &x->answer_in, ended, moved);
  if (x->answer_in.len >= NET_EXCHANGE_WINDOW) return true;
  if (!relay_read(r, r->far, &r->frames, ended, moved)) return false;
  bool fine = net_h2_read(r->h2, r->frames.data, r->frames.len, &x->answer_in);
  if (r->frames.len > 0) net_buf_drop(&r->frames, r->frames.len);
  if (!fine || net_h2_is_over(r->h2)) *ended = true; /* what came before counts */
  return true;
}

static bool relay_down(net_relay *r, bool *moved) {
  net_exchange *x = &r->exchange;
  bool ended = false;
  if (x->broken == NULL && !r->replay) {
    if (!r->plain && !relay_read_far(r, &ended, moved)) return false;
    if (relay_waiting(r->inner) + x->answer_out.len >= NET_EXCHANGE_WINDOW) return true;
    /* The end of the world counts when all before it was read. */
    bool drained = x->answer_in.len < NET_EXCHANGE_WINDOW;
    if (!net_exchange_answer(x, ended || (r->world_ended && drained))) return false;
  }
  if (x->answer_out.len > 0 && !r->plain) {
    *moved = true;
    if (!net_tls_write(r->inner, x->answer_out.data, x->answer_out.len)) return false;
    net_buf_drop(&x->answer_out, x->answer_out.len);
  }
  if (x->closed && !r->inner_closed) {
    r->inner_closed = true;
    if (!r->plain) net_tls_end(r->inner);
  }
  return true;
}

static void relay_end_far(net_relay *r) {
  bool over = r->guest_ended && net_exchange_is_idle(&r->exchange);
  if (r->far_closed || !(over || r->inner_closed || r->alert != NULL)) return;
  r->far_closed = true;
  if (r->far != NULL) net_tls_end(r->far);
}

static void relay_pump(net_outer *o) {
  net_relay *r = relay_of(o);
  for (bool moved = true; moved && !r->broken;) {
    moved = false;
    bool fine = relay_flush(r) && relay_fill(r, &moved) && relay_shake(r);
    if (fine && relay_is_ready(r)) fine = relay_up(r, &moved) && relay_down(r, &moved);
    relay_end_far(r);
    fine = fine && relay_flush(r);
    if (!fine) r->broken = true;
  }
}

/* ---- as an outer stream ---- */

static ssize_t relay_send(net_outer *o, const void *data, size_t len) {
  net_relay *r = relay_of(o);
  size_t backlog = r->exchange.request_in.len + r->sealed.len + r->early.len;
  if (r->inner != NULL) backlog += net_tls_unread(r->inner);
  if (backlog >= 2 * NET_EXCHANGE_WINDOW) {
    errno = EAGAIN;
    return -1;
  }
  buf *to = r->plain ? &r->exchange.request_in : &r->early;
  bool fine = r->inner != NULL ? net_tls_put(r->inner, data, len) : buf_append(to, data, len) == CAY_OK;
  if (fine) relay_pump(o);
  if (fine && !r->broken) return (ssize_t)len;
  errno = ECONNRESET;
  return -1;
}

static size_t relay_take_plain(net_relay *r, void *data, size_t len) {
  buf *from = &r->exchange.answer_out;
  size_t n = from->len < len ? from->len : len;
  if (n == 0) return 0;
  memcpy(data, from->data, n);
  net_buf_drop(from, n);
  return n;
}

static ssize_t relay_recv(net_outer *o, void *data, size_t len) {
  enum { ALERT_LEN = 7 };
  net_relay *r = relay_of(o);
  relay_pump(o);
  size_t n = r->inner != NULL ? net_tls_take(r->inner, data, len)
             : r->plain       ? relay_take_plain(r, data, len)
                              : 0;
  if (n > 0) return (ssize_t)n;
  if (r->alert != NULL && len >= ALERT_LEN && !r->inner_closed) {
    memcpy(data, r->alert, ALERT_LEN);
    r->inner_closed = true;
    return ALERT_LEN;
  }
  if (r->inner_closed) return 0;
  errno = r->broken ? ECONNRESET : EAGAIN;
  return -1;
}

static void relay_finish(net_outer *o) {
  relay_of(o)->guest_ended = true;
  relay_pump(o);
}

static void relay_close(net_outer *o, bool reset) {
  net_relay *r = relay_of(o);
  r->world->close(r->world, reset);
  net_tls_free(r->inner);
  net_tls_free(r->far);
  net_h2_free(r->h2);
  net_wipe(&r->frames);
  buf_free(&r->frames);
  net_exchange_free(&r->exchange);
  buf_free(&r->early);
  buf_free(&r->sealed);
  mem_free(r);
}

bool net_relay_begin(net_poller *p, net_conn *c, const char *name, bool plain) {
  bool replay = net_tape_replays(c->box->tape), far_side = !plain && !replay;
  net_relay *r = mem_zalloc(sizeof *r);
  net_tls *far = r != NULL && far_side ? net_tls_client(c->box->authority, name, c->port) : NULL;
  if (r == NULL || (far_side && far == NULL)) {
    mem_free(r);
    return false;
  }
  *r = (net_relay){ .outer = { relay_send, relay_recv, relay_finish, relay_close, relay_pump },
                    .poller = p,
                    .conn = c,
                    .world = c->outer,
                    .plain = plain,
                    .replay = replay,
                    .far = far,
                    .frames = BUF_INIT(BUF_UNLIMITED),
                    .early = BUF_INIT(NET_HELLO_MAX * 2),
                    .sealed = BUF_INIT(BUF_UNLIMITED) };
  net_exchange_init(&r->exchange, c->box->secrets, name, c->port);
  r->exchange.plain = plain;
  r->exchange.tape = c->box->tape;
  r->exchange.cache = c->box->cache;
  r->exchange.ops = &relay_ops;
  r->exchange.ctx = r;
  r->exchange.scratch = &p->hello;
  c->outer = &r->outer;
  mem_free(MOVE(c->sighting)); /* the exchange sees the plain bytes */
  return true;
}
