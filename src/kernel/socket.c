/* socket.c - pairs of connected local sockets (socketpair(2), unix(7)).
 *
 * Each socket owns what waits to be read from it: a ring of bytes, or a list of messages. The two ends know
 * each other until one is closed. */
#include "kernel/pipe.h"

#include "base/alloc.h"
#include "kernel/process.h"
#include "kernel/ring.h"
#include "kernel/transfer.h"

#include <string.h>

enum { STREAM_CAP = 208 << 10, MESSAGE_CAP = 208 << 10, MESSAGE_COST = 512 };

typedef struct message {
  list node;
  size_t len;
  uint8_t data[];
} message;

typedef struct socket {
  k_kernel *kernel;
  struct socket *peer; /* NULL: closed */
  int type;
  k_ring ring;     /* of a stream */
  list messages;   /* of the others, */
  size_t queued;   /* and what they cost */
  bool no_more;    /* nothing comes any more: the peer has shut down or closed */
  bool no_writing; /* this end has shut down for writing */
  bool reset;      /* the peer was closed before it had read everything: told once */
  k_waitq changed; /* something may be read or written here that could not be before */
  uint64_t ino;
} socket;

static socket *of(const k_file *f) { return f->object; }
static bool is_stream(const socket *s) { return s->type == K_SOCK_STREAM; }
static bool is_connected_kind(const socket *s) { return s->type != K_SOCK_DGRAM; }

/* Something changed between the two: both ends look again. */
static void wake_both(socket *s) {
  k_wake(&s->changed);
  if (s->peer != NULL) k_wake(&s->peer->changed);
}

/* ---- receiving ---- */

static k_ret nothing_to_read(socket *s) {
  if (s->reset) {
    s->reset = false;
    return -K_ECONNRESET;
  }
  return s->no_more ? 0 : -K_EAGAIN;
}

static k_ret read_ring(socket *s, void *buf, size_t len, bool peek) {
  if (len == 0) return 0;
  size_t n = k_ring_peek(&s->ring, buf, len);
  if (n == 0) return nothing_to_read(s);
  if (!peek) {
    k_ring_skip(&s->ring, n);
    wake_both(s);
  }
  return (k_ret)n;
}

static void message_free(socket *s, message *m) {
  list_remove(&m->node);
  s->queued -= m->len + MESSAGE_COST;
  k_memory_uncharge(s->kernel, m->len + MESSAGE_COST);
  mem_free(m);
}

/* The whole length of the message; what is beyond `len` is lost. */
static k_ret read_message(socket *s, void *buf, size_t len, bool peek) {
  if (list_empty(&s->messages)) return nothing_to_read(s);
  message *m = CONTAINER_OF(s->messages.next, message, node);
  size_t whole = m->len, n = len < whole ? len : whole;
  if (n != 0) memcpy(buf, m->data, n);
  if (!peek) {
    message_free(s, m);
    wake_both(s);
  }
  return (k_ret)whole;
}

static k_ret socket_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  socket *s = of(f);
  if (is_stream(s)) return read_ring(s, buf, len, false);
  k_ret r = read_message(s, buf, len, false);
  return r > (k_ret)len ? (k_ret)len : r;
}

/* ---- sending ---- */

static k_ret put_message(socket *to, const void *buf, size_t len) {
  size_t cost = len + MESSAGE_COST;
  if (cost > MESSAGE_CAP) return -K_EMSGSIZE;
  if (to->queued + cost > MESSAGE_CAP) return -K_EAGAIN;
  if (k_memory_charge(to->kernel, cost) < 0) return -K_ENOBUFS;
  message *m = mem_alloc(sizeof *m + len);
  if (m == NULL) {
    k_memory_uncharge(to->kernel, cost);
    return -K_ENOBUFS;
  }
  m->len = len;
  if (len != 0) memcpy(m->data, buf, len);
  list_push(&to->messages, &m->node);
  to->queued += cost;
  return (k_ret)len;
}

static k_ret put_bytes(socket *to, const void *buf, size_t len) {
  if (len == 0) return 0;
  if (k_ring_room(&to->ring) == 0) return -K_EAGAIN;
  K_TRY(k_ring_reserve(&to->ring, to->kernel, 1));
  return k_ring_put(&to->ring, to->kernel, buf, len);
}

static k_ret socket_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)pos;
  socket *s = of(f);
  if (s->no_writing) return -K_EPIPE;
  if (s->peer == NULL) return is_connected_kind(s) ? -K_EPIPE : -K_ECONNREFUSED;
  if (s->peer->no_more) return -K_EPIPE;
  k_ret r = is_stream(s) ? put_bytes(s->peer, buf, len) : put_message(s->peer, buf, len);
  if (r >= 0) k_wake(&s->peer->changed);
  return r;
}

/* ---- the other operations ---- */

static bool has_room(const socket *s) {
  if (s->peer == NULL || s->no_writing) return true; /* a write would not sleep */
  if (is_stream(s)) return k_ring_room(&s->peer->ring) > 0;
  return s->peer->queued + MESSAGE_COST < MESSAGE_CAP / 2;
}

static uint32_t socket_ready(k_file *f) {
  const socket *s = of(f);
  uint32_t ready = 0;
  if (s->ring.len > 0 || !list_empty(&s->messages) || s->no_more) ready |= K_POLLIN | K_POLLRDNORM;
  if (s->no_more) ready |= K_POLLRDHUP;
  if (s->reset) ready |= K_POLLERR;
  if (is_connected_kind(s) && s->no_more && (s->peer == NULL || s->no_writing)) ready |= K_POLLHUP;
  if (has_room(s)) ready |= K_POLLOUT | K_POLLWRNORM;
  return ready;
}

static k_waitq *socket_queue(k_file *f) { return &of(f)->changed; }

static k_ret socket_stat(k_file *f, k_stat *out) {
  *out = (k_stat){
    .ino = of(f)->ino,
    .mode = K_S_IFSOCK | 0777,
    .nlink = 1,
    .uid = K_UID,
    .gid = K_GID,
    .dev_minor = 8,
  };
  return 0;
}

static k_ret socket_ioctl(k_file *f, uint32_t request, void *arg, size_t len) {
  const socket *s = of(f);
  if (request != K_FIONREAD || len < sizeof(int32_t)) return -K_ENOTTY;
  size_t n = s->ring.len;
  if (!list_empty(&s->messages)) n = CONTAINER_OF(s->messages.next, message, node)->len;
  *(int32_t *)arg = (int32_t)n;
  return 0;
}

static void socket_free(socket *s) {
  LIST_EACH_SAFE (m, &s->messages, message, node) message_free(s, m);
  k_ring_free(&s->ring, s->kernel);
  mem_free(s);
}

static void socket_release(k_file *f) {
  socket *s = of(f), *peer = s->peer;
  if (peer != NULL) {
    bool unread = s->ring.len > 0 || !list_empty(&s->messages);
    peer->peer = NULL;
    if (is_connected_kind(s)) {
      peer->no_more = true;
      peer->reset |= unread;
    }
    k_wake(&peer->changed);
  }
  socket_free(s);
}

static const k_file_ops socket_ops = {
  .read = socket_read,
  .write = socket_write,
  .stat = socket_stat,
  .ioctl = socket_ioctl,
  .ready = socket_ready,
  .queue = socket_queue,
  .release = socket_release,
};

bool k_is_socket(const k_file *f) { return f->ops == &socket_ops; }

int k_socket_type(const k_file *f) { return of(f)->type; }

/* ---- making a pair ---- */

static socket *socket_new(k_kernel *k, int type) {
  socket *s = mem_zalloc(sizeof *s);
  if (s == NULL) return NULL;
  s->kernel = k;
  s->type = type;
  s->ino = ++k->anonymous_ino;
  k_ring_init(&s->ring, STREAM_CAP);
  list_init(&s->messages);
  k_waitq_init(&s->changed);
  return s;
}

static k_ret open_new(k_kernel *k, int type, uint32_t flags, k_file **out) {
  socket *s = socket_new(k, type);
  if (s == NULL) return -K_ENOMEM;
  k_ret r = k_file_new(k, &socket_ops, (flags & K_O_NONBLOCK) | K_O_RDWR, NULL, s, out);
  if (r < 0) socket_free(s);
  return r;
}

k_ret k_socketpair(k_kernel *k, int type, uint32_t flags, k_file **a, k_file **b) {
  if (type != K_SOCK_STREAM && type != K_SOCK_DGRAM && type != K_SOCK_SEQPACKET) return -K_EPROTOTYPE;
  k_file *one = NULL, *two = NULL;
  K_TRY(open_new(k, type, flags, &one));
  k_ret r = open_new(k, type, flags, &two);
  if (r < 0) {
    k_file_unref(one);
    return r;
  }
  of(one)->peer = of(two);
  of(two)->peer = of(one);
  *a = one;
  *b = two;
  return 0;
}

k_ret k_socket_shutdown(k_file *f, int how) {
  if (!k_is_socket(f)) return -K_ENOTSOCK;
  if (how < K_SHUT_RD || how > K_SHUT_RDWR) return -K_EINVAL;
  socket *s = of(f);
  if (how != K_SHUT_WR) s->no_more = true;
  if (how != K_SHUT_RD) s->no_writing = true;
  if (s->peer != NULL && is_connected_kind(s)) {
    if (how != K_SHUT_WR) s->peer->no_writing = true;
    if (how != K_SHUT_RD) s->peer->no_more = true;
  }
  wake_both(s);
  return 0;
}

/* ---- send(2), recv(2) ---- */

k_ret k_socket_send(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags) {
  if (!k_is_socket(f)) return -K_ENOTSOCK;
  uint32_t how = (flags & K_MSG_DONTWAIT) != 0 ? K_TRANSFER_NOW : 0;
  if ((flags & K_MSG_NOSIGNAL) != 0) how |= K_TRANSFER_NO_SIGNAL;
  return k_transfer_write(p, f, buf, len, -1, how);
}

static k_ret receive_once(k_file *f, void *buf, size_t len, uint32_t flags, bool *truncated) {
  socket *s = of(f);
  bool peek = (flags & K_MSG_PEEK) != 0;
  if (is_stream(s)) return read_ring(s, buf, len, peek);
  k_ret whole = read_message(s, buf, len, peek);
  if (whole <= (k_ret)len) return whole;
  if (truncated != NULL) *truncated = true;
  return (flags & K_MSG_TRUNC) != 0 ? whole : (k_ret)len;
}

k_ret k_socket_recv(k_process *p, k_file *f, void *buf, size_t len, uint32_t flags, bool *truncated) {
  if (!k_is_socket(f)) return -K_ENOTSOCK;
  if (truncated != NULL) *truncated = false;
  bool wait = p != NULL && ((f->flags & K_O_NONBLOCK) | (flags & K_MSG_DONTWAIT)) == 0;
  bool all = (flags & K_MSG_WAITALL) != 0 && (flags & K_MSG_PEEK) == 0 && is_stream(of(f));
  k_waitq *queue = &of(f)->changed;
  size_t done = 0;
  for (;;) {
    k_ret r = receive_once(f, (char *)buf + done, len - done, flags, truncated);
    if (r > 0) done += (size_t)r;
    if (r > 0 && all && done < len) continue;
    if (r != -K_EAGAIN || !wait) return done > 0 ? (k_ret)done : r;
    r = k_sleep(&p->sleeper, &queue, 1, K_FOREVER);
    if (r < 0) return done > 0 ? (k_ret)done : r;
  }
}
