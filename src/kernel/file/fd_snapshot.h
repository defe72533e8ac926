/* fd_snapshot.h - save, restore and serialize a process's descriptors, beside a copy of its memory.
 *
 * There are two kinds. A checkpoint belongs to the same process a moment later: it refers to the open files
 * themselves, and restoring it reverts descriptors closed, moved or opened since. An image belongs to any
 * process of any kernel at any time: it is bytes that hold paths, and the contents of pipes.
 *
 *                       checkpoint                  image
 *   files, directories, the same open file, or its  opened again by path and moved to the position
 *   /dev/null etc.      inode opened again
 *   pipes               while they are open         made anew with their contents, if all ends are inside
 *   connections, TCP    reset, if they leave the    reset
 *                       loopback
 *   everything else     while it is open            dead
 *
 * A dead descriptor keeps its number, so that no other file gets it; everything but dup(2), fcntl(2) of the
 * descriptor and close(2) answers EBADF. Opening again never creates or truncates a file, and checks the
 * permissions that open(2) checks. Descriptors that shared an open file description share it again. Locks are
 * not saved.
 *
 * Descriptors 0, 1 and 2 are neither saved nor touched: they belong to the run.
 *
 * Locks       all but k_fd_snapshot_read require kernel.mu, and a process at rest: no other thread changes its
 *             table. */
#pragma once

#include "base/buf.h"
#include "kernel/proc/process.h"

enum {
  K_FD_SNAPSHOT_FIRST = 3,
  K_FD_SNAPSHOT_FDS_MAX = 65536,      /* descriptors of an image are smaller */
  K_FD_SNAPSHOT_LEN_MAX = 16 << 20,   /* bytes of an image */
  K_FD_SNAPSHOT_QUEUED_MAX = 8 << 20, /* of which in pipes: those beyond are dead */
};

typedef struct k_fd_snapshot_file k_fd_snapshot_file;
typedef struct k_fd_snapshot_pipe k_fd_snapshot_pipe;

typedef struct k_fd_snapshot_fd {
  uint32_t fd, file; /* which of the files */
  uint32_t cloexec;
} k_fd_snapshot_fd;

typedef struct k_fd_snapshot {
  k_fd_snapshot_fd *fds; /* by growing fd */
  k_fd_snapshot_file *files;
  k_fd_snapshot_pipe *pipes;
  uint32_t fd_count, file_count, pipe_count;
} k_fd_snapshot;

/* A checkpoint; takes no memory when nothing is open. It holds on to inodes, not to open files: a file
 * closed is closed. -K_ENOMEM. */
k_ret k_fd_snapshot_take(const k_process *p, k_fd_snapshot *out) CHECKED K_LOCKED;
void k_fd_snapshot_clear(
    k_fd_snapshot *kept) K_LOCKED; /* of an image also without kernel.mu. May release and retake it */

/* An image, appended; nothing when nothing is open. Numbers from K_FD_SNAPSHOT_FDS_MAX on are left out. -K_ENOMEM. */
k_ret k_fd_snapshot_write(const k_process *p, buf *out) CHECKED K_LOCKED;

/* Any bytes, or what k_fd_snapshot_write made: checked, and borrowed until *out is cleared. -K_EINVAL: they are not
 * such bytes. -K_ENOMEM. */
k_ret k_fd_snapshot_read(cay_slice bytes, k_fd_snapshot *out) CHECKED;

/* Opens everything that is in `kept` and not open in `p`, which does not change meanwhile: *out has one file
 * for each of kept->files. May release and retake kernel.mu. -K_ENOMEM. */
k_ret k_fd_snapshot_open(k_process *p, const k_fd_snapshot *kept, k_file ***out) CHECKED;
void k_fd_snapshot_drop(const k_fd_snapshot *kept,
                        k_file **files) K_LOCKED; /* instead of the next; NULL is fine */

/* The descriptors of `p` are those of `kept` from now on, and `files` is gone. Numbers beyond its limit are
 * left out. May release and retake kernel.mu. */
void k_fd_snapshot_put(k_process *p, const k_fd_snapshot *kept, k_file **files);
