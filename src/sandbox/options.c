/* options.c - option structs of callers that were compiled with another version. */
#include "sandbox/sandbox.h"

#include <string.h>

/* Option structs begin with their size as the caller knew it. */
bool sb_options_copy(void *to, size_t to_size, const void *from) {
  memset(to, 0, to_size);
  if (from == NULL) return true;
  size_t size;
  memcpy(&size, from, sizeof size);
  if (size < sizeof size) return false;
  memcpy(to, from, size < to_size ? size : to_size);
  for (size_t i = to_size; i < size; i++)
    if (((const uint8_t *)from)[i] != 0) return false;
  return true;
}
