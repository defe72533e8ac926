/* An exception as fields of a reply. The text of the traceback is made in Python (cay/_report.py), which may
 * fail when memory or the stack is short; then the type and the message alone are told. */
#include "driver.h"

enum { TEXT_MAX = 1 << 20 };

static void add_text(reply *r, enum talk_tag tag, PyObject *string) {
  Py_ssize_t len;
  const char *data = PyUnicode_AsUTF8AndSize(string, &len);
  PyObject *bytes = NULL;
  if (!data) {
    PyErr_Clear();
    bytes = PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace");
    if (!bytes) {
      PyErr_Clear();
      return;
    }
    data = PyBytes_AS_STRING(bytes);
    len = PyBytes_GET_SIZE(bytes);
  }
  if (len > TEXT_MAX)
    for (len = TEXT_MAX; len > 0 && (data[len] & 0xc0) == 0x80;) len--;
  reply_bytes(r, tag, data, (size_t)len);
  Py_XDECREF(bytes);
}

static void report_plainly(reply *r, PyObject *error) {
  const char *name = Py_TYPE(error)->tp_name;
  PyErr_Clear();
  reply_bytes(r, TALK_ERROR_TYPE, name, strlen(name));
  PyObject *message = PyObject_Str(error);
  if (message) add_text(r, TALK_ERROR_TEXT, message);
  Py_XDECREF(message);
  PyErr_Clear();
}

static void report_error(reply *r, PyObject *error, PyObject *cell, enum talk_status status) {
  PyObject *parts = helper_call("report", "describe", "(OO)", error, cell ? cell : Py_None);
  PyObject *type, *message, *traceback;
  unsigned line;
  bool stopped = !parts && PyErr_ExceptionMatches(error_stopped);
  reply_u32(r, TALK_STATUS, stopped ? TALK_STOPPED : status);
  if (parts && PyArg_ParseTuple(parts, "UUUI", &type, &message, &traceback, &line)) {
    add_text(r, TALK_ERROR_TYPE, type);
    add_text(r, TALK_ERROR_TEXT, message);
    add_text(r, TALK_TRACEBACK, traceback);
    if (line) reply_u32(r, TALK_ERROR_LINE, line);
  } else {
    report_plainly(r, error);
  }
  Py_XDECREF(parts);
}

/* As the interpreter ends: no code is success, a number is itself, anything else is a message and failure. */
static int exit_code(PyObject *error) {
  PyObject *code = PyObject_GetAttrString(error, "code");
  long number = 1;
  if (!code || Py_IsNone(code)) {
    number = 0;
  } else if (PyLong_Check(code)) {
    number = PyLong_AsLong(code);
  } else {
    PyObject *file = PySys_GetObject("stderr");
    if (file && !Py_IsNone(file) && PyFile_WriteObject(code, file, Py_PRINT_RAW) == 0)
      PyFile_WriteString("\n", file);
  }
  PyErr_Clear();
  Py_XDECREF(code);
  return (int)number;
}

void report_exception(reply *r, PyObject *cell) {
  PyObject *error = PyErr_GetRaisedException();
  if (!error) return;
  if (PyErr_GivenExceptionMatches(error, PyExc_SystemExit)) {
    reply_u32(r, TALK_STATUS, TALK_EXIT);
    reply_u32(r, TALK_EXIT_CODE, (uint32_t)exit_code(error));
  } else {
    bool stopped = PyErr_GivenExceptionMatches(error, error_stopped);
    report_error(r, error, cell, stopped ? TALK_STOPPED : TALK_EXCEPTION);
  }
  PyException_SetTraceback(error, Py_None); /* its frames may hold large objects */
  Py_DECREF(error);
  PyErr_Clear();
}
