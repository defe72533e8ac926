/* native.h - the extension module of Python: requests without the GIL, answers as objects of Python. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "exchange.h"

/* With the GIL, all of them. */

/* What an item is for Python: a tuple whose first member is its kind. Takes the item. NULL: an exception. */
PyObject *native_item_object(native_item *item);

/* The functions answer(call, json) and fail(call, why). */
PyObject *native_call_answer_object(PyObject *module, PyObject *args);
PyObject *native_call_fail_object(PyObject *module, PyObject *args);
