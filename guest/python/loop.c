/* Cells that await. The loop that runs them is in cay/_loop.py. */
#include "driver.h"

#include "internal/pycore_pystate.h"

/* Cells share the context variables of the thread, whether they await or not. */
static PyObject *current_context(void) {
  PyThreadState *thread = _PyThreadState_GET();
  if (!thread->context) {
    PyObject *copy = PyContext_CopyCurrent(); /* makes the thread's own */
    Py_XDECREF(copy);
  }
  return thread->context;
}

/* What the session's loop has to do, looked at without running any Python: callbacks that are ready, timers,
 * invocations that wait, and descriptors that are watched. */
static PyObject *the_loop, *ready, *waiting, *watched;

static PyObject *loop_made(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *loop, *parts[3];
  if (!PyArg_ParseTuple(args, "OOO!O!", &loop, &parts[0], &PyDict_Type, &parts[1], &PyDict_Type, &parts[2]))
    return NULL;
  Py_XSETREF(the_loop, Py_NewRef(loop));
  Py_XSETREF(ready, Py_NewRef(parts[0]));
  Py_XSETREF(waiting, Py_NewRef(parts[1]));
  Py_XSETREF(watched, Py_NewRef(parts[2]));
  Py_RETURN_NONE;
}

static bool has_timers(void) {
  static PyObject *name;
  if (!name) name = PyUnicode_InternFromString("_scheduled");
  PyObject *timers = name ? PyObject_GetAttr(the_loop, name) : NULL;
  bool any = !timers || !PyList_Check(timers) || PyList_GET_SIZE(timers) > 0;
  Py_XDECREF(timers);
  PyErr_Clear();
  return any;
}

int loop_turn(void) {
  if (!the_loop) return 0;
  if (!Py_SIZE(ready) && !PyDict_GET_SIZE(waiting) && !PyDict_GET_SIZE(watched) && !has_timers()) return 0;
  PyObject *done = helper_call("loop", "turn", "()");
  Py_XDECREF(done);
  return done ? 0 : -1;
}

static PyMethodDef functions[] = { { "_loop_made", loop_made, METH_VARARGS, NULL }, { 0 } };

int loop_ready(PyObject *module) { return PyModule_AddFunctions(module, functions); }

/* The result is taken from the task here and not in Python, which would add a frame to its traceback. */
PyObject *loop_run(PyObject *body, PyObject *value) {
  PyObject *context = current_context();
  PyObject *task = context ? helper_call("loop", "run", "(OOOO)", body, value, user_names(), context) : NULL;
  PyObject *result = task ? PyObject_CallMethod(task, "result", NULL) : NULL;
  Py_XDECREF(task);
  return result;
}
