/* inotify.c - inotify(7): decode, call the kernel, encode. */
#include "kernel/notify/inotify.h"

#include "abi/linux/machine.h"
#include "kernel/vfs/vfs.h"

K_LOCKED static k_ret inotify_init_locked(abi_machine *m, uint32_t flags) {
  k_file *f = NULL;
  K_TRY(k_inotify_new(m->kernel, flags & K_O_NONBLOCK, &f));
  return abi_give_fd(m, f, flags);
}

k_ret sys_inotify_init1(abi_machine *m, const uint32_t a[static 6]) {
  if ((a[0] & ~(uint32_t)(K_O_NONBLOCK | K_O_CLOEXEC)) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, inotify_init_locked(m, a[0]));
}

/* The reference to the file is for the time in which the path is looked up. */
K_LOCKED static k_ret inotify_watch(abi_machine *m, k_file *f, const char *path, uint32_t mask) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  uint32_t how =
      ((mask & K_IN_DONT_FOLLOW) != 0 ? VFS_NOFOLLOW : 0) | ((mask & K_IN_ONLYDIR) != 0 ? VFS_DIRECTORY : 0);
  K_TRY(vfs_resolve(&m->p->view, NULL, path, how, &inode));
  K_TRY(vfs_may(&m->p->view, inode, 4));
  return k_inotify_add(f, inode, mask);
}

K_LOCKED static k_ret inotify_add_locked(abi_machine *m, uint32_t fd, const char *path, uint32_t mask) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  K_TRY(k_inotify_check(f, mask));
  k_file_ref(f);
  k_ret r = inotify_watch(m, f, path, mask);
  k_file_unref(f);
  return r;
}

k_ret sys_inotify_add_watch(abi_machine *m, const uint32_t a[static 6]) {
  const char *path = NULL;
  K_TRY(abi_string(m->instance, a[1], &path));
  return ABI_LOCKED(m, inotify_add_locked(m, a[0], path, a[2]));
}

K_LOCKED static k_ret inotify_remove_locked(abi_machine *m, uint32_t fd, int32_t wd) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  return k_inotify_remove(f, wd);
}

k_ret sys_inotify_rm_watch(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, inotify_remove_locked(m, a[0], (int32_t)a[1]));
}
