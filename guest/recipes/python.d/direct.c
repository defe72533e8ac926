/* direct.c - what the interpreter calls most through a pointer, called directly.
 *
 * A call through a pointer reads an object's type, the type's function, the table of functions, the entry's
 * type and the callee's instance, each from what the one before has read; its callee cannot even begin to
 * read memory before that. Freeing an object is such a call, and so is asking for memory. Here the usual
 * answer is compared for, and only the others go through the pointer. The linker puts these functions in the
 * place of CPython's (--wrap); they do what those do, in the same order.
 */
#include <Python.h>

#include "pycore_floatobject.h"
#include "pycore_long.h"
#include "pycore_object.h"
#include "pycore_pymem_init.h"
#include "pycore_runtime.h"
#include "pycore_unicodeobject.h"

void __wrap__Py_Dealloc(PyObject *object);
void *__wrap_PyObject_Malloc(size_t len);
void __wrap_PyObject_Free(void *block);
void *__wrap_PyMem_Malloc(size_t len);
void __wrap_PyMem_Free(void *block);

/* ---- memory: pymalloc, unless a debugger or tracemalloc has put itself before it ---- */

static inline void *allocate(const PyMemAllocatorEx *from, size_t len) {
  if (len > (size_t)PY_SSIZE_T_MAX) return NULL;
  if (from->malloc == _PyObject_Malloc) return _PyObject_Malloc(from->ctx, len);
  return from->malloc(from->ctx, len);
}

static inline void release(const PyMemAllocatorEx *to, void *block) {
  if (to->free == _PyObject_Free)
    _PyObject_Free(to->ctx, block);
  else
    to->free(to->ctx, block);
}

void *__wrap_PyObject_Malloc(size_t len) { return allocate(&_PyRuntime.allocators.standard.obj, len); }
void __wrap_PyObject_Free(void *block) { release(&_PyRuntime.allocators.standard.obj, block); }
void *__wrap_PyMem_Malloc(size_t len) { return allocate(&_PyRuntime.allocators.standard.mem, len); }
void __wrap_PyMem_Free(void *block) { release(&_PyRuntime.allocators.standard.mem, block); }

/* ---- objects ---- */

/* The small integers live for ever; long_dealloc repairs their count when a program has broken it. */
static inline bool may_be_immortal(PyObject *integer) {
  if (!_PyLong_IsCompact((PyLongObject *)integer)) return false;
  Py_ssize_t value = _PyLong_CompactValue((PyLongObject *)integer);
  return value >= -_PY_NSMALLNEGINTS && value < _PY_NSMALLPOSINTS;
}

void __wrap__Py_Dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  _PyReftracerTrack(object, PyRefTracer_DESTROY);
  if (type == &PyFloat_Type)
    _PyFloat_ExactDealloc(object);
  else if (type == &PyUnicode_Type)
    _PyUnicode_ExactDealloc(object);
  else if (type == &PyLong_Type && !may_be_immortal(object))
    __wrap_PyObject_Free(object);
  else
    type->tp_dealloc(object);
}
