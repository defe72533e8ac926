/* io.c - bytes in and out. What a guest writes is handed to the kernel where it stands in its memory. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "kernel/sock/socket.h"
#include "kernel/tty/tty.h"

enum { TRANSFER_MAX = 0x7ffff000 }; /* the most Linux moves in one call */

static size_t clip(uint32_t len) { return len < TRANSFER_MAX ? len : TRANSFER_MAX; }

K_LOCKED static k_ret io_read_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  void *buf = NULL;
  K_TRY(abi_file(m, a[0], &f));
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  return k_file_read(m->p, f, buf, clip(a[2]));
}

k_ret sys_read(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, io_read_locked(m, a)); }

K_LOCKED static k_ret write_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  void *buf = NULL;
  K_TRY(abi_file(m, a[0], &f));
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  return k_file_write(m->p, f, buf, clip(a[2]));
}

k_ret sys_write(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, write_locked(m, a)); }

K_LOCKED static k_ret pread_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  void *buf = NULL;
  if (abi_pair(a + 3) < 0) return -K_EINVAL;
  K_TRY(abi_file(m, a[0], &f));
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  return k_file_pread(m->p, f, buf, clip(a[2]), abi_pair(a + 3));
}

k_ret sys_pread64(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, pread_locked(m, a)); }

K_LOCKED static k_ret pwrite_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  void *buf = NULL;
  if (abi_pair(a + 3) < 0) return -K_EINVAL;
  K_TRY(abi_file(m, a[0], &f));
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  return k_file_pwrite(m->p, f, buf, clip(a[2]), abi_pair(a + 3));
}

k_ret sys_pwrite64(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, pwrite_locked(m, a)); }

/* ---- vectors ---- */

typedef k_ret vector_fn(k_process *p, k_file *f, const k_iov *iov, size_t count, int64_t pos);

static k_ret vector_locked(abi_machine *m, const uint32_t *a, int64_t pos, vector_fn *fn) {
  k_file *f = NULL;
  k_iov few[ABI_IOV_FEW], *iov = few;
  K_TRY(abi_file(m, a[0], &f));
  K_TRY(abi_iov(m->instance, a[1], (int32_t)a[2], few, &iov));
  k_ret r = fn(m->p, f, iov, a[2], pos);
  abi_iov_free(few, iov);
  return r;
}

k_ret sys_readv(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, vector_locked(m, a, -1, k_file_readv));
}

k_ret sys_writev(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, vector_locked(m, a, -1, k_file_writev));
}

k_ret sys_preadv(abi_machine *m, const uint32_t a[static 6]) {
  if (abi_pair(a + 3) < 0) return -K_EINVAL;
  return ABI_LOCKED(m, vector_locked(m, a, abi_pair(a + 3), k_file_readv));
}

k_ret sys_pwritev(abi_machine *m, const uint32_t a[static 6]) {
  if (abi_pair(a + 3) < 0) return -K_EINVAL;
  return ABI_LOCKED(m, vector_locked(m, a, abi_pair(a + 3), k_file_writev));
}

static k_ret vector2(abi_machine *m, const uint32_t *a, vector_fn *fn) {
  enum { HIPRI = 1, DSYNC = 2, SYNC = 4 };
  if ((a[5] & ~(uint32_t)(HIPRI | DSYNC | SYNC)) != 0) return -K_EOPNOTSUPP;
  if (abi_pair(a + 3) < -1) return -K_EINVAL;
  return ABI_LOCKED(m, vector_locked(m, a, abi_pair(a + 3), fn));
}

k_ret sys_preadv2(abi_machine *m, const uint32_t a[static 6]) { return vector2(m, a, k_file_readv); }

k_ret sys_pwritev2(abi_machine *m, const uint32_t a[static 6]) { return vector2(m, a, k_file_writev); }

/* ---- position ---- */

K_LOCKED static k_ret seek_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  if (a[4] > K_SEEK_HOLE) return -K_EINVAL;
  return k_file_seek(f, (int64_t)((uint64_t)a[1] << 32 | a[2]), (int)a[4]);
}

k_ret sys_llseek(abi_machine *m, const uint32_t a[static 6]) {
  int64_t pos = ABI_LOCKED(m, seek_locked(m, a));
  return pos < 0 ? pos : abi_put(m->instance, a[3], &pos);
}

/* ---- from file to file ---- */

K_LOCKED static k_ret sendfile_locked(abi_machine *m, const uint32_t *a, int64_t *pos) {
  k_file *out = NULL, *in = NULL;
  K_TRY(abi_file(m, a[0], &out));
  K_TRY(abi_file(m, a[1], &in));
  return k_sendfile(m->p, out, in, pos, clip(a[3]));
}

k_ret sys_sendfile(abi_machine *m, const uint32_t a[static 6]) {
  int64_t pos = 0;
  if (a[2] == 0) return ABI_LOCKED(m, sendfile_locked(m, a, NULL));
  K_TRY(abi_get(m->instance, a[2], &pos));
  if (pos < 0) return -K_EINVAL;
  k_ret r = ABI_LOCKED(m, sendfile_locked(m, a, &pos));
  if (r >= 0) K_TRY(abi_put(m->instance, a[2], &pos));
  return r;
}

static k_ret must_be_plain_file(const k_file *f) {
  if (f->inode == NULL) return k_file_wrong(f, -K_EINVAL);
  return k_is_reg(f->inode) ? 0 : k_is_dir(f->inode) ? -K_EISDIR : -K_EINVAL;
}

/* `to` and `from` are the explicit positions, or NULL for the files' own. */
K_LOCKED static k_ret copy_some(abi_machine *m, k_file *in, int64_t *from, k_file *out, int64_t *to,
                                size_t len) {
  enum { PIECE = 65536 };
  void *piece = mem_alloc(PIECE);
  if (piece == NULL) return -K_ENOMEM;
  size_t done = 0;
  k_ret r = 0;
  while (done < len) {
    size_t want = len - done < PIECE ? len - done : PIECE;
    int64_t in_pos = from != NULL ? *from : in->pos;
    r = k_file_pread(m->p, in, piece, want, in_pos);
    if (r <= 0) break;
    r = to != NULL ? k_file_pwrite(m->p, out, piece, (size_t)r, *to)
                   : k_file_write(m->p, out, piece, (size_t)r);
    if (r <= 0) break;
    if (from != NULL)
      *from += r;
    else
      in->pos = in_pos + r;
    if (to != NULL) *to += r;
    done += (size_t)r;
  }
  mem_free(piece);
  return done > 0 ? (k_ret)done : r;
}

K_LOCKED static k_ret copy_range_locked(abi_machine *m, const uint32_t *a, int64_t *from, int64_t *to) {
  k_file *in = NULL, *out = NULL;
  K_TRY(abi_file(m, a[0], &in));
  K_TRY(abi_file(m, a[2], &out));
  K_TRY(must_be_plain_file(in));
  K_TRY(must_be_plain_file(out));
  if ((in->flags & K_O_ACCMODE) == K_O_WRONLY || (out->flags & K_O_ACCMODE) == K_O_RDONLY) return -K_EBADF;
  if ((out->flags & K_O_APPEND) != 0) return -K_EBADF;
  size_t len = clip(a[4]);
  if (in->inode == out->inode) {
    int64_t x = from != NULL ? *from : in->pos, y = to != NULL ? *to : out->pos;
    if ((x < y ? y - x : x - y) < (int64_t)len) return -K_EINVAL;
  }
  return copy_some(m, in, from, out, to, len);
}

k_ret sys_copy_file_range(abi_machine *m, const uint32_t a[static 6]) {
  int64_t from = 0, to = 0;
  if (a[5] != 0) return -K_EINVAL;
  if (a[1] != 0) K_TRY(abi_get(m->instance, a[1], &from));
  if (a[3] != 0) K_TRY(abi_get(m->instance, a[3], &to));
  if (from < 0 || to < 0) return -K_EINVAL;
  k_ret r = ABI_LOCKED(m, copy_range_locked(m, a, a[1] != 0 ? &from : NULL, a[3] != 0 ? &to : NULL));
  if (r < 0) return r;
  if (a[1] != 0) K_TRY(abi_put(m->instance, a[1], &from));
  if (a[3] != 0) K_TRY(abi_put(m->instance, a[3], &to));
  return r;
}

/* ---- to the disk there is not ---- */

static k_ret fsync_locked(abi_machine *m, uint32_t fd) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  if (f->inode == NULL || !(k_is_reg(f->inode) || k_is_dir(f->inode))) return -K_EINVAL;
  return f->ops->fsync != NULL ? f->ops->fsync(f) : 0;
}

k_ret sys_fsync(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, fsync_locked(m, a[0])); }

/* Advice, and reading ahead: nothing to do, but for what Linux refuses. */
static k_ret sync_range_locked(abi_machine *m, const uint32_t *a) {
  enum { KNOWN = 7 };
  int64_t offset = abi_pair(a + 1), len = abi_pair(a + 3);
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  if ((a[5] & ~(uint32_t)KNOWN) != 0 || offset < 0 || len < 0 || __builtin_add_overflow(offset, len, &len))
    return -K_EINVAL;
  return f->inode != NULL && (k_is_reg(f->inode) || k_is_dir(f->inode)) ? 0 : -K_ESPIPE;
}

k_ret sys_sync_file_range(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, sync_range_locked(m, a));
}

static k_ret fadvise_locked(abi_machine *m, const uint32_t *a) {
  enum { LAST = 5 };
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  if (f->inode == NULL || (f->inode->mode & K_S_IFMT) == K_S_IFIFO) return -K_ESPIPE;
  return abi_pair(a + 3) < 0 || a[5] > LAST ? -K_EINVAL : 0;
}

k_ret sys_fadvise(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, fadvise_locked(m, a)); }

static k_ret readahead_locked(abi_machine *m, uint32_t fd) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if ((f->flags & K_O_PATH) != 0 || (f->flags & K_O_ACCMODE) == K_O_WRONLY) return -K_EBADF;
  return f->inode != NULL && k_is_reg(f->inode) ? 0 : -K_EINVAL;
}

k_ret sys_readahead(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, readahead_locked(m, a[0]));
}

static k_ret check_fd(abi_machine *m, uint32_t fd) {
  k_file *f = NULL;
  return abi_file(m, fd, &f);
}

k_ret sys_check_fd(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, check_fd(m, a[0])); }

/* ---- ioctl ---- */

enum {
  FIONREAD = K_FIONREAD,
  FIONBIO = 0x5421,
  FIONCLEX = 0x5450,
  FIOCLEX = 0x5451,
};

/* How long the argument of a request is that a file may answer; 0: none answers it. */
static size_t argument_len(uint32_t request) {
  switch (request) {
  case K_TCGETS:
  case K_TCSETS:
  case K_TCSETSW:
  case K_TCSETSF: return sizeof(k_termios);
  case K_TIOCGWINSZ:
  case K_TIOCSWINSZ: return sizeof(k_winsize);
  case K_TIOCGPGRP:
  case K_TIOCSPGRP:
  case K_TIOCGSID:
  case K_TIOCOUTQ:
  case K_TIOCGPTN:
  case K_TIOCSPTLCK:
  case K_TIOCGPTLCK:
  case K_SIOCATMARK:
  case K_FIOSETOWN:
  case K_FIOGETOWN:
  case K_SIOCSPGRP:
  case K_SIOCGPGRP:
  case FIONREAD: return sizeof(int32_t);
  case K_SIOCGIFNAME:
  case K_SIOCGIFFLAGS:
  case K_SIOCGIFADDR:
  case K_SIOCGIFNETMASK:
  case K_SIOCGIFMTU:
  case K_SIOCGIFHWADDR:
  case K_SIOCGIFINDEX: return K_IFREQ_LEN;
  default: return 0;
  }
}

static bool is_by_value(uint32_t request) {
  switch (request) {
  case K_TCSBRK:
  case K_TCSBRKP:
  case K_TCXONC:
  case K_TCFLSH:
  case K_TIOCSCTTY:
  case K_TIOCNOTTY:
  case K_TIOCSIG: return true;
  default: return false;
  }
}

K_LOCKED static k_ret bytes_left(k_file *f, int32_t *out) {
  if (f->inode == NULL || !k_is_reg(f->inode) || f->ops->size == NULL) return -K_ENOTTY;
  k_ret size = f->ops->size(f);
  if (size < 0) return size;
  int64_t left = size > f->pos ? size - f->pos : 0;
  *out = left < INT32_MAX ? (int32_t)left : INT32_MAX;
  return 0;
}

static k_ret control(abi_machine *m, k_file *f, uint32_t request, void *arg, size_t len) {
  if (f->ops->control != NULL) return f->ops->control(m->p, f, request, arg, len);
  return f->ops->ioctl != NULL ? f->ops->ioctl(f, request, arg, len) : -K_ENOTTY;
}

K_LOCKED static k_ret ask_file(abi_machine *m, k_file *f, uint32_t request, uint32_t addr) {
  uint64_t copy[8] = { addr };
  if (is_by_value(request)) return control(m, f, request, copy, sizeof(int32_t));
  size_t len = argument_len(request);
  if (len == 0) return -K_ENOTTY;
  if (f->ops->ioctl == NULL && f->ops->control == NULL && request != FIONREAD) return -K_ENOTTY;
  K_TRY(abi_copy_in(m->instance, addr, copy, len));
  k_ret r = control(m, f, request, copy, len);
  if (r == -K_ENOTTY && request == FIONREAD) r = bytes_left(f, (int32_t *)(void *)copy);
  if (r < 0) return r;
  K_TRY(abi_copy_out(m->instance, addr, copy, len));
  return r;
}

static k_ret set_nonblock(abi_machine *m, k_file *f, uint32_t addr) {
  int32_t on = 0;
  K_TRY(abi_get(m->instance, addr, &on));
  f->flags = on != 0 ? f->flags | K_O_NONBLOCK : f->flags & ~(uint32_t)K_O_NONBLOCK;
  return 0;
}

K_LOCKED static k_ret ioctl_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  switch (a[1]) {
  case FIOCLEX:
  case FIONCLEX: m->p->fds.slots[a[0]].cloexec = a[1] == FIOCLEX; return 0;
  case FIONBIO: return set_nonblock(m, f, a[2]);
  default: return ask_file(m, f, a[1], a[2]);
  }
}

k_ret sys_ioctl(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, ioctl_locked(m, a)); }
