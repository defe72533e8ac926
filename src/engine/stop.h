/* stop.h - reaching a guest that computes, from another thread.
 *
 * eng_instance_kick asks; the answer is given on the guest's own thread at the next safe point, where the
 * instance's on_kick runs: a loop edge or function entry (ENG_STOP_EPOCH, ENG_STOP_FUEL), or the next load or
 * store of the guest or its next entry into or return from a host function (ENG_STOP_PROTECT). That takes
 * microseconds unless the guest is inside a host function, which a kick never interrupts: code that makes the
 * guest sleep there must wake it.
 *
 * on_kick may answer ENG_CONTINUE, ENG_UNWIND or ENG_THROW, and may call the guest before (a signal handler;
 * keep the 128 bytes below __stack_pointer, leaf functions use them). Kicks that arrive meanwhile interrupt
 * that call in turn, so on_kick must be ready to run nested. Epoch: the exception of an ENG_THROW reaches the
 * handlers of all frames but the interrupted one itself: a try_table around the very loop that was
 * interrupted does not see it. Protect: the interrupted instruction cannot be repeated, so the guest is
 * unwound whatever on_kick answers, and on_kick must not call it. A loop without any load, store or host call
 * is not reached (memory.copy and memory.fill do not count); no loop of an interpreter is like that.
 *
 * A kick is not lost and not queued: any number of them before on_kick runs count as one, and one that
 * arrives while no call runs is answered at the start of the next. */
#pragma once

#include "engine/instance.h"

/* From any thread, never blocks for long; the caller sees to it that the instance is not freed meanwhile. */
void eng_instance_kick(eng_instance *instance);

/* Forgets a kick that was not answered yet. On the instance's own thread. */
void eng_kick_clear(eng_instance *instance);
bool eng_kick_pending(eng_instance *instance);
/* The kick came from the stack: on_stack (instance.h) said that there is no more memory for it. */
bool eng_stack_is_over(const eng_instance *instance);
