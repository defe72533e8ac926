/* wasi_fd.c - the functions on descriptors: reading and writing, positions, attributes, directories. */
#include "abi/wasi/wasi.h"
#include "kernel/file/fcntl.h"
#include "kernel/notify/notify.h"
#include "kernel/sock/socket.h"

/* ---- types and rights ---- */

/* Rights of witx: those that are tested one by one have a name, the others stand in sets. */
#define RIGHTS_FILE UINT64_C(0x08e001ff)      /* fd_*, poll_fd_readwrite */
#define RIGHTS_DIRECTORY UINT64_C(0x07bffe18) /* path_*, fd_readdir, fd_filestat_*, fd_sync, set_flags */
#define RIGHTS_SOCKET UINT64_C(0x3820004a)    /* sock_*, fd_read, fd_write, poll_fd_readwrite */
#define RIGHTS_POSITION UINT64_C(0x24)        /* fd_seek, fd_tell */
#define RIGHTS_WRITING UINT64_C(0x00400140)   /* fd_write, fd_allocate, fd_filestat_set_size */

struct wasi_fdstat {
  uint8_t type, pad;
  uint16_t flags;
  uint32_t pad_end;
  uint64_t rights, inheriting;
};
_Static_assert(sizeof(struct wasi_fdstat) == 24, "fdstat");

struct wasi_filestat {
  uint64_t dev, ino;
  uint8_t type, pad[7];
  uint64_t nlink, size, atime, mtime, ctime;
};
_Static_assert(sizeof(struct wasi_filestat) == 64, "filestat");

uint8_t wasi_type_of_mode(uint32_t mode) {
  switch (mode & K_S_IFMT) {
  case K_S_IFBLK: return WASI_TYPE_BLOCK;
  case K_S_IFCHR: return WASI_TYPE_CHARACTER;
  case K_S_IFDIR: return WASI_TYPE_DIRECTORY;
  case K_S_IFREG: return WASI_TYPE_REGULAR;
  case K_S_IFLNK: return WASI_TYPE_LINK;
  case K_S_IFSOCK: return WASI_TYPE_STREAM;
  default: return WASI_TYPE_UNKNOWN;
  }
}

static uint8_t type_of_file(const k_file *f, const k_stat *st) {
  if (!k_is_socket(f)) return wasi_type_of_mode(st->mode);
  return k_socket_type(f) == K_SOCK_DGRAM ? WASI_TYPE_DGRAM : WASI_TYPE_STREAM;
}

static uint16_t fdflags_of(const k_file *f) {
  uint32_t flags = f->flags;
  return (uint16_t)((flags & K_O_APPEND ? WASI_APPEND : 0) | (flags & K_O_NONBLOCK ? WASI_NONBLOCK : 0) |
                    ((flags & K_O_SYNC) == K_O_SYNC ? WASI_SYNC
                     : flags & K_O_DSYNC            ? WASI_DSYNC
                                                    : 0));
}

static uint64_t rights_of(const k_file *f, uint8_t type) {
  uint32_t access = f->flags & K_O_ACCMODE;
  if (type == WASI_TYPE_DIRECTORY) return RIGHTS_DIRECTORY;
  uint64_t rights = type == WASI_TYPE_DGRAM || type == WASI_TYPE_STREAM ? RIGHTS_SOCKET : RIGHTS_FILE;
  if (f->ops->size == NULL) rights &= ~RIGHTS_POSITION; /* a character device without them is a terminal */
  if (access == K_O_RDONLY) rights &= ~RIGHTS_WRITING;
  if (access == K_O_WRONLY) rights &= ~(uint64_t)WASI_RIGHT_READ;
  return rights;
}

static k_ret fdstat_locked(abi_machine *m, uint32_t fd, struct wasi_fdstat *out) {
  k_file *f = NULL;
  k_stat st;
  K_TRY(abi_file(m, fd, &f));
  K_TRY(k_file_stat(f, &st));
  uint8_t type = type_of_file(f, &st);
  *out = (struct wasi_fdstat){ .type = type, .flags = fdflags_of(f), .rights = rights_of(f, type) };
  if (type == WASI_TYPE_DIRECTORY) out->inheriting = RIGHTS_FILE | RIGHTS_DIRECTORY;
  return 0;
}

k_ret wasi_fd_fdstat_get(abi_machine *m, const eng_val *v) {
  struct wasi_fdstat out;
  K_TRY(ABI_LOCKED(m, fdstat_locked(m, v[0].u32, &out)));
  return abi_put(m->instance, v[1].u32, &out);
}

static k_ret check_data_file(abi_machine *m, uint32_t fd) {
  k_file *f = NULL;
  return wasi_data_file(m, fd, &f);
}

k_ret wasi_fd_fdstat_set_flags(abi_machine *m, const eng_val *v) {
  if ((v[1].u32 & (WASI_DSYNC | WASI_RSYNC | WASI_SYNC)) != 0) return -K_EINVAL; /* as Wasmtime */
  K_TRY(ABI_LOCKED(m, check_data_file(m, v[0].u32)));
  return ABI_LOCKED(m, k_fcntl(m->p, v[0].i32, K_F_SETFL, wasi_open_flags(v[1].u32)));
}

static k_ret check_file(abi_machine *m, uint32_t fd) {
  k_file *f = NULL;
  return abi_file(m, fd, &f);
}

/* Rights are what the access mode says; programs may ask for fewer, as in Wasmtime to no effect. */
k_ret wasi_fd_fdstat_set_rights(abi_machine *m, const eng_val *v) {
  return ABI_LOCKED(m, check_file(m, v[0].u32));
}

/* ---- the preopened ---- */

k_ret wasi_fd_prestat_get(abi_machine *m, const eng_val *v) {
  const wasi_preopen *p = wasi_preopen_of(m, v[0].i32);
  if (p == NULL) return -K_EBADF;
  uint32_t prestat[2] = { 0 /* a directory */, (uint32_t)strlen(p->name) };
  return abi_put(m->instance, v[1].u32, &prestat);
}

k_ret wasi_fd_prestat_dir_name(abi_machine *m, const eng_val *v) {
  const wasi_preopen *p = wasi_preopen_of(m, v[0].i32);
  if (p == NULL) return -K_EBADF;
  size_t len = strlen(p->name);
  if (v[2].u32 < len) return -K_ENAMETOOLONG;
  return abi_copy_out(m->instance, v[1].u32, p->name, len);
}

/* ---- closing and moving ---- */

static void preopen_move(abi_machine *m, int32_t fd, int32_t to) {
  wasi_preopen *p = wasi_preopen_of(m, fd);
  if (p != NULL) p->fd = to;
}

k_ret wasi_fd_close(abi_machine *m, const eng_val *v) {
  k_ret r = ABI_LOCKED(m, k_fd_close(&m->p->fds, v[0].i32));
  if (r != -K_EBADF) preopen_move(m, v[0].i32, -1);
  return r;
}

/* Moves a descriptor over another open one. */
K_LOCKED static k_ret renumber_locked(abi_machine *m, int32_t from, int32_t to) {
  k_file *f = NULL, *old = NULL;
  K_TRY(k_fd_get(&m->p->fds, from, &f));
  K_TRY(k_fd_get(&m->p->fds, to, &old));
  if (from == to) return 0;
  k_ret r = k_fd_put(&m->p->fds, k_file_ref(f), to, true);
  if (r < 0) {
    k_file_unref(f);
    return r;
  }
  preopen_move(m, to, -1);
  preopen_move(m, from, to);
  return k_fd_close(&m->p->fds, from);
}

k_ret wasi_fd_renumber(abi_machine *m, const eng_val *v) {
  return ABI_LOCKED(m, renumber_locked(m, v[0].i32, v[1].i32));
}

/* ---- bytes: ciovec and iovec are laid out as iovec of our C library ---- */

typedef k_ret vector_fn(k_process *p, k_file *f, const k_iov *iov, size_t count, int64_t pos);

K_LOCKED static k_ret wasi_vector_locked(abi_machine *m, const eng_val *v, int64_t pos, vector_fn *fn) {
  k_file *f = NULL;
  k_iov few[ABI_IOV_FEW], *iov = few;
  K_TRY(wasi_data_file(m, v[0].u32, &f));
  K_TRY(abi_iov(m->instance, v[1].u32, v[2].i32, few, &iov));
  k_ret r = fn(m->p, f, iov, v[2].u32, pos);
  abi_iov_free(few, iov);
  return r;
}

static k_ret wasi_transfer(abi_machine *m, const eng_val *v, int64_t pos, uint32_t to, vector_fn *fn) {
  k_ret n = ABI_LOCKED(m, wasi_vector_locked(m, v, pos, fn));
  uint32_t done = (uint32_t)n;
  return n < 0 ? n : abi_put(m->instance, to, &done);
}

k_ret wasi_fd_read(abi_machine *m, const eng_val *v) {
  return wasi_transfer(m, v, -1, v[3].u32, k_file_readv);
}

k_ret wasi_fd_write(abi_machine *m, const eng_val *v) {
  return wasi_transfer(m, v, -1, v[3].u32, k_file_writev);
}

k_ret wasi_fd_pread(abi_machine *m, const eng_val *v) {
  return v[3].i64 < 0 ? -K_EINVAL : wasi_transfer(m, v, v[3].i64, v[4].u32, k_file_readv);
}

k_ret wasi_fd_pwrite(abi_machine *m, const eng_val *v) {
  return v[3].i64 < 0 ? -K_EINVAL : wasi_transfer(m, v, v[3].i64, v[4].u32, k_file_writev);
}

/* ---- position, length ---- */

K_LOCKED static k_ret wasi_seek_locked(abi_machine *m, uint32_t fd, int64_t offset, uint32_t whence) {
  k_file *f = NULL;
  K_TRY(wasi_data_file(m, fd, &f));
  if (whence > K_SEEK_END) return -K_EINVAL;
  return k_file_seek(f, offset, (int)whence);
}

k_ret wasi_fd_seek(abi_machine *m, const eng_val *v) {
  int64_t pos = ABI_LOCKED(m, wasi_seek_locked(m, v[0].u32, v[1].i64, v[2].u32));
  return pos < 0 ? pos : abi_put(m->instance, v[3].u32, &pos);
}

k_ret wasi_fd_tell(abi_machine *m, const eng_val *v) {
  int64_t pos = ABI_LOCKED(m, wasi_seek_locked(m, v[0].u32, 0, K_SEEK_CUR));
  return pos < 0 ? pos : abi_put(m->instance, v[1].u32, &pos);
}

static k_ret by_number(abi_machine *m, abi_call_fn *fn, uint32_t fd, uint64_t a, uint64_t b, bool mode) {
  const uint32_t with_mode[6] = { fd, 0, (uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32) };
  const uint32_t without[6] = { fd, (uint32_t)a, (uint32_t)(a >> 32) };
  K_TRY(ABI_LOCKED(m, check_data_file(m, fd)));
  return fn(m, mode ? with_mode : without);
}

k_ret wasi_fd_filestat_set_size(abi_machine *m, const eng_val *v) {
  return by_number(m, sys_ftruncate, v[0].u32, v[1].u64, 0, false);
}

k_ret wasi_fd_allocate(abi_machine *m, const eng_val *v) {
  return by_number(m, sys_fallocate, v[0].u32, v[1].u64, v[2].u64, true);
}

k_ret wasi_fd_advise(abi_machine *m, const eng_val *v) {
  enum { NOREUSE = 5 };
  int64_t end = 0;
  K_TRY(ABI_LOCKED(m, check_data_file(m, v[0].u32)));
  if (v[1].i64 < 0 || v[2].i64 < 0 || __builtin_add_overflow(v[1].i64, v[2].i64, &end)) return -K_EINVAL;
  return v[3].u32 > NOREUSE ? -K_EINVAL : 0;
}

k_ret wasi_fd_sync(abi_machine *m, const eng_val *v) {
  const uint32_t a[6] = { v[0].u32 };
  return sys_fsync(m, a);
}

k_ret wasi_fd_datasync(abi_machine *m, const eng_val *v) { return wasi_fd_sync(m, v); }

/* ---- attributes ---- */

static uint64_t time_of(int64_t ns) { return ns > 0 ? (uint64_t)ns : 0; }

k_ret wasi_put_stat(abi_machine *m, uint32_t addr, const k_stat *st, uint8_t type) {
  struct wasi_filestat out = { .dev = (uint64_t)st->dev_major << 32 | st->dev_minor,
                               .ino = st->ino,
                               .type = type,
                               .nlink = st->nlink,
                               .size = st->size,
                               .atime = time_of(st->atime_ns),
                               .mtime = time_of(st->mtime_ns),
                               .ctime = time_of(st->ctime_ns) };
  return abi_put(m->instance, addr, &out);
}

static k_ret wasi_filestat_locked(abi_machine *m, uint32_t fd, k_stat *st, uint8_t *type) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  K_TRY(k_file_stat(f, st));
  *type = type_of_file(f, st);
  return 0;
}

k_ret wasi_fd_filestat_get(abi_machine *m, const eng_val *v) {
  k_stat st;
  uint8_t type = 0;
  K_TRY(ABI_LOCKED(m, wasi_filestat_locked(m, v[0].u32, &st, &type)));
  return wasi_put_stat(m, v[1].u32, &st, type);
}

k_ret wasi_times(abi_machine *m, uint64_t atime, uint64_t mtime, uint32_t how, int64_t values[static 2],
                 const int64_t *set[static 2], bool *explicit_times) {
  enum { ATIM = 1, ATIM_NOW = 2, MTIM = 4, MTIM_NOW = 8 };
  const uint64_t given[2] = { atime, mtime };
  int64_t now = k_real_ns(m->kernel);
  *explicit_times = how != (ATIM_NOW | MTIM_NOW);
  for (unsigned i = 0; i < 2; i++) {
    bool is_given = (how >> 2 * i & ATIM) != 0, is_now = (how >> 2 * i & ATIM_NOW) != 0;
    if (is_given && is_now) return -K_EINVAL;
    values[i] = is_now ? now : given[i] < INT64_MAX ? (int64_t)given[i] : INT64_MAX;
    set[i] = is_given || is_now ? &values[i] : NULL;
  }
  return 0;
}

K_LOCKED static k_ret fd_times_locked(abi_machine *m, const eng_val *v) {
  k_file *f = NULL;
  int64_t values[2];
  const int64_t *set[2];
  bool explicit_times = false;
  K_TRY(abi_file(m, v[0].u32, &f));
  K_TRY(wasi_times(m, v[1].u64, v[2].u64, v[3].u32, values, set, &explicit_times));
  if (f->inode == NULL) return -K_EINVAL;
  if (set[0] == NULL && set[1] == NULL) return 0;
  return vfs_utimens(&m->p->view, f->inode, set[0], set[1], explicit_times);
}

k_ret wasi_fd_filestat_set_times(abi_machine *m, const eng_val *v) {
  return ABI_LOCKED(m, fd_times_locked(m, v));
}

/* ---- directories ---- */

struct wasi_dirent { /* the name follows, without a NUL */
  uint64_t next, ino;
  uint32_t name_len;
  uint8_t type, pad[3];
};
_Static_assert(sizeof(struct wasi_dirent) == 24, "dirent");

struct wasi_listing {
  uint8_t *buf;
  size_t len, cap;
  unsigned entries; /* of this piece */
  int64_t next;     /* the position behind the last entry */
};

static void listing_add(struct wasi_listing *l, const void *bytes, size_t len) {
  size_t fits = len < l->cap - l->len ? len : l->cap - l->len;
  memcpy(l->buf + l->len, bytes, fits);
  l->len += fits;
}

enum { PIECE_ENTRIES = 256 };

/* The last entry may be cut: a full buffer says that there is more. */
static bool listing_entry(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  struct wasi_listing *l = ctx;
  if (l->entries == PIECE_ENTRIES || l->len == l->cap) return false;
  struct wasi_dirent head = {
    .next = (uint64_t)next_pos, .ino = ino, .name_len = (uint32_t)name.len, .type = wasi_type_of_mode(mode)
  };
  listing_add(l, &head, sizeof head);
  listing_add(l, name.data, name.len);
  l->entries++;
  l->next = next_pos;
  return true;
}

/* In pieces, because a short answer would say that the directory ends there. */
K_LOCKED static k_ret readdir_locked(abi_machine *m, const eng_val *v) {
  k_file *f = NULL;
  void *buf = NULL;
  K_TRY(abi_file(m, v[0].u32, &f));
  if (f->ops->readdir == NULL) return -K_ENOTDIR;
  if (v[3].i64 < 0) return -K_EINVAL;
  K_TRY(abi_ptr(m->instance, v[1].u32, v[2].u32, &buf));
  struct wasi_listing l = { .buf = buf, .cap = v[2].u32, .next = v[3].i64 };
  do {
    l.entries = 0;
    k_ret r = f->ops->readdir(f, l.next, listing_entry, &l);
    if (r < 0) return r;
  } while (l.entries == PIECE_ENTRIES && l.len < l.cap && !k_work(m->kernel, m->p, K_WORK_MAX));
  if (f->inode != NULL) k_notify(f->inode, K_IN_ACCESS);
  return (k_ret)l.len;
}

k_ret wasi_fd_readdir(abi_machine *m, const eng_val *v) {
  k_ret r = ABI_LOCKED(m, readdir_locked(m, v));
  if (r < 0) return r;
  uint32_t len = (uint32_t)r;
  return abi_put(m->instance, v[4].u32, &len);
}
