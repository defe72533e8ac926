/* image.h - instances as values: freeze one, make others from it, put one back.
 *
 * Between two calls the whole state of an imageable module is its memory and its mutable globals, which it
 * exports (eng_module_why_not_imageable). An image is that state, immutable; its memory is a memfd that
 * instances map copy-on-write, so they share pages that they do not write.
 *
 * Every function here needs the instances it names at rest: not inside eng_call, except that
 * eng_instance_fork may be called from a host function of the parent.
 *
 * Ownership   counted: eng_image_ref, eng_image_unref. Instances hold a reference on the image they came
 * from. */
#pragma once

#include "engine/instance.h"

typedef struct eng_image eng_image;

/* Copies what the instance has changed since it was made from an image, and refers to that one for the rest;
 * when that is most of it, or there was none, all pages that are not zero. When nothing is changed, that
 * image itself is the answer (see eng_instance_settle). CAY_UNSUPPORTED (not imageable: the message says
 * why), CAY_BUSY (another instance has its memory, too), CAY_NO_MEMORY, CAY_IO. */
cay_status eng_image_freeze(eng_instance *instance, eng_image **out, cay_error *err) CHECKED;

eng_image *eng_image_ref(eng_image *image);
void eng_image_unref(eng_image *image); /* NULL is fine */
OWNED_DEFINE(eng_image, eng_image_unref)

/* The same state for another way of compiling the same bytes: one that counts fuel, or does not. It shares
 * the file of the memory. CAY_UNSUPPORTED: `module` is of other bytes. */
cay_status eng_image_for(eng_image *image, eng_module *module, eng_image **out, cay_error *err) CHECKED;

eng_module *eng_image_module(const eng_image *image);  /* borrowed */
uint64_t eng_image_memory_len(const eng_image *image); /* bytes of linear memory                 */
uint64_t eng_image_stored_len(const eng_image *image); /* bytes that are not zero, in whole pages */
uint64_t eng_image_own_len(const eng_image *image);    /* those it does not share with the one it refers to */

/* 8 us whatever the size; if the image refers to another, and for the first times, 0.6 us more for each of
 * its pages. Errors as eng_instance_new. */
cay_status eng_instance_from_image(eng_image *image, const eng_instance_options *options, eng_instance **out,
                                   cay_error *err) CHECKED;

/* Puts an instance back to the image it was made from: memory and globals. A memory that has grown since
 * keeps its length, zeroed beyond the image: memories never shrink. 1 to 80 us, by the pages it changed.
 * CAY_INVALID: it was not made from an image. CAY_BUSY: another instance has its memory. CAY_IO: it is in pieces and can only be freed. */
cay_status eng_instance_reset(eng_instance *instance, cay_error *err) CHECKED;

/* A copy of the parent's memory and exported globals, as fork(2) wants it. Costs by the pages the parent has
 * changed; a parent that forks again is frozen on the way, and after that only what changed since is copied.
 * A parent that has a checkpoint is not: see eng_instance_settle. Globals that are not exported begin anew
 * (asyncify's are set by its own exports). CAY_UNSUPPORTED: the module has a start function, passive
 * segments, or code that changes tables. Else errors as eng_instance_new, CAY_IO. */
cay_status eng_instance_fork(eng_instance *parent, const eng_instance_options *options, eng_instance **out,
                             cay_error *err) CHECKED;
