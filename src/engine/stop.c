/* stop.c - two ways of stopping a guest that computes.
 *
 * Epoch. Compiled code compares the engine's epoch with the store's deadline, which is always the next epoch.
 * A kick sets the instance's flag and advances the epoch. Every guest of that engine then enters on_epoch;
 * those whose flag is not set take a new deadline and go on. There is no ticker. One race cannot be closed
 * here: after on_epoch has read the flag for the last time, wasmtime computes the new deadline from the
 * epoch, and neither sees a kick in those nanoseconds. A kick that finds `rearmed` (there was an on_epoch in
 * this call) therefore also sets an alarm, which advances the epoch again until the flag is taken.
 *
 * Protect. The kicker takes the memory away (mprotect PROT_NONE) while `where` says IN_GUEST. The guest's
 * next access traps, or the next crossing between guest and host sees the flag. The host never touches memory
 * without rights; the order of steps guarantees that, as in Dekker's algorithm:
 *
 *   guest's thread                kicker
 *   store where = IN_HOST         store kicked
 *   load kicked                   load where
 *
 * Each side needs a full fence between its two steps. Kicks are rare and crossings are not, so the kicker
 * makes both fences with membarrier(2) where the host has it. Runtime functions of wasmtime (memory.copy,
 * memory.fill) are IN_GUEST and touch memory from native code, where a fault is no trap: rescue.c gives
 * pieces back there, and the alarm takes them away again afterwards. */
#include "engine/internal.h"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_RETRY_MS = 1, LAST_RETRY_MS = 512 };

/* ---- protect ---- */

static void take_memory(eng_instance *i) { (void)mprotect(i->head.base, ENG_RESERVED, PROT_NONE); }

/* On the instance's own thread, so the length stands still. */
static void give_memory(eng_instance *i) {
  pthread_mutex_lock(&i->stop.mu);
  if (i->head.closed > 0) (void)mprotect(i->head.base, i->head.closed, PROT_READ);
  (void)mprotect(i->head.base + i->head.closed, eng_memory_len(i) - i->head.closed, PROT_READ | PROT_WRITE);
  pthread_mutex_unlock(&i->stop.mu);
}

/* One crossing: true when a kick is waiting. */
static inline bool cross(eng_instance *i, enum where to) {
  atomic_store_explicit(&i->stop.where, to, memory_order_relaxed);
  if (i->stop.fences_cheap)
    atomic_signal_fence(memory_order_seq_cst);
  else
    atomic_thread_fence(memory_order_seq_cst);
  return atomic_load_explicit(&i->stop.kicked, memory_order_relaxed);
}

bool eng_stop_enter_host(eng_instance *i) {
  if (!i->stop.by_memory || __builtin_expect(!cross(i, IN_HOST), 1)) return false;
  give_memory(i);
  return true;
}

bool eng_stop_enter_guest(eng_instance *i) {
  if (!i->stop.by_memory || __builtin_expect(!cross(i, IN_GUEST), 1)) return false;
  (void)cross(i, IN_HOST);
  give_memory(i);
  return true;
}

static void kick_memory(eng_instance *i) {
  pthread_mutex_lock(&i->stop.mu);
  atomic_store(&i->stop.kicked, true);
  if (i->stop.fences_cheap) (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  bool computing = atomic_load(&i->stop.where) == IN_GUEST;
  if (computing) take_memory(i);
  pthread_mutex_unlock(&i->stop.mu);
}

static void kick_memory_again(eng_instance *i) {
  pthread_mutex_lock(&i->stop.mu);
  if (atomic_load(&i->stop.kicked) && atomic_load(&i->stop.where) == IN_GUEST) take_memory(i);
  pthread_mutex_unlock(&i->stop.mu);
}

/* ---- epoch ---- */

static void advance(const eng_instance *i) {
  wasmtime_engine_increment_epoch(i->module->engine->wasm[i->module->stop]);
}

static wasmtime_error_t *on_epoch(const wasmtime_context_t *cx, void *data, uint64_t *delta,
                                  wasmtime_update_deadline_kind_t *kind);

/* Wasmtime takes the callback out while it runs; calls from inside it need one too, and a deadline in the
 * future. */
static enum eng_flow answer_interruptibly(eng_instance *i) {
  wasmtime_store_epoch_deadline_callback(i->store, on_epoch, i, NULL);
  wasmtime_context_set_epoch_deadline(i->cx, 1);
  return eng_stop_answer(i);
}

/* A trap as an error: both are one boxed Rust error (README.md, "What we rely on"). */
static wasmtime_error_t *as_error(wasm_trap_t *trap) { return (wasmtime_error_t *)(void *)trap; }

static wasmtime_error_t *on_epoch(const wasmtime_context_t *cx, void *data, uint64_t *delta,
                                  wasmtime_update_deadline_kind_t *kind) {
  (void)cx;
  eng_instance *i = data;
  *delta = 1;
  *kind = WASMTIME_UPDATE_DEADLINE_CONTINUE;
  while (true) {
    if (atomic_load(&i->stop.kicked)) {
      wasm_trap_t *end = eng_settle(i, answer_interruptibly(i));
      if (end != NULL) return as_error(end);
    }
    atomic_store(&i->stop.rearmed, true);
    if (!atomic_load(&i->stop.kicked)) return NULL;
  }
}

static void kick_epoch(eng_instance *i) {
  atomic_store(&i->stop.kicked, true);
  advance(i);
}

/* ---- both ---- */

static void retry_later(eng_instance *i) {
  int delay = atomic_load(&i->stop.retry_ms);
  atomic_store(&i->stop.retry_ms, 2 * delay);
  if (delay > LAST_RETRY_MS) return;
  int64_t due = clock_mono_ns() + delay * NS_PER_MS;
  if (alarm_arm(i->module->engine->alarms, &i->stop.again, due, NULL) != CAY_OK)
    return; /* the kick stands all the same; only the safety net is missing */
}

static void stop_on_alarm(void *ctx) {
  eng_instance *i = ctx;
  if (!atomic_load(&i->stop.kicked)) return;
  if (i->stop.by_memory)
    kick_memory_again(i);
  else
    advance(i);
  retry_later(i);
}

/* No lock: the only thread that gives the memory back is this one. */
void eng_stop_now(eng_instance *i) {
  atomic_store(&i->stop.kicked, true);
  if (!i->stop.by_memory)
    advance(i);
  else if (atomic_load(&i->stop.where) == IN_GUEST)
    take_memory(i);
}

bool eng_stop_took_memory(eng_instance *i) { return i->stop.by_memory && atomic_load(&i->stop.kicked); }

void eng_stop_take_again(eng_instance *i) {
  if (eng_stop_took_memory(i) && atomic_load(&i->stop.where) == IN_GUEST) take_memory(i);
}

bool eng_stack_is_over(const eng_instance *i) { return atomic_load(&i->stack_over); }

void eng_instance_kick(eng_instance *i) {
  if (i->stop.by_memory)
    kick_memory(i);
  else
    kick_epoch(i);
  if (!i->stop.by_memory && !atomic_load(&i->stop.rearmed)) return;
  atomic_store(&i->stop.retry_ms, FIRST_RETRY_MS);
  retry_later(i);
}

/* With the mutex: a kicker that holds it has seen the flag, or set it, and decides by `where` whether to take
 * the memory away. Were the flag taken and the guest entered in between, the memory would not be given back.
 */
static void take_flag(eng_instance *i) {
  if (i->stop.by_memory) pthread_mutex_lock(&i->stop.mu);
  atomic_store(&i->stop.kicked, false);
  if (i->stop.by_memory) pthread_mutex_unlock(&i->stop.mu);
}

enum eng_flow eng_stop_answer(eng_instance *i) {
  take_flag(i);
  if (i->starting) return ENG_UNWIND;
  return i->on_kick != NULL ? i->on_kick(i, i->head.ctx) : ENG_UNWIND;
}

bool eng_kick_pending(eng_instance *i) { return atomic_load(&i->stop.kicked); }
void eng_kick_clear(eng_instance *i) { take_flag(i); }

/* ---- the instance's life ---- */

void eng_stop_init(eng_instance *i) {
  i->stop.by_memory = i->module->stop == ENG_STOP_PROTECT;
  i->stop.fences_cheap = i->module->engine->fences_cheap;
  pthread_mutex_init(&i->stop.mu, NULL);
  i->stop.again = (alarm_entry){ .fn = stop_on_alarm, .ctx = i };
}

void eng_stop_arm(eng_instance *i) {
  if (i->stop.by_memory) return;
  wasmtime_store_epoch_deadline_callback(i->store, on_epoch, i, NULL);
  wasmtime_context_set_epoch_deadline(i->cx, 1);
}

void eng_stop_close(eng_instance *i) {
  if (atomic_load(&i->stop.retry_ms) > 0) alarm_disarm(i->module->engine->alarms, &i->stop.again);
  pthread_mutex_destroy(&i->stop.mu);
}
