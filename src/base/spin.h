/* spin.h - waits for another thread without a sleep, which is worth it for microseconds: waking up costs about as much as a small
 * evaluation. */
#pragma once

#include "base/defs.h"

enum {
  SPIN_NS = 50000, /* then a thread that expects an event sleeps */
  SPIN_MAX_NS = 200000,
};

/* Between two looks. */
static inline void spin_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* How long to look for an event that took `last_ns` the last time: twice as long; the ordinary time where that was long. */
static inline int64_t spin_patience(int64_t last_ns) {
  int64_t twice = 2 * last_ns;
  return twice > SPIN_NS && twice <= SPIN_MAX_NS ? twice : SPIN_NS;
}
