/* The user's variables as bytes and back. The work is done in Python (cay/_state.py), on the dictionary of
 * __main__. */
#include <errno.h>

#include "driver.h"
#include "host.h"

static void report_failure(reply *r) {
  r->len = 0;
  report_exception(r, NULL);
}

/* A piece of the variables, which the host keeps: they are never in this memory as a whole. */
static PyObject *give(PyObject *module, PyObject *object) {
  (void)module;
  Py_buffer bytes;
  if (PyObject_GetBuffer(object, &bytes, PyBUF_SIMPLE) < 0) return NULL;
  long given = 0;
  for (Py_ssize_t at = 0; at < bytes.len && given >= 0; at += HOST_PIECE_MAX) {
    Py_ssize_t left = bytes.len - at;
    given = host_give((const char *)bytes.buf + at, (size_t)(left < HOST_PIECE_MAX ? left : HOST_PIECE_MAX));
  }
  PyBuffer_Release(&bytes);
  if (given >= 0) Py_RETURN_NONE;
  errno = (int)-given;
  return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *keep_source(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *name, *source;
  if (!PyArg_ParseTuple(args, "UU", &name, &source) || execute_keep_source(name, source) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
  { "_give", give, METH_O, NULL },
  { "_keep_source", keep_source, METH_VARARGS, NULL },
  { 0 },
};

int state_ready(PyObject *module) { return PyModule_AddFunctions(module, functions); }

void state_snapshot(reply *r) {
  PyObject *bytes = helper_call("state", "snapshot", "(O)", user_names());
  if (!bytes) {
    report_failure(r);
    return;
  }
  reply_u32(r, TALK_STATUS, TALK_OK);
  reply_bytes(r, TALK_BYTES, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
  Py_DECREF(bytes);
  streams_flush();
}

static void report_none(PyObject *none, reply *r) {
  if (!none) {
    report_failure(r);
    return;
  }
  Py_DECREF(none);
  reply_u32(r, TALK_STATUS, TALK_OK);
  streams_flush();
}

void state_restore(fields *request, reply *r) {
  field f = { 0 };
  while (fields_next(request, &f) && f.tag != TALK_BYTES) continue;
  bool given = f.tag == TALK_BYTES;
  PyObject *bytes = PyMemoryView_FromMemory((char *)(uintptr_t)(given ? f.data : ""),
                                            given ? (Py_ssize_t)f.len : 0, PyBUF_READ);
  report_none(bytes ? helper_call("state", "restore", "(ON)", user_names(), bytes) : NULL, r);
}

void state_clear(reply *r) {
  if (execute_forget_value() < 0) PyErr_Clear();
  report_none(helper_call("state", "clear", "(O)", user_names()), r);
}

void state_names(reply *r) {
  PyObject *json = helper_call("state", "describe", "(O)", user_names());
  Py_ssize_t len;
  const char *data = json ? PyUnicode_AsUTF8AndSize(json, &len) : NULL;
  if (!data) {
    Py_XDECREF(json);
    report_failure(r);
    return;
  }
  reply_u32(r, TALK_STATUS, TALK_OK);
  reply_bytes(r, TALK_JSON, data, (size_t)len);
  Py_DECREF(json);
}
