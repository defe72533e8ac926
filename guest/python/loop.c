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

/* The result is taken from the task here and not in Python, which would add a frame to its traceback. */
PyObject *loop_run(PyObject *body, PyObject *value) {
  PyObject *context = current_context();
  PyObject *task = context ? helper_call("loop", "run", "(OOOO)", body, value, user_names(), context) : NULL;
  PyObject *result = task ? PyObject_CallMethod(task, "result", NULL) : NULL;
  Py_XDECREF(task);
  return result;
}
