/* compile.h - modules that a guest brought, compiled on a thread of their own.
 *
 * The compiler takes seconds for each MiB, cannot be interrupted, and runs for any process that executes a file. So it
 * works on a thread of the pool with bytes of its own, and the process that wants the module sleeps as in any
 * call: what ends the process ends the sleep, and the compilation goes on alone, for the engine's table and
 * the cache folder.
 *
 * Bounds      at most one module of a sandbox is being compiled at a time, one without a waiting process
 *             included: a process that needs another one waits for its turn first, before it reads the file, so that
 *             the bytes of one file are held at a time. Compiling is paid from a budget that is never
 *             filled again.
 *
 * Threads     any. Locks: compiler.mu, inside it kernel.mu of a process that waits; so nothing here is called
 *             with kernel.mu held.
 * Ownership   counted: the runner has a reference, and a compilation that runs. It needs the engine and the
 *             pool, not the runner, the kernel or the sandbox. */
#pragma once

#include "base/thread.h"
#include "engine/module.h"
#include "kernel/proc/process.h"

typedef struct abi_compiler abi_compiler;

/* `threads` is borrowed, as the engine: the pool ends before the engine does. */
cay_status abi_compiler_new(eng_engine *engine, thread_pool *threads, uint64_t budget, abi_compiler **out,
                            cay_error *err) CHECKED;
void abi_compiler_unref(abi_compiler *compiler);    /* NULL is fine */
uint64_t abi_compiler_used(abi_compiler *compiler); /* of the budget */

/* Sleeps until it is the turn of `p`: 0, then abi_turn_end or abi_compile must follow. -K_EKILLED;
 * -K_ERESTART: handlers are to run first; -K_ETIMEDOUT: `deadline_ns` (clock_mono_ns, K_FOREVER) has passed. */
k_ret abi_turn_take(abi_compiler *compiler, k_process *p, int64_t deadline_ns) CHECKED;
void abi_turn_end(abi_compiler *compiler);

typedef struct abi_source {
  uint8_t *bytes; /* taken over whatever happens */
  size_t len;
  uint64_t weight; /* its charge to the budget: wasm_weight.h */
  digest key;      /* of the bytes */
  enum eng_stop stop;
} abi_source;

/* Compiles a module that is not cached, and ends the turn: at once, or when the compiler is done if `p` does not wait
 * so long. -K_EKILLED, -K_ERESTART, -K_ETIMEDOUT: it goes on. -K_EDQUOT: the budget does not suffice; -K_ENOMEM: of
 * the host; -K_ENOEXEC: it does not compile. *err has the reason of these three. */
k_ret abi_compile(abi_compiler *compiler, k_process *p, abi_source source, int64_t deadline_ns,
                  eng_module **out, cay_error *err) CHECKED;
