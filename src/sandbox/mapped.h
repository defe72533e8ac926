/* mapped.h - a file of the host mapped for reading (mmap(2)): contents that sandboxes share without a copy. */
#pragma once

#include "base/error.h"

typedef struct sb_mapped {
  void *data; /* NULL when the file is empty */
  size_t len;
} sb_mapped;

/* CAY_NOT_FOUND, CAY_IO, CAY_NO_MEMORY. */
cay_status sb_map_file(const char *path, sb_mapped *out, cay_error *err) CHECKED;
/* Of a file that is mapped later. The same errors. */
cay_status sb_file_len(const char *path, uint64_t *out, cay_error *err) CHECKED;
void sb_unmap(sb_mapped *m);
