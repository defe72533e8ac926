/* vfs.h - operations on paths (path_resolution(7)): what openat(2) and its kin do, for processes and for the
 * embedder.
 *
 * A view says who looks and from where. Every function takes a directory to start from (`at`, borrowed; NULL:
 * the view's working directory) and a path in the sandbox's own names. Resolution never leaves the tree; ".."
 * of the root is the root; mounts are crossed.
 *
 * Locks       require kernel.mu; may release and retake it while a host file system is asked.
 * Errors      those of the man page named beside each function, and -K_ESTALE when the host replaced a file
 * between looking and using it, again and again. */
#pragma once

#include "kernel/file/file.h"

typedef struct vfs_view {
  k_kernel *kernel;
  k_inode *root, *cwd; /* references */
  uint32_t uid, gid, umask;
  bool privileged;    /* the embedder: permission bits are not looked at; new files belong to uid, gid */
  k_process *process; /* for /proc/self and /dev/fd; NULL for the embedder */
  int32_t
      beneath; /* not 0: the error of a path that leads out of the directory `at` it starts from, by "..", a
                         slash at its start or a link (RESOLVE_BENEATH of openat2(2)). `at` NULL has no bounds */
} vfs_view;

k_ret vfs_view_init(vfs_view *view, k_kernel *k) CHECKED K_LOCKED; /* at the root, K_UID, umask 022 */
k_ret vfs_view_copy(vfs_view *to, const vfs_view *from) CHECKED K_LOCKED;
void vfs_view_clear(vfs_view *view) K_LOCKED;

enum {
  VFS_NOFOLLOW = 1,   /* the last component, if a symlink, itself            */
  VFS_EMPTY_PATH = 2, /* "" means `at` itself (AT_EMPTY_PATH)                */
  VFS_DIRECTORY = 4,  /* must be a directory (ENOTDIR)                       */
};

/* A reference in *out. ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG. */
k_ret vfs_resolve(const vfs_view *v, k_inode *at, const char *path, uint32_t how,
                  k_inode **out) CHECKED K_LOCKED;

k_ret vfs_open(const vfs_view *v, k_inode *at, const char *path, uint32_t flags, uint32_t mode,
               k_file **out) CHECKED K_LOCKED; /* openat(2), with O_PATH, O_TMPFILE */
k_ret vfs_open_inode(const vfs_view *v, k_inode *inode, uint32_t flags,
                     k_file **out) CHECKED K_LOCKED; /* permission, O_TRUNC, FIFO, devices */
k_ret vfs_mkdir(const vfs_view *v, k_inode *at, const char *path, uint32_t mode) CHECKED K_LOCKED;
k_ret vfs_mknod(const vfs_view *v, k_inode *at, const char *path, uint32_t mode,
                uint64_t rdev) CHECKED K_LOCKED; /* files, FIFOs, sockets; devices EPERM */
/* bind(2): as vfs_mknod, a socket of the sandbox's own, referenced; -K_EOPNOTSUPP where those cannot be. */
k_ret vfs_make_socket(const vfs_view *v, const char *path, k_inode **out) CHECKED K_LOCKED;
k_ret vfs_symlink(const vfs_view *v, const char *target, k_inode *at, const char *path) CHECKED K_LOCKED;
k_ret vfs_link(const vfs_view *v, k_inode *old_at, const char *old_path, uint32_t how, k_inode *new_at,
               const char *new_path) CHECKED;
k_ret vfs_unlink(const vfs_view *v, k_inode *at, const char *path) CHECKED K_LOCKED;
k_ret vfs_rmdir(const vfs_view *v, k_inode *at, const char *path) CHECKED K_LOCKED;
enum { VFS_RENAME_NOREPLACE = 1, VFS_RENAME_EXCHANGE = 2 };
k_ret vfs_rename(const vfs_view *v, k_inode *old_at, const char *old_path, k_inode *new_at,
                 const char *new_path, uint32_t flags) CHECKED K_LOCKED;
k_ret vfs_readlink(const vfs_view *v, k_inode *at, const char *path, char *buf,
                   size_t cap) CHECKED; /* length; how: EMPTY_PATH implied by "" */
k_ret vfs_stat(const vfs_view *v, k_inode *at, const char *path, uint32_t how, k_stat *out) CHECKED;
k_ret vfs_access(const vfs_view *v, k_inode *at, const char *path, uint32_t how,
                 uint32_t mask) CHECKED; /* 4 read, 2 write, 1 execute, 0 exists */
k_ret vfs_chmod(const vfs_view *v, k_inode *inode, uint32_t mode) CHECKED K_LOCKED;
k_ret vfs_chown(const vfs_view *v, k_inode *inode, uint32_t uid,
                uint32_t gid) CHECKED K_LOCKED; /* UINT32_MAX: as it is */
k_ret vfs_utimens(const vfs_view *v, k_inode *inode, const int64_t *atime_ns, const int64_t *mtime_ns,
                  bool explicit_times) CHECKED K_LOCKED; /* NULL: as it is */
k_ret vfs_truncate(const vfs_view *v, k_inode *inode, uint64_t size)
    CHECKED K_LOCKED; /* needs write permission; ftruncate checks the file instead */
k_ret vfs_set_attributes(k_inode *inode, const k_attr *attr)
    CHECKED K_LOCKED; /* without a look at permissions, which the caller has checked; EPERM */
k_ret vfs_chdir(vfs_view *v, k_inode *dir)
    CHECKED K_LOCKED; /* takes its own reference; EACCES without search permission */
k_ret vfs_may(const vfs_view *v, k_inode *inode,
              uint32_t mask) CHECKED K_LOCKED; /* permission bits: 4, 2, 1; EACCES, EROFS */

/* The absolute path of a directory (getcwd(2)), or of any inode reached as dir + name. Length without NUL;
 * -K_ENOENT when removed, -K_ERANGE. */
k_ret vfs_path_of(const vfs_view *v, k_inode *dir, char *buf, size_t cap) CHECKED K_LOCKED;

struct k_statfs {
  uint64_t type, block_size, blocks, blocks_free, files, files_free, name_max, flags;
};
k_ret vfs_statfs(const vfs_view *v, k_inode *inode, k_statfs *out) CHECKED K_LOCKED;

/* Bytes of a file at a position, for loaders: never blocks, never moves the position. */
k_ret vfs_pread(k_file *f, void *buf, size_t len, int64_t pos) CHECKED;
