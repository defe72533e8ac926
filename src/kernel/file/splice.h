/* splice.h - splice(2) and tee(2). Require kernel.mu, and may release it. */
#pragma once

#include "kernel/proc/process.h"

typedef struct k_splice {
  k_process *p;
  k_file *in, *out;
  int64_t *in_pos, *out_pos; /* NULL: the file's own. Moved by what went through */
  bool now;                  /* SPLICE_F_NONBLOCK: never sleeps */
} k_splice;

/* What went through, which may be less than `len`; 0 at the end of `in`. */
k_ret k_splice_some(const k_splice *s, size_t len) CHECKED K_LOCKED;
k_ret k_tee_some(const k_splice *s, size_t len) CHECKED K_LOCKED;
