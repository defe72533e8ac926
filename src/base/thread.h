/* thread.h - threads with a name and a chosen stack, and a pool that parks them between two pieces of work.
 *
 * Threads of the library never run the embedder's signal handlers: they block every signal except the
 * synchronous ones (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP), which the engine turns into traps. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>
#include <pthread.h>

typedef void thread_fn(void *ctx);

/* Runs fn(ctx) on a new thread; join it with thread_join. `name` is cut to 15 bytes (pthread_setname_np(3));
 * `stack_len` 0 takes the default. CAY_NO_MEMORY when the host gives no more threads. */
cay_status thread_start(const char *name, size_t stack_len, thread_fn *fn, void *ctx, pthread_t *out,
                        cay_error *err) CHECKED;
void thread_join(pthread_t thread);

/* A pool keeps finished threads for the next piece of work, most recently used first, so that its stack is
 * still in the cache. Threads idle for longer than `linger_ms` exit as long as more than `keep` are idle. */
typedef struct thread_pool thread_pool;

typedef struct thread_pool_options {
  const char *name; /* borrowed until thread_pool_new returns */
  size_t stack_len; /* 0: the default of the host. Large ones take memory as they grow: stack.h */
  size_t keep;
  uint32_t linger_ms;
} thread_pool_options;

cay_status thread_pool_new(const thread_pool_options *options, thread_pool **out, cay_error *err) CHECKED;

/* Runs fn(ctx) at once, on an idle thread or on a new one; it never queues behind other work. CAY_NO_MEMORY. */
cay_status thread_pool_run(thread_pool *pool, thread_fn *fn, void *ctx, cay_error *err) CHECKED;

size_t thread_pool_idle(thread_pool *pool);

/* Waits until all work has returned, then joins every thread. No work may be added meanwhile, except by work
 * that still runs. NULL is fine. */
void thread_pool_free(thread_pool *pool);
