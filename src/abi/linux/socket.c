/* socket.c - pipes, and sockets but for what goes through them (pipe(2), socket(2), bind(2), accept(2)). */
#include "abi/linux/layout.h"
#include "abi/linux/sockaddr.h"
#include "kernel/file/pipe.h"

/* Two new files as descriptors, written to the guest; both or none. */
K_LOCKED static k_ret give_pair(abi_machine *m, k_file *a, k_file *b, uint32_t flags, uint32_t addr) {
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

K_LOCKED static k_ret pipe_locked(abi_machine *m, const uint32_t *a) {
  k_file *in = NULL, *out = NULL;
  K_TRY(k_pipe_new(m->kernel, a[1] & K_O_NONBLOCK, &in, &out));
  return give_pair(m, in, out, a[1], a[0]);
}

k_ret sys_pipe2(abi_machine *m, const uint32_t a[static 6]) {
  if ((a[1] & ~(uint32_t)(K_O_CLOEXEC | K_O_NONBLOCK)) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, pipe_locked(m, a));
}

/* ---- making ---- */

enum { SOCK_TYPE = 0xf, AF_MOST = 45 };

static k_ret check_flags(uint32_t flags) {
  return (flags & ~(uint32_t)(SOCK_TYPE | K_O_CLOEXEC | K_O_NONBLOCK)) != 0 ? -K_EINVAL : 0;
}

/* What Linux makes of SOCK_RAW with AF_UNIX. */
static int socket_type_of(uint32_t family, uint32_t type) {
  enum { RAW = 3 };
  int t = (int)(type & SOCK_TYPE);
  return family == K_AF_UNIX && t == RAW ? K_SOCK_DGRAM : t;
}

static k_ret socket_check_type(uint32_t type) {
  enum { MOST = 10 };
  K_TRY(check_flags(type));
  return (type & SOCK_TYPE) > MOST ? -K_EINVAL : 0;
}

K_LOCKED static k_ret socket_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  K_TRY(k_socket_new(m->kernel, (int)a[0], socket_type_of(a[0], a[1]), (int)a[2], a[1] & K_O_NONBLOCK, &f));
  return abi_give_fd(m, f, a[1]);
}

k_ret sys_socket(abi_machine *m, const uint32_t a[static 6]) {
  K_TRY(socket_check_type(a[1]));
  return ABI_LOCKED(m, socket_locked(m, a));
}

K_LOCKED static k_ret socketpair_locked(abi_machine *m, const uint32_t *a) {
  k_file *x = NULL, *y = NULL;
  K_TRY(k_socketpair(m->p, m->kernel, socket_type_of(a[0], a[1]), a[1] & K_O_NONBLOCK, &x, &y));
  return give_pair(m, x, y, a[1], a[3]);
}

k_ret sys_socketpair(abi_machine *m, const uint32_t a[static 6]) {
  if (a[0] != K_AF_UNIX) return a[0] == K_AF_UNSPEC || a[0] > AF_MOST ? -K_EAFNOSUPPORT : -K_EOPNOTSUPP;
  K_TRY(socket_check_type(a[1]));
  if (a[2] != 0 && a[2] != K_AF_UNIX) return -K_EPROTONOSUPPORT;
  return ABI_LOCKED(m, socketpair_locked(m, a));
}

/* ---- names ---- */

typedef k_ret address_fn(k_process *p, k_file *f, const k_sockaddr *addr);

static k_ret with_address(abi_machine *m, const uint32_t *a, address_fn *fn) {
  k_file *f = NULL;
  k_sockaddr addr;
  K_TRY(abi_socket(m, a[0], &f));
  K_TRY(abi_get_address(m, f, a[1], a[2], &addr));
  return fn(m->p, f, &addr);
}

k_ret sys_bind(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, with_address(m, a, k_socket_bind));
}

k_ret sys_connect(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, with_address(m, a, k_socket_connect));
}

typedef k_ret name_fn(k_file *f, k_sockaddr *out);

static k_ret name_locked(abi_machine *m, const uint32_t *a, name_fn *fn) {
  k_file *f = NULL;
  k_sockaddr addr;
  K_TRY(abi_socket(m, a[0], &f));
  K_TRY(fn(f, &addr));
  return abi_put_address(m, a[1], a[2], &addr);
}

k_ret sys_getsockname(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, name_locked(m, a, k_socket_name));
}

k_ret sys_getpeername(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, name_locked(m, a, k_socket_peer_name));
}

/* ---- listening ---- */

K_LOCKED static k_ret listen_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  K_TRY(abi_socket(m, a[0], &f));
  return k_socket_listen(m->p, f, (int32_t)a[1]);
}

k_ret sys_listen(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, listen_locked(m, a)); }

/* Without a free descriptor the connection stays in the queue. */
K_LOCKED static k_ret accept_locked(abi_machine *m, const uint32_t *a, uint32_t flags) {
  k_file *f = NULL, *made = NULL;
  k_sockaddr from;
  K_TRY(abi_socket(m, a[0], &f));
  K_TRY(k_fd_room(&m->p->fds));
  K_TRY(k_socket_accept(m->p, f, flags & K_O_NONBLOCK, &made));
  k_ret fd = abi_give_fd(m, made, flags), r = 0;
  if (fd < 0 || a[1] == 0) return fd;
  if (k_socket_peer_name(made, &from) >= 0) r = abi_put_address(m, a[1], a[2], &from);
  if (r < 0) (void)!k_fd_close(&m->p->fds, (int32_t)fd);
  return r < 0 ? r : fd;
}

k_ret sys_accept(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, accept_locked(m, a, 0)); }

k_ret sys_accept4(abi_machine *m, const uint32_t a[static 6]) {
  if ((a[3] & ~(uint32_t)(K_O_CLOEXEC | K_O_NONBLOCK)) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, accept_locked(m, a, a[3]));
}

K_LOCKED static k_ret shutdown_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  return k_socket_shutdown(f, (int)a[1]);
}

k_ret sys_shutdown(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, shutdown_locked(m, a));
}

/* ---- options ---- */

static k_ret get_time(const int32_t *words, size_t count, int32_t *value) {
  struct g_timeval64 tv;
  if (count * sizeof *words < sizeof tv) return -K_EINVAL;
  memcpy(&tv, words, sizeof tv);
  if (tv.usec < 0 || tv.usec >= 1000000) return -K_EDOM;
  int64_t ns = tv.sec < 0                            ? 1
               : tv.sec > INT64_MAX / NS_PER_SEC - 1 ? 0
                                                     : tv.sec * NS_PER_SEC + tv.usec * 1000;
  memcpy(value, &ns, sizeof ns);
  return 0;
}

K_LOCKED static k_ret setsockopt_locked(abi_machine *m, const uint32_t *a) {
  enum { WORDS = sizeof(struct g_timeval64) / sizeof(int32_t) };
  int level = (int)a[1], name = (int)a[2];
  int32_t words[WORDS] = { 0 }, value[K_OPTION_MAX] = { 0 };
  k_file *f = NULL;
  K_TRY(abi_socket(m, a[0], &f));
  if ((int32_t)a[4] < 0) return -K_EINVAL;
  size_t len = a[4] < sizeof words ? a[4] : sizeof words, count = len / sizeof *words;
  K_TRY(abi_copy_in(m->instance, a[3], words, len));
  if (level == K_SOL_IP && len > 0 && count == 0)
    words[0] = *(uint8_t *)words, count = 1; /* a byte will do */
  if (!k_option_is_time(level, name)) return k_socket_set(f, level, name, words, count);
  K_TRY(get_time(words, count, value));
  return k_socket_set(f, level, name, value, 2);
}

k_ret sys_setsockopt(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, setsockopt_locked(m, a));
}

static k_ret getsockopt_locked(abi_machine *m, const uint32_t *a) {
  int32_t value[K_OPTION_MAX] = { 0 }, room = 0;
  k_file *f = NULL;
  K_TRY(abi_socket(m, a[0], &f));
  K_TRY(abi_get(m->instance, a[4], &room));
  if (room < 0) return -K_EINVAL;
  k_ret count = k_socket_get(f, (int)a[1], (int)a[2], value);
  if (count < 0) return count;
  size_t len = (size_t)count * sizeof *value;
  struct g_timeval64 tv;
  const void *from = value;
  if (k_option_is_time((int)a[1], (int)a[2])) {
    int64_t ns;
    memcpy(&ns, value, sizeof ns);
    tv = (struct g_timeval64){ .sec = ns / NS_PER_SEC, .usec = ns % NS_PER_SEC / 1000 };
    from = &tv;
    len = sizeof tv;
  }
  if ((size_t)room < len) len = (size_t)room;
  K_TRY(abi_copy_out(m->instance, a[3], from, len));
  room = (int32_t)len;
  return abi_put(m->instance, a[4], &room);
}

k_ret sys_getsockopt(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, getsockopt_locked(m, a));
}
