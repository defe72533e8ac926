/* The code of the latest short cells: one that comes again, letter for letter, is not compiled again, which takes longer than most
 * short cells compute. Nothing else tells the two ways apart.
 *
 * - The code has the name of the new cell. There must be no other reference to it, and it contains no other code (functions,
 *   classes), which would have the name of the old one.
 * - Its text had no warning: compiling would tell that again.
 * - A hook that watches compilation hears of it. */
#include "driver.h"

enum {
  KEPT_MAX = 16,
  LEN_MAX = 512, /* and too short for a number that is refused depending on sys.set_int_max_str_digits */
};

typedef struct {
  PyObject *source; /* NULL: none */
  cell_code code;
} kept;

static kept all[KEPT_MAX];
static size_t next;

/* ---- warnings ---- */

static PyObject *refusing(void) {
  static PyObject *filter; /* of all warnings */
  if (!filter) filter = Py_BuildValue("(sOOOi)", "error", Py_None, PyExc_Warning, Py_None, 0);
  return filter;
}

/* warnings.filters, a reference; NULL: that is not a list. */
static PyObject *filters_find(void) {
  static PyObject *module_name, *name;
  if (!module_name) module_name = PyUnicode_InternFromString("warnings");
  if (!name) name = PyUnicode_InternFromString("filters");
  PyObject *module = module_name ? PyImport_GetModule(module_name) : NULL;
  PyObject *filters = module && name ? PyObject_GetAttr(module, name) : NULL;
  Py_XDECREF(module);
  if (filters && !PyList_CheckExact(filters)) Py_CLEAR(filters);
  return filters;
}

PyObject *kept_refuse_warnings(PyObject *source) {
  if (PyUnicode_GET_LENGTH(source) > LEN_MAX) return NULL;
  PyObject *filters = refusing() ? filters_find() : NULL;
  if (filters && PyList_Insert(filters, 0, refusing()) < 0) Py_CLEAR(filters);
  PyErr_Clear();
  return filters;
}

void kept_allow_warnings(PyObject *filters) {
  PyObject *failure = PyErr_GetRaisedException();
  if (PyList_GET_SIZE(filters) && PyList_GET_ITEM(filters, 0) == refusing() &&
      PyList_SetSlice(filters, 0, 1, NULL) < 0)
    PyErr_Clear();
  Py_DECREF(filters);
  PyErr_SetRaisedException(failure);
}

/* ---- code ---- */

static bool contains_code(const PyCodeObject *code) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++)
    if (PyCode_Check(PyTuple_GET_ITEM(code->co_consts, i))) return true;
  return false;
}

/* Without other references, and without traces of others: a frame of a traceback, a debugger. */
static bool is_free(const PyCodeObject *code) {
  return !code || (Py_REFCNT(code) == 1 && !code->co_weakreflist && !code->co_extra && !code->_co_monitoring);
}

static void code_name(PyCodeObject *code, PyObject *name) {
  if (code) Py_SETREF(code->co_filename, Py_NewRef(name));
}

static kept *kept_of(PyObject *source) {
  for (size_t i = 0; i < KEPT_MAX; i++)
    if (all[i].source && PyUnicode_Compare(all[i].source, source) == 0) return &all[i];
  return NULL;
}

static void kept_clear(kept *k) {
  Py_CLEAR(k->source);
  Py_CLEAR(k->code.body);
  Py_CLEAR(k->code.value);
}

static bool heard_of(const char *text, PyObject *name) {
  if (PySys_Audit("compile", "yO", text, name) == 0) return true;
  PyErr_Clear(); /* it says so again when the code is compiled */
  return false;
}

bool kept_find(PyObject *source, const char *text, PyObject *name, cell_code *out) {
  kept *k = PyUnicode_GET_LENGTH(source) <= LEN_MAX ? kept_of(source) : NULL;
  if (!k || !is_free(k->code.body) || !is_free(k->code.value) || !heard_of(text, name)) return false;
  code_name(k->code.body, name);
  code_name(k->code.value, name);
  out->body = (PyCodeObject *)Py_XNewRef(k->code.body);
  out->value = (PyCodeObject *)Py_XNewRef(k->code.value);
  return true;
}

void kept_add(PyObject *source, const cell_code *code) {
  if ((code->body && contains_code(code->body)) || (code->value && contains_code(code->value))) return;
  kept *k = kept_of(source);
  if (!k) {
    k = &all[next];
    next = (next + 1) % KEPT_MAX;
  }
  kept_clear(k);
  k->source = Py_NewRef(source);
  k->code.body = (PyCodeObject *)Py_XNewRef(code->body);
  k->code.value = (PyCodeObject *)Py_XNewRef(code->value);
}

void kept_forget(void) {
  for (size_t i = 0; i < KEPT_MAX; i++) kept_clear(&all[i]);
}
