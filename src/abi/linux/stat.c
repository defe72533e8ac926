/* stat.c - attributes of files, and changing them (statx(2), chmod(2), chown(2), utimensat(2),
 * truncate(2)). */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "kernel/notify/notify.h"

enum { AT_SYMLINK_NOFOLLOW = 0x100, AT_EACCESS = 0x200, AT_NO_AUTOMOUNT = 0x800, AT_EMPTY_PATH = 0x1000 };

static uint32_t how_of(uint32_t flags) {
  return (flags & AT_SYMLINK_NOFOLLOW ? VFS_NOFOLLOW : 0) | (flags & AT_EMPTY_PATH ? VFS_EMPTY_PATH : 0);
}

/* ---- stat ---- */

static struct g_statx_time statx_time(int64_t ns) {
  int64_t sec = ns / NS_PER_SEC, part = ns % NS_PER_SEC;
  if (part < 0) sec--, part += NS_PER_SEC;
  return (struct g_statx_time){ .sec = sec, .nsec = (uint32_t)part };
}

static struct g_statx statx_of(const k_stat *st) {
  enum { BASIC_STATS = 0x7ff, BTIME = 0x800 };
  return (struct g_statx){
    .mask = BASIC_STATS | BTIME,
    .blksize = K_PAGE,
    .nlink = st->nlink,
    .uid = st->uid,
    .gid = st->gid,
    .mode = (uint16_t)st->mode,
    .ino = st->ino,
    .size = st->size,
    .blocks = st->blocks,
    .atime = statx_time(st->atime_ns),
    .btime = statx_time(st->btime_ns),
    .ctime = statx_time(st->ctime_ns),
    .mtime = statx_time(st->mtime_ns),
    .rdev_major = st->rdev_major,
    .rdev_minor = st->rdev_minor,
    .dev_major = st->dev_major,
    .dev_minor = st->dev_minor,
  };
}

static k_ret stat_locked(abi_machine *m, const uint32_t *a, const char *path, k_stat *st) {
  k_file *f = NULL;
  k_inode *at = NULL;
  if (path[0] == 0 && (a[2] & AT_EMPTY_PATH) && (int32_t)a[0] != ABI_AT_FDCWD) {
    K_TRY(abi_file(m, a[0], &f));
    return k_file_stat(f, st);
  }
  K_TRY(abi_at(m, (int32_t)a[0], path, &at));
  return vfs_stat(&m->p->view, at, path, how_of(a[2]), st);
}

k_ret sys_statx(abi_machine *m, const uint32_t a[static 6]) {
  enum { SYNC_TYPE = 0x6000, RESERVED = 0x80000000 };
  const char *path = NULL;
  k_stat st;
  if ((a[2] & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | SYNC_TYPE)) != 0)
    return -K_EINVAL;
  if ((a[2] & SYNC_TYPE) == SYNC_TYPE || (a[3] & RESERVED) != 0) return -K_EINVAL;
  K_TRY(abi_string(m->instance, a[1], &path));
  K_TRY(ABI_LOCKED(m, stat_locked(m, a, path, &st)));
  struct g_statx out = statx_of(&st);
  return abi_put(m->instance, a[4], &out);
}

/* ---- the file system ---- */

static k_ret put_statfs(abi_machine *m, uint32_t len, uint32_t addr, const k_statfs *st) {
  if (len < G_STATFS_LEN) return -K_EINVAL;
  struct g_statfs out = {
    .type = (uint32_t)st->type,
    .bsize = (uint32_t)st->block_size,
    .blocks = st->blocks,
    .bfree = st->blocks_free,
    .bavail = st->blocks_free,
    .files = st->files,
    .ffree = st->files_free,
    .namelen = (uint32_t)st->name_max,
    .frsize = (uint32_t)st->block_size,
    .flags = (uint32_t)st->flags,
  };
  return abi_copy_out(m->instance, addr, &out, len < sizeof out ? len : sizeof out);
}

K_LOCKED static k_ret statfs_locked(abi_machine *m, const char *path, k_statfs *out) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(vfs_resolve(&m->p->view, NULL, path, 0, &inode));
  return vfs_statfs(&m->p->view, inode, out);
}

k_ret sys_statfs(abi_machine *m, const uint32_t a[static 6]) {
  const char *path = NULL;
  k_statfs st;
  K_TRY(abi_string(m->instance, a[0], &path));
  K_TRY(ABI_LOCKED(m, statfs_locked(m, path, &st)));
  return put_statfs(m, a[1], a[2], &st);
}

K_LOCKED static k_ret fstatfs_locked(abi_machine *m, uint32_t fd, k_statfs *out) {
  enum { PIPEFS_MAGIC = 0x50495045 };
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if (f->inode != NULL) return vfs_statfs(&m->p->view, f->inode, out);
  *out = (k_statfs){ .type = PIPEFS_MAGIC, .block_size = K_PAGE, .name_max = K_NAME_MAX };
  return k_file_wrong(f, 0);
}

k_ret sys_fstatfs(abi_machine *m, const uint32_t a[static 6]) {
  k_statfs st;
  K_TRY(ABI_LOCKED(m, fstatfs_locked(m, a[0], &st)));
  return put_statfs(m, a[1], a[2], &st);
}

/* ---- access, mode, owner ---- */

static k_ret access_locked(abi_machine *m, const uint32_t *a, uint32_t flags) {
  const char *path = NULL;
  k_inode *at = NULL;
  if (a[2] > 7 || (flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EACCESS | AT_EMPTY_PATH)) != 0)
    return -K_EINVAL;
  K_TRY(abi_string(m->instance, a[1], &path));
  K_TRY(abi_at(m, (int32_t)a[0], path, &at));
  return vfs_access(&m->p->view, at, path, how_of(flags), a[2]);
}

k_ret sys_faccessat(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, access_locked(m, a, 0));
}

k_ret sys_faccessat2(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, access_locked(m, a, a[3]));
}

/* The inode of (directory, path, flags): a reference. With kernel.mu. */
K_LOCKED static k_ret stat_resolve(abi_machine *m, uint32_t fd, uint32_t addr, uint32_t flags,
                                   k_inode **out) {
  const char *path = NULL;
  k_inode *at = NULL;
  K_TRY(abi_string(m->instance, addr, &path));
  K_TRY(abi_at(m, (int32_t)fd, path, &at));
  return vfs_resolve(&m->p->view, at, path, how_of(flags), out);
}

/* The inode behind a descriptor; one without (a pipe) has neither mode nor owner to change. */
K_LOCKED static k_ret inode_of(abi_machine *m, uint32_t fd, k_inode **out) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  if (f->inode == NULL) return -K_EPERM;
  *out = k_inode_ref(f->inode);
  return 0;
}

K_LOCKED static k_ret chmod_locked(abi_machine *m, const uint32_t *a, uint32_t flags) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  if ((flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0) return -K_EINVAL;
  K_TRY(stat_resolve(m, a[0], a[1], flags, &inode));
  if (k_is_link(inode)) return -K_EOPNOTSUPP;
  return vfs_chmod(&m->p->view, inode, a[2] & 07777);
}

k_ret sys_fchmodat(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, chmod_locked(m, a, 0));
}

k_ret sys_fchmodat2(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, chmod_locked(m, a, a[3]));
}

K_LOCKED static k_ret fchmod_locked(abi_machine *m, const uint32_t *a) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(inode_of(m, a[0], &inode));
  return vfs_chmod(&m->p->view, inode, a[1] & 07777);
}

k_ret sys_fchmod(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, fchmod_locked(m, a)); }

K_LOCKED static k_ret chown_locked(abi_machine *m, const uint32_t *a) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  if ((a[4] & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0) return -K_EINVAL;
  K_TRY(stat_resolve(m, a[0], a[1], a[4], &inode));
  return vfs_chown(&m->p->view, inode, a[2], a[3]);
}

k_ret sys_fchownat(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, chown_locked(m, a)); }

K_LOCKED static k_ret fchown_locked(abi_machine *m, const uint32_t *a) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(inode_of(m, a[0], &inode));
  return vfs_chown(&m->p->view, inode, a[1], a[2]);
}

k_ret sys_fchown(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, fchown_locked(m, a)); }

/* ---- times ---- */

enum { UTIME_NOW = 0x3fffffff, UTIME_OMIT = 0x3ffffffe };

/* *out is `value` filled in, or NULL for a time that stays. */
static k_ret one_time(const struct g_timespec *t, int64_t now, int64_t *value, const int64_t **out) {
  uint32_t nsec = (uint32_t)t->nsec;
  *out = value;
  if (nsec == UTIME_OMIT)
    *out = NULL;
  else if (nsec == UTIME_NOW)
    *value = now;
  else if (nsec >= NS_PER_SEC)
    return -K_EINVAL;
  else if (__builtin_mul_overflow(t->sec, NS_PER_SEC, value) || __builtin_add_overflow(*value, nsec, value))
    *value = t->sec < 0 ? INT64_MIN : INT64_MAX;
  return 0;
}

K_LOCKED static k_ret utimens_locked(abi_machine *m, const uint32_t *a) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  struct g_timespec times[2] = { { .nsec = UTIME_NOW }, { .nsec = UTIME_NOW } };
  if ((a[3] & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0) return -K_EINVAL;
  if (a[2] != 0) K_TRY(abi_get(m->instance, a[2], &times));

  int64_t values[2], now = k_real_ns(m->kernel);
  const int64_t *set[2];
  for (int i = 0; i < 2; i++) K_TRY(one_time(&times[i], now, &values[i], &set[i]));
  if (a[1] == 0)
    K_TRY(inode_of(m, a[0], &inode)); /* futimens(3) */
  else
    K_TRY(stat_resolve(m, a[0], a[1], a[3], &inode));
  if (set[0] == NULL && set[1] == NULL) return 0;
  bool both_now = (uint32_t)times[0].nsec == UTIME_NOW && (uint32_t)times[1].nsec == UTIME_NOW;
  return vfs_utimens(&m->p->view, inode, set[0], set[1], !both_now);
}

k_ret sys_utimensat(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, utimens_locked(m, a));
}

/* ---- length ---- */

K_LOCKED static k_ret limit_length(abi_machine *m, int64_t len) {
  if (len < 0) return -K_EINVAL;
  if ((uint64_t)len <= m->p->rlimits[K_RLIMIT_FSIZE].soft) return 0;
  k_siginfo info = { .signo = K_SIGXFSZ, .code = K_SI_KERNEL };
  k_signal_send(m->p, &info);
  return -K_EFBIG;
}

K_LOCKED static k_ret truncate_locked(abi_machine *m, const uint32_t *a) {
  const char *path = NULL;
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(abi_string(m->instance, a[0], &path));
  K_TRY(limit_length(m, abi_pair(a + 1)));
  K_TRY(vfs_resolve(&m->p->view, NULL, path, 0, &inode));
  return vfs_truncate(&m->p->view, inode, (uint64_t)abi_pair(a + 1));
}

k_ret sys_truncate(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, truncate_locked(m, a));
}

/* A regular file that is open for writing, borrowed. */
static k_ret writable_file(abi_machine *m, uint32_t fd, k_file **out) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  if (f->inode == NULL || !k_is_reg(f->inode)) return f->inode == NULL ? -K_ESPIPE : -K_EINVAL;
  if ((f->flags & K_O_ACCMODE) == K_O_RDONLY) return -K_EINVAL;
  *out = f;
  return 0;
}

K_LOCKED static k_ret set_length(k_file *f, int64_t len) {
  if (f->inode->ops->setattr == NULL) return -K_EINVAL;
  k_attr attr = { .which = K_ATTR_SIZE, .size = (uint64_t)len };
  return vfs_set_attributes(f->inode, &attr);
}

K_LOCKED static k_ret ftruncate_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  K_TRY(limit_length(m, abi_pair(a + 1)));
  k_ret r = writable_file(m, a[0], &f);
  if (r < 0) return r == -K_ESPIPE ? -K_EINVAL : r;
  return set_length(f, abi_pair(a + 1));
}

k_ret sys_ftruncate(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, ftruncate_locked(m, a));
}

K_LOCKED static k_ret allocatable(abi_machine *m, uint32_t fd, k_file **out) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if ((f->flags & K_O_PATH) != 0 || (f->flags & K_O_ACCMODE) == K_O_RDONLY) return -K_EBADF;
  if (f->inode == NULL || (f->inode->mode & K_S_IFMT) == K_S_IFIFO) return -K_ESPIPE;
  if (!k_is_reg(f->inode)) return -K_ENODEV;
  *out = f;
  return 0;
}

K_LOCKED static k_ret punch(k_file *f, int64_t offset, int64_t end) {
  if (f->inode->ops->punch == NULL) return -K_EOPNOTSUPP;
  K_TRY(f->inode->ops->punch(f->inode, (uint64_t)offset, (uint64_t)end));
  k_notify(f->inode, K_IN_MODIFY);
  return 0;
}

K_LOCKED static k_ret fallocate_locked(abi_machine *m, const uint32_t *a) {
  enum { KEEP_SIZE = 1, PUNCH_HOLE = 2 };
  int64_t offset = abi_pair(a + 2), len = abi_pair(a + 4), end = 0;
  k_file *f = NULL;
  k_stat st;
  if (offset < 0 || len <= 0) return -K_EINVAL;
  if ((a[1] & ~(uint32_t)(KEEP_SIZE | PUNCH_HOLE)) != 0 || a[1] == PUNCH_HOLE) return -K_EOPNOTSUPP;
  K_TRY(allocatable(m, a[0], &f));
  if (__builtin_add_overflow(offset, len, &end)) return -K_EFBIG;
  if ((a[1] & PUNCH_HOLE) != 0) return punch(f, offset, end);
  K_TRY(k_file_stat(f, &st));
  if ((uint64_t)end <= st.size || (a[1] & KEEP_SIZE) != 0) {
    k_notify(f->inode, K_IN_MODIFY);
    return 0;
  }
  K_TRY(limit_length(m, end));
  return set_length(f, end);
}

k_ret sys_fallocate(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, fallocate_locked(m, a));
}
