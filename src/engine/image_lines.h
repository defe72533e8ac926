/* image_lines.h - an image as bytes for this process: the lines of 64 bytes that another image has differently.
 *
 * What a call of an interpreter changes of a page is mostly a reference count or two, so lines are a fraction of the
 * pages of image_delta.h. The bytes name neither the module nor the base: the process that wrote them knows both. They may
 * come back changed; the reader checks every number, so the image it makes is some state of the module. */
#pragma once

#include "engine/image_file.h"

/* `base` refers to no other image. The sink's errors; CAY_NO_MEMORY; CAY_INVALID: the base is of another module. */
cay_status eng_lines_write(const eng_image *image, const eng_image *base, eng_image_sink *sink, void *ctx,
                           cay_error *err) CHECKED;

/* Reads as many bytes as there are, and no more. CAY_CORRUPT: damaged. CAY_LIMIT: more than `memory_max` bytes of memory.
 * The source's errors; CAY_NO_MEMORY, CAY_IO. */
cay_status eng_lines_read(eng_image *base, eng_image_source *source, void *ctx, uint64_t memory_max,
                          eng_image **out, cay_error *err) CHECKED;
