/* outside.c - connections that leave the loopback: the end that stands for the world (kernel/net_ops.h).
 *
 * An end has a socket of its own without a file, its proxy, which is joined to the guest's socket as a peer. So
 * reading, writing, shutting down and waiting need nothing special. A watch on the proxy's wait queue tells the layer above
 * whenever the guest wrote, read, shut down or closed. */
#include "kernel/sock/sock.h"

#include "base/alloc.h"

#include <string.h>

/* Bytes that may wait for the guest beside its SO_RCVBUF: Linux lets a fast connection have megabytes. */
enum { OUTSIDE_SEND = 512 << 10 };

struct k_net_end {
  k_kernel *kernel;
  k_socket *proxy;
  k_socket *inner; /* the guest's; NULL: closed, refused or reset */
  k_watch watch;
  k_net_changed_fn *changed;
  void *conn;                     /* NULL: `changed` is not called */
  bool wants_room;                /* the last look found less room than was wanted */
  const k_net_direct_ops *direct; /* NULL: bytes go through the queues */
  bool nudged;                    /* there may be bytes to take */
};

static k_net_addr outside_addr(const k_sockaddr *a) {
  k_net_addr addr = { .port = a->port };
  memcpy(addr.ip, a->ip, sizeof addr.ip);
  return addr;
}

static k_sockaddr outside_sockaddr(uint16_t family, const k_net_addr *a) {
  k_sockaddr addr = { .family = family, .port = a->port };
  memcpy(addr.ip, a->ip, sizeof addr.ip);
  return addr;
}

static bool outside_is_v4(const uint8_t *ip) {
  static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
  return memcmp(ip, mapped, sizeof mapped) == 0;
}

/* ---- an end ---- */

/* A reader that makes a little room after each read is not worth waking the layer above for. */
static bool end_is_worth_a_look(const k_net_end *end) {
  enum { WORTH = 32 << 10 };
  const k_socket *proxy = end->proxy;
  if (proxy->ring.len > 0 || proxy->no_more || end->inner == NULL) return true;
  return end->wants_room && (end->inner->ring.len == 0 || sock_room(end->inner, proxy) >= WORTH);
}

static void end_on_wake(k_watch *watch) {
  const k_net_end *end = CONTAINER_OF(watch, k_net_end, watch);
  if (end->conn != NULL && end_is_worth_a_look(end)) end->changed(end->conn);
}

K_LOCKED static void outside_end_free(k_net_end *end) {
  k_watch_remove(&end->watch);
  sock_free(end->proxy);
  mem_free(end);
}

K_LOCKED static k_ret end_new(k_kernel *k, uint16_t family, k_net_end **out) {
  k_net_end *end = mem_zalloc(sizeof *end);
  k_ret r = end != NULL ? sock_new(k, family, K_SOCK_STREAM, K_IPPROTO_TCP, &end->proxy) : -K_ENOMEM;
  if (r < 0) {
    mem_free(end);
    return r;
  }
  end->kernel = k;
  end->proxy->options.sndbuf = OUTSIDE_SEND;
  k_watch_add(&end->watch, &end->proxy->changed, end_on_wake);
  *out = end;
  return 0;
}

/* ---- for the other files of this folder ---- */

bool sock_is_resolver(const k_kernel *k, const k_sockaddr *to) {
  return k->net != NULL && to->port == k->net->resolver.port &&
         memcmp(to->ip, k->net->resolver.ip, sizeof to->ip) == 0;
}

k_ret sock_outside_connect(k_socket *s, const k_sockaddr *to) {
  k_net_end *end = NULL;
  k_net_addr addr = outside_addr(to);
  const k_net *net = s->kernel->net;
  K_TRY(end_new(s->kernel, s->family, &end));
  end->inner = s;
  end->proxy->local = *to;
  k_ret r = net->ops->connect(net->ctx, end, &addr);
  if (r < 0) {
    outside_end_free(end);
    return r;
  }
  s->outside = end;
  s->state = SOCK_CONNECTING;
  return 0;
}

void sock_outside_leave(k_socket *s) {
  k_net_end *end = s->outside;
  if (end == NULL) return;
  s->outside = NULL;
  end->inner = NULL;
  k_wake(&end->proxy->changed);
}

void sock_outside_datagram(k_socket *s, const k_sockaddr *to, const void *buf, size_t len) {
  const k_net *net = s->kernel->net;
  k_sockaddr source = sock_inet_source(s, to);
  k_net_addr from = outside_addr(&source);
  net->ops->datagram(net->ctx, &from, buf, len);
}

/* ---- ends ---- */

/* The guest's socket is told how it went, and forgets the end. */
static k_socket *end_part(k_net_end *end) {
  k_socket *s = end->inner;
  if (s != NULL) s->outside = NULL;
  end->inner = NULL;
  return s;
}

/* The guest's socket loses its peer. */
K_LOCKED static void end_lose(k_net_end *end, int32_t error) {
  k_socket *s = end_part(end);
  if (s == NULL) return;
  if (s->state == SOCK_CONNECTING) {
    s->state = SOCK_DECIDED;
    s->error = error != 0 ? error : K_ECONNRESET;
  } else {
    s->peer = NULL;
    s->no_more = true;
    s->broken = s->broken || error != 0;
    if (error != 0) s->error = error;
  }
  end->proxy->peer = NULL;
  k_wake(&s->changed);
}

K_LOCKED static void outside_finish(k_net_end *end) {
  k_socket *s = end->inner;
  if (s == NULL || s->peer != end->proxy) return;
  end->proxy->no_writing = s->no_more = true;
  s->deaf = false;
  k_wake(&s->changed);
}

void sock_outside_cut(k_socket *s) {
  k_net_end *end = s->outside;
  if (end == NULL) return;
  sock_drop_queue(s);
  end_lose(end, K_ECONNRESET);
  k_wake(&end->proxy->changed);
}

/* ---- bytes that do not go through the queues ---- */

/* The guest's socket has no bytes in its queue. */
static k_net_end *outside_direct(const k_socket *s) {
  k_net_end *end = s->outside;
  bool open = end != NULL && end->direct != NULL && end->conn != NULL && s->peer == end->proxy;
  return open ? end : NULL;
}

k_ret sock_outside_take(k_socket *s, void *buf, size_t len, bool peek) {
  k_net_end *end = outside_direct(s);
  if (end == NULL || s->no_more || len == 0) return -K_EAGAIN;
  k_ret r = end->direct->take(end->conn, buf, len, peek);
  if (r > 0) return r;
  end->nudged = false;
  if (r == -K_EAGAIN) return r;
  end->direct = NULL;
  end->changed(end->conn);
  if (r == 0)
    outside_finish(end);
  else
    end_lose(end, (int32_t)-r);
  return -K_EAGAIN;
}

void sock_outside_look(k_socket *s) {
  char byte;
  if (s->ring.len == 0 && s->outside != NULL && s->outside->nudged)
    IGNORED(sock_outside_take(s, &byte, 1, true)); /* its state says it */
}

bool sock_outside_has_more(const k_socket *s) {
  return s->outside != NULL && s->outside->nudged && !s->no_more;
}

/* For those who ask how many bytes there are. */
void sock_outside_fill(k_socket *s) {
  enum { PIECE = 16 << 10 };
  if (s->ring.len != 0 || outside_direct(s) == NULL) return;
  if (s->ring.cap < PIECE) s->ring.cap = PIECE;
  void *piece = k_ring_reserve(&s->ring, s->kernel, PIECE) >= 0 ? mem_alloc(PIECE) : NULL;
  k_ret n = piece != NULL ? sock_outside_take(s, piece, PIECE, false) : 0;
  if (n > 0) IGNORED(k_ring_put(&s->ring, s->kernel, piece, (size_t)n)); /* there is room */
  mem_free(piece);
}

k_ret sock_outside_give(k_socket *s, const void *buf, size_t len) {
  k_net_end *end = outside_direct(s);
  if (end == NULL || end->proxy->ring.len != 0 || s->no_writing) return -K_EAGAIN;
  return end->direct->give(end->conn, buf, len);
}

void k_net_direct(k_net_end *end, const k_net_direct_ops *ops) {
  k_lock(end->kernel);
  end->direct = ops;
  end->nudged = true;
  if (end->inner != NULL) k_wake(&end->inner->changed);
  k_unlock(end->kernel);
}

void k_net_nudge(k_net_end *end) {
  k_lock(end->kernel);
  end->nudged = true;
  if (end->inner != NULL) k_wake(&end->inner->changed);
  k_unlock(end->kernel);
}

/* ---- for the layer above ---- */

void k_net_set_conn(k_net_end *end, k_net_changed_fn *changed, void *conn) {
  end->changed = changed;
  end->conn = conn;
}

void k_net_adopt(k_net_end *end, k_net_changed_fn *changed, void *conn) {
  k_lock(end->kernel);
  k_net_set_conn(end, changed, conn);
  k_unlock(end->kernel);
}

bool k_net_connected(k_net_end *end) {
  k_lock(end->kernel);
  k_socket *s = end->inner;
  if (s != NULL) {
    sock_join(s, end->proxy);
    s->state = SOCK_DECIDED;
    k_wake(&s->changed);
  }
  k_unlock(end->kernel);
  return s != NULL;
}

void k_net_refuse(k_net_end *end, int32_t error) {
  k_lock(end->kernel);
  k_socket *s = end_part(end);
  if (s != NULL) {
    s->state = SOCK_DECIDED;
    s->error = error;
    k_wake(&s->changed);
  }
  k_unlock(end->kernel);
}

/* Bytes of at most `want` for which there is memory now. */
K_LOCKED static size_t end_reserve(k_net_end *end, size_t want) {
  k_socket *s = end->inner;
  size_t room = sock_room(s, end->proxy), n = want < room ? want : room;
  if (n == 0) return 0;
  if (s->ring.cap < s->ring.len + room) s->ring.cap = s->ring.len + room;
  if (k_ring_reserve(&s->ring, end->kernel, n) >= 0) return n;
  size_t there = s->ring.size - s->ring.len;
  return n < there ? n : there;
}

void k_net_look(k_net_end *end, size_t want, k_net_state *out) {
  k_lock(end->kernel);
  const k_socket *proxy = end->proxy;
  bool open = end->inner != NULL && end->inner->peer == proxy;
  size_t room = open ? end_reserve(end, want) : 0;
  end->wants_room = open && room < want;
  *out = (k_net_state){ .readable = proxy->ring.len,
                        .room = room,
                        .done = proxy->no_more,
                        .gone = end->inner == NULL,
                        .reset = proxy->error != 0 };
  k_unlock(end->kernel);
}

size_t k_net_peek(k_net_end *end, void *buf, size_t len) {
  k_lock(end->kernel);
  size_t n = k_ring_peek(&end->proxy->ring, buf, len);
  k_unlock(end->kernel);
  return n;
}

/* As a read of the proxy: the guest's socket has room. */
void k_net_take(k_net_end *end, size_t len) {
  k_lock(end->kernel);
  k_ring_skip(&end->proxy->ring, len);
  if (end->inner != NULL) k_wake(&end->inner->changed);
  k_unlock(end->kernel);
}

size_t k_net_put(k_net_end *end, const void *data, size_t len) {
  k_ret n = 0;
  k_lock(end->kernel);
  k_socket *s = end->inner;
  if (s != NULL && s->peer == end->proxy) {
    n = k_ring_put(&s->ring, end->kernel, data, len);
    k_wake(&s->changed);
  }
  k_unlock(end->kernel);
  return n > 0 ? (size_t)n : 0;
}

void k_net_finish(k_net_end *end) {
  k_lock(end->kernel);
  outside_finish(end);
  k_unlock(end->kernel);
}

void k_net_reset(k_net_end *end, int32_t error) {
  k_lock(end->kernel);
  end_lose(end, error);
  k_unlock(end->kernel);
}

void k_net_free(k_net_end *end) {
  k_kernel *k = end->kernel;
  k_lock(k);
  end->conn = NULL;
  end_lose(end, 0);
  outside_end_free(end);
  k_unlock(k);
}

/* ---- from outside to inside ---- */

K_LOCKED static k_ret end_dial(k_kernel *k, const k_net_addr *to, const k_net_addr *from, k_net_end **out) {
  uint16_t family = outside_is_v4(to->ip) ? K_AF_INET : K_AF_INET6;
  k_sockaddr where = outside_sockaddr(family, to);
  k_socket *l = sock_inet_listener(k, &where);
  if (l == NULL) return -K_ECONNREFUSED;
  if (l->accept_count > l->backlog) return -K_EAGAIN;
  k_net_end *end = NULL;
  K_TRY(end_new(k, family, &end));
  end->proxy->local = outside_sockaddr(family, from);
  end->proxy->remote = where;
  k_ret r = sock_enter_queue(end->proxy, l);
  if (r < 0) {
    outside_end_free(end);
    return r;
  }
  end->inner = end->proxy->peer;
  end->inner->outside = end;
  *out = end;
  return 0;
}

k_ret k_net_dial(k_kernel *k, const k_net_addr *to, const k_net_addr *from, k_net_end **out) {
  k_lock(k);
  k_ret r = k->shutting_down ? -K_ECONNREFUSED : end_dial(k, to, from, out);
  k_unlock(k);
  return r;
}

void k_net_deliver(k_kernel *k, const k_net_addr *from, const k_net_addr *to, const void *data, size_t len) {
  k_sockaddr sender = outside_sockaddr(K_AF_INET, from), receiver = outside_sockaddr(K_AF_INET, to);
  k_parcel *none = NULL;
  k_lock(k);
  k_socket *s = sock_inet_receiver(k, &receiver, &sender);
  if (s != NULL && !s->no_more && sock_put_message(s, s, data, len, &sender, &none) >= 0) k_wake(&s->changed);
  k_unlock(k);
}
