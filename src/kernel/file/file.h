/* file.h - open file descriptions (open(2)) and the table of descriptors of a process.
 *
 * A k_file is what dup(2) and fork(2) share: position, status flags, and an object with operations. The
 * operations never block (but the three of terminals): they answer -K_EAGAIN, and k_file_read/write below
 * sleep in wait.c on `queue` until `ready` may have changed (unless O_NONBLOCK).
 *
 * Locks       all require kernel.mu; operations marked [host] may release and retake it. */
#pragma once

#include "kernel/vfs/inode.h"

/* The values of asm-generic Linux, which are the guest's (open(2)). */
enum {
  K_O_RDONLY = 0,
  K_O_WRONLY = 1,
  K_O_RDWR = 2,
  K_O_ACCMODE = 3,
  K_O_CREAT = 0100,
  K_O_EXCL = 0200,
  K_O_NOCTTY = 0400,
  K_O_TRUNC = 01000,
  K_O_APPEND = 02000,
  K_O_NONBLOCK = 04000,
  K_O_DSYNC = 010000,
  K_O_DIRECT = 040000,
  K_O_LARGEFILE = 0100000,
  K_O_DIRECTORY = 0200000,
  K_O_NOFOLLOW = 0400000,
  K_O_NOATIME = 01000000,
  K_O_CLOEXEC = 02000000,
  K_O_SYNC = 04010000,
  K_O_PATH = 010000000,
  K_O_TMPFILE = 020200000,
};
enum {
  K_POLLIN = 1,
  K_POLLPRI = 2,
  K_POLLOUT = 4,
  K_POLLERR = 8,
  K_POLLHUP = 16,
  K_POLLNVAL = 32,
  K_POLLRDNORM = 64,
  K_POLLWRNORM = 256,
  K_POLLRDHUP = 0x2000
};
enum { K_FIONREAD = 0x541b }; /* ioctl(2) of pipes and sockets: bytes that wait, an int */
enum { K_SEEK_SET, K_SEEK_CUR, K_SEEK_END, K_SEEK_DATA, K_SEEK_HOLE };

/* One directory entry as getdents64(2) wants it. Return false: no room, stop before this one. */
typedef bool k_dirent_fn(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos);

typedef struct k_file_ops {
  const char *name; /* what /proc/PID/fd says of a file without an inode; NULL: by its type and number */
  k_ret (*read)(k_file *f, void *buf, size_t len,
                int64_t pos); /* [host] [EINVAL] pos: where, for seekable files */
  k_ret (*write)(k_file *f, const void *buf, size_t len,
                 int64_t pos); /* [host] [EINVAL] pos ignored with O_APPEND: the end */
  bool lets_go;                /* read and write do their work without kernel.mu: they get all in one piece */
  k_ret (*size)(k_file *f);    /* [host] for SEEK_END and O_APPEND; NULL: not seekable, ESPIPE */
  k_ret (*seek_data)(k_file *f, int64_t pos, bool hole); /* [host] SEEK_DATA, SEEK_HOLE; NULL: all is data */
  k_ret (*readdir)(
      k_file *f, int64_t pos, k_dirent_fn *each,
      void *ctx); /* [host] [ENOTDIR] entries after pos (0: from the start, "." and ".." included) */
  k_ret (*stat)(k_file *f, k_stat *out); /* NULL: the inode's */
  k_ret (*ioctl)(k_file *f, uint32_t request, void *arg,
                 size_t len); /* [ENOTTY] arg: a copy in and out of the fixed-size argument */
  /* Of terminals, where the calling process matters. All may be NULL. */
  k_ret (*read_by)(k_process *p, k_file *f, void *buf, size_t len,
                   bool now); /* instead of `read`: the whole call, sleeping unless `now` */
  k_ret (*admit_writer)(k_process *p, k_file *f); /* before `write`; may sleep */
  k_ret (*control)(k_process *p, k_file *f, uint32_t request, void *arg,
                   size_t len); /* instead of `ioctl`; may sleep */
  k_ret (*fsync)(k_file *f);    /* [host] NULL: nothing to do, 0 */
  uint32_t (*ready)(k_file *f); /* K_POLL* that hold now; NULL: always IN | OUT */
  k_waitq *(*queue)(k_file *f); /* woken when `ready` may have changed; NULL: never changes */
  int64_t (*timeout_ns)(k_file *f, bool writing); /* how long to sleep, then -K_EAGAIN; NULL or 0: for ever */
  void (*release)(k_file *f); /* last reference gone: free what `object` holds; the k_file itself and its
                                 inode are freed by the caller. [host] */
} k_file_ops;

struct k_file {
  const k_file_ops *ops;
  k_kernel *kernel;
  uint32_t refs K_GUARDED;
  uint32_t flags; /* access mode and status flags; never O_CREAT, O_EXCL, O_TRUNC, O_CLOEXEC */
  int64_t pos K_GUARDED;
  k_inode *inode;           /* a reference, or NULL (pipe, socket, embedder's stream) */
  void *object;             /* of the operations */
  union {                   /* of the operations, by kind of file */
    uint32_t writers_seen;  /* FIFO: writers that there had been when its reader opened it */
    uint64_t hangups_seen;  /* terminal: hang-ups of its slave side before it was opened */
    uint64_t answer_offset; /* callback: bytes of its answer that were read */
  };
  uint64_t serial;            /* no other of its kernel has it; never 0 */
  bool busy K_GUARDED;        /* its position is in use by a call that has released kernel.mu */
  uint8_t owner_type, signal; /* owner.h; F_SETSIG */
  int32_t owner;              /* who gets its signals; 0: none */
  list interests K_GUARDED;   /* entries of epoll sets that name it */
};

/* refs 1. `inode` may be NULL; its reference is taken over only on success. Charged to the memory of the sandbox, with
 * K_FILE_OBJECT for a small `object`; a larger one charges itself. -K_ENOMEM. */
enum { K_FILE_OBJECT = 256 };
k_ret k_file_new(k_kernel *k, const k_file_ops *ops, uint32_t flags, k_inode *inode, void *object,
                 k_file **out) CHECKED K_LOCKED;
K_LOCKED static inline k_file *k_file_ref(k_file *f) {
  f->refs++;
  return f;
}
void k_file_unref(k_file *f) K_LOCKED; /* NULL is fine; may release and retake kernel.mu */

/* What a call answers that wants another kind of file: `error`, or -K_EBADF for a place in the tree (O_PATH
 * of open(2)) and for dead files (fd_snapshot.h). */
static inline k_ret k_file_wrong(const k_file *f, k_ret error) {
  return (f->flags & K_O_PATH) != 0 ? -K_EBADF : error;
}

/* read(2), write(2), pread(2), pwrite(2) with everything they promise: position, O_APPEND, blocking, SIGPIPE
 * to `p`. `p` may be NULL for the embedder (then it never blocks: -K_EAGAIN). buf is ordinary host memory. */
k_ret k_file_read(k_process *p, k_file *f, void *buf, size_t len) CHECKED K_LOCKED;
k_ret k_file_write(k_process *p, k_file *f, const void *buf, size_t len) CHECKED K_LOCKED;
k_ret k_file_pread(k_process *p, k_file *f, void *buf, size_t len, int64_t pos) CHECKED K_LOCKED;
k_ret k_file_pwrite(k_process *p, k_file *f, const void *buf, size_t len, int64_t pos) CHECKED K_LOCKED;

typedef struct k_iov {
  void *data;
  size_t len;
} k_iov;
/* readv(2), writev(2): a vector of up to PIPE_BUF bytes is written to a pipe in one piece. pos -1: the file's
 * own. */
k_ret k_file_readv(k_process *p, k_file *f, const k_iov *iov, size_t count, int64_t pos) CHECKED K_LOCKED;
k_ret k_file_writev(k_process *p, k_file *f, const k_iov *iov, size_t count, int64_t pos) CHECKED K_LOCKED;
k_ret k_file_seek(k_file *f, int64_t offset, int whence) CHECKED K_LOCKED;
k_ret k_file_stat(k_file *f, k_stat *out) CHECKED;
k_ret k_sendfile(k_process *p, k_file *out, k_file *in, int64_t *pos,
                 size_t len) CHECKED K_LOCKED; /* pos NULL: in's own */

/* ------------------------------------------------------- descriptors of a process ---- */

typedef struct k_fd {
  k_file *file; /* NULL: free */
  bool cloexec;
} k_fd;

typedef struct k_fdtable {
  k_fd *slots;
  uint32_t cap, limit; /* limit: RLIMIT_NOFILE */
  uint32_t lowest;     /* no slot below it is free */
} k_fdtable;

void k_fdtable_init(k_fdtable *t, uint32_t limit);
void k_fdtable_clear(k_fdtable *t) K_LOCKED; /* closes all; may release kernel.mu */
k_ret k_fdtable_reserve(k_fdtable *t, uint32_t count)
    CHECKED; /* memory for numbers below `count`: k_fd_put of those cannot fail. -K_ENOMEM */
k_ret k_fdtable_copy(k_fdtable *to, const k_fdtable *from) CHECKED K_LOCKED; /* fork(2) */
void k_fdtable_close_on_exec(k_fdtable *t) K_LOCKED;
k_ret k_fd_get(const k_fdtable *t, int32_t fd, k_file **out) CHECKED; /* borrowed; -K_EBADF */
k_ret k_fd_add(k_fdtable *t, k_file *f, int32_t from, bool cloexec)
    CHECKED; /* takes the reference over on success; lowest free >= from; -K_EMFILE */
k_ret k_fd_room(const k_fdtable *t) CHECKED; /* -K_EMFILE: k_fd_add would */
k_ret k_fd_put(k_fdtable *t, k_file *f, int32_t fd,
               bool cloexec) CHECKED K_LOCKED; /* dup3(2): closes the old file; -K_EBADF when out of range */
k_ret k_fd_close(k_fdtable *t, int32_t fd) CHECKED K_LOCKED;

/* fcntl(2) F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, and POSIX record locks and flock(2)
 * (advisory; conflicts are answered truly, deadlocks with EDEADLK or EINTR) live in fcntl.h. */
