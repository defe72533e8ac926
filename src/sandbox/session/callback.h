/* callback.h - the callbacks of a sandbox (cay_callback_add), as the kernel's k_callback_host.
 *
 * Calls may be answered after the sandbox is gone, so they share this object with it: `box` is NULL then.
 *
 * Locks       mu protects everything here; order: mu, kernel.mu. Never held while a callback's function runs. */
#pragma once

#include "kernel/file/callback.h"
#include "sandbox/sandbox.h"

#include <cay/session.h>

typedef struct sb_callbacks sb_callbacks;

cay_status sb_callbacks_new(cay_sandbox *box, sb_callbacks **out, cay_error *err) CHECKED;

/* The sandbox goes: no guest runs any more, its kernel is still there. NULL is fine. */
void sb_callbacks_close(sb_callbacks *callbacks);

const k_callback_host *sb_callbacks_host(const sb_callbacks *callbacks);

/* Changes with each cay_callback_add and cay_callback_remove. [any time] */
uint64_t sb_callbacks_version(sb_callbacks *callbacks);
