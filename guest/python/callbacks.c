/* Callbacks as functions: `await http.get(url=…)`. What the schema says of one (its signature, its
 * documentation) is worked out in cay/_callbacks.py, when somebody wants it; a call only writes its arguments
 * as JSON. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "driver.h"
#include "host.h"
#include "text.h"

typedef struct {
  PyObject_HEAD PyObject *name, *description; /* str */
  PyObject *schema;                           /* of the parameters */
  PyObject *parameters;                       /* tuple of their names, in the order of `properties` */
  vectorcallfunc call;
} callback;

static PyTypeObject callback_type;

static void write_member(text *t, bool first, PyObject *key, PyObject *value, callback *c) {
  if (!first) text_add(t, ", ", 2);
  json_write_string(t, key);
  text_add(t, ": ", 2);
  if (json_write(t, value) || PyErr_Occurred()) return;
  PyErr_Format(PyExc_TypeError, "%U(): the argument '%U' cannot be written as JSON (%s)", c->name, key,
               Py_TYPE(value)->tp_name);
}

static bool given_by_keyword(PyObject *name, PyObject *keywords) {
  return keywords && PySequence_Contains(keywords, name) == 1;
}

static int write_arguments(text *t, callback *c, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords) {
  Py_ssize_t room = PyTuple_GET_SIZE(c->parameters), named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (count > room) {
    PyErr_Format(PyExc_TypeError, "%U() takes at most %zd positional argument%s, and was given %zd", c->name,
                 room, room == 1 ? "" : "s", count);
    return -1;
  }
  text_add(t, "{", 1);
  for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++) {
    PyObject *name = PyTuple_GET_ITEM(c->parameters, i);
    if (given_by_keyword(name, keywords))
      PyErr_Format(PyExc_TypeError, "%U() got multiple values for argument '%U'", c->name, name);
    else
      write_member(t, i == 0, name, args[i], c);
  }
  for (Py_ssize_t i = 0; i < named && !PyErr_Occurred(); i++)
    write_member(t, count + i == 0, PyTuple_GET_ITEM(keywords, i), args[count + i], c);
  text_add(t, "}", 1);
  if (t->failed && !PyErr_Occurred()) PyErr_NoMemory();
  return PyErr_Occurred() ? -1 : 0;
}

static PyObject *callback_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
  callback *c = (callback *)self;
  text t = { 0 };
  PyObject *json = NULL;
  if (write_arguments(&t, c, args, PyVectorcall_NARGS(flags), keywords) == 0)
    json = PyUnicode_DecodeUTF8(t.data, (Py_ssize_t)t.len, NULL);
  text_free(&t);
  return json ? ask_new(Py_NewRef(c->name), json, true) : NULL;
}

static bool are_names(PyObject *parameters) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parameters); i++)
    if (!PyUnicode_Check(PyTuple_GET_ITEM(parameters, i))) return false;
  return true;
}

static PyObject *callback_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *name, *description, *schema, *parameters;
  if (keywords || !PyArg_ParseTuple(args, "UUO!O!", &name, &description, &PyDict_Type, &schema, &PyTuple_Type,
                                    &parameters))
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "no keywords");
  if (!are_names(parameters)) return PyErr_Format(PyExc_TypeError, "the names of parameters are strings");
  callback *c = PyObject_New(callback, type);
  if (!c) return NULL;
  c->name = Py_NewRef(name);
  c->description = Py_NewRef(description);
  c->schema = Py_NewRef(schema);
  c->parameters = Py_NewRef(parameters);
  c->call = callback_call;
  return (PyObject *)c;
}

static void callback_dealloc(PyObject *self) {
  callback *c = (callback *)self;
  Py_DECREF(c->name);
  Py_DECREF(c->description);
  Py_DECREF(c->schema);
  Py_DECREF(c->parameters);
  PyObject_Free(self);
}

static PyObject *callback_repr(PyObject *self) {
  return PyUnicode_FromFormat("<callback %U>", ((callback *)self)->name);
}

static PyObject *get_name(PyObject *self, void *nothing) {
  (void)nothing;
  PyObject *parts = PyObject_CallMethod(((callback *)self)->name, "rpartition", "s", ".");
  PyObject *last = parts ? Py_NewRef(PyTuple_GET_ITEM(parts, 2)) : NULL;
  Py_XDECREF(parts);
  return last;
}

static PyObject *get_full_name(PyObject *self, void *nothing) {
  (void)nothing;
  return Py_NewRef(((callback *)self)->name);
}

static PyObject *get_module(PyObject *self, void *nothing) {
  (void)self, (void)nothing;
  return PyUnicode_FromString("cay");
}

static PyObject *get_document(PyObject *self, void *nothing) {
  callback *c = (callback *)self;
  (void)nothing;
  return helper_call("callbacks", "document", "(OO)", c->description, c->schema);
}

static PyObject *get_signature(PyObject *self, void *nothing) {
  (void)nothing;
  return helper_call("callbacks", "signature", "(O)", ((callback *)self)->schema);
}

/* As an attribute of a class it does not bind: it stays itself. That inspect finds __get__ is
 * what makes help() describe it as a function. */
static PyObject *callback_get(PyObject *self, PyObject *object, PyObject *type) {
  (void)object, (void)type;
  return Py_NewRef(self);
}

static PyObject *callback_reduce(PyObject *self, PyObject *nothing) {
  (void)nothing;
  PyObject *module = PyImport_ImportModule("cay");
  PyObject *find = module ? PyObject_GetAttrString(module, "find_callback") : NULL;
  Py_XDECREF(module);
  return find ? Py_BuildValue("(N(O))", find, ((callback *)self)->name) : NULL;
}

static PyMethodDef callback_methods[] = { { "__reduce__", callback_reduce, METH_NOARGS, NULL }, { 0 } };

static PyGetSetDef callback_attributes[] = {
  { .name = "__name__", .get = get_name },           { .name = "__qualname__", .get = get_full_name },
  { .name = "__module__", .get = get_module },       { .name = "__doc__", .get = get_document },
  { .name = "__signature__", .get = get_signature }, { 0 },
};

static PyTypeObject callback_type = {
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = "cay.Callback",
  .tp_basicsize = sizeof(callback),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
  .tp_vectorcall_offset = offsetof(callback, call),
  .tp_call = PyVectorcall_Call,
  .tp_new = callback_new,
  .tp_dealloc = callback_dealloc,
  .tp_repr = callback_repr,
  .tp_descr_get = callback_get,
  .tp_methods = callback_methods,
  .tp_getset = callback_attributes,
};

/* The host's list, as JSON. It may grow between two looks. */
static PyObject *read_grants(void) {
  size_t cap = 0;
  char *data = NULL;
  for (;;) {
    long len = host_callbacks(data, cap);
    if (len == -ENOSYS || len == -ENOENT) len = 0; /* a host without any */
    if (len < 0) {
      free(data);
      errno = (int)-len;
      return PyErr_SetFromErrno(PyExc_OSError);
    }
    if ((size_t)len <= cap) {
      PyObject *json = len ? PyUnicode_DecodeUTF8(data, len, "replace") : PyUnicode_FromString("[]");
      free(data);
      return json;
    }
    free(data);
    cap = (size_t)len;
    if (!(data = malloc(cap))) return PyErr_NoMemory();
  }
}

static PyObject *list_callbacks(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  PyObject *json = read_grants();
  PyObject *list = json ? json_read(json) : NULL;
  Py_XDECREF(json);
  return list;
}

static PyObject *find_callback(PyObject *module, PyObject *name) {
  (void)module;
  return helper_call("callbacks", "find", "(O)", name);
}

static PyMethodDef functions[] = {
  { "list_callbacks", list_callbacks, METH_NOARGS,
    "list_callbacks($module, /)\n--\n\n"
    "What can be invoked: a list of dictionaries with name, description and parameters (a JSON Schema)." },
  { "find_callback", find_callback, METH_O,
    "find_callback($module, name, /)\n--\n\nA callback as a function, by its whole name. Raises CallbackError." },
  { 0 },
};

int callbacks_refresh(void) {
  PyObject *list = list_callbacks(NULL, NULL);
  PyObject *done = list ? helper_call("callbacks", "bind", "(N)", list) : NULL;
  Py_XDECREF(done);
  return done ? 0 : -1;
}

int callbacks_ready(PyObject *module) {
  if (PyType_Ready(&callback_type) < 0 || PyModule_AddFunctions(module, functions) < 0) return -1;
  return PyModule_AddObjectRef(module, "Callback", (PyObject *)&callback_type);
}
