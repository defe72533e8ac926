/* invoke(): a question to the host as something that can be awaited.
 *
 * It is asked when it is first awaited. An answer that is there at once ends the await there and then,
 * without an event loop. Else the question has a descriptor that becomes readable: the session's own loop
 * polls it (cay/_loop.py), any other loop watches it through add_reader, and without a loop the await blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

#include "host.h"
#include "internal/pycore_genobject.h"
#include "text.h"

enum { REPLY_AT_ONCE = 16 << 10 };

enum ask_state { NEW, WAITING, ANSWERED, OVER };

typedef struct {
  PyObject_HEAD PyObject *name, *args; /* str */
  PyObject *future, *loop;             /* while it waits */
  text answer;                         /* once it was read: the first byte is the status */
  int fd;
  enum ask_state state;
  bool decode; /* the answer is given as what its JSON says */
} ask;

static PyTypeObject ask_type;

PyObject *ask_new(PyObject *name, PyObject *args, bool decode) {
  ask *a = args ? PyObject_GC_New(ask, &ask_type) : NULL;
  if (!a) {
    Py_DECREF(name);
    Py_XDECREF(args);
    return NULL;
  }
  a->name = name;
  a->args = args;
  a->future = a->loop = NULL;
  a->answer = (text){ 0 };
  a->fd = -1;
  a->state = NEW;
  a->decode = decode;
  PyObject_GC_Track(a);
  return (PyObject *)a;
}

/* watch() or forget() of cay/_loop.py, looked up once. */
static PyObject *call_loop(PyObject **function, const char *name, PyObject *loop, int fd, PyObject *self) {
  PyObject *module = *function ? NULL : helper("loop");
  if (module) *function = PyObject_GetAttrString(module, name);
  PyObject *number = *function ? PyLong_FromLong(fd) : NULL;
  PyObject *arguments[] = { loop, number, self };
  PyObject *result = number ? PyObject_Vectorcall(*function, arguments, self ? 3 : 2, NULL) : NULL;
  Py_XDECREF(number);
  return result;
}

/* No longer interested: the loop forgets the descriptor, and the host learns of it by its end. */
static void drop(ask *a) {
  PyObject *error = PyErr_GetRaisedException();
  if (a->fd >= 0 && a->loop) {
    static PyObject *forget;
    PyObject *forgotten = call_loop(&forget, "forget", a->loop, a->fd, NULL);
    if (!forgotten) PyErr_WriteUnraisable((PyObject *)a);
    Py_XDECREF(forgotten);
  }
  if (a->fd >= 0) close(a->fd);
  a->fd = -1;
  Py_CLEAR(a->future);
  Py_CLEAR(a->loop);
  PyErr_SetRaisedException(error);
}

static void ask_dealloc(PyObject *self) {
  ask *a = (ask *)self;
  PyObject_GC_UnTrack(self);
  drop(a);
  text_free(&a->answer);
  Py_XDECREF(a->name);
  Py_XDECREF(a->args);
  PyObject_GC_Del(self);
}

static int ask_traverse(PyObject *self, visitproc visit, void *arg) {
  ask *a = (ask *)self;
  Py_VISIT(a->future);
  Py_VISIT(a->loop);
  return 0;
}

static int ask_clear(PyObject *self) {
  Py_CLEAR(((ask *)self)->future);
  return 0;
}

/* The outcome of an answer: the value, or CallbackError with what the host says. */
static PyObject *outcome(ask *a, bool refused, const char *data, size_t len) {
  a->state = OVER;
  PyObject *string = PyUnicode_DecodeUTF8(data, (Py_ssize_t)len, "replace");
  if (!string) return NULL;
  if (refused) {
    PyErr_SetObject(error_callback, string);
    Py_DECREF(string);
    return NULL;
  }
  if (!a->decode) return string;
  PyObject *value = json_read(string);
  Py_DECREF(string);
  return value;
}

/* Reads until the end. Blocks when the answer is not there yet. */
static int read_answer(ask *a) {
  char buffer[4096];
  for (;;) {
    ssize_t got = read(a->fd, buffer, sizeof buffer);
    if (got > 0)
      text_add(&a->answer, buffer, (size_t)got);
    else if (got == 0)
      break;
    else if (errno != EINTR)
      return PyErr_SetFromErrno(PyExc_OSError), -1;
    else if (PyErr_CheckSignals() < 0)
      return -1;
  }
  if (a->answer.failed) return PyErr_NoMemory(), -1;
  if (a->answer.len == 0) return PyErr_SetString(error_callback, "the host has gone away"), -1;
  return 0;
}

static PyObject *outcome_of_answer(ask *a) {
  PyObject *value = outcome(a, a->answer.data[0] != 0, a->answer.data + 1, a->answer.len - 1);
  text_free(&a->answer);
  return value;
}

static PyObject *read_outcome(ask *a) {
  int got = read_answer(a);
  drop(a);
  a->state = OVER;
  return got < 0 ? NULL : outcome_of_answer(a);
}

/* asyncio's running loop, or None. */
static PyObject *running_loop(void) {
  static PyObject *get;
  if (!get) {
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "asyncio");
    if (!module) Py_RETURN_NONE; /* none can have been started */
    get = PyObject_GetAttrString(module, "_get_running_loop");
    if (!get) return NULL;
  }
  return PyObject_CallNoArgs(get);
}

/* The future that the task waits for. The watcher of the descriptor calls _ready. */
static PyObject *wait_in(ask *a, PyObject *loop) {
  static PyObject *watch;
  a->future = call_loop(&watch, "watch", loop, a->fd, (PyObject *)a);
  if (!a->future) return NULL;
  a->loop = Py_NewRef(loop);
  a->state = WAITING;
  return Py_NewRef(a->future);
}

static PySendResult begin_waiting(ask *a, PyObject **result) {
  PyObject *loop = running_loop();
  bool none = loop && Py_IsNone(loop);
  if (!loop)
    *result = NULL;
  else if (none)
    *result = read_outcome(a);
  else
    *result = wait_in(a, loop);
  Py_XDECREF(loop);
  if (!*result) drop(a), a->state = OVER;
  if (!*result) return PYGEN_ERROR;
  return none ? PYGEN_RETURN : PYGEN_NEXT;
}

static PyObject *no_question(ask *a, int error) {
  a->state = OVER;
  if (error == ENOENT) return PyErr_Format(error_callback, "there is no callback named '%U'", a->name);
  errno = error;
  return PyErr_SetFromErrno(PyExc_OSError);
}

static PySendResult put_question(ask *a, PyObject **result) {
  static char reply[REPLY_AT_ONCE];
  Py_ssize_t name_len, args_len;
  host_callback_call q = { .reply = reply, .reply_cap = sizeof reply, .fd = -1 };
  q.name = PyUnicode_AsUTF8AndSize(a->name, &name_len);
  q.args = q.name ? PyUnicode_AsUTF8AndSize(a->args, &args_len) : NULL;
  if (!q.args) return PYGEN_ERROR;
  q.name_len = (size_t)name_len;
  q.args_len = (size_t)args_len;
  if (streams_flush() < 0) return PYGEN_ERROR; /* the host sees earlier output before the call */
  long asked = host_callback(&q);
  a->fd = asked < 0 ? -1 : q.fd;
  if (asked < 0)
    *result = no_question(a, (int)-asked);
  else if (q.status == ASK_PENDING)
    return begin_waiting(a, result);
  else if (q.fd >= 0)
    *result = read_outcome(a);
  else
    *result = outcome(a, q.status != ASK_ANSWERED, reply, q.len < sizeof reply ? q.len : sizeof reply);
  return *result ? PYGEN_RETURN : PYGEN_ERROR;
}

static PySendResult ask_send(PyObject *self, PyObject *argument, PyObject **result) {
  ask *a = (ask *)self;
  (void)argument;
  *result = NULL;
  switch (a->state) {
  case NEW: return put_question(a, result);
  case WAITING: *result = read_outcome(a); break; /* resumed by somebody else than the loop: it blocks */
  case ANSWERED: *result = outcome_of_answer(a); break;
  default: PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited callback");
  }
  return *result ? PYGEN_RETURN : PYGEN_ERROR;
}

static PyObject *ask_next(PyObject *self) {
  PyObject *result;
  PySendResult sent = ask_send(self, Py_None, &result);
  if (sent != PYGEN_RETURN) return result;
  _PyGen_SetStopIterationValue(result);
  Py_DECREF(result);
  return NULL;
}

static PyObject *ask_send_method(PyObject *self, PyObject *argument) {
  PyObject *result;
  PySendResult sent = ask_send(self, argument, &result);
  if (sent != PYGEN_RETURN) return result;
  _PyGen_SetStopIterationValue(result);
  Py_DECREF(result);
  if (!PyErr_Occurred()) PyErr_SetNone(PyExc_StopIteration);
  return NULL;
}

static PyObject *ask_close(PyObject *self, PyObject *nothing) {
  (void)nothing;
  drop((ask *)self);
  ((ask *)self)->state = OVER;
  Py_RETURN_NONE;
}

/* throw(exception), or its older form of type, value and traceback. */
static PyObject *ask_throw(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  drop((ask *)self);
  ((ask *)self)->state = OVER;
  if (count < 1 || count > 3)
    return PyErr_Format(PyExc_TypeError, "throw expected 1 to 3 arguments, got %zd", count);
  PyObject *value = count > 1 && !Py_IsNone(args[1]) ? args[1] : args[0];
  if (PyExceptionInstance_Check(value))
    PyErr_SetObject((PyObject *)Py_TYPE(value), value);
  else if (PyExceptionClass_Check(args[0]) && value == args[0])
    PyErr_SetNone(args[0]);
  else if (PyExceptionClass_Check(args[0]))
    PyErr_SetObject(args[0], value);
  else
    PyErr_SetString(PyExc_TypeError, "exceptions must be classes or instances deriving from BaseException");
  return NULL;
}

/* The loop says: the answer is there. */
static PyObject *ask_answered(PyObject *self, PyObject *nothing) {
  ask *a = (ask *)self;
  (void)nothing;
  if (a->state != WAITING) Py_RETURN_NONE;
  PyObject *future = Py_NewRef(a->future);
  int got = read_answer(a);
  PyObject *error = got < 0 ? PyErr_GetRaisedException() : NULL;
  drop(a);
  a->state = got < 0 ? OVER : ANSWERED;
  PyObject *done = PyObject_CallMethod(future, "done", NULL), *set = NULL;
  if (done && Py_IsTrue(done))
    set = Py_NewRef(Py_None);
  else if (done && error)
    set = PyObject_CallMethod(future, "set_exception", "O", error);
  else if (done)
    set = PyObject_CallMethod(future, "set_result", "O", Py_None);
  Py_XDECREF(error);
  Py_XDECREF(done);
  Py_DECREF(future);
  return set;
}

static PyObject *ask_repr(PyObject *self) {
  static const char *const states[] = { "not awaited", "waiting", "answered", "over" };
  ask *a = (ask *)self;
  return PyUnicode_FromFormat("<callback %R, %s>", a->name, states[a->state]);
}

static PyMethodDef ask_methods[] = {
  { "send", ask_send_method, METH_O, NULL },
  { "throw", _PyCFunction_CAST(ask_throw), METH_FASTCALL, NULL },
  { "close", ask_close, METH_NOARGS, NULL },
  { "_ready", ask_answered, METH_NOARGS, NULL },
  { 0 },
};

static PyAsyncMethods ask_async = { .am_await = PyObject_SelfIter, .am_send = ask_send };

static PyTypeObject ask_type = {
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = "cay.Invocation",
  .tp_doc = "A callback on its way: await it, once.",
  .tp_basicsize = sizeof(ask),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
  .tp_dealloc = ask_dealloc,
  .tp_traverse = ask_traverse,
  .tp_clear = ask_clear,
  .tp_repr = ask_repr,
  .tp_as_async = &ask_async,
  .tp_iter = PyObject_SelfIter,
  .tp_iternext = ask_next,
  .tp_methods = ask_methods,
};

static PyObject *invoke_with(PyObject *name, PyObject *arguments) {
  text t = { 0 };
  PyObject *json = json_write(&t, arguments) ? PyUnicode_DecodeUTF8(t.data, (Py_ssize_t)t.len, NULL) : NULL;
  text_free(&t);
  if (json) return ask_new(Py_NewRef(name), json, true);
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_TypeError, "the arguments of '%U' cannot be written as JSON", name);
  return NULL;
}

static PyObject *invoke_with_keywords(PyObject *name, PyObject *const *values, PyObject *keywords) {
  PyObject *arguments = PyDict_New();
  for (Py_ssize_t i = 0; arguments && i < PyTuple_GET_SIZE(keywords); i++)
    if (PyDict_SetItem(arguments, PyTuple_GET_ITEM(keywords, i), values[i]) < 0) Py_CLEAR(arguments);
  PyObject *made = arguments ? invoke_with(name, arguments) : NULL;
  Py_XDECREF(arguments);
  return made;
}

/* An argument that is no string is written as JSON, and then the answer is read as JSON too. */
static PyObject *invoke(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
  (void)module;
  bool named = keywords && PyTuple_GET_SIZE(keywords) > 0;
  if (count < 1 || count > (named ? 1 : 2) || !PyUnicode_Check(args[0]))
    return PyErr_SetString(
               PyExc_TypeError,
               "invoke(name, arguments) expects a name, and JSON, what can be written as JSON, or the "
               "arguments by their names: invoke('name', a=1)"),
           NULL;
  if (named) return invoke_with_keywords(args[0], args + count, keywords);
  if (count == 1) return ask_new(Py_NewRef(args[0]), PyUnicode_FromStringAndSize("{}", 2), false);
  if (PyUnicode_Check(args[1])) return ask_new(Py_NewRef(args[0]), Py_NewRef(args[1]), false);
  return invoke_with(args[0], args[1]);
}

static PyMethodDef functions[] = {
  { "invoke", _PyCFunction_CAST(invoke), METH_FASTCALL | METH_KEYWORDS,
    "invoke($module, name, arguments='{}', /, **named)\n--\n\n"
    "Await this to call a callback. A string is the JSON of the arguments, and the answer is JSON too;\n"
    "with anything else, and with arguments by their names, both are converted. Raises CallbackError." },
  { 0 },
};

int ask_ready(PyObject *module) {
  if (PyType_Ready(&ask_type) < 0 || PyModule_AddFunctions(module, functions) < 0) return -1;
  return PyModule_AddObjectRef(module, "Invocation", (PyObject *)&ask_type);
}
