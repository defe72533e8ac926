#include "environment.h"

#include <string.h>

#include "driver.h"

extern char **environ;

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
  if (!variable_is_entry(entry, len)) return 0;
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

int environment_replace(const variable *variables, size_t count) {
  if (variables_set(variables, count) < 0) return PyErr_NoMemory(), -1;
  return environment_read();
}
