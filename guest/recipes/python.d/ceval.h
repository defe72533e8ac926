/* ceval.h - included before Python/ceval.c, the interpreter's loop.
 *
 * ceval.c defines Py_DECREF anew, as a macro that calls the type's function through its pointer wherever a
 * reference is dropped; a build with Py_TRACE_REFS leaves that out and calls _Py_Dealloc, which direct.c
 * makes cheaper than the pointer. The loop becomes a fifth smaller by it, too. Only the headers here know
 * that name besides, and they have been read before it is defined, so that nothing else changes.
 */
#include <Python.h>

#include "pycore_interp.h"
#include "pycore_object.h"
#include "pycore_object_state.h"

#define Py_TRACE_REFS 1
