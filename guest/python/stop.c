/* How the host stops what runs: it sets the reason, and makes the interpreter believe that a signal came,
 * both from another thread; see README.md. The signal itself is sent too, which ends a system call that
 * sleeps. */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "driver.h"

#include "internal/pycore_ceval.h"
#include "internal/pycore_pystate.h"
#include "internal/pycore_runtime.h"
#include "internal/pycore_signal.h"

enum { STOP_SIGNAL = 64 };

_Static_assert(STOP_SIGNAL < Py_NSIG, "the interpreter has a place for it");

static volatile uint32_t reason;
static uint32_t raised;
static PyOS_sighandler_t handler; /* CPython's own: it notes that the signal came */

/* Called between two instructions of Python. Without a reason a signal waits to be delivered, which any
 * system call does; or it is an echo of an exception already raised. */
static PyObject *raise_stopped(PyObject *self, PyObject *arguments) {
  (void)self, (void)arguments;
  uint32_t why = reason;
  if (!why) {
    (void)getppid();
    Py_RETURN_NONE;
  }
  reason = 0;
  raised++;
  PyErr_SetString(error_stopped, reason_text(why));
  return NULL;
}

static PyMethodDef raise_method = { "stop", raise_stopped, METH_VARARGS, NULL };

/* A task may swallow an exception: the loop asks (cay/_loop.py). */
static PyObject *count_stops(PyObject *self, PyObject *nothing) {
  (void)self, (void)nothing;
  return PyLong_FromUnsignedLong(raised);
}

static PyMethodDef functions[] = { { "_stops", count_stops, METH_NOARGS, NULL }, { 0 } };

int stop_ready(PyObject *module) { return PyModule_AddFunctions(module, functions); }

static int set_handler(PyObject *signals, int signal, PyObject *function) {
  PyObject *old = function ? PyObject_CallMethod(signals, "signal", "iO", signal, function) : NULL;
  Py_XDECREF(function);
  Py_XDECREF(old);
  return old ? 0 : -1;
}

/* SIGINT raises KeyboardInterrupt, as in a program. */
static int set_handlers(void) {
  PyObject *signals = PyImport_ImportModule("_signal");
  int set = signals ? set_handler(signals, STOP_SIGNAL, PyCFunction_New(&raise_method, NULL)) : -1;
  if (set == 0) set = set_handler(signals, SIGINT, PyObject_GetAttrString(signals, "default_int_handler"));
  Py_XDECREF(signals);
  return set;
}

int stop_prepare(void) {
  if (set_handlers() < 0) return -1;
  handler = PyOS_getsig(STOP_SIGNAL);
  return 0;
}

void stop_install(void) {
  PyOS_setsig(STOP_SIGNAL, handler);
  PyOS_setsig(SIGINT, handler);
  PyOS_setsig(SIGPIPE, SIG_IGN);
  PyOS_setsig(SIGXFSZ, SIG_IGN);
}

/* A handler may itself be what sends the next signal, so there is an end to it. */
int stop_settle(void) {
  enum { ROUNDS = 16 };
  for (int round = 0; round < ROUNDS && _PyRuntime.signals.is_tripped; round++)
    if (PyErr_CheckSignals() < 0) return -1;
  return 0;
}

/* Handlers for the ends of children run later, too: those children would not be waited for otherwise. */
void stop_forget(void) {
  reason = 0;
  if (!_PyRuntime.signals.is_tripped) return;
  for (int signal = 1; signal < Py_NSIG; signal++)
    if (signal != SIGCHLD) _PyRuntime.signals.handlers[signal].tripped = 0;
}

const uintptr_t *EXPORT(cay_stop_words)(void) {
  static uintptr_t words[6];
  words[0] = (uintptr_t)&reason;
  words[1] = (uintptr_t)&_PyRuntime.signals.handlers[STOP_SIGNAL].tripped;
  words[2] = (uintptr_t)&_PyRuntime.signals.is_tripped;
  words[3] = (uintptr_t)&_PyThreadState_GET()->eval_breaker;
  words[4] = _PY_SIGNALS_PENDING_BIT;
  words[5] = STOP_SIGNAL;
  return words;
}

#ifdef _PY_TURN_WANTED_BIT
/* How the host makes the thread that computes let others have the turn: the lock's holder looks at its word between two
 * instructions. */
const uintptr_t *EXPORT(cay_turn_words)(void) {
  static uintptr_t words[3];
  words[0] = (uintptr_t)&_PyInterpreterState_GET()->ceval.gil->last_holder;
  words[1] = offsetof(PyThreadState, eval_breaker);
  words[2] = _PY_TURN_WANTED_BIT;
  return words;
}
#endif
