/* The module `cay`, and its private Python modules, which are compiled when they are first needed. In a
 * booted interpreter all are but the late ones. They are named <cay.…> in tracebacks, where report.c leaves
 * them out. */
#include <stdarg.h>
#include <stdio.h>

#include "display.h"
#include "driver.h"
#include "embedded.h"

enum { HELPERS_MAX = 24 };

PyObject *error_callback, *error_stopped;

static int add_exceptions(PyObject *module) {
  error_callback = PyErr_NewExceptionWithDoc(
      "cay.CallbackError", "A callback answered with an error, refused its arguments, or does not exist.",
      NULL, NULL);
  error_stopped = PyErr_NewExceptionWithDoc(
      "cay.Stopped", "The host ends what runs: a limit was reached, or somebody cancelled it.",
      PyExc_BaseException, NULL);
  if (!error_callback || !error_stopped) return -1;
  if (PyModule_AddObjectRef(module, "CallbackError", error_callback) < 0) return -1;
  return PyModule_AddObjectRef(module, "Stopped", error_stopped);
}

static PyObject *part(PyObject *module, PyObject *name) {
  (void)module;
  const char *text = PyUnicode_AsUTF8(name);
  return text ? Py_XNewRef(helper(text)) : NULL;
}

static PyMethodDef functions[] = {
  { "_part", part, METH_O, "_part(name): the module cay._NAME of this program, compiled if need be." },
  { 0 },
};

static PyObject *create(void) {
  static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "cay",
    .m_doc = "What a sandbox adds to Python: callbacks into the program that started it.",
    .m_size = -1,
    .m_methods = functions,
  };
  PyObject *module = PyModule_Create(&definition), *path = PyList_New(0);
  /* A package without a folder: its modules are in sys.modules once they are loaded. */
  bool made = module && path && PyModule_AddObjectRef(module, "__path__", path) == 0 &&
              add_exceptions(module) == 0 && PyModule_AddIntConstant(module, "_threads", HAS_THREADS) == 0 &&
              stop_ready(module) == 0 && ask_ready(module) == 0 && callbacks_ready(module) == 0 &&
              display_ready(module) == 0 && streams_ready(module) == 0 && loop_ready(module) == 0 &&
              state_ready(module) == 0;
  Py_XDECREF(path);
  if (made) return module;
  Py_XDECREF(module);
  return NULL;
}

/* The extension modules of a Python that has more of them; guest/extension/link writes it. */
extern struct _inittab cay_more_modules[] __attribute__((weak));

int module_register(void) {
  if (cay_more_modules && PyImport_ExtendInittab(cay_more_modules) < 0) return -1;
  return PyImport_AppendInittab("cay", create);
}

static PyObject *load(const struct embedded *e) {
  char full[32], file[64];
  snprintf(full, sizeof full, "cay._%s", e->name);
  snprintf(file, sizeof file, "<%s>", full);
  PyObject *package = PyImport_ImportModule("cay");
  PyObject *code = package ? Py_CompileString((const char *)e->text, file, Py_file_input) : NULL;
  PyObject *module = code ? PyImport_ExecCodeModule(full, code) : NULL;
  if (module && PyObject_SetAttrString(package, full + sizeof "cay." - 1, module) < 0) Py_CLEAR(module);
  Py_XDECREF(code);
  Py_XDECREF(package);
  return module;
}

/* They are kept here: whatever happens to sys.modules, this program finds its own. */
PyObject *helper(const char *name) {
  static PyObject *modules[HELPERS_MAX];
  for (size_t i = 0; i < HELPERS_MAX && embedded_modules[i].name; i++) {
    if (strcmp(embedded_modules[i].name, name) != 0) continue;
    if (!modules[i]) modules[i] = load(&embedded_modules[i]);
    return modules[i];
  }
  return PyErr_Format(PyExc_ImportError, "cay._%s is not part of this program", name);
}

PyObject *helper_call(const char *name, const char *function, const char *format, ...) {
  PyObject *module = helper(name);
  PyObject *callable = module ? PyObject_GetAttrString(module, function) : NULL;
  if (!callable) return NULL;
  va_list list;
  va_start(list, format);
  PyObject *arguments = Py_VaBuildValue(format, list);
  va_end(list);
  PyObject *result = arguments ? PyObject_CallObject(callable, arguments) : NULL;
  Py_XDECREF(arguments);
  Py_DECREF(callable);
  return result;
}

int module_add_builtins(void) {
  static const char *const names[] = { "display", "invoke", "list_callbacks" };
  PyObject *module = PyImport_ImportModule("cay");
  PyObject *builtins = PyEval_GetBuiltins();
  for (size_t i = 0; module && i < sizeof names / sizeof *names; i++) {
    PyObject *value = PyObject_GetAttrString(module, names[i]);
    if (!value || PyDict_SetItemString(builtins, names[i], value) < 0) Py_CLEAR(module);
    Py_XDECREF(value);
  }
  Py_XDECREF(module);
  return module ? 0 : -1;
}
