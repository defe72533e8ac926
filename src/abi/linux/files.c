/* files.c - opening, closing and duplicating descriptors (open(2), close(2), dup(2), fcntl(2), flock(2)). */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "kernel/file/fcntl.h"

#define FLAGS_KNOWN 037777777u

K_LOCKED static k_ret open_at(abi_machine *m, int32_t dirfd, const char *path, uint32_t flags,
                              uint32_t mode) {
  k_inode *at = NULL;
  k_file *f = NULL;
  K_TRY(abi_at(m, dirfd, path, &at));
  K_TRY(vfs_open(&m->p->view, at, path, flags & FLAGS_KNOWN, mode & 07777, &f));
  return abi_give_fd(m, f, flags);
}

k_ret sys_openat(abi_machine *m, const uint32_t a[static 6]) {
  const char *path = NULL;
  K_TRY(abi_string(m->instance, a[1], &path));
  return ABI_LOCKED(m, open_at(m, (int32_t)a[0], path, a[2], a[3]));
}

k_ret sys_openat2(abi_machine *m, const uint32_t a[static 6]) {
  const uint64_t taken_for_granted = 1 | 2; /* RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS */
  const char *path = NULL;
  struct g_open_how how;
  K_TRY(abi_string(m->instance, a[1], &path));
  if (a[3] < sizeof how) return -K_EINVAL;
  if (a[3] > sizeof how) return -K_E2BIG;
  K_TRY(abi_get(m->instance, a[2], &how));
  if ((how.flags & ~(uint64_t)FLAGS_KNOWN) != 0 || (how.mode & ~UINT64_C(07777)) != 0) return -K_EINVAL;
  bool makes = (how.flags & K_O_CREAT) != 0 || (how.flags & K_O_TMPFILE) == K_O_TMPFILE;
  if (how.mode != 0 && !makes) return -K_EINVAL;
  if ((how.resolve & ~taken_for_granted) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, open_at(m, (int32_t)a[0], path, (uint32_t)how.flags, (uint32_t)how.mode));
}

k_ret sys_memfd_create(abi_machine *m, const uint32_t a[static 6]) {
  enum { CLOEXEC = 1, ALLOW_SEALING = 2, NOEXEC_SEAL = 8, EXEC = 16 };
  const char *name = NULL;
  K_TRY(abi_string_max(m->instance, a[0], 250, &name));
  if ((a[1] & ~(uint32_t)(CLOEXEC | ALLOW_SEALING | NOEXEC_SEAL | EXEC)) != 0) return -K_EINVAL;
  uint32_t flags = K_O_TMPFILE | K_O_RDWR | (a[1] & CLOEXEC ? (uint32_t)K_O_CLOEXEC : 0);
  return ABI_LOCKED(m, open_at(m, ABI_AT_FDCWD, "/tmp", flags, a[1] & NOEXEC_SEAL ? 0666 : 0777));
}

k_ret sys_close(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, k_fd_close(&m->p->fds, (int32_t)a[0]));
}

K_LOCKED static k_ret close_range(abi_machine *m, uint32_t first, uint32_t last, bool cloexec) {
  k_fdtable *t = &m->p->fds;
  for (uint32_t fd = first; fd <= last && fd < t->cap; fd++) {
    if (t->slots[fd].file == NULL) continue;
    if (cloexec)
      t->slots[fd].cloexec = true;
    else
      (void)!k_fd_close(t, (int32_t)fd); /* its error has no caller here */
  }
  return 0;
}

k_ret sys_close_range(abi_machine *m, const uint32_t a[static 6]) {
  enum { UNSHARE = 2, CLOEXEC = 4 };
  if (a[0] > a[1] || (a[2] & ~(uint32_t)(UNSHARE | CLOEXEC)) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, close_range(m, a[0], a[1], (a[2] & CLOEXEC) != 0));
}

K_LOCKED static k_ret files_duplicate(abi_machine *m, uint32_t fd, int32_t from, bool cloexec) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  k_ret r = k_fd_add(&m->p->fds, k_file_ref(f), from, cloexec);
  if (r < 0) k_file_unref(f);
  return r;
}

k_ret sys_dup(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, files_duplicate(m, a[0], 0, false));
}

K_LOCKED static k_ret duplicate_to(abi_machine *m, uint32_t fd, uint32_t to, bool cloexec) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if (to > INT32_MAX) return -K_EBADF;
  k_ret r = k_fd_put(&m->p->fds, k_file_ref(f), (int32_t)to, cloexec);
  if (r < 0) k_file_unref(f);
  return r < 0 ? r : (k_ret)to;
}

k_ret sys_dup3(abi_machine *m, const uint32_t a[static 6]) {
  if (a[0] == a[1] || (a[2] & ~(uint32_t)K_O_CLOEXEC) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, duplicate_to(m, a[0], a[1], a[2] != 0));
}

/* ---- fcntl and locks ---- */

/* 32-bit programs have their record locks twice; the old ones have 32-bit offsets and are unused. */
enum { GETLK64 = 12, SETLK64, SETLKW64 };

static uint32_t lock_command(uint32_t command) {
  switch (command) {
  case GETLK64: return K_F_GETLK;
  case SETLK64: return K_F_SETLK;
  case SETLKW64: return K_F_SETLKW;
  case K_F_OFD_GETLK:
  case K_F_OFD_SETLK:
  case K_F_OFD_SETLKW: return command;
  default: return 0;
  }
}

static k_ret record_lock(abi_machine *m, uint32_t fd, uint32_t command, uint32_t addr) {
  struct g_flock g;
  K_TRY(abi_get(m->instance, addr, &g));
  if (command >= K_F_OFD_GETLK && g.pid != 0) return -K_EINVAL;
  k_flock lock = { .type = g.type, .whence = g.whence, .start = g.start, .len = g.len, .pid = g.pid };
  K_TRY(ABI_LOCKED(m, k_fcntl_lock(m->p, (int32_t)fd, command, &lock)));
  if (command != K_F_GETLK && command != K_F_OFD_GETLK) return 0;
  g = (struct g_flock){
    .type = lock.type, .whence = lock.whence, .start = lock.start, .len = lock.len, .pid = lock.pid
  };
  return abi_put(m->instance, addr, &g);
}

static k_ret owner_set(abi_machine *m, const uint32_t *a) {
  k_owner owner; /* struct f_owner_ex has the same two numbers */
  K_TRY(abi_get(m->instance, a[2], &owner));
  return ABI_LOCKED(m, k_fcntl_set_owner(m->p, (int32_t)a[0], &owner));
}

static k_ret owner_get(abi_machine *m, const uint32_t *a) {
  k_owner owner;
  K_TRY(ABI_LOCKED(m, k_fcntl_get_owner(m->p, (int32_t)a[0], &owner)));
  return abi_put(m->instance, a[2], &owner);
}

k_ret sys_fcntl(abi_machine *m, const uint32_t a[static 6]) {
  if (a[1] == K_F_SETOWN_EX) return owner_set(m, a);
  if (a[1] == K_F_GETOWN_EX) return owner_get(m, a);
  if (a[1] >= K_F_GETLK && a[1] <= K_F_SETLKW) return -K_EINVAL;
  uint32_t command = lock_command(a[1]);
  if (command != 0) return record_lock(m, a[0], command, a[2]);
  return ABI_LOCKED(m, k_fcntl(m->p, (int32_t)a[0], a[1], a[2]));
}

k_ret sys_flock(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, k_flock_set(m->p, (int32_t)a[0], a[1]));
}
