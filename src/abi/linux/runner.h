/* runner.h - runs Linux programs that were compiled to wasm32: what src/kernel calls a runner, on top of
 * src/engine.
 *
 * A program imports `init`, `syscall` and `fork` from the module "linux" (doc/reference/syscalls.md). Each
 * process is one instance on one thread; fork(2) copies it, execve(2) replaces it on the same thread.
 *
 *   abi_linux_runner_new(engine, &(abi_runner_options){ .threads = pool }, &runner, err);
 *   k_kernel_new(&(k_options){ .runner = &abi_linux_ops, .runner_ctx = runner, ... }, &kernel);
 *
 * How a program is stopped is a property of its image. Guests that come with the library are images made in
 * advance, left as a note with their file (mem_builder_file's `exe`, k_inode.exe); every other file that
 * begins like a module is compiled with ENG_STOP_EPOCH when it is first executed. In a job that counts fuel
 * all of them are run from code that counts (compiled when first needed).
 *
 * Threads     a runner serves one kernel; the functions of abi_linux_ops may be called from any thread.
 * Not here    threads inside a guest, several memories, modules of other ABIs. */
#pragma once

#include "base/thread.h"
#include "engine/module.h"
#include "kernel/core/job.h"
#include "kernel/core/kernel.h"

typedef struct abi_runner abi_runner;

/* What every module of this ABI is linked against. */
extern const eng_imports abi_linux_imports;

/* For k_options.runner; the context is an abi_runner. */
extern const k_runner abi_linux_ops;

/* One line per system call, without a newline, on the thread that made it and without any lock:
 *   [7] openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3
 * Never two at once for one runner. */
typedef void abi_trace_fn(void *ctx, const char *line);

/* The remaining fuel of this job, or NULL when it is not counted. Called with kernel.mu held, when a
 * program starts; the counter must live until the job's last process has ended. Processes of one job take
 * from it together; when it reaches 0 the job ends with K_JOB_FUEL. */
typedef _Atomic uint64_t *abi_fuel_fn(void *ctx, k_job *job);

typedef struct abi_runner_options {
  struct eng_pool *spares; /* borrowed: instances of images to use again; NULL: none */
  thread_pool *threads;    /* borrowed; its stacks are of eng_thread_stack. NULL: the runner has its own */
  abi_trace_fn *trace;     /* NULL: none */
  void *trace_ctx;
  abi_fuel_fn *fuel; /* NULL: never counted */
  void *fuel_ctx;
  uint64_t code; /* bytes of files that guests may have compiled; 0: any number */
} abi_runner_options;

cay_status abi_linux_runner_new(eng_engine *engine, const abi_runner_options *options, abi_runner **out,
                                cay_error *err) CHECKED;

/* After its kernel. NULL is fine. */
void abi_linux_runner_free(abi_runner *runner);
OWNED_DEFINE(abi_runner, abi_linux_runner_free)

uint64_t abi_linux_code_used(abi_runner *runner); /* of abi_runner_options.code; any thread */

/* ---- images: programs ready to run, shared and counted ---- */

struct eng_image;

/* From a compiled module, which was linked against abi_linux_imports (a reference is taken).
 * CAY_INVALID: it exports no `_start`; CAY_NO_MEMORY. */
cay_status abi_linux_image_new(eng_module *module, k_image **out, cay_error *err) CHECKED;

/* The same, opened when it is first needed (abi_linux_image_ready): `open` makes the module, and a boot image
 * or NULL. It is called by one thread at a time, and again after it has failed. `bytes` are those that the module was made
 * from, borrowed as long as the image lives: they are needed to count fuel, and only then; any thread asks. */
typedef cay_status abi_image_open(void *ctx, eng_module **out, struct eng_image **boot, cay_error *err);
typedef cay_status abi_image_bytes(void *ctx, cay_slice *out, cay_error *err);
cay_status abi_linux_image_later(abi_image_open *open, abi_image_bytes *bytes, void *ctx, k_image **out,
                                 cay_error *err) CHECKED;
cay_status abi_linux_image_ready(k_image *image, cay_error *err) CHECKED; /* any thread */

/* From the bytes of a module that is no file of the sandbox, for k_program_from_image. Compiled, or found in
 * the cache. counted: for a job whose fuel is counted (else it cannot be). Nothing is borrowed. Errors as
 * eng_module_load and abi_linux_image_new; CAY_UNSUPPORTED: it has a start function. */
cay_status abi_linux_image_from_bytes(eng_engine *engine, const void *bytes, size_t len, bool counted,
                                      k_image **out, cay_error *err) CHECKED;

k_image *abi_linux_image_ref(k_image *image);
void abi_linux_image_unref(k_image *image);               /* NULL is fine */
eng_module *abi_linux_image_module(const k_image *image); /* borrowed; of an image that is ready */

/* A file of cay-aot --stop=fuel with its code that counts fuel, which need not exist. The text is borrowed as long as
 * the image lives. Before it is used. */
void abi_linux_image_set_counting(k_image *image, const char *path);

/* A new reference on its module compiled so that fuel is counted. Code that was not compiled ahead of time takes seconds once:
 * it is compiled aside (compile.h) while `p` sleeps, whose own thread calls this, or which does not run yet. CAY_TIMEOUT:
 * `deadline_ns` has passed, and the compilation goes on; CAY_CANCELLED: `p` was ended; CAY_UNSUPPORTED: its bytes are
 * gone. Without kernel.mu. */
cay_status abi_linux_image_counting(k_image *image, abi_runner *runner, k_process *p, int64_t deadline_ns,
                                    eng_module **out, cay_error *err) CHECKED;

/* Processes of this program begin as this image, in its function `cay_main` of type :i (resident.h). It
 * may be replaced once, CAY_BUSY. CAY_INVALID: an image of another module. */
cay_status abi_linux_image_set_boot(k_image *image, struct eng_image *boot, cay_error *err) CHECKED;
struct eng_image *abi_linux_image_boot(const k_image *image); /* borrowed; NULL: none */
