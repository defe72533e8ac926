/* inet.c - addresses and ports of the loopback (ip(7), ipv6(7)).
 *
 * All addresses are kept in 16 bytes, those of AF_INET at the end of ::ffff:0:0/96: a socket of AF_INET6
 * without IPV6_V6ONLY takes both. */
#include "kernel/sock/sock.h"

#include <string.h>

enum { IP_LEN = 16, V4_AT = 12, EPHEMERAL_FIRST = 32768, EPHEMERAL_END = 61000 };

static const uint8_t any6[IP_LEN], loopback6[IP_LEN] = { [15] = 1 };
static const uint8_t any4[IP_LEN] = { [10] = 0xff, 0xff };
static const uint8_t loopback4[IP_LEN] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };

static bool inet_same(const uint8_t *a, const uint8_t *b) { return memcmp(a, b, IP_LEN) == 0; }
static bool is_v4(const uint8_t *ip) { return memcmp(ip, any4, V4_AT) == 0; }
static bool is_any(const uint8_t *ip) { return inet_same(ip, any6) || inet_same(ip, any4); }
static bool is_here(const uint8_t *ip) { return inet_same(ip, loopback6) || (is_v4(ip) && ip[V4_AT] == 127); }

k_sockaddr sock_seen_by(const k_socket *s, k_sockaddr addr) {
  addr.family = s->family;
  if (s->family == K_AF_INET6 && inet_same(addr.ip, any4)) memcpy(addr.ip, any6, IP_LEN);
  return addr;
}

/* UDP of AF_INET6 may be sent to an address of the other family. */
static k_ret check_family(const k_socket *s, const k_sockaddr *addr, bool sends) {
  if (addr->family == s->family) return 0;
  bool other = sends && s->family == K_AF_INET6 && addr->family == K_AF_INET && s->type == K_SOCK_DGRAM;
  return other ? 0 : -K_EAFNOSUPPORT;
}

/* ---- the owner of an address ---- */

/* Could one packet be meant for both? */
static bool inet_overlap(const k_socket *a, const uint8_t *ip, bool v6_only) {
  const uint8_t *other = a->local.ip;
  if (is_any(ip) || is_any(other)) {
    bool both_v4 = is_v4(ip) && is_v4(other), both_v6 = !is_v4(ip) && !is_v4(other);
    if (both_v4 || both_v6) return true;
    /* One is of each: they meet where :: takes the other family, too. */
    return (inet_same(ip, any6) && !v6_only) || (inet_same(other, any6) && !a->options.v6_only);
  }
  return inet_same(ip, other);
}

static bool tolerated(const k_socket *a, const k_socket *b) {
  if (a->options.reuse_port && b->options.reuse_port) return true;
  return a->options.reuse_addr && b->options.reuse_addr && a->state != SOCK_LISTENING;
}

static bool is_taken(const k_socket *s, const k_sockaddr *addr) {
  LIST_EACH (other, &s->kernel->sockets, k_socket, named) {
    if (other == s || !sock_is_inet(other) || other->type != s->type || other->local.port != addr->port)
      continue;
    if (inet_overlap(other, addr->ip, s->options.v6_only) && !tolerated(other, s)) return true;
  }
  return false;
}

/* A port that no socket of this type has: one walk marks those that are taken. */
static k_ret free_port(const k_socket *s, uint16_t *out) {
  enum { COUNT = EPHEMERAL_END - EPHEMERAL_FIRST };
  uint8_t taken[COUNT / 8 + 1] = { 0 };
  LIST_EACH (other, &s->kernel->sockets, k_socket, named) {
    if (!sock_is_inet(other) || other->type != s->type) continue;
    uint32_t at = (uint32_t)other->local.port - EPHEMERAL_FIRST;
    if (at < COUNT) taken[at / 8] |= (uint8_t)(1u << at % 8);
  }
  uint32_t begin = (uint32_t)(rng_u64(&s->kernel->random) % COUNT);
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t at = (begin + i) % COUNT;
    if ((taken[at / 8] >> at % 8 & 1) != 0) continue;
    *out = (uint16_t)(EPHEMERAL_FIRST + at);
    return 0;
  }
  return -K_EADDRINUSE;
}

/* ---- bind(2) ---- */

K_LOCKED static void inet_take_name(k_socket *s, const k_sockaddr *addr) {
  s->local = *addr;
  sock_enter_names(s);
}

k_ret sock_inet_bind(k_socket *s, const k_sockaddr *addr) {
  k_sockaddr name = *addr;
  bool unspecified = addr->family == K_AF_UNSPEC && s->family == K_AF_INET && is_any(addr->ip);
  if (!unspecified) K_TRY(check_family(s, addr, false));
  if (s->family == K_AF_INET6 && s->options.v6_only && is_v4(name.ip)) return -K_EINVAL;
  if (!is_any(name.ip) && !is_here(name.ip)) return -K_EADDRNOTAVAIL;
  if (s->local.port != 0 || s->state != SOCK_NEW) return -K_EINVAL;
  if (!sock_has_name_room(s->kernel)) return -K_ENOBUFS;
  if (name.port == 0)
    K_TRY(free_port(s, &name.port));
  else if (is_taken(s, &name))
    return -K_EADDRINUSE;
  name.family = s->family;
  inet_take_name(s, &name);
  s->bound = true;
  return 0;
}

void sock_inet_forget_address(k_socket *s) {
  if (sock_is_inet(s)) memcpy(s->local.ip, s->family == K_AF_INET ? any4 : any6, IP_LEN);
}

void sock_inet_unbind(k_socket *s) {
  if (s->bound || !sock_is_inet(s)) return;
  sock_leave_names(s);
  s->local = (k_sockaddr){ .family = s->family };
}

/* ---- routes: there is one ---- */

k_ret sock_inet_route(const k_socket *s, const k_sockaddr *addr, k_sockaddr *out) {
  k_sockaddr to = *addr;
  K_TRY(check_family(s, addr, true));
  if (inet_same(to.ip, any4)) memcpy(to.ip, loopback4, IP_LEN);
  if (inet_same(to.ip, any6))
    memcpy(to.ip, is_v4(s->local.ip) && s->local.port != 0 ? loopback4 : loopback6, IP_LEN);
  if (is_v4(to.ip) && s->family == K_AF_INET6 && s->options.v6_only) return -K_ENETUNREACH;
  if (!is_here(to.ip) && s->kernel->net == NULL) return -K_ENETUNREACH;
  bool bound = s->local.port != 0 && !is_any(s->local.ip);
  if (bound && is_v4(s->local.ip) != is_v4(to.ip)) return -K_EINVAL;
  *out = to;
  return 0;
}

/* Outside of the loopback every sandbox says that it has the same address: that of the host is not its business. */
static const uint8_t *inet_source_of(const uint8_t *to) {
  static const uint8_t outside4[IP_LEN] = { [10] = 0xff, 0xff, 10, 0, 2, 15 };
  static const uint8_t outside6[IP_LEN] = { 0xfd, 0, [15] = 0x15 };
  if (is_here(to)) return is_v4(to) ? loopback4 : loopback6;
  return is_v4(to) ? outside4 : outside6;
}

bool sock_inet_is_here(const k_sockaddr *addr) { return is_here(addr->ip); }

k_sockaddr sock_inet_source(const k_socket *s, const k_sockaddr *to) {
  k_sockaddr from = s->local;
  if (is_any(from.ip)) memcpy(from.ip, inet_source_of(to->ip), IP_LEN);
  return from;
}

k_ret sock_inet_autobind(k_socket *s, const k_sockaddr *to, bool fix) {
  k_sockaddr name = s->local;
  if (name.port == 0) {
    memcpy(name.ip, s->family == K_AF_INET ? any4 : any6, IP_LEN);
    k_ret r = sock_has_name_room(s->kernel) ? free_port(s, &name.port) : -K_ENOBUFS;
    if (r < 0) return to != NULL && sock_is_connected_kind(s) ? -K_EADDRNOTAVAIL : -K_EAGAIN;
    inet_take_name(s, &name);
  }
  if (fix) s->local = sock_inet_source(s, to);
  return 0;
}

/* ---- the receiver of an address ---- */

/* How well the address of `s` fits: 0 not at all. */
static int inet_fits(const k_socket *s, const k_sockaddr *to) {
  if (!sock_is_inet(s) || s->local.port != to->port) return 0;
  if (inet_same(s->local.ip, to->ip)) return 4;
  if (!is_any(s->local.ip)) return 0;
  if (is_v4(s->local.ip)) return is_v4(to->ip) ? 2 : 0;
  if (!is_v4(to->ip)) return 2;
  return s->options.v6_only ? 0 : 1;
}

k_socket *sock_inet_listener(k_kernel *k, const k_sockaddr *to) {
  k_socket *best = NULL;
  int best_fit = 0;
  LIST_EACH (s, &k->sockets, k_socket, named) {
    int fit = s->state == SOCK_LISTENING ? inet_fits(s, to) : 0;
    if (fit > best_fit) best_fit = fit, best = s;
  }
  return best;
}

/* One that is connected hears its peer alone, and before all others. The last that bound an address with
 * SO_REUSEADDR has it. */
k_socket *sock_inet_receiver(k_kernel *k, const k_sockaddr *to, const k_sockaddr *from) {
  k_socket *best = NULL;
  int best_fit = 0;
  LIST_EACH (s, &k->sockets, k_socket, named) {
    int fit = s->type == K_SOCK_DGRAM ? inet_fits(s, to) : 0;
    if (fit == 0) continue;
    if (s->has_peer) {
      if (s->remote.port != from->port || !inet_same(s->remote.ip, from->ip)) continue;
      fit += 8;
    }
    if (fit >= best_fit) best_fit = fit, best = s;
  }
  return best;
}
