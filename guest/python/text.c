#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 200 };

void text_add(text *t, const char *data, size_t len) {
  if (t->failed || (t->limit && len > t->limit - t->len)) {
    t->failed = true;
    return;
  }
  if (len > t->cap - t->len) {
    size_t cap = t->cap ? t->cap : 256;
    while (cap - t->len < len && cap < SIZE_MAX / 2) cap *= 2;
    char *grown = realloc(t->data, cap);
    if (!grown) {
      t->failed = true;
      return;
    }
    t->data = grown;
    t->cap = cap;
  }
  memcpy(t->data + t->len, data, len);
  t->len += len;
}

void text_free(text *t) {
  free(t->data);
  *t = (text){ .limit = t->limit };
}

static void add(text *t, const char *s) { text_add(t, s, strlen(s)); }

static void escape(text *t, unsigned c) {
  char out[8];
  switch (c) {
  case '"': add(t, "\\\""); return;
  case '\\': add(t, "\\\\"); return;
  case '\n': add(t, "\\n"); return;
  case '\r': add(t, "\\r"); return;
  case '\t': add(t, "\\t"); return;
  default: snprintf(out, sizeof out, "\\u%04x", c & 0xffff); add(t, out);
  }
}

static bool plain(unsigned char c) { return c >= 0x20 && c != '"' && c != '\\'; }

void json_write_utf8(text *t, const char *data, size_t len) {
  const char *end = data + len;
  text_add(t, "\"", 1);
  while (data < end) {
    const char *run = data;
    while (data < end && plain((unsigned char)*data)) data++;
    text_add(t, run, (size_t)(data - run));
    if (data < end) escape(t, (unsigned char)*data++);
  }
  text_add(t, "\"", 1);
}

/* A string with halves of surrogate pairs has no UTF-8; JSON can name them. */
static bool write_surrogates(text *t, PyObject *string) {
  text_add(t, "\"", 1);
  for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(string) && !t->failed; i++) {
    Py_UCS4 c = PyUnicode_READ_CHAR(string, i);
    if (c < 0x80 ? !plain((unsigned char)c) : c >= 0xd800 && c < 0xe000) {
      escape(t, c);
    } else {
      char out[4];
      size_t n = 0;
      if (c < 0x80) {
        out[n++] = (char)c;
      } else {
        unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        out[n++] = (char)((0xf00u >> more & 0xff) | c >> 6 * more);
        while (more--) out[n++] = (char)(0x80 | (c >> 6 * more & 0x3f));
      }
      text_add(t, out, n);
    }
  }
  text_add(t, "\"", 1);
  return !t->failed;
}

bool json_write_string(text *t, PyObject *string) {
  Py_ssize_t len;
  const char *data = PyUnicode_AsUTF8AndSize(string, &len);
  if (data) {
    json_write_utf8(t, data, (size_t)len);
    return !t->failed;
  }
  bool memory = !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError);
  PyErr_Clear();
  return !memory && write_surrogates(t, string);
}

static bool write_int(text *t, PyObject *value) {
  int overflow;
  long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (!overflow) {
    char out[24];
    snprintf(out, sizeof out, "%lld", small);
    add(t, out);
    return true;
  }
  PyObject *digits = PyLong_Type.tp_repr(value);
  const char *s = digits ? PyUnicode_AsUTF8(digits) : NULL;
  if (s)
    add(t, s);
  else
    PyErr_Clear();
  Py_XDECREF(digits);
  return s;
}

static bool write_float(text *t, double value) {
  if (!isfinite(value)) return false;
  char *digits = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
  if (!digits) {
    PyErr_Clear();
    return false;
  }
  add(t, digits);
  PyMem_Free(digits);
  return true;
}

static bool write_value(text *t, PyObject *value, unsigned depth);

static bool write_array(text *t, PyObject *value, unsigned depth) {
  text_add(t, "[", 1);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
    if (i) text_add(t, ", ", 2);
    if (!write_value(t, PySequence_Fast_GET_ITEM(value, i), depth)) return false;
  }
  text_add(t, "]", 1);
  return true;
}

static bool write_object(text *t, PyObject *value, unsigned depth) {
  PyObject *key, *item;
  Py_ssize_t at = 0;
  bool first = true;
  text_add(t, "{", 1);
  while (PyDict_Next(value, &at, &key, &item)) {
    if (!PyUnicode_Check(key)) return false;
    if (!first) text_add(t, ", ", 2);
    first = false;
    if (!json_write_string(t, key)) return false;
    text_add(t, ": ", 2);
    if (!write_value(t, item, depth)) return false;
  }
  text_add(t, "}", 1);
  return true;
}

static bool write_value(text *t, PyObject *value, unsigned depth) {
  if (t->failed || depth > DEPTH) return false;
  if (Py_IsNone(value))
    add(t, "null");
  else if (PyBool_Check(value))
    add(t, Py_IsTrue(value) ? "true" : "false");
  else if (PyUnicode_Check(value))
    return json_write_string(t, value);
  else if (PyLong_Check(value))
    return write_int(t, value);
  else if (PyFloat_Check(value))
    return write_float(t, PyFloat_AS_DOUBLE(value));
  else if (PyList_Check(value) || PyTuple_Check(value))
    return write_array(t, value, depth + 1);
  else if (PyDict_Check(value))
    return write_object(t, value, depth + 1);
  else
    return false;
  return true;
}

bool json_write(text *t, PyObject *value) { return write_value(t, value, 0) && !t->failed; }

static PyObject *attribute_of(const char *module_name, const char *name) {
  PyObject *module = PyImport_ImportModule(module_name);
  PyObject *value = module ? PyObject_GetAttrString(module, name) : NULL;
  Py_XDECREF(module);
  return value;
}

static Py_ssize_t skip_blanks(PyObject *string, Py_ssize_t at) {
  for (; at < PyUnicode_GET_LENGTH(string); at++) {
    Py_UCS4 c = PyUnicode_READ_CHAR(string, at);
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
  }
  return at;
}

/* With json's scanner, which is C. NULL without an exception: it is not sound, and json is to say why. */
static PyObject *scan(PyObject *string) {
  static PyObject *scanner;
  if (!scanner) {
    PyObject *decoder = attribute_of("json", "_default_decoder");
    scanner = decoder ? PyObject_GetAttrString(decoder, "scan_once") : NULL;
    Py_XDECREF(decoder);
  }
  PyObject *found = scanner ? PyObject_CallFunction(scanner, "On", string, skip_blanks(string, 0)) : NULL;
  PyObject *value = NULL;
  Py_ssize_t end = 0;
  if (found && PyArg_ParseTuple(found, "On", &value, &end) &&
      skip_blanks(string, end) == PyUnicode_GET_LENGTH(string))
    Py_INCREF(value);
  else
    value = NULL;
  Py_XDECREF(found);
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception) &&
      !PyErr_ExceptionMatches(PyExc_MemoryError))
    PyErr_Clear();
  return value;
}

PyObject *json_read(PyObject *string) {
  PyObject *value = scan(string);
  if (value || PyErr_Occurred()) return value;
  PyObject *loads = attribute_of("json", "loads");
  value = loads ? PyObject_CallOneArg(loads, string) : NULL;
  Py_XDECREF(loads);
  return value;
}
