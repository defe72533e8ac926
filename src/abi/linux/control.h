/* control.h - what goes beside the bytes of a message (cmsg(3), unix(7)): descriptors and credentials. */
#pragma once

#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "kernel/sock/socket.h"

enum { MSG_CTRUNC = 8, MSG_CMSG_CLOEXEC = 0x40000000 };

/* A guest's control message. The descriptors are unchecked numbers. */
typedef struct abi_control {
  size_t count;
  int32_t fds[K_PARCEL_MAX];
} abi_control;

/* The control messages in `len` bytes at `addr`; 0 is none. As Linux, those of another level than SOL_SOCKET
 * are passed over. -K_EFAULT, -K_ENOBUFS: too long; -K_EINVAL: malformed, of an unknown type, or more than
 * K_PARCEL_MAX descriptors; -K_EPERM: the credentials of somebody else. */
k_ret abi_get_control(abi_machine *m, const k_file *f, uint32_t addr, uint32_t len, abi_control *out) CHECKED;

/* -K_EFAULT when a receiver's room for them is no memory: before a message is taken, and lost. */
k_ret abi_check_control(abi_machine *m, uint32_t addr, uint32_t len) CHECKED;

/* Opens the descriptors that came, as far as there is room for their numbers and in the table, and writes
 * them to the room that `head` names, which must have been checked. head->control_len becomes the length
 * written; MSG_CTRUNC is added to head->flags, which says MSG_CMSG_CLOEXEC, when something is missing. */
void abi_put_control(abi_machine *m, struct g_msghdr *head, const k_received *what) K_LOCKED;
