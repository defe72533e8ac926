/* socket.c - pipes and pairs of local sockets (pipe(2), socketpair(2), send(2), recv(2)). */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "kernel/pipe.h"

/* Two new files as descriptors, written to the guest; both or none. */
static k_ret give_pair(abi_machine *m, k_file *a, k_file *b, uint32_t flags, uint32_t addr) {
  bool cloexec = (flags & K_O_CLOEXEC) != 0;
  k_ret first = k_fd_add(&m->p->fds, a, 0, cloexec);
  if (first < 0) k_file_unref(a);
  k_ret second = first < 0 ? first : k_fd_add(&m->p->fds, b, 0, cloexec);
  if (second < 0) k_file_unref(b);
  int32_t out[2] = { (int32_t)first, (int32_t)second };
  k_ret r = second < 0 ? second : abi_put(m->instance, addr, &out);
  if (r >= 0) return 0;
  if (second >= 0) (void)!k_fd_close(&m->p->fds, (int32_t)second);
  if (first >= 0) (void)!k_fd_close(&m->p->fds, (int32_t)first);
  return r;
}

static k_ret pipe_locked(abi_machine *m, const uint32_t *a) {
  k_file *in = NULL, *out = NULL;
  K_TRY(k_pipe_new(m->kernel, a[1] & K_O_NONBLOCK, &in, &out));
  return give_pair(m, in, out, a[1], a[0]);
}

k_ret sys_pipe2(abi_machine *m, const uint32_t a[static 6]) {
  if ((a[1] & ~(uint32_t)(K_O_CLOEXEC | K_O_NONBLOCK)) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, pipe_locked(m, a));
}

/* ---- making ---- */

enum { AF_UNSPEC, AF_UNIX, SOCK_TYPE = 0xf };

static k_ret check_type(uint32_t type) {
  if ((type & ~(uint32_t)(SOCK_TYPE | K_O_CLOEXEC | K_O_NONBLOCK)) != 0) return -K_EINVAL;
  switch (type & SOCK_TYPE) {
  case K_SOCK_STREAM:
  case K_SOCK_DGRAM:
  case K_SOCK_SEQPACKET: return 0;
  default: return -K_EINVAL;
  }
}

k_ret sys_socket(abi_machine *m, const uint32_t a[static 6]) {
  (void)m;
  if (a[0] != AF_UNIX) return -K_EAFNOSUPPORT;
  K_TRY(check_type(a[1]));
  return -K_EPROTONOSUPPORT;
}

static k_ret socketpair_locked(abi_machine *m, const uint32_t *a) {
  k_file *x = NULL, *y = NULL;
  K_TRY(k_socketpair(m->kernel, (int)(a[1] & SOCK_TYPE), a[1] & K_O_NONBLOCK, &x, &y));
  return give_pair(m, x, y, a[1], a[3]);
}

k_ret sys_socketpair(abi_machine *m, const uint32_t a[static 6]) {
  if (a[0] != AF_UNIX) return a[0] == AF_UNSPEC || a[0] > 45 ? -K_EAFNOSUPPORT : -K_EOPNOTSUPP;
  K_TRY(check_type(a[1]));
  if (a[2] != 0 && a[2] != AF_UNIX) return -K_EPROTONOSUPPORT;
  return ABI_LOCKED(m, socketpair_locked(m, a));
}

/* ---- what a pair cannot do ---- */

static k_ret socket_of(abi_machine *m, uint32_t fd, k_file **out) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if (!k_is_socket(f)) return -K_ENOTSOCK;
  *out = f;
  return 0;
}

static k_ret refuse_locked(abi_machine *m, uint32_t fd, k_ret error) {
  k_file *f = NULL;
  K_TRY(socket_of(m, fd, &f));
  return error;
}

k_ret sys_not_bound(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, refuse_locked(m, a[0], -K_EINVAL));
}

k_ret sys_connect(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, refuse_locked(m, a[0], -K_EISCONN));
}

/* An address cut to the room there is, and its whole length. */
static k_ret put_address(abi_machine *m, uint32_t addr, uint32_t len_addr) {
  uint16_t family = AF_UNIX; /* without a name */
  int32_t room = 0, len = sizeof family;
  K_TRY(abi_get(m->instance, len_addr, &room));
  if (room < 0) return -K_EINVAL;
  K_TRY(abi_copy_out(m->instance, addr, &family, (size_t)(room < len ? room : len)));
  return abi_put(m->instance, len_addr, &len);
}

k_ret sys_getsockname(abi_machine *m, const uint32_t a[static 6]) {
  K_TRY(ABI_LOCKED(m, refuse_locked(m, a[0], 0)));
  return put_address(m, a[1], a[2]);
}

static k_ret shutdown_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  return k_socket_shutdown(f, (int)a[1]);
}

k_ret sys_shutdown(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, shutdown_locked(m, a));
}

/* ---- sending ---- */

enum {
  MSG_TRUNC = 0x20,
  MSG_EOR = 0x80,
  MSG_CMSG_CLOEXEC = 0x40000000,
  SEND_FLAGS = K_MSG_DONTWAIT | K_MSG_NOSIGNAL | MSG_EOR | 0x8000 /* MSG_MORE */,
  RECV_FLAGS = K_MSG_DONTWAIT | K_MSG_PEEK | K_MSG_TRUNC | K_MSG_WAITALL | MSG_CMSG_CLOEXEC | K_MSG_NOSIGNAL,
};

static k_ret send_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  void *buf = NULL;
  K_TRY(socket_of(m, a[0], &f));
  if ((a[3] & ~(uint32_t)SEND_FLAGS) != 0) return -K_EOPNOTSUPP;
  if (a[4] != 0 && a[5] != 0) return -K_EISCONN;
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  return k_socket_send(m->p, f, buf, a[2] < INT32_MAX ? a[2] : INT32_MAX,
                       a[3] & (K_MSG_DONTWAIT | K_MSG_NOSIGNAL));
}

k_ret sys_sendto(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, send_locked(m, a)); }

/* All buffers in one piece: a message is one, however many buffers it came in. */
static k_ret gather(const k_iov *iov, size_t count, void **out, size_t *len) {
  size_t total = 0;
  for (size_t i = 0; i < count; i++) total += iov[i].len;
  uint8_t *all = mem_alloc(total);
  if (all == NULL) return -K_ENOMEM;
  *out = all;
  *len = total;
  for (size_t i = 0; i < count; i++) {
    memcpy(all, iov[i].data, iov[i].len);
    all += iov[i].len;
  }
  return 0;
}

static k_ret send_pieces(abi_machine *m, k_file *f, const k_iov *iov, size_t count, uint32_t flags) {
  enum { MOST = 1 << 20 };
  void *all = NULL;
  size_t len = 0;
  if (count == 1) return k_socket_send(m->p, f, iov->data, iov->len, flags);
  for (size_t i = 0; i < count; i++) len += iov[i].len;
  if (len > MOST && k_socket_type(f) != K_SOCK_STREAM) return -K_EMSGSIZE;
  if (len > MOST) return k_socket_send(m->p, f, iov->data, iov->len, flags); /* a short count is fine */
  K_TRY(gather(iov, count, &all, &len));
  k_ret r = k_socket_send(m->p, f, all, len, flags);
  mem_free(all);
  return r;
}

static k_ret sendmsg_locked(abi_machine *m, uint32_t fd, uint32_t addr, uint32_t flags) {
  struct g_msghdr head;
  k_file *f = NULL;
  k_iov few[ABI_IOV_FEW], *iov = few;
  K_TRY(socket_of(m, fd, &f));
  K_TRY(abi_get(m->instance, addr, &head));
  if ((flags & ~(uint32_t)SEND_FLAGS) != 0) return -K_EOPNOTSUPP;
  if (head.name != 0 && head.name_len != 0) return -K_EISCONN;
  if (head.control != 0 && head.control_len != 0) return -K_EINVAL;
  if (head.iov_len < 0 || head.iov_len > ABI_IOV_MAX) return -K_EMSGSIZE;
  K_TRY(abi_iov(m->instance, head.iov, head.iov_len, few, &iov));
  k_ret r = send_pieces(m, f, iov, (size_t)head.iov_len, flags & (K_MSG_DONTWAIT | K_MSG_NOSIGNAL));
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

static k_ret recv_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  void *buf = NULL;
  K_TRY(socket_of(m, a[0], &f));
  if ((a[3] & ~(uint32_t)RECV_FLAGS) != 0) return -K_EOPNOTSUPP;
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  return k_socket_recv(m->p, f, buf, a[2] < INT32_MAX ? a[2] : INT32_MAX,
                       a[3] & (K_MSG_DONTWAIT | K_MSG_PEEK | K_MSG_TRUNC | K_MSG_WAITALL), NULL);
}

k_ret sys_recvfrom(abi_machine *m, const uint32_t a[static 6]) {
  int32_t none = 0;
  k_ret r = ABI_LOCKED(m, recv_locked(m, a));
  if (r >= 0 && a[4] != 0 && a[5] != 0) K_TRY(abi_put(m->instance, a[5], &none)); /* the peer has no name */
  return r;
}

static void scatter(const uint8_t *from, size_t len, const k_iov *iov) {
  for (; len > 0; iov++) {
    size_t n = len < iov->len ? len : iov->len;
    memcpy(iov->data, from, n);
    from += n;
    len -= n;
  }
}

static k_ret recv_pieces(abi_machine *m, k_file *f, const k_iov *iov, size_t count, uint32_t flags,
                         bool *cut) {
  enum { MOST = 1 << 20 };
  size_t len = 0;
  if (count == 1) return k_socket_recv(m->p, f, iov->data, iov->len, flags, cut);
  for (size_t i = 0; i < count; i++) len += iov[i].len;
  if (len > MOST) len = MOST;
  void *all = mem_alloc(len);
  if (all == NULL) return -K_ENOMEM;
  k_ret r = k_socket_recv(m->p, f, all, len, flags, cut);
  if (r > 0) scatter(all, (size_t)r < len ? (size_t)r : len, iov);
  mem_free(all);
  return r;
}

static k_ret recvmsg_locked(abi_machine *m, const uint32_t *a) {
  struct g_msghdr head;
  k_file *f = NULL;
  k_iov few[ABI_IOV_FEW], *iov = few;
  bool cut = false;
  K_TRY(socket_of(m, a[0], &f));
  K_TRY(abi_get(m->instance, a[1], &head));
  if ((a[2] & ~(uint32_t)RECV_FLAGS) != 0) return -K_EOPNOTSUPP;
  if (head.iov_len < 0 || head.iov_len > ABI_IOV_MAX) return -K_EMSGSIZE;
  K_TRY(abi_iov(m->instance, head.iov, head.iov_len, few, &iov));
  k_ret r = recv_pieces(m, f, iov, (size_t)head.iov_len,
                        a[2] & (K_MSG_DONTWAIT | K_MSG_PEEK | K_MSG_TRUNC | K_MSG_WAITALL), &cut);
  abi_iov_free(few, iov);
  if (r < 0) return r;
  head.name_len = 0;
  head.control_len = 0;
  head.flags = cut ? MSG_TRUNC : 0;
  K_TRY(abi_put(m->instance, a[1], &head));
  return r;
}

k_ret sys_recvmsg(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, recvmsg_locked(m, a)); }

/* ---- options ---- */

enum {
  SOL_SOCKET = 1,
  SO_REUSEADDR = 2,
  SO_TYPE = 3,
  SO_ERROR = 4,
  SO_DONTROUTE = 5,
  SO_BROADCAST = 6,
  SO_SNDBUF = 7,
  SO_RCVBUF = 8,
  SO_KEEPALIVE = 9,
  SO_OOBINLINE = 10,
  SO_LINGER = 13,
  SO_REUSEPORT = 15,
  SO_PASSCRED = 16,
  SO_PEERCRED = 17,
  SO_RCVLOWAT = 18,
  SO_SNDLOWAT = 19,
  SO_ACCEPTCONN = 30,
  SO_PROTOCOL = 38,
  SO_DOMAIN = 39,
  SO_RCVTIMEO = 66,
  SO_SNDTIMEO = 67,
};

k_ret sys_setsockopt(abi_machine *m, const uint32_t a[static 6]) {
  void *value = NULL;
  K_TRY(ABI_LOCKED(m, refuse_locked(m, a[0], 0)));
  if (a[1] != SOL_SOCKET) return -K_ENOPROTOOPT;
  if ((int32_t)a[4] < (int32_t)sizeof(int32_t)) return -K_EINVAL;
  K_TRY(abi_ptr(m->instance, a[3], a[4], &value));
  switch (a[2]) {
  case SO_REUSEADDR:
  case SO_REUSEPORT:
  case SO_DONTROUTE:
  case SO_BROADCAST:
  case SO_SNDBUF:
  case SO_RCVBUF:
  case SO_KEEPALIVE:
  case SO_OOBINLINE:
  case SO_LINGER:
  case SO_PASSCRED:
  case SO_RCVLOWAT:
  case SO_RCVTIMEO:
  case SO_SNDTIMEO: return 0;
  default: return -K_ENOPROTOOPT;
  }
}

static k_ret option_value(abi_machine *m, uint32_t fd, uint32_t name, int32_t out[3], size_t *len) {
  k_file *f = NULL;
  K_TRY(socket_of(m, fd, &f));
  *len = sizeof *out;
  out[0] = 0;
  switch (name) {
  case SO_TYPE: out[0] = k_socket_type(f); return 0;
  case SO_DOMAIN: out[0] = AF_UNIX; return 0;
  case SO_SNDBUF:
  case SO_RCVBUF: out[0] = K_PIPE_CAP; return 0;
  case SO_RCVLOWAT:
  case SO_SNDLOWAT: out[0] = 1; return 0;
  case SO_PEERCRED:
    *len = 3 * sizeof *out;
    out[0] = m->p->pid, out[1] = (int32_t)m->p->view.uid, out[2] = (int32_t)m->p->view.gid;
    return 0;
  case SO_ERROR:
  case SO_PROTOCOL:
  case SO_ACCEPTCONN:
  case SO_REUSEADDR:
  case SO_REUSEPORT:
  case SO_KEEPALIVE:
  case SO_BROADCAST:
  case SO_PASSCRED: return 0;
  default: return -K_ENOPROTOOPT;
  }
}

k_ret sys_getsockopt(abi_machine *m, const uint32_t a[static 6]) {
  int32_t value[3] = { 0 }, room = 0;
  size_t len = 0;
  if (a[1] != SOL_SOCKET) {
    K_TRY(ABI_LOCKED(m, refuse_locked(m, a[0], 0)));
    return -K_EOPNOTSUPP;
  }
  K_TRY(ABI_LOCKED(m, option_value(m, a[0], a[2], value, &len)));
  K_TRY(abi_get(m->instance, a[4], &room));
  if (room < 0) return -K_EINVAL;
  if ((size_t)room < len) len = (size_t)room;
  K_TRY(abi_copy_out(m->instance, a[3], value, len));
  room = (int32_t)len;
  return abi_put(m->instance, a[4], &room);
}
