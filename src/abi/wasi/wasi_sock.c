/* wasi_sock.c - the functions on sockets. Preview 1 makes none: a program has those that it was started with. */
#include "abi/linux/sockaddr.h"
#include "abi/wasi/wasi.h"
#include "base/alloc.h"

K_LOCKED static k_ret wasi_accept_locked(abi_machine *m, const eng_val *v) {
  k_file *f = NULL, *made = NULL;
  K_TRY(abi_socket(m, v[0].u32, &f));
  K_TRY(k_fd_room(&m->p->fds));
  K_TRY(k_socket_accept(m->p, f, wasi_open_flags(v[1].u32) & K_O_NONBLOCK, &made));
  return abi_give_fd(m, made, K_O_CLOEXEC);
}

k_ret wasi_sock_accept(abi_machine *m, const eng_val *v) {
  int32_t fd = 0;
  K_TRY(abi_put(m->instance, v[2].u32, &fd)); /* before a connection is taken, and lost */
  k_ret r = ABI_LOCKED(m, wasi_accept_locked(m, v));
  if (r < 0) return r;
  fd = (int32_t)r;
  return abi_put(m->instance, v[2].u32, &fd);
}

enum { MESSAGE_MAX = 64 << 10 };

static size_t total_of(const k_iov *iov, size_t count) {
  size_t len = 0;
  for (size_t i = 0; i < count; i++) len += iov[i].len;
  return len < MESSAGE_MAX ? len : MESSAGE_MAX;
}

/* A message is one, however many buffers it goes to. */
typedef k_ret wasi_message_fn(abi_machine *m, k_file *f, const k_iov *iov, uint8_t *all, size_t len,
                              uint32_t flags, k_received *what);

static k_ret message_out(abi_machine *m, k_file *f, const k_iov *iov, uint8_t *all, size_t len,
                         uint32_t flags, k_received *what) {
  (void)what;
  abi_gather(iov, all, len);
  return k_socket_send(m->p, f, all, len, flags, NULL);
}

K_LOCKED static k_ret message_in(abi_machine *m, k_file *f, const k_iov *iov, uint8_t *all, size_t len,
                                 uint32_t flags, k_received *what) {
  k_ret r = k_socket_recv(m->p, f, all, len, flags, what);
  if (r > 0) abi_scatter(iov, all, (size_t)r < len ? (size_t)r : len);
  k_parcel_free(what->parcel); /* there is no way to receive descriptors */
  return r;
}

K_LOCKED static k_ret message_locked(abi_machine *m, const eng_val *v, uint32_t flags, wasi_message_fn *fn,
                                     k_received *what) {
  k_file *f = NULL;
  k_iov few[ABI_IOV_FEW], *iov = few;
  K_TRY(abi_socket(m, v[0].u32, &f));
  K_TRY(abi_iov(m->instance, v[1].u32, v[2].i32, few, &iov));
  size_t len = total_of(iov, v[2].u32);
  uint8_t *all = mem_alloc(len);
  k_ret r = all != NULL ? fn(m, f, iov, all, len, flags, what) : -K_ENOMEM;
  mem_free(all);
  abi_iov_free(few, iov);
  return r;
}

k_ret wasi_sock_recv(abi_machine *m, const eng_val *v) {
  enum { PEEK = 1, WAITALL = 2, DATA_TRUNCATED = 1 };
  k_received what = { 0 };
  uint32_t flags =
      (v[3].u32 & PEEK ? (uint32_t)K_MSG_PEEK : 0) | (v[3].u32 & WAITALL ? (uint32_t)K_MSG_WAITALL : 0);
  if ((v[3].u32 & ~(uint32_t)(PEEK | WAITALL)) != 0) return -K_EINVAL;
  k_ret r = ABI_LOCKED(m, message_locked(m, v, flags, message_in, &what));
  if (r < 0) return r;
  uint32_t len = (uint32_t)r;
  uint16_t out = what.truncated ? DATA_TRUNCATED : 0;
  K_TRY(abi_put(m->instance, v[4].u32, &len));
  return abi_put(m->instance, v[5].u32, &out);
}

k_ret wasi_sock_send(abi_machine *m, const eng_val *v) {
  k_received unused = { 0 };
  if (v[3].u32 != 0) return -K_EINVAL;
  k_ret r = ABI_LOCKED(m, message_locked(m, v, 0, message_out, &unused));
  uint32_t len = (uint32_t)r;
  return r < 0 ? r : abi_put(m->instance, v[4].u32, &len);
}

K_LOCKED static k_ret wasi_shutdown_locked(abi_machine *m, uint32_t fd, int how) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  return k_socket_shutdown(f, how);
}

k_ret wasi_sock_shutdown(abi_machine *m, const eng_val *v) {
  enum { RD = 1, WR = 2 };
  static const int how[] = { [RD] = K_SHUT_RD, [WR] = K_SHUT_WR, [RD | WR] = K_SHUT_RDWR };
  if (v[1].u32 == 0 || v[1].u32 > (RD | WR)) return -K_EINVAL;
  return ABI_LOCKED(m, wasi_shutdown_locked(m, v[0].u32, how[v[1].u32]));
}
