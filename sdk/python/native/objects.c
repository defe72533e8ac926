/* objects.c - items from the server as objects of Python.
 *
 *   (0, number, line)
 *   (1, number, outcome, stdout, stderr, ms, json, repr, error, exit code, end, undone, detail, fuel, flags, bundle)
 *   (2, number, exit code, stdout, stderr, ms, end, detail, fuel, flags)
 *   (3, sandbox, name, arguments, call)
 *
 * Lines, JSON and the output of commands are bytes; other texts are str, in which ill-formed bytes are U+FFFD. */
#include "native.h"

#include "base/alloc.h"

#include <string.h>

static const char CALL_NAME[] = "cay.call";

enum { OUT_CUT = 1, ERR_CUT = 2, REPR_CUT = 4, VALUE_TOO_LARGE = 8, BUNDLE_TOO_LARGE = 16 };

static PyObject *text_object(cay_slice text) {
  return PyUnicode_DecodeUTF8(text.len != 0 ? text.data : "", (Py_ssize_t)text.len, "replace");
}

static PyObject *none(void) {
  Py_INCREF(Py_None);
  return Py_None;
}

static PyObject *text_or_none(cay_slice text) { return text.len != 0 ? text_object(text) : none(); }

static PyObject *bytes_object(cay_slice bytes) {
  return PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.len);
}

static PyObject *bytes_or_none(cay_slice bytes) { return bytes.len != 0 ? bytes_object(bytes) : none(); }

static double ms_of(uint64_t ns) { return (double)(ns / 1000) / 1000.0; }

/* ---- values ---- */

static PyObject *error_object(const cay_value *v) {
  if (v->error_type.len == 0) return none();
  return Py_BuildValue("(NNNI)", text_object(v->error_type), text_object(v->error_text),
                       text_object(v->traceback), (unsigned)v->error_line);
}

static int value_flags(const cay_value *v) {
  return (v->out_cut ? OUT_CUT : 0) | (v->err_cut ? ERR_CUT : 0) | (v->repr_cut ? REPR_CUT : 0) |
         (v->json_too_large ? VALUE_TOO_LARGE : 0) | (v->bundle_too_large ? BUNDLE_TOO_LARGE : 0);
}

static bool value_has_exit_code(const cay_value *v) {
  return v->outcome == CAY_OUTCOME_EXIT || (v->outcome == CAY_OUTCOME_STOPPED && v->end == CAY_END_EXIT);
}

static PyObject *value_object(uint64_t number, const cay_value *v) {
  bool stopped = v->outcome == CAY_OUTCOME_STOPPED;
  PyObject *code = value_has_exit_code(v) ? PyLong_FromLong(v->exit_code) : none();
  return Py_BuildValue("(iKsNNdNNNNsNNKiN)", NATIVE_VALUE, (unsigned long long)number,
                       cay_outcome_name(v->outcome), text_object(v->out), text_object(v->err),
                       ms_of(v->wall_ns), bytes_or_none(v->json), text_or_none(v->repr), error_object(v),
                       code, stopped ? cay_end_name(v->end) : "exit", PyBool_FromLong(stopped && v->undone),
                       text_object(stopped ? v->detail : (cay_slice){ 0 }), (unsigned long long)v->fuel,
                       value_flags(v), bytes_or_none(v->bundle));
}

/* ---- commands ---- */

static PyObject *run_end_object(uint64_t number, const serve_run_end *e) {
  int flags = (e->out_cut ? OUT_CUT : 0) | (e->err_cut ? ERR_CUT : 0);
  return Py_BuildValue("(iKiNNdsNKi)", NATIVE_RUN_END, (unsigned long long)number, e->exit_code,
                       bytes_object(e->out), bytes_object(e->err), ms_of(e->wall_ns), cay_end_name(e->end),
                       text_object(e->detail), (unsigned long long)e->fuel, flags);
}

/* ---- calls ---- */

static void call_object_free(PyObject *capsule) {
  native_call *call = PyCapsule_GetPointer(capsule, CALL_NAME);
  native_call_fail(call, "the callback was not answered");
  native_call_unref(call);
}

static PyObject *call_object(native_call *call) {
  PyObject *capsule = PyCapsule_New(call, CALL_NAME, call_object_free);
  if (capsule == NULL) {
    native_call_fail(call, "out of memory");
    native_call_unref(call);
    return NULL;
  }
  cay_slice name = { call->name, strlen(call->name) };
  return Py_BuildValue("(isNNN)", NATIVE_CALL, call->sandbox, text_object(name),
                       bytes_object((cay_slice){ call->args, call->args_len }), capsule);
}

PyObject *native_call_answer_object(PyObject *module, PyObject *args) {
  PyObject *capsule;
  const char *json;
  Py_ssize_t len;
  (void)module;
  if (!PyArg_ParseTuple(args, "Oy#", &capsule, &json, &len)) return NULL;
  native_call *call = PyCapsule_GetPointer(capsule, CALL_NAME);
  if (call == NULL) return NULL;
  native_call_answer(call, (cay_slice){ json, (size_t)len });
  return none();
}

PyObject *native_call_fail_object(PyObject *module, PyObject *args) {
  PyObject *capsule;
  const char *why;
  (void)module;
  if (!PyArg_ParseTuple(args, "Oy", &capsule, &why)) return NULL;
  native_call *call = PyCapsule_GetPointer(capsule, CALL_NAME);
  if (call == NULL) return NULL;
  native_call_fail(call, why);
  return none();
}

/* ---- items ---- */

PyObject *native_item_object(native_item *item) {
  PyObject *object = NULL;
  switch (item->kind) {
  case NATIVE_LINE:
    object = Py_BuildValue("(iKy#)", NATIVE_LINE, (unsigned long long)item->number, item->line,
                           (Py_ssize_t)item->len);
    break;
  case NATIVE_VALUE: object = value_object(item->number, item->value); break;
  case NATIVE_RUN_END: object = run_end_object(item->number, item->end); break;
  case NATIVE_CALL:
    object = call_object(item->call);
    item->call = NULL;
    break;
  case NATIVE_FILE: object = none(); break; /* files are read by the thread that asks */
  }
  native_item_free(item);
  return object;
}
