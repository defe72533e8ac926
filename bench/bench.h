/* bench.h - what every program here shares: a clock, and one number a line as its answer. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void answer(double value) { printf("%.3f\n", value); }

/* The count in the first argument, or its default. */
static inline unsigned long count_of(int argc, char **argv, unsigned long by_default) {
  return argc > 1 ? strtoul(argv[1], NULL, 10) : by_default;
}

/* Resident memory of this process, in bytes. */
static inline double resident(void) {
  unsigned long pages = 0;
  FILE *f = fopen("/proc/self/statm", "re");
  if (f == NULL || fscanf(f, "%*u %lu", &pages) != 1) exit(1);
  (void)fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}
