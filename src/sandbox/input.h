/* input.h - bytes that the embedder gave as standard input, as the file a guest reads them from.
 *
 * Seekable like `program <file`, so that a shell reads it in large pieces. */
#pragma once

#include "kernel/file/file.h"

/* A copy of `bytes` as an open file. kernel.mu. -K_ENOMEM. */
k_ret sb_input_open(k_kernel *k, cay_slice bytes, k_file **out) CHECKED;
