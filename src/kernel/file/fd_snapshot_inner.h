/* fd_snapshot_inner.h - what descriptors that are kept are made of: for fd_snapshot.c and fd_snapshot_bytes.c. */
#pragma once

#include "kernel/file/fd_snapshot.h"

enum kept_kind { KEPT_DEAD, KEPT_FILE, KEPT_DIR, KEPT_DEVICE, KEPT_PIPE, KEPT_CONNECTION, KEPT_KINDS };

enum {
  KEPT_FLAGS = K_O_ACCMODE | K_O_APPEND | K_O_NONBLOCK | K_O_DSYNC | K_O_SYNC | K_O_DIRECT | K_O_LARGEFILE |
               K_O_DIRECTORY | K_O_NOATIME | K_O_PATH
};

/* An open file description. */
struct k_fd_snapshot_file {
  enum kept_kind kind;
  uint32_t flags; /* of KEPT_FLAGS */
  int64_t pos;
  uint64_t serial;    /* checkpoint: which it was; else 0 */
  k_inode *inode;     /* checkpoint: a reference; NULL: it cannot be opened again */
  const k_file *live; /* while an image is being written */
  const char *path;   /* image: borrowed */
  uint32_t pipe;      /* image: which of the pipes */
  uint32_t path_len;  /* with its NUL; 0: no path */
};

struct k_fd_snapshot_pipe {
  uint32_t cap, len;
  const void *queued;
};

/* The kind of an inode that can be opened again; KEPT_DEAD for all others. May ask the host. */
enum kept_kind kept_kind_of(k_inode *inode);

/* Which descriptors smaller than `below` lead to which files; the contents of the files are left to the caller, but
 * for `live`. */
k_ret kept_list(const k_process *p, uint32_t below, k_fd_snapshot *out) CHECKED K_LOCKED;
