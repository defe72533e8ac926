/* image_file.h - images outside of the process: files to be mapped, and bytes to be read.
 *
 * A file that eng_image_save made is part of an installation, like compiled code, and is trusted like it:
 * eng_image_open maps it and believes its head, in 20 us whatever its size. Pages that are zero are
 * holes. It must not be edited in place while somebody uses it; eng_image_save renames the new one over the
 * old.
 *
 * A file from users goes the other way: eng_image_write gives a compact form, the pages that are not zero
 * and nothing else, and eng_image_read checks each number of it before use. The sum in both forms finds
 * accidents. A caller that must know that an image is the one it wrote keeps a digest of it: a reader's
 * guarantee ends with "these bytes are some state of this module", and a state made on purpose can make the
 * guest do anything that a guest can do. */
#pragma once

#include "engine/image.h"

/* CAY_IO, CAY_NO_MEMORY. On failure a file that was there is still there. */
cay_status eng_image_save(const eng_image *image, const char *path, cay_error *err) CHECKED;

/* `verify` reads all of it and compares the sum. CAY_NOT_FOUND; CAY_UNSUPPORTED when it was made by another
 * version, or of other bytes than the module's; CAY_CORRUPT; CAY_IO, CAY_NO_MEMORY. */
cay_status eng_image_open(eng_module *module, const char *path, bool verify, eng_image **out,
                          cay_error *err) CHECKED;

/* Takes the next bytes of an image being written. Anything but CAY_OK ends the writing, which answers it. */
typedef cay_status eng_image_sink(void *ctx, const void *data, size_t len, cay_error *err);
cay_status eng_image_write(const eng_image *image, eng_image_sink *sink, void *ctx, cay_error *err) CHECKED;

/* Gives exactly the next `len` bytes of an image being read, or an error, which the reading answers. */
typedef cay_status eng_image_source(void *ctx, void *out, size_t len, cay_error *err);

/* Reads as many bytes as the image has, and no more. CAY_LIMIT when its memory is larger than `memory_max`
 * bytes; CAY_UNSUPPORTED and CAY_CORRUPT as above. Needs memory for at most `memory_max` bytes. */
cay_status eng_image_read(eng_module *module, eng_image_source *source, void *ctx, uint64_t memory_max,
                          eng_image **out, cay_error *err) CHECKED;

/* The same from bytes in memory, all of which must be the image. */
cay_status eng_image_read_bytes(eng_module *module, cay_slice bytes, uint64_t memory_max, eng_image **out,
                                cay_error *err) CHECKED;
