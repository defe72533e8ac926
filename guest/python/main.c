/* python3 in the shell: _start begins from nothing, cay_main in an interpreter that came out of an image. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include "driver.h"
#include "environment.h"

#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_moduleobject.h"
#include "internal/pycore_pylifecycle.h"
#include "internal/pycore_pystate.h"
#include "start.h"

#define COLD "/usr/libexec/cay/python3"

extern char **environ;

/* Where the library is, unless the environment says something else: there is nothing to search. */
static PyStatus configure_cold(PyConfig *config, int argc, char **argv) {
  PyConfig_InitPythonConfig(config);
  PyStatus status = PyConfig_SetBytesArgv(config, argc, argv);
  const char *home = getenv("PYTHONHOME");
  if (PyStatus_Exception(status) || (home && *home)) return status;
  return PyConfig_SetString(config, &config->home, PYTHON_HOME);
}

int main(int argc, char **argv) {
  PyConfig config;
  if (module_register() < 0) return 1;
  PyStatus status = configure_cold(&config, argc, argv);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) Py_ExitStatusException(status);
  PyObject *entered = helper_call("venv", "enter", "()");
  if (!entered) PyErr_Print();
  Py_XDECREF(entered);
  if (!helper("fallbacks")) PyErr_Print(); /* a library that is not whole: the program finds out for itself */
  return Py_RunMain();
}

static int same(const wchar_t *a, const wchar_t *b) { return a == b || (a && b && !wcscmp(a, b)); }

/* Settings that are read once, before the interpreter and even its allocator begin, and so were read at boot. */
static bool asks_for_another_beginning(const PyConfig *asked) {
  static const char *const names[] = { "PYTHONDEVMODE", "PYTHONHASHSEED", "PYTHONMALLOC", "PYTHONUTF8" };
  for (size_t i = 0; asked->use_environment && i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && *value) return true;
  }
  return false;
}

/* Whether the running interpreter can do what these options ask for. */
static bool can_honour(const PyConfig *asked, const PyConfig *booted) {
  return !asks_for_another_beginning(asked) && asked->isolated == booted->isolated &&
         asked->use_environment == booted->use_environment && asked->dev_mode == booted->dev_mode &&
         asked->use_hash_seed == booted->use_hash_seed &&
         asked->optimization_level == booted->optimization_level &&
         asked->site_import == booted->site_import && asked->faulthandler == booted->faulthandler &&
         asked->tracemalloc == booted->tracemalloc && asked->import_time == booted->import_time &&
         asked->verbose == booted->verbose && asked->parser_debug == booted->parser_debug &&
         asked->bytes_warning == booted->bytes_warning && asked->perf_profiling == booted->perf_profiling &&
         asked->code_debug_ranges == booted->code_debug_ranges &&
         asked->int_max_str_digits == booted->int_max_str_digits &&
         asked->malloc_stats == booted->malloc_stats && asked->dump_refs == booted->dump_refs &&
         asked->warn_default_encoding == booted->warn_default_encoding && asked->xoptions.length == 0 &&
         !asked->home && same(asked->pycache_prefix, booted->pycache_prefix);
}

/* Paths found on the disk stay as they were found at boot. */
static PyStatus take_paths(PyConfig *asked, const PyConfig *booted) {
  struct {
    wchar_t **to;
    const wchar_t *from;
  } const strings[] = {
    { &asked->executable, booted->executable },   { &asked->base_executable, booted->base_executable },
    { &asked->prefix, booted->prefix },           { &asked->base_prefix, booted->base_prefix },
    { &asked->exec_prefix, booted->exec_prefix }, { &asked->base_exec_prefix, booted->base_exec_prefix },
    { &asked->stdlib_dir, booted->stdlib_dir },   { &asked->platlibdir, booted->platlibdir },
  };
  PyStatus status = PyStatus_Ok();
  for (size_t i = 0; i < sizeof strings / sizeof *strings && !PyStatus_Exception(status); i++)
    status = PyConfig_SetString(asked, strings[i].to, strings[i].from);
  return status;
}

static PyStatus add_path(PyConfig *config, const wchar_t *from, size_t len) {
  wchar_t *entry = PyMem_RawMalloc((len + 1) * sizeof *entry);
  if (!entry) return PyStatus_NoMemory();
  wmemcpy(entry, from, len);
  entry[len] = 0;
  PyStatus status = PyWideStringList_Append(&config->module_search_paths, entry);
  PyMem_RawFree(entry);
  return status;
}

/* PYTHONPATH first, then what sys.path was after the boot, with what site added to it. */
static PyStatus set_search_paths(PyConfig *config) {
  PyStatus status = PyStatus_Ok();
  for (const wchar_t *at = config->pythonpath_env; at && *at && !PyStatus_Exception(status);) {
    size_t len = wcscspn(at, L":");
    status = add_path(config, at, len);
    at += len + (at[len] == L':');
  }
  PyObject *path = PySys_GetObject("path");
  for (Py_ssize_t i = 0; path && i < PyList_GET_SIZE(path) && !PyStatus_Exception(status); i++) {
    Py_ssize_t len;
    wchar_t *entry = PyUnicode_AsWideCharString(PyList_GET_ITEM(path, i), &len);
    if (!entry)
      status = PyStatus_NoMemory();
    else if (len)
      status = add_path(config, entry, (size_t)len); /* the empty one is for sessions */
    PyMem_Free(entry);
  }
  config->module_search_paths_set = 1;
  return status;
}

/* Options and variables as the interpreter itself reads them; the files of the library are not looked for
 * again. */
static PyStatus read_options(PyConfig *asked, const PyConfig *booted, int argc, char **argv) {
  PyConfig_InitPythonConfig(asked);
  PyStatus status = PyConfig_SetBytesArgv(asked, argc, argv);
  if (!PyStatus_Exception(status)) status = take_paths(asked, booted);
  asked->_install_importlib = 0;
  if (!PyStatus_Exception(status)) status = PyConfig_Read(asked);
  asked->_install_importlib = 1;
  return PyStatus_Exception(status) ? status : set_search_paths(asked);
}

static int begin_program(const PyConfig *config) {
  bool interruptible = PyOS_getsig(SIGINT) != SIG_IGN;
  if (streams_open(config, false) < 0 || environment_read() < 0 || greet_reseed("", 0) < 0) return -1;
  PyObject *begun =
      helper_call("process", "begin_program", "(OO)", config->user_site_directory ? Py_True : Py_False,
                  interruptible ? Py_True : Py_False);
  Py_XDECREF(begun);
  return begun ? 0 : -1;
}

static _Noreturn void begin_cold(char **argv) {
  execve(COLD, argv, environ);
  fprintf(stderr, "python3: %s: %s\n", COLD, strerror(errno));
  exit(126);
}

static bool from_image; /* this process came out of an image: see __wrap_Py_FinalizeEx */
static PyObject *booted_modules;

int EXPORT(cay_main)(void) {
  PyInterpreterState *interpreter = _PyThreadState_GET()->interp;
  const PyConfig *booted = _PyInterpreterState_GetConfig(interpreter);
  char **argv = start_process();
  int argc = 0;
  if (greet_reseed_hashes("", 0) < 0) PyErr_Clear(); /* the image's seed alone, then */
  while (argv[argc]) argc++;
  PyConfig asked;
  PyStatus status = read_options(&asked, booted, argc, argv);
  if (PyStatus_Exception(status)) Py_ExitStatusException(status);
  if (!can_honour(&asked, booted)) begin_cold(argv);
  from_image = true;
  booted_modules = PyDict_Copy(PyImport_GetModuleDict());
  if (!booted_modules || _PyInterpreterState_SetConfig(&asked) < 0 || begin_program(&asked) < 0) {
    PyErr_Print();
    exit(1);
  }
  PyConfig_Clear(&asked);
  exit(Py_RunMain());
}

/* The end of a program, in the order that programs can observe: threads, atexit, the names of its modules
 * from the latest on, the collector. What the image brought along is left alone: touching it would only copy
 * pages. */

static void call_in(const char *module, const char *function) {
  PyObject *found = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  PyObject *done = found ? PyObject_CallMethod(found, function, NULL) : NULL;
  if (found && !done) PyErr_WriteUnraisable(found);
  Py_XDECREF(done);
}

static void clear_module(PyObject *name, PyObject *module) {
  if (PyModule_Check(module) && PyDict_Contains(booted_modules, name) == 0) _PyModule_Clear(module);
  PyErr_Clear();
}

static void clear_modules(void) {
  PyObject *all = PyDict_Items(PyImport_GetModuleDict());
  PyObject *program = PyImport_AddModule("__main__");
  if (program) _PyModule_Clear(program);
  _PyGC_CollectNoFail(_PyThreadState_GET()); /* without gc.callbacks: their modules may be gone */
  for (Py_ssize_t i = all ? PyList_GET_SIZE(all) : 0; i-- > 0;) {
    PyObject *item = PyList_GET_ITEM(all, i);
    clear_module(PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1));
  }
  Py_XDECREF(all);
  _PyGC_CollectNoFail(_PyThreadState_GET());
}

static int flush(const char *name) {
  PyObject *stream = PySys_GetObject(name);
  if (!stream || Py_IsNone(stream)) return 0;
  PyObject *closed = PyObject_GetAttrString(stream, "closed");
  bool open = closed && Py_IsFalse(closed);
  PyErr_Clear();
  Py_XDECREF(closed);
  PyObject *done = open ? PyObject_CallMethod(stream, "flush", NULL) : NULL;
  if (open && !done) PyErr_WriteUnraisable(stream);
  Py_XDECREF(done);
  return open && !done ? -1 : 0;
}

static int flush_all(void) {
  int out = flush("stdout");
  int err = flush("stderr");
  return out < 0 || err < 0 ? -1 : 0;
}

int __real_Py_FinalizeEx(void);
int __wrap_Py_FinalizeEx(void);

int __wrap_Py_FinalizeEx(void) {
  static bool over;
  if (!from_image) return __real_Py_FinalizeEx();
  if (over) return 0;
  over = true;
  call_in("threading", "_shutdown");
  _PyAtExit_Call(_PyThreadState_GET()->interp);
  int flushed = flush_all();
  clear_modules();
  return flush_all() < 0 ? -1 : flushed;
}
