#include "environment.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"

extern char **environ;

static bool is_entry(const char *data, size_t len) {
  const char *sign = memchr(data, '=', len);
  return sign && sign != data && !memchr(data, 0, len);
}

/* The dictionary behind os.environ, of bytes. Borrowed. */
static PyObject *dictionary(void) {
  static PyObject *data;
  if (data) return data;
  PyObject *os = PyImport_ImportModule("os");
  PyObject *mapping = os ? PyObject_GetAttrString(os, "environ") : NULL;
  data = mapping ? PyObject_GetAttrString(mapping, "_data") : NULL;
  Py_XDECREF(mapping);
  Py_XDECREF(os);
  return data;
}

static int add(PyObject *data, const char *entry) {
  size_t len = strlen(entry);
  if (!is_entry(entry, len)) return 0;
  const char *sign = strchr(entry, '=');
  PyObject *name = PyBytes_FromStringAndSize(entry, sign - entry), *value = PyBytes_FromString(sign + 1);
  int added = name && value ? PyDict_SetItem(data, name, value) : -1;
  Py_XDECREF(name);
  Py_XDECREF(value);
  return added;
}

int environment_read(void) {
  PyObject *data = dictionary();
  int added = data ? 0 : -1;
  if (data) PyDict_Clear(data);
  for (char **e = environ; added == 0 && e && *e; e++) added = add(data, *e);
  return added;
}

/* One block: the vector, and the strings after it. */
static char **lay_out(const variable *variables, size_t count) {
  size_t len = (count + 1) * sizeof(char *), used = 0;
  for (size_t i = 0; i < count; i++) len += variables[i].len + 1;
  char **vector = malloc(len);
  char *at = vector ? (char *)(vector + count + 1) : NULL;
  for (size_t i = 0; vector && i < count; i++) {
    if (!is_entry(variables[i].data, variables[i].len)) continue;
    vector[used++] = memcpy(at, variables[i].data, variables[i].len);
    at[variables[i].len] = 0;
    at += variables[i].len + 1;
  }
  if (vector) vector[used] = NULL;
  return vector;
}

int environment_replace(const variable *variables, size_t count) {
  static char **own;
  char **vector = lay_out(variables, count);
  if (!vector) return PyErr_NoMemory(), -1;
  environ = vector; /* setenv(3) copies the strings it changes */
  free(own);
  own = vector;
  return environment_read();
}
