/* private.h - the memory that this process has written to and shares with no other. */
#pragma once

#include "test.h"

#include <stdio.h>

static inline uint64_t private_bytes(void) {
  char line[256];
  unsigned long kib = 0;
  FILE *f = fopen("/proc/self/smaps_rollup", "re");
  EXPECT(f != NULL);
  while (fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "Private_Dirty: %lu", &kib) == 1) break;
  (void)fclose(f);
  return (uint64_t)kib << 10;
}
