/* sockaddr.c - addresses of AF_UNIX, AF_INET and AF_INET6, decoded from a guest's memory and encoded into
 * it (sockaddr.h). */
#include "abi/linux/sockaddr.h"

#include "abi/linux/layout.h"

enum { V4_AT = 12, LEAST_IN6 = 24 /* RFC 2133: without the scope */ };

static void put_v4(uint8_t ip[static 16], const uint8_t v4[static 4]) {
  memset(ip, 0, V4_AT);
  ip[10] = ip[11] = 0xff;
  memcpy(ip + V4_AT, v4, 4);
}

static uint16_t swap(uint16_t v) { return __builtin_bswap16(v); }

/* ---- in ---- */

static void get_local(const uint8_t *bytes, uint32_t len, k_sockaddr *out) {
  uint32_t path_len = len - (uint32_t)sizeof(uint16_t);
  if (len > sizeof(struct g_sockaddr_un)) return;
  memcpy(out->path, bytes + sizeof(uint16_t), path_len);
  bool in_tree = path_len > 0 && out->path[0] != '\0';
  out->path_len = (uint8_t)(in_tree ? strnlen(out->path, path_len) : path_len);
}

static void get_v4(const uint8_t *bytes, k_sockaddr *out) {
  struct g_sockaddr_in in;
  memcpy(&in, bytes, sizeof in);
  out->port = swap(in.port);
  put_v4(out->ip, in.ip);
}

static void get_v6(const uint8_t *bytes, k_sockaddr *out) {
  struct g_sockaddr_in6 in;
  memcpy(&in, bytes, sizeof in);
  out->port = swap(in.port);
  memcpy(out->ip, in.ip, sizeof out->ip);
}

/* UDP of AF_INET6 takes an address of AF_INET, which is shorter. */
static k_ret check_len(const k_file *f, uint16_t family, uint32_t len) {
  bool shorter = k_socket_type(f) == K_SOCK_DGRAM && family == K_AF_INET;
  uint32_t least = sizeof(struct g_sockaddr_in);
  if (family == K_AF_UNSPEC) return 0;
  switch (k_socket_family(f)) {
  case K_AF_UNIX: return len <= sizeof(struct g_sockaddr_un) ? 0 : -K_EINVAL;
  case K_AF_INET6:
    if (!shorter) least = LEAST_IN6;
    break;
  default: break;
  }
  return len >= least ? 0 : -K_EINVAL;
}

k_ret abi_get_address(abi_machine *m, const k_file *f, uint32_t addr, uint32_t len, k_sockaddr *out) {
  uint8_t bytes[G_SOCKADDR_MAX] = { 0 };
  k_sockaddr a = { 0 };
  if (len > sizeof bytes || len < sizeof a.family) return -K_EINVAL;
  K_TRY(abi_copy_in(m->instance, addr, bytes, len));
  memcpy(&a.family, bytes, sizeof a.family);
  K_TRY(check_len(f, a.family, len));
  switch (a.family) {
  case K_AF_UNIX: get_local(bytes, len, &a); break;
  case K_AF_UNSPEC:
  case K_AF_INET: get_v4(bytes, &a); break;
  case K_AF_INET6: get_v6(bytes, &a); break;
  default: break;
  }
  *out = a;
  return 0;
}

/* ---- out ---- */

/* A path ends with a NUL that counts, an abstract name does not. */
static uint32_t sockaddr_put_local(uint8_t *bytes, const k_sockaddr *from) {
  uint32_t len = (uint32_t)sizeof from->family;
  memcpy(bytes + len, from->path, from->path_len);
  len += from->path_len;
  if (from->path_len > 0 && from->path[0] != '\0') bytes[len++] = 0;
  return len;
}

static uint32_t encode(uint8_t bytes[static G_SOCKADDR_MAX], const k_sockaddr *from) {
  struct g_sockaddr_in in = { .family = K_AF_INET, .port = swap(from->port) };
  struct g_sockaddr_in6 in6 = { .family = K_AF_INET6, .port = swap(from->port) };
  memcpy(bytes, &from->family, sizeof from->family);
  switch (from->family) {
  case K_AF_UNIX: return sockaddr_put_local(bytes, from);
  case K_AF_INET:
    memcpy(in.ip, from->ip + V4_AT, sizeof in.ip);
    memcpy(bytes, &in, sizeof in);
    return sizeof in;
  case K_AF_INET6:
    memcpy(in6.ip, from->ip, sizeof in6.ip);
    memcpy(bytes, &in6, sizeof in6);
    return sizeof in6;
  default: return 0;
  }
}

k_ret abi_put_name(abi_machine *m, uint32_t addr, uint32_t *len, const k_sockaddr *from) {
  uint8_t bytes[G_SOCKADDR_MAX] = { 0 };
  uint32_t whole = encode(bytes, from);
  if ((int32_t)*len < 0) return -K_EINVAL;
  K_TRY(abi_copy_out(m->instance, addr, bytes, *len < whole ? *len : whole));
  *len = whole;
  return 0;
}

k_ret abi_put_address(abi_machine *m, uint32_t addr, uint32_t len_addr, const k_sockaddr *from) {
  uint32_t len = 0;
  K_TRY(abi_get(m->instance, len_addr, &len));
  K_TRY(abi_put_name(m, addr, &len, from));
  return abi_put(m->instance, len_addr, &len);
}
