/* input.h - bytes that the embedder gave as standard input, as the file a guest reads them from.
 *
 * Seekable like `program <file`, so that a shell reads it in large pieces. */
#pragma once

#include "kernel/proc/process.h"

/* Descriptor 0 of `p` becomes a file with a copy of `bytes`. kernel.mu. -K_ENOMEM. */
K_LOCKED k_ret sb_input_put(k_process *p, cay_slice bytes) CHECKED;
