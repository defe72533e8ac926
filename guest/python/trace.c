/* Tracing through sys.monitoring, which costs nothing while it is off. Events of frames that are not the
 * user's, or that the filter does not want, are disabled where they happen, so each place asks only once. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"
#include "host.h"
#include "text.h"

enum { TOOL = 3 };

static struct {
  PyObject *monitoring, *disable;
  char *filter; /* patterns separated by commas; NULL: everything */
  uint32_t flags;
  PyObject *last_code; /* whose fate was asked last; never followed */
  bool last_wanted;
} tracing;

static bool starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

static const char *library(void) {
  static char path[256];
  if (path[0]) return path;
  PyObject *stdlib = PySys_GetObject("_stdlib_dir");
  const char *name = stdlib && PyUnicode_Check(stdlib) ? PyUnicode_AsUTF8(stdlib) : NULL;
  snprintf(path, sizeof path, "%s/", name ? name : "/usr/lib/python");
  return path;
}

/* Neither the library nor code that the library has made up. */
static bool is_users(const char *file) {
  return !starts(file, "<frozen ") && !starts(file, "<cay.") && strcmp(file, "<string>") != 0 &&
         !starts(file, library());
}

static bool matches(const char *name, const char *file) {
  if (!tracing.filter) return true;
  char pattern[256];
  for (const char *at = tracing.filter; *at;) {
    size_t len = strcspn(at, ",");
    if (len < sizeof pattern) {
      memcpy(pattern, at, len);
      pattern[len] = 0;
      if (strstr(name, pattern) || strstr(file, pattern)) return true;
      if (!fnmatch(pattern, name, 0) || !fnmatch(pattern, file, 0)) return true;
    }
    at += len + (at[len] == ',');
  }
  return false;
}

static bool wanted(PyObject *object) {
  PyCodeObject *code = (PyCodeObject *)object;
  if (object == tracing.last_code) return tracing.last_wanted;
  const char *file = PyUnicode_AsUTF8(code->co_filename), *name = PyUnicode_AsUTF8(code->co_qualname);
  if (!file || !name) PyErr_Clear();
  tracing.last_code = object;
  return tracing.last_wanted = file && name && is_users(file) && matches(name, file);
}

static void set_events(uint32_t events) {
  PyObject *done = PyObject_CallMethod(tracing.monitoring, "set_events", "iI", TOOL, events);
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
}

static void add(text *t, const char *s) { text_add(t, s, strlen(s)); }

static void add_string(text *t, const char *key, PyObject *string) {
  add(t, ", \"");
  add(t, key);
  add(t, "\": ");
  json_write_string(t, string);
}

static text begin_event(const char *type, PyObject *code) {
  text t = { 0 };
  add(&t, "{\"type\": \"");
  add(&t, type);
  add(&t, "\"");
  add_string(&t, "function", ((PyCodeObject *)code)->co_qualname);
  add_string(&t, "file", ((PyCodeObject *)code)->co_filename);
  return t;
}

/* What changed among the locals since the last event of this frame, as JSON; NULL: nothing to tell. */
static PyObject *changed_locals(void) {
  PyFrameObject *frame = PyEval_GetFrame();
  if (!(tracing.flags & TALK_TRACE_WITH_LOCALS) || !frame) return NULL;
  return helper_call("trace", "changes", "(O)", frame);
}

/* Ends the event. An exception here is one of the user's own __repr__, or a stop: the code gets it. */
static PyObject *emit(text *t, long line) {
  add(t, "}");
  PyObject *changes = changed_locals();
  Py_ssize_t len = 0;
  const char *context = changes && !Py_IsNone(changes) ? PyUnicode_AsUTF8AndSize(changes, &len) : "";
  long sent = 0;
  if (!PyErr_Occurred() && !t->failed)
    sent = host_emit(
        &(host_event){ line > 0 ? (uint32_t)line : 0, t->data, context ? context : "", t->len, (size_t)len });
  text_free(t);
  Py_XDECREF(changes);
  if (sent < 0 && sent != -E2BIG) set_events(0);
  return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static long current_line(PyObject *code) {
  PyFrameObject *frame = PyEval_GetFrame();
  return frame ? PyFrame_GetLineNumber(frame) : ((PyCodeObject *)code)->co_firstlineno;
}

static PyObject *on_line(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count != 2 || !wanted(args[0])) return Py_NewRef(tracing.disable);
  text t = begin_event("line", args[0]);
  return emit(&t, PyLong_AsLong(args[1]));
}

static PyObject *on_call(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count != 2 || !wanted(args[0])) return Py_NewRef(tracing.disable);
  text t = begin_event("call", args[0]);
  return emit(&t, ((PyCodeObject *)args[0])->co_firstlineno);
}

static int add_short(text *t, const char *key, PyObject *value) {
  PyObject *shown = helper_call("trace", "short", "(O)", value);
  if (!shown) return -1;
  add_string(t, key, shown);
  Py_DECREF(shown);
  return 0;
}

static PyObject *on_return(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count != 3 || !wanted(args[0])) return Py_NewRef(tracing.disable);
  text t = begin_event("return", args[0]);
  if (add_short(&t, "value", args[2]) == 0) return emit(&t, current_line(args[0]));
  text_free(&t);
  return NULL;
}

/* These cannot be disabled at one place. */
static PyObject *on_raise(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count != 3 || !wanted(args[0])) Py_RETURN_NONE;
  text t = begin_event("exception", args[0]);
  PyObject *name = PyType_GetQualName(Py_TYPE(args[2]));
  if (name) add_string(&t, "exception", name);
  Py_XDECREF(name);
  if (name && add_short(&t, "value", args[2]) == 0) return emit(&t, current_line(args[0]));
  text_free(&t);
  return NULL;
}

static const struct kind {
  uint32_t flag;
  const char *event;
  PyMethodDef method;
} kinds[] = {
  { TALK_TRACE_LINES, "LINE", { "line", _PyCFunction_CAST(on_line), METH_FASTCALL, NULL } },
  { TALK_TRACE_CALLS, "PY_START", { "call", _PyCFunction_CAST(on_call), METH_FASTCALL, NULL } },
  { TALK_TRACE_RETURNS, "PY_RETURN", { "return", _PyCFunction_CAST(on_return), METH_FASTCALL, NULL } },
  { TALK_TRACE_EXCEPTIONS, "RAISE", { "raise", _PyCFunction_CAST(on_raise), METH_FASTCALL, NULL } },
};

/* The number of the event; 0 with an exception. */
static uint32_t register_kind(const struct kind *kind, PyObject *events) {
  PyObject *number = PyObject_GetAttrString(events, kind->event);
  PyObject *function = number ? PyCFunction_New((PyMethodDef *)&kind->method, NULL) : NULL;
  PyObject *old =
      function ? PyObject_CallMethod(tracing.monitoring, "register_callback", "iOO", TOOL, number, function)
               : NULL;
  uint32_t value = old ? (uint32_t)PyLong_AsUnsignedLong(number) : 0;
  Py_XDECREF(old);
  Py_XDECREF(function);
  Py_XDECREF(number);
  return value;
}

static uint32_t register_kinds(void) {
  PyObject *events = PyObject_GetAttrString(tracing.monitoring, "events");
  uint32_t set = 0;
  for (size_t i = 0; events && i < sizeof kinds / sizeof *kinds; i++) {
    if (!(tracing.flags & kinds[i].flag)) continue;
    uint32_t event = register_kind(&kinds[i], events);
    if (!event) Py_CLEAR(events);
    set |= event;
  }
  Py_XDECREF(events);
  return events ? set : 0;
}

static int begin(void) {
  PyObject *used = PyObject_CallMethod(tracing.monitoring, "use_tool_id", "is", TOOL, "cay");
  PyObject *again = used ? PyObject_CallMethod(tracing.monitoring, "restart_events", NULL) : NULL;
  uint32_t events = again ? register_kinds() : 0;
  Py_XDECREF(used);
  Py_XDECREF(again);
  if (events) set_events(events);
  return events ? 0 : -1;
}

int trace_begin(uint32_t flags, const char *filter, size_t filter_len) {
  if (!tracing.monitoring) {
    tracing.monitoring = Py_XNewRef(PySys_GetObject("monitoring"));
    tracing.disable = tracing.monitoring ? PyObject_GetAttrString(tracing.monitoring, "DISABLE") : NULL;
    if (!tracing.disable || !helper("trace")) return -1;
  }
  tracing.flags = flags;
  tracing.last_code = NULL;
  tracing.filter = filter_len ? strndup(filter, filter_len) : NULL;
  if (begin() == 0) return 0;
  trace_end();
  return -1;
}

void trace_end(void) {
  PyObject *error = PyErr_GetRaisedException();
  set_events(0);
  PyObject *freed = PyObject_CallMethod(tracing.monitoring, "free_tool_id", "i", TOOL);
  PyObject *forgotten = helper_call("trace", "forget", "()");
  Py_XDECREF(freed);
  Py_XDECREF(forgotten);
  free(tracing.filter);
  tracing.filter = NULL;
  PyErr_Clear();
  PyErr_SetRaisedException(error);
}
