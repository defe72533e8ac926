#include <string.h>

void *memset(void *dest, int byte, size_t n) { return __builtin_memset(dest, byte, n); }
