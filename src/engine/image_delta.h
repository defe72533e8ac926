/* image_delta.h - an image as bytes, without the pages that another image has.
 *
 * A session begins as the boot image of its interpreter and changes a tenth of it. Its bytes are useful where that
 * boot image is, which a sum says. As in image_file.h, the reader checks every number before use, and guarantees that
 * the result is some state of the module. */
#pragma once

#include "engine/image_file.h"

/* `base` refers to no other image. The sink's errors; CAY_NO_MEMORY; CAY_INVALID: the base is of another module. */
cay_status eng_delta_write(const eng_image *image, const eng_image *base, eng_image_sink *sink, void *ctx,
                           cay_error *err) CHECKED;

/* Reads as many bytes as there are, and no more. CAY_UNSUPPORTED: over another base, or of another module.
 * CAY_LIMIT: more than `memory_max` bytes of memory. CAY_CORRUPT. */
cay_status eng_delta_read(eng_image *base, eng_image_source *source, void *ctx, uint64_t memory_max,
                          eng_image **out, cay_error *err) CHECKED;

/* ---- for image_lines.c ---- */

cay_status eng_delta_put_globals(const eng_image *image, eng_image_sink *sink, void *ctx,
                                 cay_error *err) CHECKED;
cay_status eng_delta_get_globals(eng_image *image, eng_image_source *source, void *ctx,
                                 cay_error *err) CHECKED;
