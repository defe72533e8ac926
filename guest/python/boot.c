/* The start of an interpreter that is going to be frozen: everything is imported that agents use most, the
 * collector forgets it, and memory that means nothing is cleared, for only pages that are not zero cost
 * something in an image. */
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"
#include "embedded.h"
#include "settle.h"
#include "start.h"

static PyStatus preinitialize(void) {
  PyPreConfig config;
  PyPreConfig_InitPythonConfig(&config);
  config.utf8_mode = 1;
  config.use_environment = 0;
  config.parse_argv = 0;
  return Py_PreInitialize(&config);
}

static PyStatus configure(PyConfig *config) {
  config->use_environment = 1; /* what sys.flags says; there is nothing in the environment */
  config->parse_argv = 0;
  config->install_signal_handlers = 0;
  config->user_site_directory = 0;
  config->safe_path = 1; /* sys.path[0] belongs to a program, and none is known yet */
  PyStatus status = PyConfig_SetString(config, &config->program_name, L"python3");
  if (!PyStatus_Exception(status)) status = PyConfig_SetString(config, &config->home, PYTHON_HOME);
  if (!PyStatus_Exception(status)) status = PyConfig_SetString(config, &config->executable, PYTHON_PROGRAM);
  if (!PyStatus_Exception(status)) status = PyConfig_Read(config);
  config->safe_path = 0;
  return status;
}

static int fail(PyStatus status) {
  fprintf(stderr, "python3: %s\n", status.err_msg ? status.err_msg : "the interpreter does not start");
  return -1;
}

static int open_session(const PyConfig *config) {
  PyObject *module = PyImport_ImportModule("cay");
  Py_XDECREF(module);
  return module ? streams_open(config, true) : -1;
}

int boot_interpreter(void) {
  PyConfig config;
  if (cay_hash_note() < 0) return fail(PyStatus_NoMemory());
  PyStatus status = preinitialize();
  if (PyStatus_Exception(status)) return fail(status);
  if (module_register() < 0) return -1;
  PyConfig_InitPythonConfig(&config);
  status = configure(&config);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  int opened = PyStatus_Exception(status) ? fail(status) : open_session(&config);
  PyConfig_Clear(&config);
  if (opened < 0 && Py_IsInitialized()) PyErr_Print();
  return opened;
}

static int load_helpers(void) {
  if (!helper("fallbacks") || !helper("late")) return -1; /* before anything imports asyncio */
  for (const struct embedded *e = embedded_modules; e->name; e++)
    if (!e->late && !helper(e->name)) return -1;
  return 0;
}

/* As a first cell: its variables stay, and tracebacks show its lines. */
static int run_code_of_image(const char *source) {
  PyObject *name = PyUnicode_FromString("<image>"), *text = PyUnicode_FromString(source),
           *names = user_names();
  PyObject *code = name && text && names && execute_keep_source(name, text) == 0
                       ? Py_CompileString(source, "<image>", Py_file_input)
                       : NULL;
  PyObject *done = code ? PyEval_EvalCode(code, names, names) : NULL;
  Py_XDECREF(name);
  Py_XDECREF(text);
  Py_XDECREF(code);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

/* In a dictionary of its own, so __main__ stays as it is. */
static int run_source(const char *source) {
  PyObject *names = PyDict_New();
  PyObject *builtins = PyEval_GetBuiltins();
  PyObject *done = NULL;
  if (names && PyDict_SetItemString(names, "__builtins__", builtins) == 0 &&
      PyDict_SetItemString(names, "__name__", Py_None) == 0)
    done = PyRun_String(source, Py_file_input, names, names);
  Py_XDECREF(done);
  Py_XDECREF(names);
  return done ? 0 : -1;
}

static int collect(void) { return run_source("import gc\ngc.collect()\n"); }

static int call(const char *function) {
  PyObject *done = helper_call("process", function, "()");
  Py_XDECREF(done);
  return done ? 0 : -1;
}

static int settle(void) {
  if (call("end_boot") < 0 || collect() < 0 || settle_objects() < 0) return -1;
  if (run_source("import gc\ngc.freeze()\n") < 0) return -1;
  PyGC_Collect(); /* nothing is kept for reuse, either */
  settle_pools();
  return 0;
}

int EXPORT(cay_boot)(void) {
  char **argv = start_process();
  if (boot_interpreter() < 0) return -1;
  if (load_helpers() < 0 || call("begin_boot") < 0 || settle_warm_up() < 0 ||
      (argv[0] && argv[1] && run_code_of_image(argv[1]) < 0) || settle() < 0) {
    PyErr_Print();
    return -1;
  }
  if (cay_hash_settle() < 0) return fail(PyStatus_NoMemory());
  streams_flush();
  start_clear_unmapped();
  start_clear_stack();
  return 0;
}
