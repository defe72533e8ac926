/* A guest has one thread, so plain loads and stores are atomic. A handler runs between two calls or at a loop
 * edge, never inside these. */
#define a_cas a_cas
static inline int a_cas(volatile int *p, int expected, int desired) {
  int old = *p;
  if (old == expected) *p = desired;
  return old;
}

#define a_swap a_swap
static inline int a_swap(volatile int *p, int v) {
  int old = *p;
  *p = v;
  return old;
}

#define a_fetch_add a_fetch_add
static inline int a_fetch_add(volatile int *p, int v) {
  int old = *p;
  *p = (int)((unsigned)old + (unsigned)v);
  return old;
}

#define a_store a_store
static inline void a_store(volatile int *p, int v) { *p = v; }

#define a_barrier a_barrier
static inline void a_barrier(void) { __asm__ __volatile__("" ::: "memory"); }

#define a_spin a_barrier

/* Address 0 can be read in wasm: only a trap ends the program. */
#define a_crash a_crash
static inline void a_crash(void) { __builtin_trap(); }

#define a_ctz_32 a_ctz_32
static inline int a_ctz_32(uint32_t x) { return __builtin_ctz(x); }

#define a_ctz_64 a_ctz_64
static inline int a_ctz_64(uint64_t x) { return __builtin_ctzll(x); }

#define a_clz_32 a_clz_32
static inline int a_clz_32(uint32_t x) { return __builtin_clz(x); }

#define a_clz_64 a_clz_64
static inline int a_clz_64(uint64_t x) { return __builtin_clzll(x); }
