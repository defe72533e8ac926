/* resident.h - a program whose functions the embedder calls one after the other: an interpreter at rest.
 *
 * A resident module exports, besides `_start`,
 *
 *   cay_boot() -> i32             makes it ready, once; what the instance is then can be frozen: 0 is success
 *   cay_room(i32 len) -> i32      where the next request goes: `len` bytes; 0: no memory
 *   cay_serve(i32 op, i32 len) -> i32   handles the request in the room; the address of {u32 addr, u32 len}
 *                                 of the reply, or 0: it is broken
 *
 *   cay_stop_words() -> i32       the address of struct abi_stop_words (stop_words.h)
 *   cay_main() -> i32             instead of `_start` in a process that begins with the boot image
 *
 * Between calls there is nothing on its stack, so memory and globals are its whole state, and a call that
 * ends in any way but returning can be undone: memory is put back to the last checkpoint, the process lives
 * on.
 *
 * The process is one of the kernel's like any other: with descriptors, children, signals. It may not exec.
 *
 * Threads of the program stand still between calls: the one that is called keeps the turn.
 *
 * Threads     one call at a time, on a thread with eng_thread_stack bytes of stack; poke from any. */
#pragma once

#include "abi/linux/runner.h"
#include "base/buf.h"
#include "engine/image.h"

typedef struct abi_resident abi_resident;

/* Why a call did not return. */
typedef struct abi_gone {
  int32_t status; /* as wait(2): it exited, or a signal ended it */
  char why[1024]; /* text of a trap; "" */
} abi_gone;

/* `p` is new and has its program (k_exec_commit), whose image is resident. `from` NULL: a fresh instance, to
 * be booted; else it begins as that image. On failure `p` is the caller's as before. CAY_UNSUPPORTED: not a
 * resident program. Else errors as eng_instance_from_image. Without kernel.mu. */
cay_status abi_resident_new(abi_runner *runner, k_process *p, eng_image *from, abi_resident **out,
                            cay_error *err) CHECKED;

/* The same without memory: abi_resident_wake comes before the first call. */
cay_status abi_resident_new_parked(abi_runner *runner, k_process *p, abi_resident **out,
                                   cay_error *err) CHECKED;

/* At rest: gives the memory back, of which the caller has an image. The limits go on counting it, and the process keeps the
 * rest: descriptors, signals, working directory, the state that undo goes back to. Until abi_resident_wake nothing may
 * be called but that, _free, _process, _signals, _set_signals, _revive and _begin. */
void abi_resident_park(abi_resident *r);
/* Errors as abi_resident_new; it stays parked then. */
cay_status abi_resident_wake(abi_resident *r, eng_image *image, cay_error *err) CHECKED;

/* The process goes as well (k_process_discard). NULL is fine. Without kernel.mu. */
void abi_resident_free(abi_resident *r);
OWNED_DEFINE(abi_resident, abi_resident_free)

k_process *abi_resident_process(const abi_resident *r);
uint64_t abi_resident_memory(abi_resident *r); /* bytes of its memory */

/* Calls cay_boot. *returned false: *gone says why it did not. CAY_INVALID: it answered an error. */
cay_status abi_resident_boot(abi_resident *r, bool *returned, abi_gone *gone, cay_error *err) CHECKED;

/* One request, and the reply: borrowed from the guest's memory until the next call, bytes that are not
 * looked at. *returned false: the program exited, trapped, was ended or answered nonsense; abi_resident_undo
 * is next. The process has a job (k_job_attach). CAY_NO_MEMORY: the request does not fit into its memory. */
cay_status abi_resident_call(abi_resident *r, uint32_t op, cay_slice request, cay_slice *reply,
                             bool *returned, abi_gone *gone, cay_error *err) CHECKED;

/* Whether the last call returned and had no dealings with anybody: not one system call, no signal. The same
 * call then does the same again, when memory is as it was. */
bool abi_resident_was_alone(const abi_resident *r);

/* Once, before the first call of one that began as an image: that is what abi_resident_undo goes back to. */
cay_status abi_resident_begin(abi_resident *r, cay_error *err) CHECKED;

/* How many threads the program has beside the one that is called. They go on during the next call. Without kernel.mu. */
uint32_t abi_resident_threads(const abi_resident *r);

/* Makes the checkpoint to which abi_resident_undo goes back. CAY_BUSY: it has threads. */
cay_status abi_resident_checkpoint(abi_resident *r, cay_error *err) CHECKED;

/* The same for one that is not called for a while: holds less memory meanwhile, and a freeze finds little to
 * copy. */
cay_status abi_resident_settle(abi_resident *r, cay_error *err) CHECKED;

/* Its threads end. Memory as at the last checkpoint; descriptors, too (fd_snapshot.h): those opened since are closed, those closed
 * since are open again where they can be, positions are put back. The working directory and signal actions
 * are as they were. Children live on: they are the job's. */
cay_status abi_resident_undo(abi_resident *r, cay_error *err) CHECKED;

/* Signals that it was sent and its end are forgotten: after descriptors were closed for it, since closing the
 * master of its terminal sends it SIGHUP. At rest; without kernel.mu. */
void abi_resident_revive(abi_resident *r);

/* What the program has decided about signals, and its umask: the rest of what an image must have, since its
 * memory believes in it. Any values can be given: what no process may decide is left out. At rest; without
 * kernel.mu. */
typedef struct abi_signals {
  k_sigaction actions[K_NSIG + 1]; /* by number; the first means nothing */
  k_sigset mask;
  uint32_t umask, zero;
} abi_signals;
void abi_resident_signals(const abi_resident *r, abi_signals *out);
void abi_resident_set_signals(abi_resident *r, const abi_signals *signals);

/* For the embedder's own image of it; at rest. CAY_BUSY: it has threads. */
cay_status abi_resident_freeze(abi_resident *r, eng_image **out, cay_error *err) CHECKED;

/* Becomes another image of its program; at rest. Its threads end. On failure it is unchanged but for them. */
cay_status abi_resident_restore(abi_resident *r, eng_image *image, cay_error *err) CHECKED;

/* Asks the running call to end by an exception (struct abi_stop_words); to be repeated while it answers
 * false. True: the guest has taken notice. With kernel.mu, from any thread. */
bool abi_resident_poke(abi_resident *r, uint32_t reason) K_LOCKED;
