/* queue.c - what waits to be read from a socket: a ring of bytes, or a list of messages.
 *
 * Bytes may have spans over them, in their order: whose they are, if somebody wants to know, and the parcel
 * that came with them. A read takes a parcel with the first byte of its span and ends with the last. */
#include "kernel/sock/sock.h"

#include "base/alloc.h"

#include <string.h>

enum { MESSAGE_COST = 512 /* what keeping one takes, whatever is in it */ };

typedef struct origin {
  bool known;
  k_cred cred;
  k_parcel *parcel;
} origin;

typedef struct message {
  list node;
  size_t len;
  k_sockaddr from;
  origin origin;
  uint8_t data[];
} message;

typedef struct span {
  list node;
  uint64_t begin, end; /* as k_socket.taken counts */
  origin origin;
} span;

static message *first(const k_socket *s) { return CONTAINER_OF(s->messages.next, message, node); }

bool sock_is_empty(const k_socket *s) { return s->ring.len == 0 && list_empty(&s->messages); }

size_t sock_next_len(const k_socket *s) {
  if (!list_empty(&s->messages)) return first(s)->len;
  return s->options.oob_inline ? s->ring.len : sock_passes_urgent(s) ? 0 : sock_until_mark(s, s->ring.len);
}

/* ---- where it comes from ---- */

/* As Linux: the writer is kept when either end wants to know by then. */
static bool queue_is_asked(const k_socket *to, const k_socket *by) {
  return !sock_is_inet(to) && (to->options.pass_cred || by->options.pass_cred);
}

static void origin_set(origin *o, k_socket *to, const k_socket *by, k_parcel **parcel) {
  o->known = queue_is_asked(to, by);
  o->cred = by->writer;
  k_parcel *x = *parcel;
  *parcel = NULL;
  if (x != NULL) sock_parcel_enter(x, to, &o->parcel);
}

/* Reports the sender's credentials; if `what` is NULL, discards the parcel. */
K_LOCKED static k_ret origin_tell(origin *o, const k_socket *s, bool peek, k_received *what) {
  enum { NOBODY = 65534 };
  if (what != NULL && s->options.pass_cred && !sock_is_inet(s) && !what->has_cred) {
    what->has_cred = true;
    what->cred = o != NULL && o->known ? o->cred : (k_cred){ .uid = NOBODY, .gid = NOBODY };
  }
  if (o == NULL || o->parcel == NULL) return 0;
  if (peek) return what != NULL ? sock_parcel_copy(o->parcel, &what->parcel) : 0;
  k_parcel *x = sock_parcel_leave(&o->parcel);
  if (what != NULL)
    what->parcel = x;
  else
    sock_parcel_drop(x);
  return 0;
}

K_LOCKED static void origin_drop(origin *o) {
  k_parcel *x = sock_parcel_leave(&o->parcel);
  if (x != NULL) sock_parcel_drop(x);
}

/* ---- spans ---- */

static span *first_span(const k_socket *s) {
  return list_empty(&s->spans) ? NULL : CONTAINER_OF(s->spans.next, span, node);
}

K_LOCKED static void span_free(k_socket *s, span *x) {
  list_remove(&x->node);
  origin_drop(&x->origin);
  k_memory_uncharge(s->kernel, sizeof *x);
  mem_free(x);
}

static bool same_cred(const k_cred *a, const k_cred *b) {
  return a->pid == b->pid && a->uid == b->uid && a->gid == b->gid;
}

/* One that ends where the next byte begins and says the same. */
static span *last_span(const k_socket *to, const k_socket *by, const k_parcel *parcel) {
  if (list_empty(&to->spans) || parcel != NULL) return NULL;
  span *last = CONTAINER_OF(to->spans.prev, span, node);
  bool fits = last->end == to->taken + to->ring.len && last->origin.parcel == NULL;
  return fits && last->origin.known && same_cred(&last->origin.cred, &by->writer) ? last : NULL;
}

/* *out NULL: the next bytes need none. It is in no list yet. */
K_LOCKED static k_ret span_new(k_socket *to, const k_socket *by, const k_parcel *parcel, span **out) {
  *out = NULL;
  if (parcel == NULL && !queue_is_asked(to, by)) return 0;
  *out = last_span(to, by, parcel);
  if (*out != NULL) return 0;
  if (k_memory_charge(to->kernel, sizeof **out) < 0) return -K_ENOBUFS;
  span *x = mem_zalloc(sizeof *x);
  if (x == NULL) {
    k_memory_uncharge(to->kernel, sizeof *x);
    return -K_ENOBUFS;
  }
  list_init(&x->node);
  x->begin = x->end = to->taken + to->ring.len;
  *out = x;
  return 0;
}

/* How many bytes one read may take. */
static size_t until_border(const k_socket *s, size_t len) {
  const span *x = first_span(s);
  if (x == NULL) return len;
  uint64_t end = s->taken + len;
  if (s->options.pass_cred) {
    end = x->begin > s->taken ? x->begin : x->end;
  } else {
    LIST_EACH (with, &s->spans, span, node) {
      if (with->origin.parcel == NULL) continue;
      end = with->end;
      break;
    }
  }
  return end - s->taken < len ? (size_t)(end - s->taken) : len;
}

/* Tells of the spans that the next `n` bytes touch. */
K_LOCKED static k_ret tell_of_spans(k_socket *s, size_t n, bool peek, k_received *what) {
  span *x = first_span(s);
  bool first_is_told = x != NULL && x->begin <= s->taken;
  if (n == 0) return 0;
  if (!first_is_told) K_TRY(origin_tell(NULL, s, peek, what));
  LIST_EACH (y, &s->spans, span, node) {
    if (y->begin < s->taken + n) K_TRY(origin_tell(&y->origin, s, peek, what));
  }
  return 0;
}

void sock_skip_bytes(k_socket *s, size_t n) {
  k_ring_skip(&s->ring, n);
  s->taken += n;
  if (s->taken > s->urgent_at) s->urgent = URGENT_NONE;
  for (span *x = first_span(s); x != NULL && x->end <= s->taken; x = first_span(s)) span_free(s, x);
}

/* ---- bytes ---- */

/* In Linux bytes of AF_UNIX stay with who sends them; those of TCP are in flight between two buffers. */
static size_t capacity(const k_socket *to, const k_socket *by) {
  return (size_t)by->options.sndbuf + (sock_is_inet(to) ? to->options.rcvbuf : 0);
}

size_t sock_room(const k_socket *to, const k_socket *by) {
  size_t cap = capacity(to, by);
  return cap > to->ring.len ? cap - to->ring.len : 0;
}

k_ret sock_put_bytes(k_socket *to, const k_socket *by, const void *buf, size_t len, k_parcel **parcel) {
  if (len == 0) return 0;
  size_t room = sock_room(to, by), n = len < room ? len : room;
  if (n == 0) return -K_EAGAIN;
  if (to->ring.cap < capacity(to, by)) to->ring.cap = capacity(to, by);
  span *over = NULL;
  K_TRY(k_ring_reserve(&to->ring, to->kernel, 1));
  K_TRY(span_new(to, by, *parcel, &over));
  k_ret r = k_ring_put(&to->ring, to->kernel, buf, n);
  if (over == NULL) return r;
  bool is_new = !list_linked(&over->node);
  if (r > 0) over->end += (uint64_t)r;
  if (r > 0 && is_new) {
    origin_set(&over->origin, to, by, parcel);
    list_push(&to->spans, &over->node);
  } else if (is_new) {
    span_free(to, over);
  }
  return r;
}

/* ---- messages ---- */

/* As sock_writeable of Linux: half of the buffer is free, so that a waiting writer does not wake for each message. */
bool sock_has_message_room(const k_socket *to) { return to->queued + MESSAGE_COST < to->options.rcvbuf / 2; }

k_ret sock_put_message(k_socket *to, const k_socket *by, const void *buf, size_t len, const k_sockaddr *from,
                       k_parcel **parcel) {
  size_t cost = len + MESSAGE_COST;
  if (cost > to->options.rcvbuf) return -K_EMSGSIZE;
  if (to->queued + cost > to->options.rcvbuf) return -K_EAGAIN;
  if (k_memory_charge(to->kernel, cost) < 0) return -K_ENOBUFS;
  message *m = mem_zalloc(sizeof *m + len);
  if (m == NULL) {
    k_memory_uncharge(to->kernel, cost);
    return -K_ENOBUFS;
  }
  m->len = len;
  m->from = from != NULL ? *from : (k_sockaddr){ .family = K_AF_UNSPEC };
  if (len != 0) memcpy(m->data, buf, len);
  origin_set(&m->origin, to, by, parcel);
  list_push(&to->messages, &m->node);
  to->queued += cost;
  return (k_ret)len;
}

K_LOCKED static void message_free(k_socket *s, message *m) {
  list_remove(&m->node);
  origin_drop(&m->origin);
  s->queued -= m->len + MESSAGE_COST;
  k_memory_uncharge(s->kernel, m->len + MESSAGE_COST);
  mem_free(m);
}

void sock_drop_queue(k_socket *s) {
  LIST_EACH_SAFE (m, &s->messages, message, node) message_free(s, m);
  LIST_EACH_SAFE (over, &s->spans, span, node) span_free(s, over);
  s->taken += s->ring.len;
  s->urgent = URGENT_NONE;
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
K_LOCKED static void tell_of_room(k_socket *s) {
  k_wake(&s->changed);
  if (s->peer != NULL) k_wake(&s->peer->changed);
  sock_wake_followers(s);
}

K_LOCKED static k_ret queue_take_bytes(k_socket *s, void *buf, size_t len, bool peek, k_received *what) {
  if (!peek && sock_passes_urgent(s)) sock_skip_bytes(s, 1);
  k_ring waiting = s->ring;
  if (sock_passes_urgent(s)) k_ring_skip(&waiting, 1);
  if (waiting.len == 0) {
    k_ret r = sock_outside_take(s, buf, len, peek);
    return r > 0 ? r : nothing(s);
  }
  size_t n = k_ring_peek(&waiting, buf, sock_until_mark(s, until_border(s, len)));
  K_TRY(tell_of_spans(s, n, peek, what));
  if (!peek && n > 0) {
    sock_skip_bytes(s, n);
    tell_of_room(s);
  }
  return (k_ret)n;
}

K_LOCKED static k_ret queue_take_message(k_socket *s, void *buf, size_t len, bool peek, k_received *what) {
  if (list_empty(&s->messages)) return nothing(s);
  message *m = first(s);
  size_t whole = m->len, n = len < whole ? len : whole;
  K_TRY(origin_tell(&m->origin, s, peek, what));
  if (n != 0) memcpy(buf, m->data, n);
  if (what != NULL) what->from = m->from;
  if (!peek) {
    message_free(s, m);
    tell_of_room(s);
  }
  return (k_ret)whole;
}

k_ret sock_take(k_socket *s, void *buf, size_t len, bool peek, k_received *what) {
  if (!sock_is_connected_kind(s) && s->error != 0) return sock_take_error(s);
  return sock_is_stream(s) ? queue_take_bytes(s, buf, len, peek, what)
                           : queue_take_message(s, buf, len, peek, what);
}
