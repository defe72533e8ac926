/* checkpoint.h - an instance goes back to where it was: cheap enough to be done after every call.
 *
 *   eng_checkpoint(session, &err);         after what shall stay
 *   ... calls, which may trap, be kicked, leave half of their work behind ...
 *   eng_rollback(session, &err);           as it was, memory and exported globals
 *
 * The first two of these cost by the pages that were ever changed, later ones by those changed since the
 * last: about 2 us and 0.1 us for each page of 4 KiB, or 1 us for a page that was not written lately. Where
 * the host has no userfaultfd(2) with asynchronous write protection (Linux 6.7), each costs by all pages that
 * are the instance's own, and where it cannot tell these either, by the length of the memory.
 *
 * Each page that differs from the image is held twice, once to work on and once to go back to. An instance
 * that differs in most pages, and in 16 MiB at once or 64 MiB in all, gets an image of its own instead.
 *
 * All of them need the instance at rest, and are called on its thread. */
#pragma once

#include "engine/image.h"

/* What the instance is now becomes what eng_rollback goes back to. The checkpoint before is kept when this
 * fails. CAY_UNSUPPORTED (not imageable), CAY_BUSY (other threads have the memory), CAY_NO_MEMORY, CAY_IO. */
cay_status eng_checkpoint(eng_instance *instance, cay_error *err) CHECKED;

/* Back to the last eng_checkpoint; without one, to the image that the instance was made from, which costs
 * nothing to be ready for. A memory that has grown since keeps its length, zeroed beyond. CAY_INVALID:
 * neither is there. CAY_IO: the instance is in pieces and can only be freed. */
cay_status eng_rollback(eng_instance *instance, cay_error *err) CHECKED;

/* A checkpoint for an instance that will not be called for a while. Memory that is held twice is given back,
 * and a later eng_image_freeze or eng_instance_fork finds little to copy. Costs up to a copy of the memory,
 * and the next call begins with some 0.1 ms of making up for it. What the host writes into the memory before
 * that call belongs to the checkpoint. Errors as eng_checkpoint; the checkpoint is made then if possible. */
cay_status eng_instance_settle(eng_instance *instance, cay_error *err) CHECKED;

/* Bytes of the host's memory that this instance does not share: pages of its own, copies for its
 * checkpoint, its own image. 10 us. */
uint64_t eng_instance_private_len(eng_instance *instance);
