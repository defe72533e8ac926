/* stream.c - sockets that are connected before anything is sent (listen(2), accept(2), connect(2)).
 *
 * A connect makes the other end at once and puts it into the listener's queue, where it may be written to
 * before anybody accepts it. When the queue is full, AF_UNIX waits as for any other room; a connection of
 * inet is put into the `waiting` list, and accept takes it up. */
#include "kernel/sock/sock.h"

#include <string.h>

k_cred sock_cred_of(const k_process *p) {
  if (p == NULL) return (k_cred){ .uid = K_UID, .gid = K_GID };
  return (k_cred){ .pid = p->pid, .uid = p->view.uid, .gid = p->view.gid };
}

/* ---- two ends ---- */

void sock_join(k_socket *a, k_socket *b) {
  a->peer = b;
  b->peer = a;
  a->has_peer = b->has_peer = true;
  a->peer_cred = b->cred;
  b->peer_cred = a->cred;
  a->state = b->state = SOCK_CONNECTED;
}

k_ret k_socketpair(k_process *p, k_kernel *k, int type, uint32_t flags, k_file **a, k_file **b) {
  if (type != K_SOCK_STREAM && type != K_SOCK_DGRAM && type != K_SOCK_SEQPACKET) return -K_EPROTOTYPE;
  k_file *one = NULL, *two = NULL;
  K_TRY(k_socket_new(k, K_AF_UNIX, type, 0, flags, &one));
  k_ret r = k_socket_new(k, K_AF_UNIX, type, 0, flags, &two);
  if (r < 0) {
    k_file_unref(one);
    return r;
  }
  k_socket *x = sock_of(one), *y = sock_of(two);
  x->cred = y->cred = sock_cred_of(p);
  sock_join(x, y);
  if (type == K_SOCK_DGRAM) {
    sock_follow(&x->follow, x, y);
    sock_follow(&y->follow, y, x);
  }
  *a = one;
  *b = two;
  return 0;
}

/* The other end is closed: it sends nothing more, and data it had not read is lost, which gives a reset. */
K_LOCKED static void lose_peer(k_socket *s, bool reset) {
  s->peer = NULL;
  s->no_more = true;
  if (reset) {
    s->error = K_ECONNRESET;
    s->broken = sock_is_inet(s);
  }
  k_wake(&s->changed);
}

K_LOCKED static void stream_part(k_socket *s, bool reset) {
  k_socket *peer = s->peer;
  sock_outside_leave(s);
  if (peer == NULL) return;
  s->peer = NULL;
  lose_peer(peer, reset);
}

/* ---- listening ---- */

static bool stream_is_full(const k_socket *l) { return l->accept_count > l->backlog; }

static void leave_listener(k_socket *s) {
  k_socket *l = s->listener;
  if (l == NULL) return;
  list_remove(&s->in_listener);
  if (s->state != SOCK_CONNECTING) l->accept_count--;
  s->listener = NULL;
}

K_LOCKED static void stream_refuse(k_socket *s, int32_t error) {
  leave_listener(s);
  s->state = SOCK_DECIDED;
  s->error = error;
  k_wake(&s->changed);
}

void sock_stream_forsake(k_socket *l) {
  LIST_EACH_SAFE (s, &l->waiting, k_socket, in_listener) stream_refuse(s, K_ECONNREFUSED);
  LIST_EACH_SAFE (s, &l->accepts, k_socket, in_listener) {
    leave_listener(s);
    stream_part(s, true);
    sock_free(s);
  }
  sock_wake_followers(l);
}

void sock_stream_close(k_socket *s) {
  if (s->state == SOCK_LISTENING) sock_stream_forsake(s);
  leave_listener(s);
  stream_part(s, !sock_is_empty(s) || (s->options.linger && s->options.linger_s == 0 && sock_is_inet(s)));
  /* Who still sleeps to connect to it has to look for somebody else. */
  sock_wake_followers(s);
  LIST_EACH_SAFE (f, &s->followers, sock_follower, node) list_remove(&f->node);
}

k_ret k_socket_listen(k_process *p, k_file *f, int32_t backlog) {
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  k_socket *s = sock_of(f);
  if (!sock_is_connected_kind(s)) return -K_EOPNOTSUPP;
  if (s->state != SOCK_NEW && s->state != SOCK_LISTENING) return -K_EINVAL;
  if (!sock_is_inet(s) && s->local.path_len == 0) return -K_EINVAL;
  if (s->state == SOCK_NEW && sock_is_inet(s)) {
    k_socket *other = s->local.port != 0 ? sock_inet_listener(s->kernel, &s->local) : NULL;
    if (other != NULL && other != s && !other->options.reuse_port && other->family == s->family &&
        memcmp(other->local.ip, s->local.ip, sizeof s->local.ip) == 0)
      return -K_EADDRINUSE; /* both were bound with SO_REUSEADDR, and one of them may listen */
    K_TRY(sock_inet_autobind(s, NULL, false));
  }
  uint32_t most = (uint32_t)backlog < K_SOMAXCONN ? (uint32_t)backlog : K_SOMAXCONN;
  s->backlog = most;
  s->cred = sock_cred_of(p);
  s->state = SOCK_LISTENING;
  s->no_more = false;
  k_wake(&s->changed);
  return 0;
}

/* ---- connecting ---- */

/* The other end of `s`, in the queue of `l`. */
k_ret sock_enter_queue(k_socket *s, k_socket *l) {
  k_socket *other = NULL;
  if (sock_is_inet(l) && !sock_has_name_room(s->kernel)) return -K_ENOBUFS;
  if (sock_new(s->kernel, l->family, l->type, l->protocol, &other) < 0) return -K_ENOBUFS;
  other->options = l->options;
  other->cred = l->cred;
  other->local = sock_is_inet(l) ? s->remote : l->local;
  other->remote = s->local;
  if (sock_is_inet(l))
    sock_enter_names(other);
  else
    s->remote = l->local;
  sock_join(s, other);
  other->listener = l;
  list_push(&l->accepts, &other->in_listener);
  l->accept_count++;
  k_wake(&l->changed);
  return 0;
}

/* Room was made: those that wait come in, in their order. */
K_LOCKED static void stream_admit(k_socket *l) {
  while (!stream_is_full(l) && !list_empty(&l->waiting)) {
    k_socket *s = CONTAINER_OF(l->waiting.next, k_socket, in_listener);
    leave_listener(s);
    k_ret r = sock_enter_queue(s, l);
    s->state = SOCK_DECIDED;
    if (r < 0) s->error = (int32_t)-r;
    k_wake(&s->changed);
  }
}

static void wait_in(k_socket *s, k_socket *l) {
  s->state = SOCK_CONNECTING;
  s->listener = l;
  list_push(&l->waiting, &s->in_listener);
}

/* What a finished connect answers, once; a refused socket may try again. */
K_LOCKED static k_ret conclude(k_socket *s) {
  k_ret r = sock_take_error(s);
  if (r >= 0 && !s->has_peer) r = -K_ECONNABORTED;
  s->state = s->has_peer ? SOCK_CONNECTED : SOCK_NEW;
  if (!s->has_peer) sock_inet_unbind(s);
  s->told = false;
  return r;
}

K_LOCKED static k_ret wait_for_answer(k_process *p, k_file *f) {
  k_socket *s = sock_of(f);
  k_waitq *queue = &s->changed;
  int64_t deadline = sock_deadline(clock_mono_ns(), s->options.send_ns);
  if (s->state == SOCK_CONNECTING && (p == NULL || (f->flags & K_O_NONBLOCK) != 0)) {
    k_ret r = s->told ? -K_EALREADY : -K_EINPROGRESS;
    s->told = true;
    return r;
  }
  while (s->state == SOCK_CONNECTING) {
    k_ret r = k_sleep(k_sleeper_of(p), &queue, 1, deadline);
    if (r == -K_ETIMEDOUT) {
      s->told = true;
      return -K_EINPROGRESS;
    }
    if (r < 0) return r;
  }
  return s->state == SOCK_DECIDED ? conclude(s) : 0;
}

K_LOCKED static k_ret begin_here(k_socket *s, const k_sockaddr *to) {
  k_socket *l = sock_inet_listener(s->kernel, to);
  if (l != NULL && stream_is_full(l)) {
    wait_in(s, l);
    return 0;
  }
  if (l != NULL) K_TRY(sock_enter_queue(s, l));
  if (l == NULL) s->error = K_ECONNREFUSED;
  s->state = SOCK_DECIDED;
  return 0;
}

K_LOCKED static k_ret begin_outside(k_socket *s, const k_sockaddr *to) {
  k_ret r = sock_outside_connect(s, to);
  if (r < 0) sock_inet_unbind(s);
  return r;
}

K_LOCKED static k_ret connect_inet(k_process *p, k_file *f, const k_sockaddr *addr) {
  k_socket *s = sock_of(f);
  k_sockaddr to;
  K_TRY(sock_inet_route(s, addr, &to));
  K_TRY(sock_inet_autobind(s, &to, true));
  s->remote = to;
  s->cred = sock_cred_of(p);
  s->no_more = s->no_writing = s->broken = false;
  bool outside = !sock_inet_is_here(&to) || sock_is_resolver(s->kernel, &to);
  K_TRY(outside ? begin_outside(s, &to) : begin_here(s, &to));
  bool waiting_is_allowed = p != NULL && (f->flags & K_O_NONBLOCK) == 0;
  if (!waiting_is_allowed && p != NULL) {
    s->told = true;
    k_wake(&s->changed);
    return -K_EINPROGRESS;
  }
  return wait_for_answer(p, f);
}

/* Sleeps until somebody accepts, or the listener is gone: then its follower is linked no more. */
K_LOCKED static k_ret wait_for_listener(k_process *p, k_socket *s, k_socket *l, int64_t deadline) {
  sock_follower follower;
  k_waitq *queue = &s->changed;
  list_init(&follower.node);
  sock_follow(&follower, s, l);
  k_ret r = k_sleep(k_sleeper_of(p), &queue, 1, deadline);
  list_remove(&follower.node);
  if (r == -K_ETIMEDOUT) return -K_EAGAIN;
  return deadline == K_FOREVER ? r : k_never_restart(r);
}

K_LOCKED static k_ret stream_connect_local(k_process *p, k_file *f, const k_sockaddr *addr) {
  k_socket *s = sock_of(f), *l = NULL;
  int64_t deadline = sock_deadline(clock_mono_ns(), s->options.send_ns);
  K_TRY(sock_local_autobind(p, s));
  for (;;) {
    K_TRY(sock_local_find(p, addr, s->type, &l));
    if (s->state == SOCK_LISTENING) return -K_EINVAL;
    if (s->state == SOCK_CONNECTED) return -K_EISCONN;
    if (l->state != SOCK_LISTENING) return -K_ECONNREFUSED;
    if (!stream_is_full(l)) break;
    if (p == NULL || (f->flags & K_O_NONBLOCK) != 0) return -K_EAGAIN;
    K_TRY(wait_for_listener(p, s, l, deadline));
  }
  s->cred = sock_cred_of(p);
  return sock_enter_queue(s, l);
}

/* connect(2) with AF_UNSPEC: as it was made. */
K_LOCKED static k_ret stream_disconnect(k_socket *s) {
  if (s->state == SOCK_LISTENING) sock_stream_forsake(s);
  leave_listener(s);
  stream_part(s, true);
  sock_drop_queue(s);
  if (!s->bound) sock_inet_forget_address(s);
  s->state = SOCK_NEW;
  s->has_peer = s->told = s->no_more = s->no_writing = s->deaf = s->broken = false;
  s->error = 0;
  s->remote = (k_sockaddr){ .family = s->family };
  k_wake(&s->changed);
  return 0;
}

K_LOCKED k_ret k_socket_connect(k_process *p, k_file *f, const k_sockaddr *addr) {
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  k_socket *s = sock_of(f);
  if (!sock_is_connected_kind(s)) return sock_dgram_connect(p, s, addr);
  if (!sock_is_inet(s)) return addr->family == K_AF_UNIX ? stream_connect_local(p, f, addr) : -K_EINVAL;
  if (addr->family == K_AF_UNSPEC) return stream_disconnect(s);
  switch (s->state) {
  case SOCK_LISTENING:
  case SOCK_CONNECTED: return -K_EISCONN;
  case SOCK_CONNECTING:
  case SOCK_DECIDED: return wait_for_answer(p, f);
  default: return connect_inet(p, f, addr);
  }
}

/* ---- accepting ---- */

K_LOCKED static k_ret accept_once(k_socket *l, uint32_t flags, k_file **out) {
  if (l->state != SOCK_LISTENING) return -K_EINVAL;
  if (list_empty(&l->accepts)) return -K_EAGAIN;
  k_socket *s = CONTAINER_OF(l->accepts.next, k_socket, in_listener);
  K_TRY(sock_open(s, flags, out));
  leave_listener(s);
  stream_admit(l);
  sock_wake_followers(l);
  k_wake(&l->changed);
  return 0;
}

K_LOCKED k_ret k_socket_accept(k_process *p, k_file *f, uint32_t flags, k_file **out) {
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  k_socket *l = sock_of(f);
  k_waitq *queue = &l->changed;
  if (!sock_is_connected_kind(l)) return -K_EOPNOTSUPP;
  int64_t deadline = sock_deadline(clock_mono_ns(), l->options.receive_ns);
  for (;;) {
    k_ret r = accept_once(l, flags, out);
    if (r != -K_EAGAIN || p == NULL || (f->flags & K_O_NONBLOCK) != 0) return r;
    r = k_sleep(k_sleeper_of(p), &queue, 1, deadline);
    if (r == -K_ETIMEDOUT) return -K_EAGAIN;
    if (r < 0) return deadline == K_FOREVER ? r : k_never_restart(r);
  }
}

/* ---- writing ---- */

/* What may be written to a stream now; the errors of one that cannot be written at all. */
static k_ret stream_may_write(k_socket *s) {
  if (sock_is_inet(s) && s->error != 0) return sock_take_error(s);
  if (s->no_writing || s->broken) return -K_EPIPE;
  if (s->state == SOCK_CONNECTING) return -K_EAGAIN;
  if (s->state != SOCK_CONNECTED && s->state != SOCK_DECIDED) return sock_is_inet(s) ? -K_EPIPE : -K_ENOTCONN;
  return 0;
}

k_ret sock_write_once(k_socket *s, const void *buf, size_t len, k_parcel **parcel) {
  K_TRY(stream_may_write(s));
  if (s->peer == NULL) {
    if (!sock_is_inet(s)) return -K_EPIPE;
    if (len == 0) return 0;
    s->broken = true; /* the answer to these bytes is a reset: the next write hears of it */
    k_wake(&s->changed);
    return (k_ret)len;
  }
  if (s->peer->no_more && !s->peer->deaf) return -K_EPIPE;
  k_ret direct = sock_outside_give(s, buf, len);
  if (direct > 0) return direct;
  k_ret r = sock_is_stream(s) ? sock_put_bytes(s->peer, s, buf, len, parcel)
                              : sock_put_message(s->peer, s, buf, len, NULL, parcel);
  if (r >= 0) k_wake(&s->peer->changed);
  return r;
}

/* ---- shutdown(2) ---- */

K_LOCKED static void shut(k_socket *s, int how) {
  k_socket *peer = sock_is_connected_kind(s) ? s->peer : NULL;
  if (how != K_SHUT_WR) {
    s->no_more = true;
    s->deaf = sock_is_inet(s) && s->peer != NULL;
    if (peer != NULL && !sock_is_inet(s)) peer->no_writing = true;
  }
  if (how != K_SHUT_RD) {
    s->no_writing = true;
    if (peer != NULL) peer->no_more = true;
    if (peer != NULL) peer->deaf = false;
  }
  k_wake(&s->changed);
  if (s->peer != NULL) k_wake(&s->peer->changed);
}

k_ret k_socket_shutdown(k_file *f, int how) {
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  if (how < K_SHUT_RD || how > K_SHUT_RDWR) return -K_EINVAL;
  k_socket *s = sock_of(f);
  if (s->state == SOCK_LISTENING && sock_is_inet(s)) {
    if (how == K_SHUT_WR) return 0;
    sock_stream_forsake(s); /* of inet: no parcels wait there */
    s->state = SOCK_NEW;
    k_wake(&s->changed);
    return 0;
  }
  if (sock_is_inet(s) && !s->has_peer) return -K_ENOTCONN;
  shut(s, how);
  return 0;
}
