/* life.h - the parts a running program is made of. Private to this folder. */
#pragma once

#include "abi/linux/machine.h"
#include "abi/linux/runner_inner.h"
#include "engine/image.h"

/* life.c */
abi_machine *abi_machine_new(abi_runner *runner, k_process *p); /* NULL: no memory. Without an instance */
void abi_machine_free(abi_machine *m);
void abi_live(void *machine); /* the thread: until the process has ended; frees the machine */

/* instance.c. With kernel.mu released. */
cay_status abi_instance_make(abi_machine *m, cay_error *err) CHECKED; /* for m->p->program */
/* At rest, for calls of its functions; `image` NULL: from the module. */
cay_status abi_instance_from(abi_machine *m, eng_image *image, cay_error *err) CHECKED;
cay_status abi_instance_thread(abi_machine *leader, abi_machine *m,
                               cay_error *err) CHECKED; /* on its memory */
cay_status abi_instance_copy(abi_machine *parent, abi_machine *child, cay_error *err) CHECKED;
void abi_instance_drop(abi_machine *m); /* and its charge */
void abi_instance_park(abi_machine *m); /* but its charge stays */
eng_kick_fn abi_on_kick;

/* life.c, fork.c */
eng_host_fn abi_import_init, abi_import_syscall;
eng_host_fn abi_import_fork;
void abi_fork_finish(abi_machine *m);  /* the guest has unwound: the child is made and both are rewound */
void abi_fork_abandon(abi_machine *m); /* the guest was ended while it unwound or wound up */
bool abi_rewind(abi_machine *m);       /* before _start runs again; false: it is to end */

/* life.c, for thread.c */
bool abi_prepare(abi_machine *m);
void abi_run(abi_machine *m);
void abi_tell_why(abi_machine *m, k_process *p) K_LOCKED;

/* thread.c. The guest of the leader was left: where that ends the process or its program, all other threads have ended
 * when this returns. */
void abi_threads_settle(abi_machine *m);

/* What a trap is to other programs: a signal. */
int abi_trap_signal(enum eng_trap kind);
void abi_trapped(abi_machine *m); /* abi_die with the signal and text of the last eng_call */
