/* sockaddr.h - addresses of sockets as guests write them (sockaddr(3type), ip(7), ipv6(7), unix(7)). */
#pragma once

#include "abi/linux/machine.h"
#include "kernel/sock/socket.h"

/* A socket of m->p, borrowed. -K_EBADF, -K_ENOTSOCK. With kernel.mu. */
static inline k_ret abi_socket(abi_machine *m, uint32_t fd, k_file **out) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if (!k_is_socket(f)) return k_file_wrong(f, -K_ENOTSOCK);
  *out = f;
  return 0;
}

/* The address of `len` bytes at `addr`, given to a socket. -K_EFAULT; -K_EINVAL when it is too short or too
 * long for the family of the socket. Of another family than that, only the family is told. */
k_ret abi_get_address(abi_machine *m, const k_file *f, uint32_t addr, uint32_t len, k_sockaddr *out) CHECKED;

/* As getsockname(2) gives one: cut to the room that `len_addr` tells, and there its whole length. Of family
 * K_AF_UNSPEC: none, length 0. */
k_ret abi_put_address(abi_machine *m, uint32_t addr, uint32_t len_addr, const k_sockaddr *from) CHECKED;

/* As recvmsg(2) does, with the room in *len, which becomes the whole length. */
k_ret abi_put_name(abi_machine *m, uint32_t addr, uint32_t *len, const k_sockaddr *from) CHECKED;
