/* inode.h - what a name in the file tree leads to (inode(7), stat(2)).
 *
 * An inode is counted: each k_inode* that is kept is a reference (k_inode_ref/unref). A file system makes its
 * inodes and gives them a table of operations; an operation that is NULL answers the error in brackets.
 *
 * Locks       everything here requires kernel.mu. An operation marked [host] may release and retake it while
 * it asks the host; the caller holds references to the objects it passed and assumes nothing else. Permissions are
 * checked by the path layer (fs/path.c, vfs.c) from stat, not by file systems. */
#pragma once

#include "kernel/core/errno.h"
#include "kernel/core/kernel.h"

enum {
  K_S_IFMT = 0170000,
  K_S_IFSOCK = 0140000,
  K_S_IFLNK = 0120000,
  K_S_IFREG = 0100000,
  K_S_IFBLK = 0060000,
  K_S_IFDIR = 0040000,
  K_S_IFCHR = 0020000,
  K_S_IFIFO = 0010000,
  K_S_ISUID = 04000,
  K_S_ISGID = 02000,
  K_S_ISVTX = 01000,
};
enum { K_NAME_MAX = 255, K_PATH_MAX = 4096, K_LINK_MAX = 32000, K_SYMLOOP_MAX = 40 };

typedef struct k_stat {
  uint64_t ino, size, blocks; /* blocks of 512 bytes really held */
  uint32_t mode, nlink, uid, gid;
  uint32_t dev_major, dev_minor, rdev_major, rdev_minor;
  int64_t atime_ns, mtime_ns, ctime_ns, btime_ns;
} k_stat;

/* Which of the fields of a k_attr to set. */
enum {
  K_ATTR_MODE = 1,
  K_ATTR_UID = 2,
  K_ATTR_GID = 4,
  K_ATTR_SIZE = 8,
  K_ATTR_ATIME = 16,
  K_ATTR_MTIME = 32,
  K_ATTR_NOW = 64 /* the times are the moment of the change, as the file system may say itself */
};
typedef struct k_attr {
  uint32_t which, mode, uid, gid;
  uint64_t size;
  int64_t atime_ns, mtime_ns;
} k_attr;

typedef struct k_name {
  const char *data; /* no NUL and no '/' inside, 1 to K_NAME_MAX bytes, never "." or ".." */
  size_t len;
} k_name;

typedef struct k_statfs k_statfs; /* vfs.h */

typedef struct k_inode_ops {
  k_ret (*stat)(k_inode *inode, k_stat *out);           /* [host] required */
  k_ret (*setattr)(k_inode *inode, const k_attr *attr); /* [host] [EPERM]  */
  k_ret (*punch)(k_inode *inode, uint64_t from,
                 uint64_t to); /* [host] [EOPNOTSUPP] [from, to) becomes a hole, the size stays */
  k_ret (*open)(k_inode *inode, uint32_t flags,
                k_file **out); /* [host] [ENXIO] O_TRUNC was done by setattr */
  k_ret (*open_by)(k_inode *inode, k_process *p, uint32_t flags,
                   k_file **out); /* instead of `open`, where it matters who opens (NULL: the embedder);
                                     flags may hold K_O_NOCTTY */
  k_ret (*readlink)(k_inode *inode, char *buf, size_t cap); /* [host] [EINVAL] length, cut at cap */
  /* A link that leads to an object directly, whatever its text says (/proc/self/fd/3): the inode, referenced. */
  k_ret (*follow)(k_inode *inode, k_process *viewer, k_inode **out); /* NULL: an ordinary symlink */
  /* directories; `out` is a new reference */
  k_ret (*lookup)(k_inode *dir, k_name name, k_process *viewer,
                  k_inode **out); /* [host] [ENOTDIR] viewer: the asking process (procfs), or NULL */
  /* [host] [0] The file of this name is going to be opened for reading, in the same call: 1: it may be open already. Then,
   * whether or not it was opened, this is called without a name (length 0). */
  k_ret (*prepare)(k_inode *dir, k_name name);
  k_ret (*parent)(k_inode *dir, k_inode **out);          /* of a root: itself */
  k_ret (*name_of)(k_inode *dir, char *buf, size_t cap); /* name in its parent, length; ENOENT when removed */
  k_ret (*was)(k_inode *inode, char *buf,
               size_t cap); /* [ENOENT] "/a/b": where it was in its file system while it had a name; length */
  k_ret (*create)(k_inode *dir, k_name name, uint32_t mode, uint32_t uid, uint32_t gid, uint64_t rdev,
                  k_inode **out); /* [host] [EPERM]; any type but a symlink by mode; EEXIST */
  k_ret (*create_unnamed)(k_inode *dir, uint32_t mode, uint32_t uid, uint32_t gid, bool linkable,
                          k_inode **out); /* [EOPNOTSUPP] O_TMPFILE; linkable: `link` may name it */
  k_ret (*symlink)(k_inode *dir, k_name name, const char *target, size_t len, uint32_t uid,
                   uint32_t gid);                             /* [host] [EPERM] */
  k_ret (*link)(k_inode *dir, k_name name, k_inode *target);  /* [host] [EPERM] */
  k_ret (*unlink)(k_inode *dir, k_name name, bool directory); /* [host] [EPERM] directory: rmdir(2) */
  k_ret (*rename)(k_inode *from, k_name old_name, k_inode *to, k_name new_name,
                  uint32_t flags);                /* [host] [EPERM] rename(2); same file system */
  k_ret (*statfs)(k_inode *inode, k_statfs *out); /* [host] [as the sandbox's own memory] */
  void (*release)(k_inode *inode);                /* last reference gone: free it */
  bool has_fifos; /* its FIFOs and sockets are the sandbox's own (pipe.h, socket.h); else `open` is asked */
} k_inode_ops;

struct k_inode {
  const k_inode_ops *ops;
  k_kernel *kernel; /* NULL until the file system is mounted in one */
  void *fs;         /* the file system: two inodes are on one when these are equal */
  uint32_t refs K_GUARDED;
  uint32_t mode;          /* the type bits are fixed; permission bits are a hint, stat tells */
  bool writing K_GUARDED; /* a call that changes the contents has let go of kernel.mu */
  struct vfs_mount *mounted_here K_GUARDED; /* a mount covers this directory */
  struct k_fifo *fifo K_GUARDED;            /* what a FIFO holds while it is open (pipe.h) */
  struct k_socket *socket K_GUARDED;        /* bound to this name, borrowed; NULL: none (socket.h) */
  struct k_watched *watched K_GUARDED;      /* who wants to know of changes; NULL: unwatched (notify.h) */
  void *exe;        /* the runner's note about a program in this file; see k_inode_changed */
  uint64_t version; /* grows with each change of the contents */
};

K_LOCKED static inline k_inode *k_inode_ref(k_inode *i) {
  i->refs++;
  return i;
}
void k_inode_unref(k_inode *i) K_LOCKED; /* NULL is fine */

/* Around a change of the contents that may let go of kernel.mu between its pieces: another one waits for its
 * end, which no signal interrupts since it is near. begin may release and retake kernel.mu. */
void k_inode_write_begin(k_inode *i);
void k_inode_write_end(k_inode *i) K_LOCKED;
K_LOCKED OWNED_DEFINE(k_inode, k_inode_unref)

    static inline bool k_is_dir(const k_inode *i) {
  return (i->mode & K_S_IFMT) == K_S_IFDIR;
}
static inline bool k_is_link(const k_inode *i) { return (i->mode & K_S_IFMT) == K_S_IFLNK; }
static inline bool k_is_reg(const k_inode *i) { return (i->mode & K_S_IFMT) == K_S_IFREG; }
