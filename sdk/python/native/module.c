/* module.c - the module _cay: the class Server, and the answers of callbacks. */
#include "native.h"

#include "base/alloc.h"

#include <string.h>
#include <unistd.h>

typedef struct server_object {
  PyObject_HEAD native *native;
} server_object;

static native *native_of(PyObject *self) { return ((server_object *)self)->native; }

/* NULL, and an exception: it cannot be used. */
static native *usable(PyObject *self) {
  native *n = native_of(self);
  if (n != NULL && n->open && n->pid == getpid()) return n;
  PyErr_SetString(PyExc_ConnectionError,
                  n != NULL && n->pid != getpid()
                      ? "the server belongs to the process that made it, not to this fork"
                      : "the server is closed");
  return NULL;
}

/* ---- life ---- */

static int server_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  const char *guest_dir = NULL, *cache_dir = NULL;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "zz", &guest_dir, &cache_dir)) return -1;
  cay_error err = { 0 };
  native *n = mem_zalloc(sizeof *n);
  if (n == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  cay_status status = native_open(n, guest_dir, cache_dir, &err);
  if (status == CAY_OK) {
    ((server_object *)self)->native = n;
    return 0;
  }
  native_free(n);
  PyErr_SetString(PyExc_OSError, err.message);
  return -1;
}

/* The memory stays when threads may still be in it: after a fork, and without close(). */
static void server_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc free_self = (freefunc)PyType_GetSlot(type, Py_tp_free);
  free_self(self);
  Py_DECREF(type);
}

static PyObject *server_close_object(PyObject *self, PyObject *nothing) {
  native *n = native_of(self);
  (void)nothing;
  if (n != NULL && n->pid == getpid()) {
    Py_BEGIN_ALLOW_THREADS;
    native_close(n);
    Py_END_ALLOW_THREADS;
  }
  Py_RETURN_NONE;
}

/* ---- requests ---- */

static PyObject *server_line_object(PyObject *self, PyObject *args) {
  const char *line;
  Py_ssize_t len;
  native *n = usable(self);
  if (n == NULL || !PyArg_ParseTuple(args, "y#", &line, &len)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  native_line(n, line, (size_t)len);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

/* A call of a guest: the function of Python answers it, or keeps it. False: it raised. */
static bool run_callback(native *n, native_asker *a, native_item *item, PyObject *function) {
  native_call *call = item->call;
  atomic_fetch_add(&call->refs, 1);
  PyObject *object = native_item_object(item);
  PyObject *result = object != NULL ? PyObject_CallFunctionObjArgs(function, object, NULL) : NULL;
  native_call_done(n, a, call);
  native_call_unref(call);
  Py_XDECREF(object);
  Py_XDECREF(result);
  return result != NULL;
}

static PyObject *await_answer(native *n, native_asker *a, PyObject *function) {
  for (;;) {
    native_item *item = NULL;
    bool open;
    Py_BEGIN_ALLOW_THREADS;
    open = native_asker_next(n, a, &item);
    Py_END_ALLOW_THREADS;
    if (!open) {
      PyErr_SetString(PyExc_ConnectionError, "the server is closed");
      return NULL;
    }
    if (item == NULL) {
      if (PyErr_CheckSignals() != 0) return NULL;
    } else if (item->kind != NATIVE_CALL) {
      return native_item_object(item);
    } else if (!run_callback(n, a, item, function)) {
      return NULL;
    }
  }
}

static PyObject *server_ask_object(PyObject *self, PyObject *args) {
  unsigned long long number;
  const char *sandbox, *line;
  Py_ssize_t len;
  PyObject *function;
  native_asker asker;
  native *n = usable(self);
  if (n == NULL || !PyArg_ParseTuple(args, "Ksy#O", &number, &sandbox, &line, &len, &function)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  native_asker_enter(n, &asker, number, sandbox);
  native_line(n, line, (size_t)len);
  Py_END_ALLOW_THREADS;
  PyObject *answer = await_answer(n, &asker, function);
  native_asker_leave(n, &asker);
  return answer;
}

/* ---- the queue ---- */

static PyObject *list_of(list *items) {
  PyObject *all = PyList_New(0);
  LIST_EACH_SAFE (item, items, native_item, in_queue) {
    list_remove(&item->in_queue);
    if (all == NULL) {
      native_item_free(item);
      continue;
    }
    PyObject *object = native_item_object(item);
    if (object == NULL || PyList_Append(all, object) != 0) Py_CLEAR(all);
    Py_XDECREF(object);
  }
  return all;
}

static PyObject *server_receive_object(PyObject *self, PyObject *args) {
  long long timeout_ms;
  list items;
  native *n = usable(self);
  if (n == NULL || !PyArg_ParseTuple(args, "L", &timeout_ms)) return NULL;
  list_init(&items);
  Py_BEGIN_ALLOW_THREADS;
  native_queue_take(n, &items, timeout_ms);
  Py_END_ALLOW_THREADS;
  return list_of(&items);
}

static PyObject *server_fileno_object(PyObject *self, PyObject *nothing) {
  native *n = usable(self);
  (void)nothing;
  return n != NULL ? PyLong_FromLong(n->queued_fd) : NULL;
}

/* ---- files ---- */

/* As the server says it: (code, message). */
static PyObject *refusal(const cay_error *err) {
  call c = { 0 };
  int code = native_refusal(err, &c);
  return Py_BuildValue("(iN)", code, PyUnicode_DecodeUTF8(c.why, (Py_ssize_t)strlen(c.why), "replace"));
}

static PyObject *server_write_object(PyObject *self, PyObject *args) {
  native_file f = { 0 };
  cay_error err = { 0 };
  cay_status status;
  unsigned long long offset;
  Py_ssize_t len;
  int part;
  native *n = usable(self);
  if (n == NULL ||
      !PyArg_ParseTuple(args, "syy#IKp", &f.sandbox, &f.path, &f.data, &len, &f.mode, &offset, &part))
    return NULL;
  f.data_len = (size_t)len;
  f.offset = offset;
  f.part = part != 0;
  Py_BEGIN_ALLOW_THREADS;
  status = native_file_write(n, &f, &err);
  Py_END_ALLOW_THREADS;
  if (status != CAY_OK) return refusal(&err);
  Py_RETURN_NONE;
}

static PyObject *read_bytes(native *n, const native_file *f, char *to, size_t len, PyObject *into) {
  cay_error err = { 0 };
  cay_status status;
  size_t got = len;
  Py_BEGIN_ALLOW_THREADS;
  status = native_file_read(n, f, to, &got, &err);
  Py_END_ALLOW_THREADS;
  if (status == CAY_OK && got == len && into != NULL) return into;
  PyObject *result = status == CAY_OK ? PyBytes_FromStringAndSize(to, (Py_ssize_t)got) : refusal(&err);
  Py_XDECREF(into);
  return result;
}

/* Bytes are read into the object that Python gets, unless they are few. A size of 0 may be that of a file of /proc. */
static PyObject *server_read_object(PyObject *self, PyObject *args) {
  native_file f = { 0 };
  unsigned long long offset, length;
  char few[4096];
  cay_error err = { 0 };
  cay_status status;
  native *n = usable(self);
  if (n == NULL || !PyArg_ParseTuple(args, "syKK", &f.sandbox, &f.path, &offset, &length)) return NULL;
  f.offset = offset;
  size_t len = (size_t)length;
  Py_BEGIN_ALLOW_THREADS;
  status = native_file_read(n, &f, NULL, &len, &err);
  Py_END_ALLOW_THREADS;
  if (status != CAY_OK) return refusal(&err);
  if (len < sizeof few && length >= sizeof few) return read_bytes(n, &f, few, sizeof few, NULL);
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)len);
  return bytes != NULL ? read_bytes(n, &f, PyBytes_AsString(bytes), len, bytes) : NULL;
}

/* ---- the module ---- */

static PyMethodDef server_methods[] = {
  { "line", server_line_object, METH_VARARGS, "line(request): answered through receive()" },
  { "ask", server_ask_object, METH_VARARGS,
    "ask(number, sandbox, request, on_call): the item that answers; calls of callbacks meanwhile go to on_call" },
  { "receive", server_receive_object, METH_VARARGS,
    "receive(timeout_ms): a list of items that no thread asks for" },
  { "fileno", server_fileno_object, METH_NOARGS, "fileno(): readable while receive() has something" },
  { "read", server_read_object, METH_VARARGS, "read(sandbox, path, offset, length): bytes, or (code, why)" },
  { "write", server_write_object, METH_VARARGS,
    "write(sandbox, path, data, mode, offset, part): None, or (code, why)" },
  { "close", server_close_object, METH_NOARGS, "close(): ends everything, and waits for that" },
  { NULL, NULL, 0, NULL },
};

static PyType_Slot server_slots[] = {
  { Py_tp_doc, "Server(guest_dir, cache_dir): a server of JSON-RPC in this process" },
  { Py_tp_init, server_init },
  { Py_tp_new, PyType_GenericNew },
  { Py_tp_dealloc, server_dealloc },
  { Py_tp_methods, server_methods },
  { 0, NULL },
};

static PyType_Spec server_spec = {
  .name = "_cay.Server",
  .basicsize = sizeof(server_object),
  .flags = Py_TPFLAGS_DEFAULT,
  .slots = server_slots,
};

static int module_exec(PyObject *module) {
  PyObject *type = PyType_FromSpec(&server_spec);
  if (type == NULL) return -1;
  if (PyModule_AddObject(module, "Server", type) == 0) return 0;
  Py_DECREF(type);
  return -1;
}

static PyMethodDef module_methods[] = {
  { "answer", native_call_answer_object, METH_VARARGS, "answer(call, json): the result of a callback" },
  { "fail", native_call_fail_object, METH_VARARGS, "fail(call, why): a callback has none" },
  { NULL, NULL, 0, NULL },
};

static PyModuleDef_Slot module_slots[] = {
  { Py_mod_exec, module_exec },
  { 0, NULL },
};

static PyModuleDef module_definition = {
  PyModuleDef_HEAD_INIT,
  .m_name = "_cay",
  .m_doc = "Sandboxes inside this process, for the package cay.",
  .m_methods = module_methods,
  .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__cay(void) { return PyModuleDef_Init(&module_definition); }
