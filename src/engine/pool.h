/* pool.h - instances of images that are done with, kept for the next that wants one of the same image.
 *
 * An instance that is put back to its image has its pages already, where a new one takes a fault for each
 * that it touches: a tenth of the time. Nothing of its former use is left: memory and globals are the image's, and
 * tables cannot have changed (eng_module_why_not_imageable).
 *
 * Threads     any.
 * Ownership   eng_pool_new, eng_pool_free; spare instances keep their image and module. */
#pragma once

#include "engine/image.h"

typedef struct eng_pool eng_pool;

/* Keeps at most `most` (up to 64) instances. CAY_NO_MEMORY. */
cay_status eng_pool_new(size_t most, eng_pool **out, cay_error *err) CHECKED;
void eng_pool_free(eng_pool *pool); /* NULL is fine */

/* A spare one of this image, with these options; NULL: there is none. */
eng_instance *eng_pool_take(eng_pool *pool, const eng_image *image, const eng_instance_options *options);

/* Takes over the instance, which is at rest: it is kept if it can be, else freed. */
void eng_pool_give(eng_pool *pool, eng_instance *instance);
