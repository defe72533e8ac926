/* message.c - what goes through sockets (send(2), recv(2), sendmsg(2), recvmsg(2)). */
#include "abi/linux/control.h"
#include "abi/linux/layout.h"
#include "abi/linux/sockaddr.h"

/* An address that a call may do without: NULL then. */
static k_ret optional_address(abi_machine *m, const k_file *f, uint32_t addr, uint32_t len, k_sockaddr *room,
                              const k_sockaddr **out) {
  *out = NULL;
  if (addr == 0 || len == 0) return 0;
  K_TRY(abi_get_address(m, f, addr, len, room));
  *out = room;
  return 0;
}

/* ---- sending ---- */

enum {
  MSG_TRUNC = 0x20,
  MSG_EOR = 0x80,
  SEND_FLAGS = K_MSG_OOB | K_MSG_DONTWAIT | K_MSG_NOSIGNAL | MSG_EOR | 0x8000 /* MSG_MORE */,
  RECV_FLAGS = K_MSG_OOB | K_MSG_DONTWAIT | K_MSG_PEEK | K_MSG_TRUNC | K_MSG_WAITALL | MSG_CMSG_CLOEXEC |
               K_MSG_NOSIGNAL,
};

static k_ret send_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  k_sockaddr addr;
  const k_sockaddr *to = NULL;
  void *buf = NULL;
  K_TRY(abi_socket(m, a[0], &f));
  if ((a[3] & ~(uint32_t)SEND_FLAGS) != 0) return -K_EOPNOTSUPP;
  K_TRY(optional_address(m, f, a[4], a[5], &addr, &to));
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  return k_socket_send(m->p, f, buf, a[2] < INT32_MAX ? a[2] : INT32_MAX,
                       a[3] & (K_MSG_OOB | K_MSG_DONTWAIT | K_MSG_NOSIGNAL), to);
}

k_ret sys_sendto(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, send_locked(m, a)); }

/* All buffers in one piece: a message is one, however many buffers it came in. */
static k_ret message_gather(const k_iov *iov, size_t count, void **out, size_t *len) {
  size_t total = 0;
  for (size_t i = 0; i < count; i++) total += iov[i].len;
  uint8_t *all = mem_alloc(total);
  if (all == NULL) return -K_ENOMEM;
  *out = all;
  *len = total;
  abi_gather(iov, all, total);
  return 0;
}

K_LOCKED static k_ret send_pieces(abi_machine *m, k_file *f, const k_iov *iov, size_t count, uint32_t flags,
                                  const k_sockaddr *to, const abi_control *with) {
  enum { MOST = 1 << 20 };
  void *all = NULL;
  size_t len = 0;
  k_parcel *parcel = NULL;
  for (size_t i = 0; i < count; i++) len += iov[i].len;
  if (len > MOST && k_socket_type(f) != K_SOCK_STREAM) return -K_EMSGSIZE;
  bool first_alone = count == 1 || len > MOST; /* a short count is fine */
  if (!first_alone) K_TRY(message_gather(iov, count, &all, &len));
  k_ret r = k_parcel_new(m->p, with->fds, with->count, &parcel);
  if (r >= 0 && first_alone) r = k_socket_send_parcel(m->p, f, iov->data, iov->len, flags, to, parcel);
  if (r >= 0 && !first_alone) r = k_socket_send_parcel(m->p, f, all, len, flags, to, parcel);
  mem_free(all);
  return r;
}

K_LOCKED static k_ret sendmsg_locked(abi_machine *m, uint32_t fd, uint32_t addr, uint32_t flags) {
  k_sockaddr name;
  const k_sockaddr *to = NULL;
  struct g_msghdr head;
  k_file *f = NULL;
  k_iov few[ABI_IOV_FEW], *iov = few;
  abi_control with;
  K_TRY(abi_socket(m, fd, &f));
  K_TRY(abi_get(m->instance, addr, &head));
  if ((flags & ~(uint32_t)SEND_FLAGS) != 0) return -K_EOPNOTSUPP;
  K_TRY(optional_address(m, f, head.name, head.name_len, &name, &to));
  K_TRY(abi_get_control(m, f, head.control, head.control_len, &with));
  if (head.iov_len < 0 || head.iov_len > ABI_IOV_MAX) return -K_EMSGSIZE;
  K_TRY(abi_iov(m->instance, head.iov, head.iov_len, few, &iov));
  k_ret r = send_pieces(m, f, iov, (size_t)head.iov_len,
                        flags & (K_MSG_OOB | K_MSG_DONTWAIT | K_MSG_NOSIGNAL), to, &with);
  abi_iov_free(few, iov);
  return r;
}

k_ret sys_sendmsg(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, sendmsg_locked(m, a[0], a[1], a[2]));
}

k_ret sys_sendmmsg(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t count = a[2] < ABI_IOV_MAX ? a[2] : ABI_IOV_MAX;
  void *list = NULL;
  K_TRY(abi_array(m->instance, a[1], count, sizeof(struct g_mmsghdr), &list));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t addr = a[1] + i * (uint32_t)sizeof(struct g_mmsghdr);
    k_ret r = ABI_LOCKED(m, sendmsg_locked(m, a[0], addr, a[3]));
    if (r < 0) return i > 0 ? (k_ret)i : r;
    uint32_t len = (uint32_t)r;
    K_TRY(abi_put(m->instance, addr + (uint32_t)offsetof(struct g_mmsghdr, len), &len));
  }
  return count;
}

/* ---- receiving ---- */

enum { RECV_KEPT = K_MSG_OOB | K_MSG_DONTWAIT | K_MSG_PEEK | K_MSG_TRUNC | K_MSG_WAITALL };

K_LOCKED static k_ret recv_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  void *buf = NULL;
  k_received what;
  K_TRY(abi_socket(m, a[0], &f));
  if ((a[3] & ~(uint32_t)RECV_FLAGS) != 0) return -K_EOPNOTSUPP;
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  k_ret r = k_socket_recv(m->p, f, buf, a[2] < INT32_MAX ? a[2] : INT32_MAX, a[3] & RECV_KEPT, &what);
  k_parcel_free(what.parcel);
  if (r >= 0 && a[4] != 0) K_TRY(abi_put_address(m, a[4], a[5], &what.from));
  return r;
}

k_ret sys_recvfrom(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, recv_locked(m, a)); }

K_LOCKED static k_ret recv_pieces(abi_machine *m, k_file *f, const k_iov *iov, size_t count, uint32_t flags,
                                  k_received *what) {
  enum { MOST = 1 << 20 };
  size_t len = 0;
  if (count == 1) return k_socket_recv(m->p, f, iov->data, iov->len, flags, what);
  for (size_t i = 0; i < count; i++) len += iov[i].len;
  if (len > MOST) len = MOST;
  void *all = mem_alloc(len);
  if (all == NULL) return -K_ENOMEM;
  k_ret r = k_socket_recv(m->p, f, all, len, flags, what);
  if (r > 0) abi_scatter(iov, all, (size_t)r < len ? (size_t)r : len);
  mem_free(all);
  return r;
}

K_LOCKED static k_ret finish_recvmsg(abi_machine *m, uint32_t addr, struct g_msghdr *head, uint32_t cloexec,
                                     const k_received *what) {
  if (head->name != 0) K_TRY(abi_put_name(m, head->name, &head->name_len, &what->from));
  head->flags = (int32_t)cloexec | (what->truncated ? MSG_TRUNC : 0) | (what->urgent ? K_MSG_OOB : 0);
  abi_put_control(m, head, what);
  return abi_put(m->instance, addr, head);
}

K_LOCKED static k_ret recvmsg_locked(abi_machine *m, const uint32_t *a) {
  struct g_msghdr head;
  k_file *f = NULL;
  k_iov few[ABI_IOV_FEW], *iov = few;
  k_received what;
  K_TRY(abi_socket(m, a[0], &f));
  K_TRY(abi_get(m->instance, a[1], &head));
  if ((a[2] & ~(uint32_t)RECV_FLAGS) != 0) return -K_EOPNOTSUPP;
  if (head.iov_len < 0 || head.iov_len > ABI_IOV_MAX) return -K_EMSGSIZE;
  K_TRY(abi_check_control(m, head.control, head.control_len));
  K_TRY(abi_iov(m->instance, head.iov, head.iov_len, few, &iov));
  k_ret r = recv_pieces(m, f, iov, (size_t)head.iov_len, a[2] & RECV_KEPT, &what);
  abi_iov_free(few, iov);
  if (r < 0) return r;
  k_ret told = finish_recvmsg(m, a[1], &head, a[2] & MSG_CMSG_CLOEXEC, &what);
  k_parcel_free(what.parcel);
  return told < 0 ? told : r;
}

k_ret sys_recvmsg(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, recvmsg_locked(m, a)); }
