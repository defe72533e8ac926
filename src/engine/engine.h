/* engine.h - what WebAssembly needs once per process: settings, compiled modules, the cache folder.
 *
 * This folder is the only code that includes wasmtime.h; nothing of it shows in these headers. An engine is
 * safe to use from all threads at once. It must outlive its modules, images and instances.
 *
 * Guest code is compiled for one way of being stopped while it computes (see stop.h):
 *
 *   ENG_STOP_PROTECT  nothing in the code. The memory is taken away from under it, so the guest can only be
 *                     ended, and only at its next load or store. For code we compiled ourselves.
 *   ENG_STOP_EPOCH    a check at each loop edge and function entry, 8 to 15 % slower. The guest can also be
 *                     made to run a handler and go on.
 *   ENG_STOP_FUEL     the same, and instructions are counted against a budget. Up to twice as slow.
 *
 * Signals: making the first engine of a process installs handlers for SIGSEGV, SIGILL and SIGFPE.    They pass
 * on signals that are not a guest's. Threads that run guests must not block those three. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

typedef struct eng_engine eng_engine;

enum eng_stop { ENG_STOP_PROTECT, ENG_STOP_EPOCH, ENG_STOP_FUEL };
enum { ENG_STOP_COUNT = 3 };

typedef struct eng_options {
  size_t wasm_stack;     /* bytes of native stack that guest code may use; 0: 1 MiB       */
  size_t module_max;     /* the largest module taken, in bytes; 0: 64 MiB                 */
  size_t idle_modules;   /* unused compiled modules that are kept; 0: 32                  */
  size_t idle_len;       /* bytes of their code at most; 0: 64 MiB                        */
  const char *cache_dir; /* where compiled code is kept; made 0700 if absent. NULL: nowhere */
  uint64_t cache_len;    /* bytes of the files there at most; 0: 1 GiB                    */
} eng_options;

/* Cheap: engines for the three ways of stopping are made when first used. CAY_NO_MEMORY; CAY_DENIED when
 * `cache_dir` is not a folder that only this user can write or replace; CAY_IO when it cannot be made. */
cay_status eng_engine_new(const eng_options *options, eng_engine **out, cay_error *err) CHECKED;

/* Whether an engine would take `dir` as its `cache_dir`. */
cay_status eng_cache_check(const char *dir, cay_error *err) CHECKED;

/* No module, image or instance of it may be left. NULL is fine. */
void eng_engine_free(eng_engine *engine);
OWNED_DEFINE(eng_engine, eng_engine_free)

/* The stack a thread needs to call guests: theirs, and ours for host functions on top of it. */
size_t eng_thread_stack(const eng_engine *engine);

typedef struct eng_cache_stats {
  uint64_t compiled, from_disk, from_memory; /* how loads were answered */
  uint64_t rebuilt;                          /* entries on disk that were corrupt or foreign */
} eng_cache_stats;
eng_cache_stats eng_engine_cache_stats(eng_engine *engine);

/* Loads that go on, perhaps without a waiting process (abi/linux/compile.h). */
void eng_compiling_add(eng_engine *engine, int more); /* 1 or -1 */
size_t eng_compiling(eng_engine *engine);

const char *eng_version(void); /* "wasmtime 50.0.1"; static */
