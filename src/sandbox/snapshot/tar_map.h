/* tar_map.h - which bytes of a sparse file an archive has: pieces in order, holes between them. */
#pragma once

#include "base/defs.h"
#include "base/error.h"

#include <stddef.h>

typedef struct tar_map {
  uint64_t *numbers; /* offset, length, offset, length, … */
  size_t count, cap; /* of numbers */
  uint64_t size;     /* of the file, holes included */
} tar_map;

void tar_map_free(tar_map *m);
/* The next number. CAY_CORRUPT: too many; CAY_NO_MEMORY. */
cay_status tar_map_add(tar_map *m, uint64_t number, cay_error *err) CHECKED;
/* "offset,length,offset,length". CAY_CORRUPT. */
cay_status tar_map_parse(tar_map *m, const char *text, size_t len, cay_error *err) CHECKED;
/* CAY_CORRUPT: the pieces are not in order within the file, or are not the `stored` bytes. */
cay_status tar_map_check(const tar_map *m, uint64_t stored, cay_error *err) CHECKED;
