/* MIME bundles on their way to the host. What an object shows itself as is worked out in cay/_display.py. */
#include "display.h"

#include <errno.h>

#include "host.h"
#include "text.h"

static int show_text(const text *t) {
  long shown = host_display(t->data, t->len);
  if (shown >= 0) return 1;
  if (shown == -ENOENT || shown == -ENOSYS || shown == -EINVAL) return 0; /* a host that takes none */
  if (shown == -ENOSPC || shown == -E2BIG) {
    PyErr_SetString(PyExc_RuntimeError, "this cell displays more than the limit allows");
  } else {
    errno = (int)-shown;
    PyErr_SetFromErrno(PyExc_OSError);
  }
  return -1;
}

static int write_bundle(text *t, PyObject *bundle) {
  if (json_write(t, bundle)) return 0;
  if (t->failed && t->limit == 0)
    PyErr_NoMemory();
  else if (!t->failed)
    PyErr_SetString(PyExc_TypeError, "a MIME bundle holds something that is no JSON");
  return -1;
}

static PyObject *show(PyObject *module, PyObject *bundle) {
  (void)module;
  text t = { 0 };
  int shown = streams_flush() < 0 || write_bundle(&t, bundle) < 0 ? -1 : show_text(&t);
  text_free(&t);
  return shown < 0 ? NULL : PyBool_FromLong(shown);
}

static PyObject *display(PyObject *module, PyObject *args, PyObject *keywords) {
  (void)module;
  PyObject *part = helper("display");
  PyObject *function = part ? PyObject_GetAttrString(part, "display") : NULL;
  PyObject *result = function ? PyObject_Call(function, args, keywords) : NULL;
  Py_XDECREF(function);
  return result;
}

static PyMethodDef functions[] = {
  { "_show", show, METH_O, NULL },
  { "display", (PyCFunction)(void (*)(void))display, METH_VARARGS | METH_KEYWORDS,
    "display($module, /, *objs, display_id=None, raw=False, include=None, exclude=None, metadata=None, clear=False)\n"
    "--\n\n"
    "Displays objects, each in all forms that it offers. Where nothing shows more than text, it prints them." },
  { 0 },
};

int display_ready(PyObject *module) { return PyModule_AddFunctions(module, functions); }

int display_prepare(void) {
  PyObject *done = helper_call("display", "prepare", "()");
  Py_XDECREF(done);
  return done ? 0 : -1;
}

int display_settle(PyObject *value) {
  PyObject *failed = PyErr_GetRaisedException();
  PyObject *done = helper_call("display", "settle", "(O)", value ? value : Py_None);
  Py_XDECREF(done);
  if (failed) PyErr_SetRaisedException(failed); /* drops another */
  return done && !failed ? 0 : -1;
}

int display_value(PyObject *value, size_t max, reply *r) {
  PyObject *bundle = helper_call("display", "value_bundle", "(O)", value);
  if (!bundle) return -1;
  text t = { .limit = max };
  int written = Py_IsNone(bundle) ? 0 : write_bundle(&t, bundle);
  bool left_out = t.failed;
  if (written == 0 && t.len) reply_bytes(r, TALK_BUNDLE, t.data, t.len);
  text_free(&t);
  Py_DECREF(bundle);
  if (left_out && !PyErr_Occurred()) return TALK_BUNDLE_LEFT_OUT;
  return written;
}
