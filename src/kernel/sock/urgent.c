/* urgent.c - the one urgent byte of a TCP connection (tcp(7), sockatmark(3)).
 *
 * The byte stays at its place among the others, and its socket knows that place, the mark. Reads end before the
 * mark; one that begins there passes over the byte, unless SO_OOBINLINE makes it an ordinary one. */
#include "kernel/sock/sock.h"

#include "kernel/file/owner.h"

bool sock_is_at_mark(const k_socket *s) { return s->urgent != URGENT_NONE && s->urgent_at == s->taken; }

bool sock_passes_urgent(const k_socket *s) { return sock_is_at_mark(s) && !s->options.oob_inline; }

size_t sock_until_mark(const k_socket *s, size_t len) {
  if (s->urgent == URGENT_NONE || s->urgent_at <= s->taken) return len;
  uint64_t left = s->urgent_at - s->taken;
  return left < len ? (size_t)left : len;
}

/* As tcp_check_urg of Linux: an older urgent byte becomes an ordinary one, or is lost when all before it was read. */
K_LOCKED static void urgent_mark_last(k_socket *s) {
  if (sock_passes_urgent(s) && s->ring.len > 1) sock_skip_bytes(s, 1);
  s->urgent = URGENT_UNREAD;
  s->urgent_at = s->taken + s->ring.len - 1;
}

k_ret sock_write_urgent(k_socket *s, uint8_t byte) {
  k_parcel *none = NULL;
  k_socket *to = s->peer;
  k_ret r = sock_write_once(s, &byte, 1, &none);
  if (r > 0 && to != NULL) {
    urgent_mark_last(to);
    if (to->file != NULL) k_owner_signal(to->file, K_SIGURG);
    k_wake(&to->changed);
  }
  return r;
}

k_ret sock_take_urgent(k_socket *s, uint8_t *out, size_t len, bool peek, k_received *what) {
  if (!sock_is_inet(s) || !sock_is_stream(s)) return -K_EOPNOTSUPP;
  if (s->state == SOCK_LISTENING) return -K_ENOTCONN;
  if (s->options.oob_inline || s->urgent != URGENT_UNREAD) return -K_EINVAL;
  if (!peek) s->urgent = URGENT_READ;
  what->urgent = true;
  what->truncated = len == 0;
  if (len == 0) return 0;
  k_ring from_mark = s->ring;
  k_ring_skip(&from_mark, (size_t)(s->urgent_at - s->taken));
  return (k_ret)k_ring_peek(&from_mark, out, 1);
}
