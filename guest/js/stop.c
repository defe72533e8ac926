/* How the host stops what runs: it sets the reason and makes the engine look up, both from another thread; see
 * abi/linux/stop_words.h. The signal is sent too, which ends a system call that sleeps. The exception cannot be
 * caught: no code of the user's runs any more. */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "binding/children.h"
#include "driver.h"
#include "engine.h"

enum { STOP_SIGNAL = 64 };

static volatile uint32_t reason;
static uint32_t raised;                       /* the reason of the last stop */
static volatile uint32_t tripped, is_tripped; /* the host sets them; the engine has one counter for all */

static void on_signal(int number) { (void)number; }

/* ---- a limit that the program sets itself: the option `timeout` of vm ---- */

static int64_t limit = -1; /* of the monotonic clock, in milliseconds; -1: none */
static bool passed;

static int64_t stop_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t stop_limit(int64_t ms) {
  int64_t before = limit, own = ms < 0 ? -1 : stop_now() + ms;
  if (own >= 0 && (before < 0 || own < before)) limit = own;
  return before;
}

void stop_limit_restore(int64_t before) { limit = before; }

bool stop_limit_passed(void) {
  bool was = passed;
  passed = false;
  return was;
}

static bool interruptible; /* SIGINT ends what runs, too: the option `breakOnSigint` */

void stop_on_interrupt(bool on) { interruptible = on; }

/* ---- SIGINT in a session without a handler of its own: an error ends the cell, and the variables stay ---- */

static volatile sig_atomic_t interrupted;
static bool cell_interrupted;
static void (*interrupt_action)(int) = SIG_DFL;

static void on_interrupt(int number) {
  (void)number;
  interrupted = 1;
  *engine_breaker(js) = -1;
}

void stop_install_interrupt(void) {
  struct sigaction action = { .sa_handler = interrupt_action = on_interrupt };
  sigaction(SIGINT, &action, NULL);
}

void (*stop_interrupt_action(void))(int) { return interrupt_action; }

bool stop_cell_interrupted(void) {
  bool was = cell_interrupted;
  cell_interrupted = false;
  return was;
}

/* A signal waits to be delivered, which any system call does. */
static void deliver_signals(void) {
  if (!tripped) return;
  tripped = is_tripped = 0;
  (void)getppid();
}

/* ---- an exception that leaves the variables as they are, and not in the middle of Node's library ---- */

enum { PATIENCE_MS = 500, FRAMES = 64 };

static int64_t held_since = -1; /* of the monotonic clock, in milliseconds; -1: no exception waits */

/* Whether a function of the library runs that the user's code called. The loop of events, which waits, is called by none. */
static bool stop_in_library(void) {
  bool library = false;
  for (int level = 0; level < FRAMES; level++) {
    JSAtom atom = JS_GetScriptOrModuleName(js, level);
    if (atom == JS_ATOM_NULL) continue; /* a function in C, or the end */
    const char *name = JS_AtomToCString(js, atom);
    bool own = name == NULL || strncmp(name, "node:", 5) != 0;
    JS_FreeCString(js, name);
    JS_FreeAtom(js, atom);
    if (own) return library;
    library = true;
  }
  return false;
}

/* A stream that is left in the middle of a write would write no more, and console.log with it. So the library comes to its
 * end first, if that takes no longer than PATIENCE_MS. */
static bool stop_may_throw(void) {
  int64_t now = stop_now();
  if (held_since < 0) held_since = now;
  if (now - held_since < PATIENCE_MS && stop_in_library()) {
    *engine_breaker(js) = 0; /* the engine asks again at once */
    return false;
  }
  held_since = -1;
  return true;
}

/* SIGINT, or a limit of the program's own, wants an exception. */
static bool stop_exception_waits(void) {
  return interrupted || (interruptible && children_interrupted()) || (limit >= 0 && stop_now() >= limit);
}

static int stop_throw(void) {
  if (interrupted) {
    interrupted = 0;
    return cell_interrupted = true;
  }
  if (interruptible && children_interrupted()) interruptible = false;
  return passed = true;
}

int stop_wanted(JSRuntime *rt, void *opaque) {
  (void)rt, (void)opaque;
  if (!reason) deliver_signals();
  if (!reason && stop_exception_waits()) return stop_may_throw() ? stop_throw() : 0;
  held_since = -1; /* of an exception that waited: its limit may have been lifted meanwhile */
  if (!reason) return 0;
  raised = reason;
  reason = 0;
  return 1;
}

/* process.exit() of a session: what runs ends in the same way. */
static bool leaving;
static int32_t exit_code;

JSValue stop_leave(int32_t code) {
  leaving = true;
  exit_code = code;
  JS_ThrowInternalError(js, "exit");
  JSValue error = JS_GetException(js);
  JS_SetUncatchableError(js, error);
  return JS_Throw(js, error);
}

const char *stop_ended(int32_t *code) {
  uint32_t why = raised;
  bool left = leaving;
  raised = 0;
  leaving = false;
  *code = exit_code;
  if (left) return "";
  return why ? reason_text(why) : NULL;
}

void stop_install(void) {
  struct sigaction action = { .sa_handler = on_signal };
  sigaction(STOP_SIGNAL, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
}

void stop_forget(void) {
  reason = raised = 0;
  leaving = passed = interruptible = cell_interrupted = false;
  interrupted = 0;
  limit = held_since = -1;
}

/* A counter that is negative makes the engine call stop_wanted. */
const uintptr_t *EXPORT(cay_stop_words)(void) {
  static uintptr_t words[6];
  words[0] = (uintptr_t)&reason;
  words[1] = (uintptr_t)&tripped;
  words[2] = (uintptr_t)&is_tripped;
  words[3] = (uintptr_t)engine_breaker(js);
  words[4] = (uintptr_t)1 << 31;
  words[5] = STOP_SIGNAL;
  return words;
}
