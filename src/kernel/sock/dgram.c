/* dgram.c - messages that go one by one (udp(7), unix(7)).
 *
 * UDP finds the receiver by address for each message, and drops messages without a receiver or without room. AF_UNIX
 * knows its receiver, and waits for room. */
#include "kernel/sock/sock.h"

#include <string.h>

/* ---- senders that wait for another socket's queue ---- */

void sock_follow(sock_follower *who, k_socket *socket, k_socket *whom) {
  who->socket = socket;
  list_remove(&who->node);
  list_push(&whom->followers, &who->node);
}

void sock_wake_followers(k_socket *s) {
  LIST_EACH (f, &s->followers, sock_follower, node) k_wake(&f->socket->changed);
}

K_LOCKED static void dgram_disconnect(k_socket *s) {
  list_remove(&s->follow.node);
  s->peer = NULL;
  s->has_peer = false;
  s->state = SOCK_NEW;
  s->remote = (k_sockaddr){ .family = s->family };
  sock_inet_unbind(s);
}

/* Sockets connected to this one have lost their receiver: their next message is refused. */
void sock_dgram_close(k_socket *s) {
  list_remove(&s->follow.node);
  LIST_EACH_SAFE (f, &s->followers, sock_follower, node) {
    if (f->socket->peer == s && f == &f->socket->follow) f->socket->peer = NULL;
    list_remove(&f->node);
    k_wake(&f->socket->changed);
  }
}

/* ---- sending ---- */

K_LOCKED static k_ret send_udp(k_socket *s, const void *buf, size_t len, const k_sockaddr *to) {
  enum { MOST = 65507 };
  k_sockaddr where = s->remote;
  if (to == NULL && !s->has_peer) return -K_EDESTADDRREQ;
  if (to != NULL) K_TRY(sock_inet_route(s, to, &where));
  if (where.port == 0) return -K_EINVAL;
  if (len > MOST) return -K_EMSGSIZE;
  K_TRY(sock_inet_autobind(s, &where, false));
  if (sock_is_resolver(s->kernel, &where)) {
    sock_outside_datagram(s, &where, buf, len);
    return (k_ret)len;
  }
  if (!sock_inet_is_here(&where)) return -K_EACCES; /* nothing but TCP leaves the sandbox */
  k_sockaddr from = sock_inet_source(s, &where);
  k_socket *receiver = sock_inet_receiver(s->kernel, &where, &from);
  if (receiver == NULL) {
    if (s->has_peer && memcmp(where.ip, s->remote.ip, sizeof where.ip) == 0 && where.port == s->remote.port) {
      s->error = K_ECONNREFUSED;
      k_wake(&s->changed);
    }
    return (k_ret)len;
  }
  k_parcel *none = NULL;
  k_ret r = receiver->no_more ? 0 : sock_put_message(receiver, s, buf, len, &from, &none);
  if (r == -K_ENOBUFS) return r;
  if (r >= 0) k_wake(&receiver->changed);
  return (k_ret)len;
}

K_LOCKED static k_ret send_local(k_process *p, k_socket *s, const void *buf, size_t len, const k_sockaddr *to,
                                 k_parcel **parcel, k_socket **full) {
  K_TRY(sock_local_autobind(p, s));
  k_socket *receiver = s->peer;
  if (to != NULL) {
    K_TRY(sock_local_find(p, to, s->type, &receiver));
    if (receiver->peer != NULL && receiver->peer != s) return -K_EPERM;
  } else if (!s->has_peer) {
    return -K_ENOTCONN;
  }
  if (receiver == NULL) { /* the one it was connected to is gone: told once */
    dgram_disconnect(s);
    return -K_ECONNREFUSED;
  }
  if (receiver->no_more) return -K_EPIPE;
  k_ret r = sock_put_message(receiver, s, buf, len, &s->local, parcel);
  if (r >= 0) k_wake(&receiver->changed);
  if (r == -K_EAGAIN) *full = receiver;
  return r;
}

k_ret sock_send_message(k_process *p, k_socket *s, const void *buf, size_t len, const k_sockaddr *to,
                        k_parcel **parcel, k_socket **full) {
  if (s->no_writing) return -K_EPIPE;
  if (s->error != 0) return sock_take_error(s);
  return sock_is_inet(s) ? send_udp(s, buf, len, to) : send_local(p, s, buf, len, to, parcel, full);
}

/* ---- connect(2) ---- */

K_LOCKED static k_ret connect_udp(k_socket *s, const k_sockaddr *addr) {
  k_sockaddr to;
  K_TRY(sock_inet_route(s, addr, &to));
  K_TRY(sock_inet_autobind(s, &to, true));
  s->remote = to;
  s->has_peer = true;
  s->state = SOCK_CONNECTED;
  return 0;
}

K_LOCKED static k_ret dgram_connect_local(k_process *p, k_socket *s, const k_sockaddr *addr) {
  k_socket *to = NULL;
  K_TRY(sock_local_autobind(p, s));
  K_TRY(sock_local_find(p, addr, s->type, &to));
  if (to->peer != NULL && to->peer != s) return -K_EPERM;
  s->peer = to;
  s->remote = to->local;
  s->has_peer = true;
  s->state = SOCK_CONNECTED;
  sock_follow(&s->follow, s, to);
  return 0;
}

k_ret sock_dgram_connect(k_process *p, k_socket *s, const k_sockaddr *addr) {
  k_ret r = 0;
  if (addr->family == K_AF_UNSPEC)
    dgram_disconnect(s);
  else if (sock_is_inet(s))
    r = connect_udp(s, addr);
  else
    r = addr->family == K_AF_UNIX ? dgram_connect_local(p, s, addr) : -K_EINVAL;
  if (r >= 0) k_wake(&s->changed);
  return r;
}
