/* instance.h - a running module: its memory, globals and functions.
 *
 * An instance belongs to one thread at a time, the one inside eng_call or, between calls, the thread that the owner
 * says. Only eng_instance_kick (stop.h) may be called from elsewhere.
 *
 * Memory      The base never moves while the instance lives; the length only grows. Up to 4 GiB of addresses
 *             are reserved, so a stray access of the guest traps.
 * Ownership   eng_instance_new, eng_instance_free. Holds a reference to its module.
 * Threads     of a module that imports a shared memory several instances may have one (eng_instance_thread). Each is
 *             one thread's; that no two of them run, or touch the memory, at once is the owner's affair.
 * Not here    several memories, 64-bit memories. */
#pragma once

#include "engine/host.h"
#include "engine/module.h"

#include <stdatomic.h>

enum { ENG_PAGE = 65536 }; /* the unit in which memories grow, in bytes */

/* Runs on the guest's thread after eng_instance_kick. See stop.h. */
typedef enum eng_flow eng_kick_fn(eng_instance *instance, void *ctx);

/* A stack took `more` bytes of memory for this guest, or gave them back: that of the thread, or the one at the beginning
 * of linear memory. Runs in a handler of signals too.
 * False: that is too much, and the guest is stopped as by a kick. */
typedef bool eng_stack_fn(void *ctx, int64_t more);

typedef struct eng_instance_options {
  void *ctx;              /* given to host functions and on_kick; the instance does not own it */
  eng_kick_fn *on_kick;   /* NULL: a kick unwinds                                        */
  eng_stack_fn *on_stack; /* NULL: not counted, and the stack in linear memory is there whole */
  uint64_t memory_max;    /* bytes the memory may reach; 0: 4 GiB                          */
  uint64_t table_max;     /* elements each of at most four tables may reach; 0: 10,000,000 */
  uint64_t fuel;          /* ENG_STOP_FUEL: the first budget (eng_fuel_set)                */
} eng_instance_options;

/* 4 us. Runs the start function if there is one. CAY_LIMIT (memory_max is less than the module's initial
 * memory, or the host has no room), CAY_INVALID (no exported memory; a data segment beyond it; the start
 * function failed), CAY_UNSUPPORTED (ENG_STOP_PROTECT and a start function: it could not be stopped),
 * CAY_NO_MEMORY. */
cay_status eng_instance_new(eng_module *module, const eng_instance_options *options, eng_instance **out,
                            cay_error *err) CHECKED;

/* Another instance on the memory of `first`: 4 us. Runs the start function, which finds the memory as it is. CAY_UNSUPPORTED
 * (its memory is not shared), and as eng_instance_new. */
cay_status eng_instance_thread(eng_instance *first, const eng_instance_options *options, eng_instance **out,
                               cay_error *err) CHECKED;

/* Not from inside a call of it. NULL is fine. */
void eng_instance_free(eng_instance *instance);
OWNED_DEFINE(eng_instance, eng_instance_free)

eng_module *eng_instance_module(const eng_instance *instance); /* borrowed */

/* ---- memory ---- */

/* The head of every instance, here only so that the functions below can be inline. */
typedef struct eng_head {
  uint8_t *base;
  _Atomic uint64_t len; /* relaxed: at least this much is there, and the guest may have grown it since */
  uint64_t
      closed; /* the bytes below this are of a stack that was not so deep yet: they can be read until they are written */
  void *ctx;
} eng_head;

static inline eng_head *eng_head_of(eng_instance *instance) { return (eng_head *)(void *)instance; }
static inline void *eng_ctx(eng_instance *instance) { return eng_head_of(instance)->ctx; }
static inline uint8_t *eng_memory(eng_instance *instance) { return eng_head_of(instance)->base; }
static inline uint64_t eng_stack_closed(eng_instance *instance) { return eng_head_of(instance)->closed; }

/* Makes the stack usable down to `addr`, as if the guest had touched it. False: the host has no mappings left. */
bool eng_stack_touch(eng_instance *instance, uint32_t addr);

/* Gives back to on_stack what the stack in linear memory took, when it is counted otherwise or the instance changes
 * hands. Until eng_pool_take gives it another, it has no on_stack then if `last`. */
void eng_stack_settle(eng_instance *instance, bool last);

uint64_t eng_memory_len(eng_instance *instance); /* bytes, now */
bool eng_memory_is_shared(const eng_instance *instance);

/* `len` bytes of the guest's memory at `addr`; NULL unless all of them are there (then also for len 0). The
 * bytes may change under your hands only by your own doing: the guest stands still during a host call. */
static inline void *eng_memory_at(eng_instance *instance, uint32_t addr, uint64_t len) {
  eng_head *head = eng_head_of(instance);
  uint64_t known = atomic_load_explicit(&head->len, memory_order_relaxed);
  if (__builtin_expect(len > known || addr > known - len, 0)) {
    uint64_t now = eng_memory_len(instance);
    if (len > now || addr > now - len) return NULL;
  }
  if (__builtin_expect(addr < head->closed, 0) && len > 0 && !eng_stack_touch(instance, addr)) return NULL;
  return head->base + addr;
}

/* Adds `pages` of ENG_PAGE bytes and gives the length before, in pages. CAY_LIMIT. */
cay_status eng_memory_grow(eng_instance *instance, uint32_t pages, uint32_t *old_pages,
                           cay_error *err) CHECKED;

/* The cap on any later growth, by guest or host, in bytes; also on the heap of exceptions, of which the library has no
 * setting of its own. Less than the memory has now only keeps both from growing. */
void eng_memory_set_max(eng_instance *instance, uint64_t bytes);

/* ---- globals ---- */

/* Resolved once per instance; plain data, valid as long as the instance. */
typedef struct eng_global {
  uint64_t opaque[3];
  char type; /* i I f F */
  bool is_mutable;
} eng_global;

bool eng_global_find(eng_instance *instance, const char *name, eng_global *out) CHECKED;
eng_val eng_global_get(eng_instance *instance, const eng_global *global);
void eng_global_set(eng_instance *instance, const eng_global *global, eng_val value); /* must be mutable */

/* ---- functions ---- */

typedef struct eng_func {
  uint64_t opaque[2];
  size_t values; /* the larger of the counts of parameters and results */
} eng_func;

/* False unless there is one of exactly that type (host.h). */
bool eng_func_find(eng_instance *instance, const char *name, const char *type, eng_func *out) CHECKED;

/* The type of the function at `index` of the module's exported table, as text ("ii:i", or "?" if it has other types than
 * numbers). False when there is none, or no such table. */
bool eng_table_type(eng_instance *instance, uint32_t index, char *out, size_t cap) CHECKED;

enum eng_end {
  ENG_RETURNED, /* results are in values[0..] */
  ENG_LEFT,  /* a host function or on_kick answered ENG_UNWIND. Inside a host function: answer ENG_UNWIND too
              */
  ENG_THREW, /* only inside a host function: an exception came out. Answer ENG_THROW, or it is dropped */
  ENG_TRAPPED, /* eng_trap_kind says how */
};

enum eng_trap {
  ENG_TRAP_NONE,
  ENG_TRAP_UNREACHABLE,
  ENG_TRAP_MEMORY,     /* out of bounds */
  ENG_TRAP_STACK,      /* overflow of the native stack */
  ENG_TRAP_DIVISION,   /* by zero */
  ENG_TRAP_ARITHMETIC, /* integer overflow, bad conversion */
  ENG_TRAP_CALL,       /* indirect, to nothing or to another type */
  ENG_TRAP_TABLE,      /* out of bounds */
  ENG_TRAP_EXCEPTION,  /* it was not caught */
  ENG_TRAP_FUEL,       /* the budget is used up */
  ENG_TRAP_OTHER,
};

/* Calls the guest (20 ns) with the arguments in values[0..], of which there are func->values. On any end but
 * ENG_RETURNED the values are undefined. The instance can be called again after every end. */
enum eng_end eng_call(eng_instance *instance, const eng_func *func, eng_val *values);

/* How the last eng_call that answered ENG_TRAPPED ended. */
enum eng_trap eng_trap_kind(const eng_instance *instance);
const char *eng_trap_name(enum eng_trap kind); /* "memory access out of bounds"; static */

/* What happened and where, several lines: the kind, then at most 16 frames of the guest, innermost first,
 * with demangled names. Cut to `cap` (which includes the NUL); the length written. Until the next eng_call.
 */
size_t eng_trap_text(eng_instance *instance, char *out, size_t cap);

/* ---- fuel (ENG_STOP_FUEL only; else without effect, and 0) ---- */

void eng_fuel_set(eng_instance *instance, uint64_t units); /* about one per instruction */
uint64_t eng_fuel_left(eng_instance *instance);
