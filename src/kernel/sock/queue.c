/* queue.c - what waits to be read from a socket: a ring of bytes, or a list of messages. */
#include "kernel/sock/sock.h"

#include "base/alloc.h"

#include <string.h>

enum { MESSAGE_COST = 512 /* what keeping one takes, whatever is in it */ };

typedef struct message {
  list node;
  size_t len;
  k_sockaddr from;
  uint8_t data[];
} message;

static message *first(const k_socket *s) { return CONTAINER_OF(s->messages.next, message, node); }

bool sock_is_empty(const k_socket *s) { return s->ring.len == 0 && list_empty(&s->messages); }

size_t sock_next_len(const k_socket *s) { return list_empty(&s->messages) ? s->ring.len : first(s)->len; }

/* ---- bytes ---- */

/* In Linux bytes of AF_UNIX stay with who sends them; those of TCP are in flight between two buffers. */
static size_t capacity(const k_socket *to, const k_socket *by) {
  return (size_t)by->options.sndbuf + (sock_is_inet(to) ? to->options.rcvbuf : 0);
}

size_t sock_room(const k_socket *to, const k_socket *by) {
  size_t cap = capacity(to, by);
  return cap > to->ring.len ? cap - to->ring.len : 0;
}

k_ret sock_put_bytes(k_socket *to, const k_socket *by, const void *buf, size_t len) {
  if (len == 0) return 0;
  size_t room = sock_room(to, by), n = len < room ? len : room;
  if (n == 0) return -K_EAGAIN;
  if (to->ring.cap < capacity(to, by)) to->ring.cap = capacity(to, by);
  K_TRY(k_ring_reserve(&to->ring, to->kernel, 1));
  return k_ring_put(&to->ring, to->kernel, buf, n);
}

/* ---- messages ---- */

/* As sock_writeable of Linux: half of the buffer is free, so that one who waits does not wake for each. */
bool sock_has_message_room(const k_socket *to) { return to->queued + MESSAGE_COST < to->options.rcvbuf / 2; }

k_ret sock_put_message(k_socket *to, const void *buf, size_t len, const k_sockaddr *from) {
  size_t cost = len + MESSAGE_COST;
  if (cost > to->options.rcvbuf) return -K_EMSGSIZE;
  if (to->queued + cost > to->options.rcvbuf) return -K_EAGAIN;
  if (k_memory_charge(to->kernel, cost) < 0) return -K_ENOBUFS;
  message *m = mem_alloc(sizeof *m + len);
  if (m == NULL) {
    k_memory_uncharge(to->kernel, cost);
    return -K_ENOBUFS;
  }
  m->len = len;
  m->from = from != NULL ? *from : (k_sockaddr){ .family = K_AF_UNSPEC };
  if (len != 0) memcpy(m->data, buf, len);
  list_push(&to->messages, &m->node);
  to->queued += cost;
  return (k_ret)len;
}

static void message_free(k_socket *s, message *m) {
  list_remove(&m->node);
  s->queued -= m->len + MESSAGE_COST;
  k_memory_uncharge(s->kernel, m->len + MESSAGE_COST);
  mem_free(m);
}

void sock_drop_queue(k_socket *s) {
  LIST_EACH_SAFE (m, &s->messages, message, node) message_free(s, m);
  size_t cap = s->ring.cap;
  k_ring_free(&s->ring, s->kernel);
  s->ring.cap = cap;
}

/* ---- taking ---- */

static k_ret nothing(k_socket *s) {
  if (s->error != 0) return sock_take_error(s);
  if (s->no_more) return 0;
  if (!sock_is_connected_kind(s) || s->state == SOCK_CONNECTED || s->state == SOCK_CONNECTING)
    return -K_EAGAIN;
  if (s->state == SOCK_DECIDED && s->has_peer) return -K_EAGAIN;
  return sock_is_inet(s) || s->type == K_SOCK_SEQPACKET ? -K_ENOTCONN : -K_EINVAL;
}

/* Room may matter to the peer, and to those that follow. */
static void tell_of_room(k_socket *s) {
  k_wake(&s->changed);
  if (s->peer != NULL) k_wake(&s->peer->changed);
  sock_wake_followers(s);
}

static k_ret take_bytes(k_socket *s, void *buf, size_t len, bool peek) {
  size_t n = k_ring_peek(&s->ring, buf, len);
  if (s->ring.len == 0) return nothing(s);
  if (!peek && n > 0) {
    k_ring_skip(&s->ring, n);
    tell_of_room(s);
  }
  return (k_ret)n;
}

static k_ret take_message(k_socket *s, void *buf, size_t len, bool peek, k_sockaddr *from) {
  if (list_empty(&s->messages)) return nothing(s);
  message *m = first(s);
  size_t whole = m->len, n = len < whole ? len : whole;
  if (n != 0) memcpy(buf, m->data, n);
  if (from != NULL) *from = m->from;
  if (!peek) {
    message_free(s, m);
    tell_of_room(s);
  }
  return (k_ret)whole;
}

k_ret sock_take(k_socket *s, void *buf, size_t len, bool peek, k_sockaddr *from) {
  if (!sock_is_connected_kind(s) && s->error != 0) return sock_take_error(s);
  return sock_is_stream(s) ? take_bytes(s, buf, len, peek) : take_message(s, buf, len, peek, from);
}
