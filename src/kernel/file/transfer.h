/* transfer.h - the two functions under read(2), write(2) and all their relatives, for the files of src/kernel
 * that need a variant of them. Require kernel.mu, and may release it while they sleep or ask the host. */
#pragma once

#include "kernel/proc/process.h"

enum {
  K_TRANSFER_NOW = 1,       /* never sleep, as with O_NONBLOCK */
  K_TRANSFER_NO_SIGNAL = 2, /* a broken pipe sends no SIGPIPE  */
};
enum { K_TRANSFER_MAX = 0x7ffff000 }; /* MAX_RW_COUNT of Linux: more is cut */

/* pos -1: the file's own position. `p` NULL never sleeps. */
k_ret k_transfer_read(k_process *p, k_file *f, void *buf, size_t len, int64_t pos,
                      uint32_t how) CHECKED K_LOCKED;
k_ret k_transfer_write(k_process *p, k_file *f, const void *buf, size_t len, int64_t pos,
                       uint32_t how) CHECKED K_LOCKED;

/* One sleep on the queue of a file, until a deadline by its own timeout: then -K_EAGAIN. */
int64_t k_file_deadline(k_file *f, bool writing);
k_ret k_file_sleep(k_process *p, k_file *f, int64_t deadline_ns) CHECKED;

/* Reads in pieces between which others have kernel.mu; the file's own position stays. */
k_ret k_file_read_pieces(k_process *p, k_file *f, void *buf, size_t len, int64_t pos) CHECKED K_LOCKED;

/* Tells watches of a file's inode that bytes were read or written (K_IN_ACCESS, K_IN_MODIFY). */
void k_file_used(k_file *f, uint32_t event) K_LOCKED;

bool k_file_seekable(const k_file *f);
k_ret k_file_may_read(const k_file *f) CHECKED; /* -K_EBADF, -K_EISDIR, -K_EINVAL */
k_ret k_file_may_write(const k_file *f) CHECKED;
