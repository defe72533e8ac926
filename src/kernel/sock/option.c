/* option.c - options (socket(7), tcp(7), ip(7), ipv6(7)). Options without a meaning on a loopback without packets
 * is kept and told again. */
#include "kernel/sock/sock.h"

enum {
  DEFAULT_LOCAL = 208 << 10, /* of a queue of AF_UNIX, and of UDP */
  TCP_SEND = 16 << 10,
  TCP_RECEIVE = 128 << 10,
  MOST_ASKED = 208 << 10, /* net.core.wmem_max and rmem_max of Linux; it gives twice of it */
  LEAST_SEND = 4608,
  LEAST_RECEIVE = 2304,
};

static bool is_tcp(const k_socket *s) { return sock_is_inet(s) && sock_is_stream(s); }

void sock_options_init(k_socket *s) {
  s->options.sndbuf = is_tcp(s) ? TCP_SEND : DEFAULT_LOCAL;
  s->options.rcvbuf = is_tcp(s) ? TCP_RECEIVE : DEFAULT_LOCAL;
}

/* ---- the ones that are only kept ---- */

enum kept_for { ALL, INET, INET6, TCP };
typedef struct kept {
  int level, name;
  enum kept_for of;
  bool truth;     /* any number is 1 */
  int32_t preset; /* as long as nothing was set */
} kept;

/* By place in sock_options.stored. */
static const kept KEPT[] = {
  { K_SOL_SOCKET, K_SO_RCVLOWAT, ALL, false, 1 },
  { K_SOL_SOCKET, K_SO_KEEPALIVE, ALL, true, 0 },
  { K_SOL_SOCKET, K_SO_BROADCAST, ALL, true, 0 },
  { K_SOL_SOCKET, K_SO_DONTROUTE, ALL, true, 0 },
  { K_SOL_SOCKET, K_SO_PRIORITY, ALL, false, 0 },
  { K_SOL_TCP, 1 /* TCP_NODELAY */, TCP, true, 0 },
  { K_SOL_TCP, 3 /* TCP_CORK */, TCP, true, 0 },
  { K_SOL_TCP, 4 /* TCP_KEEPIDLE */, TCP, false, 7200 },
  { K_SOL_TCP, 5 /* TCP_KEEPINTVL */, TCP, false, 75 },
  { K_SOL_TCP, 6 /* TCP_KEEPCNT */, TCP, false, 9 },
  { K_SOL_TCP, 18 /* TCP_USER_TIMEOUT */, TCP, false, 0 },
  { K_SOL_IP, 1 /* IP_TOS */, INET, false, 0 },
  { K_SOL_IP, 2 /* IP_TTL */, INET, false, 64 },
  { K_SOL_TCP, 12 /* TCP_QUICKACK */, TCP, true, 1 },
};
_Static_assert(COUNT_OF(KEPT) == COUNT_OF(((sock_options *)0)->stored), "a place for each");

static int kept_at(const k_socket *s, int level, int name) {
  for (size_t i = 0; i < COUNT_OF(KEPT); i++) {
    if (KEPT[i].level != level || KEPT[i].name != name) continue;
    bool there = KEPT[i].of == ALL || (KEPT[i].of == TCP ? is_tcp(s) : sock_is_inet(s));
    return there ? (int)i : -1;
  }
  return -1;
}

/* ---- setting ---- */

static uint32_t doubled(int32_t asked, uint32_t least) {
  uint32_t n = (uint32_t)asked < MOST_ASKED ? (uint32_t)asked : MOST_ASKED;
  return 2 * n < least ? least : 2 * n;
}

static k_ret option_set_timeout(int64_t *timeout, const int32_t *value, size_t count) {
  if (count < 2) return -K_EINVAL;
  *timeout = (int64_t)((uint64_t)(uint32_t)value[1] << 32 | (uint32_t)value[0]);
  return 0;
}

K_LOCKED static k_ret set_socket(k_socket *s, int name, const int32_t *value, size_t count) {
  sock_options *o = &s->options;
  switch (name) {
  case K_SO_REUSEADDR: o->reuse_addr = value[0] != 0; return 0;
  case K_SO_REUSEPORT: o->reuse_port = value[0] != 0; return 0;
  case K_SO_PASSCRED: o->pass_cred = value[0] != 0; return 0;
  case K_SO_OOBINLINE: o->oob_inline = value[0] != 0; break;
  case K_SO_SNDBUF: o->sndbuf = doubled(value[0], LEAST_SEND); break;
  case K_SO_RCVBUF: o->rcvbuf = doubled(value[0], LEAST_RECEIVE); break;
  case K_SO_RCVTIMEO: return option_set_timeout(&o->receive_ns, value, count);
  case K_SO_SNDTIMEO: return option_set_timeout(&o->send_ns, value, count);
  case K_SO_LINGER:
    if (count < 2) return -K_EINVAL;
    o->linger = value[0] != 0;
    o->linger_s = value[1];
    return 0;
  default: return -K_ENOPROTOOPT;
  }
  k_wake(&s->changed);
  if (s->peer != NULL) k_wake(&s->peer->changed);
  return 0;
}

enum { IPV6_UNICAST_HOPS = 16, IPV6_V6ONLY = 26 };

static k_ret set_ipv6(k_socket *s, int name, int32_t value) {
  if (s->family != K_AF_INET6) return -K_ENOPROTOOPT;
  if (name == IPV6_UNICAST_HOPS) return value >= -1 && value <= 255 ? 0 : -K_EINVAL;
  if (name != IPV6_V6ONLY) return -K_ENOPROTOOPT;
  if (s->local.port != 0) return -K_EINVAL;
  s->options.v6_only = value != 0;
  return 0;
}

k_ret k_socket_set(k_file *f, int level, int name, const int32_t value[static K_OPTION_MAX], size_t count) {
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  k_socket *s = sock_of(f);
  if (count == 0) return -K_EINVAL;
  int at = kept_at(s, level, name);
  if (at >= 0) {
    int32_t given = KEPT[at].truth ? value[0] != 0 : value[0];
    s->options.stored[at] = (uint32_t)(given ^ KEPT[at].preset); /* zero is the preset */
    return 0;
  }
  switch (level) {
  case K_SOL_SOCKET: return set_socket(s, name, value, count);
  case K_SOL_IPV6: return set_ipv6(s, name, value[0]);
  default: return sock_is_inet(s) ? -K_ENOPROTOOPT : -K_EOPNOTSUPP;
  }
}

/* ---- getting ---- */

static k_ret one(int32_t *value, int64_t number) {
  value[0] = (int32_t)number;
  return 1;
}

static k_ret two(int32_t *value, int32_t a, int32_t b) {
  value[0] = a;
  value[1] = b;
  return 2;
}

static k_ret peer_cred(const k_socket *s, int32_t *value) {
  k_cred c = s->peer_cred;
  if (s->family != K_AF_UNIX || !s->has_peer) c = (k_cred){ .uid = UINT32_MAX, .gid = UINT32_MAX };
  value[0] = c.pid;
  value[1] = (int32_t)c.uid;
  value[2] = (int32_t)c.gid;
  return 3;
}

static k_ret get_socket(k_socket *s, int name, int32_t *value) {
  const sock_options *o = &s->options;
  switch (name) {
  case K_SO_TYPE: return one(value, s->type);
  case K_SO_DOMAIN: return one(value, s->family);
  case K_SO_PROTOCOL: return one(value, s->protocol);
  case K_SO_ERROR: return one(value, -sock_take_error(s));
  case K_SO_ACCEPTCONN: return one(value, s->state == SOCK_LISTENING);
  case K_SO_REUSEADDR: return one(value, o->reuse_addr);
  case K_SO_REUSEPORT: return one(value, o->reuse_port);
  case K_SO_PASSCRED: return one(value, o->pass_cred);
  case K_SO_OOBINLINE: return one(value, o->oob_inline);
  case K_SO_SNDBUF: return one(value, o->sndbuf);
  case K_SO_RCVBUF: return one(value, o->rcvbuf);
  case K_SO_SNDLOWAT: return one(value, 1);
  case K_SO_LINGER: return two(value, o->linger, o->linger_s);
  case K_SO_RCVTIMEO: return two(value, (int32_t)o->receive_ns, (int32_t)(o->receive_ns >> 32));
  case K_SO_SNDTIMEO: return two(value, (int32_t)o->send_ns, (int32_t)(o->send_ns >> 32));
  case K_SO_PEERCRED: return peer_cred(s, value);
  default: return -K_ENOPROTOOPT;
  }
}

k_ret k_socket_get(k_file *f, int level, int name, int32_t value[static K_OPTION_MAX]) {
  enum { TCP_MAXSEG = 2, LOOPBACK_SEGMENT = 65483 };
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  k_socket *s = sock_of(f);
  int at = kept_at(s, level, name);
  if (at >= 0) return one(value, (int32_t)s->options.stored[at] ^ KEPT[at].preset);
  if (level == K_SOL_SOCKET) return get_socket(s, name, value);
  if (level == K_SOL_IPV6 && s->family == K_AF_INET6 && name == IPV6_V6ONLY)
    return one(value, s->options.v6_only);
  if (level == K_SOL_IPV6 && s->family == K_AF_INET6 && name == IPV6_UNICAST_HOPS) return one(value, 64);
  if (level == K_SOL_TCP && is_tcp(s) && name == TCP_MAXSEG)
    return one(value, s->has_peer ? LOOPBACK_SEGMENT : 536);
  return sock_is_inet(s) ? -K_ENOPROTOOPT : -K_EOPNOTSUPP;
}
