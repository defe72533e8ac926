/* view.h - the embedder's look at the file tree: privileged, but files it makes belong to the sandbox's user. */
#pragma once

#include "kernel/vfs/vfs.h"
#include "sandbox/sandbox.h"

/* Runs `body` with kernel.mu and such a view, for an absolute `path`. -K_EINVAL for another. Without
 * kernel.mu. */
typedef k_ret sb_view_fn(const vfs_view *v, const char *path, void *arg);
k_ret sb_with_view(cay_sandbox *box, const char *path, sb_view_fn *body, void *arg) CHECKED;

void sb_public_stat(const k_stat *st, cay_stat *out);
