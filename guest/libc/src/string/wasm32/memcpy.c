#include <string.h>

/* One instruction, as in the two files beside this one. The engine runs it in some 3 ns however short the
 * copy is. */
void *memcpy(void *restrict dest, const void *restrict src, size_t n) {
  return __builtin_memcpy(dest, src, n);
}
