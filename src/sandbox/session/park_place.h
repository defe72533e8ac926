/* park_place.h - where the memory of parked sessions is kept: in the process, or in a file of the host.
 *
 * A file belongs to this process, and is removed when no session needs it any more. No descriptor is held: the file is
 * opened for each use, and must still be the one that was made.
 *
 * Threads: sb_park_place_put by the maker alone; everything else from anywhere at once. */
#pragma once

#include "engine/image.h"

typedef struct sb_park_place sb_park_place;

/* The file is made, for this user alone. CAY_EXISTS: the path is there already. CAY_IO, CAY_NO_MEMORY. */
cay_status sb_park_place_file(const char *path, sb_park_place **out, cay_error *err) CHECKED;
cay_status sb_park_place_memory(sb_park_place **out, cay_error *err) CHECKED; /* for one session */
bool sb_park_place_is_file(const sb_park_place *place);

/* Appends what `image` has differently from `boot`; *at: where. */
cay_status sb_park_place_put(sb_park_place *place, const eng_image *image, const eng_image *boot,
                             uint64_t *at, cay_error *err) CHECKED;
void sb_park_place_done(sb_park_place *place); /* nothing follows */

/* CAY_CORRUPT: damaged. CAY_NOT_FOUND: removed, or another file is in its place. CAY_IO, CAY_NO_MEMORY. */
cay_status sb_park_place_get(const sb_park_place *place, uint64_t at, eng_image *boot, eng_image **out,
                             cay_error *err) CHECKED;

sb_park_place *sb_park_place_ref(sb_park_place *place);
void sb_park_place_unref(sb_park_place *place); /* NULL is fine */
OWNED_DEFINE(sb_park_place, sb_park_place_unref)
