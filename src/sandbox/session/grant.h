/* grant.h - what guests of a sandbox may ask its embedder (cay_grant, cay_request_*), as the kernel's
 * k_asker.
 *
 * Questions may be answered after the sandbox is gone, so they share this object with it: `box` is NULL then.
 *
 * Locks       mu protects everything here; order: mu, kernel.mu. Never held while a grant's function runs. */
#pragma once

#include "kernel/file/ask.h"
#include "sandbox/sandbox.h"

#include <cay/session.h>

typedef struct sb_grants sb_grants;

cay_status sb_grants_new(cay_sandbox *box, sb_grants **out, cay_error *err) CHECKED;

/* The sandbox goes: no guest runs any more, its kernel is still there. NULL is fine. */
void sb_grants_close(sb_grants *grants);

const k_asker *sb_grants_asker(const sb_grants *grants);

/* Changes with each cay_grant and cay_revoke. [any time] */
uint64_t sb_grants_version(sb_grants *grants);
