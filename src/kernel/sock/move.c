/* move.c - send(2) and recv(2), which may sleep. */
#include "kernel/sock/sock.h"

static bool move_may_sleep(const k_process *p, const k_file *f, uint32_t flags) {
  return p != NULL && (f->flags & K_O_NONBLOCK) == 0 && (flags & K_MSG_DONTWAIT) == 0;
}

/* ---- sending ---- */

/* Waits until the other socket's queue has room, or that socket is gone. */
static k_ret move_wait_for_room(k_process *p, k_file *f, k_socket *full, int64_t deadline_ns) {
  sock_follower follower;
  list_init(&follower.node);
  sock_follow(&follower, sock_of(f), full);
  k_ret r = k_file_sleep(p, f, deadline_ns);
  list_remove(&follower.node);
  return r;
}

K_LOCKED static void no_reader(k_process *p, uint32_t flags) {
  if (p != NULL && (flags & K_MSG_NOSIGNAL) == 0)
    k_signal_send(p, &(k_siginfo){ .signo = K_SIGPIPE, .code = K_SI_USER, .pid = p->pid });
}

K_LOCKED static k_ret send_message(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags,
                                   const k_sockaddr *to, k_parcel **parcel) {
  k_socket *full = NULL;
  int64_t deadline = k_file_deadline(f, true);
  for (;;) {
    sock_of(f)->writer = sock_cred_of(p);
    k_ret r = sock_send_message(p, sock_of(f), buf, len, to, parcel, &full);
    if (r == -K_EPIPE) no_reader(p, flags);
    if (r != -K_EAGAIN || full == NULL || !move_may_sleep(p, f, flags)) return r;
    K_TRY(move_wait_for_room(p, f, full, deadline));
  }
}

/* A connected socket, without descriptors: as write(2). */
K_LOCKED static k_ret send_bytes(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags) {
  uint32_t how = (flags & K_MSG_DONTWAIT) != 0 ? K_TRANSFER_NOW : 0;
  if ((flags & K_MSG_NOSIGNAL) != 0) how |= K_TRANSFER_NO_SIGNAL;
  return k_transfer_write(p, f, buf, len, -1, how);
}

/* The first piece, which descriptors go with, and then the rest. */
K_LOCKED static k_ret send_with(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags,
                                k_parcel **parcel) {
  int64_t deadline = k_file_deadline(f, true);
  k_ret first, rest = 0;
  for (;;) {
    sock_of(f)->writer = sock_cred_of(p);
    first = sock_write_once(sock_of(f), buf, len, parcel);
    if (first == -K_EPIPE) no_reader(p, flags);
    if (first != -K_EAGAIN || !move_may_sleep(p, f, flags)) break;
    K_TRY(k_file_sleep(p, f, deadline));
  }
  if (first > 0 && (size_t)first < len)
    rest = send_bytes(p, f, (const char *)buf + first, len - (size_t)first, flags);
  return rest > 0 ? first + rest : first;
}

/* The last byte is the urgent one. */
K_LOCKED static k_ret send_urgent(k_process *p, k_file *f, const uint8_t *buf, size_t len, uint32_t flags) {
  k_socket *s = sock_of(f);
  if (!sock_is_inet(s) || s->outside != NULL) return -K_EOPNOTSUPP;
  if (len == 0) return send_bytes(p, f, buf, len, flags);
  k_ret before = len > 1 ? send_bytes(p, f, buf, len - 1, flags) : 0;
  if (before < (k_ret)len - 1) return before;
  int64_t deadline = k_file_deadline(f, true);
  for (;;) {
    k_ret r = sock_write_urgent(s, buf[len - 1]);
    if (r == -K_EPIPE) no_reader(p, flags);
    if (r == -K_EAGAIN && move_may_sleep(p, f, flags))
      r = k_file_sleep(p, f, deadline);
    else if (r > 0)
      return before + 1;
    if (r < 0) return before > 0 ? before : r;
  }
}

/* With an address a connected stream of AF_UNIX refuses; TCP does not look at it. */
static k_ret check_address(const k_socket *s, const k_sockaddr *to) {
  if (to == NULL || sock_is_inet(s)) return 0;
  return s->state == SOCK_CONNECTED ? -K_EISCONN : -K_EOPNOTSUPP;
}

K_LOCKED static k_ret send_any(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags,
                               const k_sockaddr *to, k_parcel **parcel) {
  if ((flags & K_MSG_OOB) != 0 && sock_of(f)->type != K_SOCK_STREAM) return -K_EOPNOTSUPP;
  if (!sock_is_connected_kind(sock_of(f))) return send_message(p, f, buf, len, flags, to, parcel);
  if (sock_of(f)->type == K_SOCK_STREAM) K_TRY(check_address(sock_of(f), to));
  if ((flags & K_MSG_OOB) != 0) return send_urgent(p, f, buf, len, flags);
  return *parcel != NULL ? send_with(p, f, buf, len, flags, parcel) : send_bytes(p, f, buf, len, flags);
}

K_LOCKED k_ret k_socket_send_parcel(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags,
                                    const k_sockaddr *to, k_parcel *parcel) {
  k_ret r = k_file_wrong(f, -K_ENOTSOCK);
  if (k_is_socket(f)) r = send_any(p, f, buf, len, flags, to, &parcel);
  k_parcel_free(parcel);
  return r;
}

K_LOCKED k_ret k_socket_send(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags,
                             const k_sockaddr *to) {
  return k_socket_send_parcel(p, f, buf, len, flags, to, NULL);
}

/* ---- receiving ---- */

K_LOCKED static k_ret receive_once(k_file *f, void *buf, size_t len, uint32_t flags, k_received *what) {
  k_socket *s = sock_of(f);
  bool peek = (flags & K_MSG_PEEK) != 0;
  k_ret whole = sock_take(s, buf, len, peek, what);
  if (sock_is_stream(s) || whole <= (k_ret)len) return whole;
  what->truncated = true;
  return (flags & K_MSG_TRUNC) != 0 ? whole : (k_ret)len;
}

/* Addresses are shown in the family of the asking socket; a stream of AF_UNIX tells the name of its peer. */
static void name_sender(const k_socket *s, k_ret r, k_received *what) {
  if (r >= 0 && s->family == K_AF_UNIX && sock_is_connected_kind(s) && s->has_peer) what->from = s->remote;
  if (what->from.family == K_AF_UNIX && what->from.path_len == 0) what->from.family = K_AF_UNSPEC;
  if (sock_is_inet(s) && what->from.family != K_AF_UNSPEC) what->from = sock_seen_by(s, what->from);
}

K_LOCKED static k_ret move_receive(k_process *p, k_file *f, void *buf, size_t len, uint32_t flags,
                                   k_received *what) {
  k_socket *s = sock_of(f);
  bool all = (flags & K_MSG_WAITALL) != 0 && (flags & K_MSG_PEEK) == 0 && sock_is_stream(s);
  int64_t deadline = k_file_deadline(f, false);
  size_t done = 0;
  if ((flags & K_MSG_OOB) != 0) return sock_take_urgent(s, buf, len, (flags & K_MSG_PEEK) != 0, what);
  if (len == 0 && sock_is_stream(s) && !sock_is_empty(s)) return 0;
  for (;;) {
    k_ret r = receive_once(f, (char *)buf + done, len - done, flags, what);
    if (r > 0) done += (size_t)r;
    if (r > 0 && all && done < len && what->parcel == NULL && !sock_is_at_mark(s)) continue;
    if (r != -K_EAGAIN || !move_may_sleep(p, f, flags)) return done > 0 ? (k_ret)done : r;
    r = k_file_sleep(p, f, deadline);
    if (r < 0) return done > 0 ? (k_ret)done : r;
  }
}

k_ret k_socket_recv(k_process *p, k_file *f, void *buf, size_t len, uint32_t flags, k_received *what) {
  k_received unused;
  if (what == NULL) what = &unused;
  *what = (k_received){ .from = { .family = K_AF_UNSPEC } };
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  k_ret r = move_receive(p, f, buf, len, flags, what);
  name_sender(sock_of(f), r, what);
  if (what == &unused) k_parcel_free(unused.parcel);
  return r;
}
