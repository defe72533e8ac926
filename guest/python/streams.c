/* sys.stdin, sys.stdout and sys.stderr over the descriptors 0, 1 and 2.
 *
 * The host gives every EXECUTE an input of its own at descriptor 0, so nothing that was read ahead may
 * survive from one to the next. sys.stdin reads through a file that notes whether it was read at all; only
 * then is a new one made. */
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"

#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"

static PyTypeObject *file_type, *input_type;
static PyObject *own_input; /* the sys.stdin that we made */
static bool input_read;
static PyObject *own_outputs[2]; /* sys.stdout and sys.stderr that we made for a session; not owned */

static PyObject *method_of_file(PyObject *self, const char *name, PyObject *argument) {
  PyObject *method = PyObject_GetAttrString((PyObject *)file_type, name);
  input_read = true;
  PyObject *result = method ? PyObject_CallFunctionObjArgs(method, self, argument, NULL) : NULL;
  Py_XDECREF(method);
  return result;
}

static PyObject *input_readinto(PyObject *self, PyObject *buffer) {
  return method_of_file(self, "readinto", buffer);
}

static PyObject *input_readall(PyObject *self, PyObject *nothing) {
  (void)nothing;
  return method_of_file(self, "readall", NULL);
}

static PyMethodDef input_methods[] = {
  { "readinto", input_readinto, METH_O, NULL },
  { "readall", input_readall, METH_NOARGS, NULL },
  { 0 },
};

static PyType_Slot input_slots[] = { { Py_tp_methods, input_methods }, { 0, NULL } };
static PyType_Spec input_spec = {
  .name = "cay.Input",
  .flags = Py_TPFLAGS_DEFAULT,
  .slots = input_slots,
};

int streams_ready(PyObject *module) {
  (void)module;
  PyObject *io = PyImport_ImportModule("_io");
  file_type = io ? (PyTypeObject *)PyObject_GetAttrString(io, "FileIO") : NULL;
  input_type =
      file_type ? (PyTypeObject *)PyType_FromSpecWithBases(&input_spec, (PyObject *)file_type) : NULL;
  Py_XDECREF(io);
  return input_type ? 0 : -1;
}

typedef struct {
  int fd;
  bool writes, unbuffered, lines;
  PyTypeObject *file;
  const char *name;
  const wchar_t *encoding, *errors;
} shape;

static PyObject *open_raw(const shape *s) {
  PyObject *name = PyUnicode_FromString(s->name);
  PyObject *raw =
      name ? PyObject_CallFunction((PyObject *)s->file, "isO", s->fd, s->writes ? "wb" : "rb", Py_False)
           : NULL;
  if (raw && PyObject_SetAttrString(raw, "name", name) < 0) Py_CLEAR(raw);
  Py_XDECREF(name);
  return raw;
}

static PyObject *open_buffer(PyObject *io, const shape *s) {
  PyObject *raw = open_raw(s);
  if (!raw || (s->writes && s->unbuffered)) return raw;
  PyObject *buffer = PyObject_CallMethod(io, s->writes ? "BufferedWriter" : "BufferedReader", "O", raw);
  Py_DECREF(raw);
  return buffer;
}

static PyObject *open_text(PyObject *io, const shape *s) {
  PyObject *buffer = open_buffer(io, s);
  if (!buffer) return NULL;
  PyObject *stream = PyObject_CallMethod(io, "TextIOWrapper", "NuusOO", buffer, s->encoding, s->errors, "\n",
                                         s->lines ? Py_True : Py_False, s->unbuffered ? Py_True : Py_False);
  PyObject *mode = stream ? PyUnicode_FromString(s->writes ? "w" : "r") : NULL;
  if (mode && PyObject_SetAttrString(stream, "mode", mode) < 0) Py_CLEAR(stream);
  Py_XDECREF(mode);
  return stream;
}

/* A descriptor that is closed gives None, as in every Python. */
static PyObject *open_stream(const shape *s) {
  struct stat st;
  if (fstat(s->fd, &st) < 0) return Py_NewRef(Py_None);
  PyObject *io = PyImport_ImportModule("_io");
  PyObject *stream = io ? open_text(io, s) : NULL;
  Py_XDECREF(io);
  return stream;
}

static int set_stream(const shape *s, const char *attribute, const char *original) {
  PyObject *stream = open_stream(s);
  int set = stream ? PySys_SetObject(original, stream) : -1;
  if (set == 0) set = PySys_SetObject(attribute, stream);
  Py_XDECREF(stream);
  return set;
}

/* TextIOWrapper.__init__ refuses the unknown, so a bad PYTHONIOENCODING is an exception here. */
int streams_open(const PyConfig *config, bool session) {
  bool unbuffered = !session && !config->buffered_stdio, lines = session || config->interactive;
  shape in = { 0,
               false,
               false,
               unbuffered || lines || isatty(0),
               session ? input_type : file_type,
               "<stdin>",
               config->stdio_encoding,
               config->stdio_errors };
  shape out = { 1,
                true,
                unbuffered,
                !unbuffered && (lines || isatty(1)),
                file_type,
                "<stdout>",
                config->stdio_encoding,
                config->stdio_errors };
  shape err = {
    2, true, unbuffered, true, file_type, "<stderr>", config->stdio_encoding, L"backslashreplace"
  };
  if (set_stream(&in, "stdin", "__stdin__") < 0 || set_stream(&out, "stdout", "__stdout__") < 0 ||
      set_stream(&err, "stderr", "__stderr__") < 0)
    return -1;
  own_input = session ? PySys_GetObject("stdin") : NULL; /* sys.__stdin__ holds it, or it is gone */
  own_outputs[0] = session ? PySys_GetObject("stdout") : NULL;
  own_outputs[1] = session ? PySys_GetObject("stderr") : NULL;
  input_read = false;
  return 0;
}

static const shape session_input = { 0, false, false, true, NULL, "<stdin>", L"utf-8", L"surrogateescape" };

/* Input that came with the request: a file in memory. */
static PyObject *input_of(const field *input) {
  PyObject *io = PyImport_ImportModule("_io");
  PyObject *bytes = io ? PyObject_CallMethod(io, "BytesIO", "y#", input->data, (Py_ssize_t)input->len) : NULL;
  PyObject *stream =
      bytes ? PyObject_CallMethod(io, "TextIOWrapper", "Nsss", bytes, "utf-8", "surrogateescape", "\n")
            : NULL;
  Py_XDECREF(io);
  return stream;
}

static PyObject *input_of_descriptor(void) {
  shape in = session_input;
  in.file = input_type;
  return open_stream(&in);
}

/* As exit() leaves it. */
static bool is_closed(PyObject *stream) {
  static PyObject *name;
  if (!name) name = PyUnicode_InternFromString("closed");
  PyObject *closed = name ? PyObject_GetAttr(stream, name) : NULL;
  if (!closed) PyErr_Clear();
  Py_XDECREF(closed);
  return closed && Py_IsTrue(closed);
}

int streams_begin(const field *input) {
  PyObject *current = PySys_GetObject("stdin");
  if (!current || current != own_input) return 0; /* the user has put another there */
  if (!input && !input_read && !is_closed(current)) return 0;
  PyObject *stream = input ? input_of(input) : input_of_descriptor();
  if (!stream) return -1;
  int set = PySys_SetObject("__stdin__", stream);
  if (set == 0) set = PySys_SetObject("stdin", stream);
  if (set == 0) own_input = stream;
  input_read = input != NULL;
  Py_DECREF(stream);
  return set;
}

/* A cell that has closed sys.stdout has closed it for itself alone. */
static void open_output_again(int which) {
  const PyConfig *config = _PyInterpreterState_GetConfig(_PyThreadState_GET()->interp);
  shape s = {
    1, true, false, true, file_type, "<stdout>", config->stdio_encoding, config->stdio_errors,
  };
  if (which) s = (shape){ 2, true, false, true, file_type, "<stderr>", s.encoding, L"backslashreplace" };
  const char *name = which ? "stderr" : "stdout";
  if (set_stream(&s, name, which ? "__stderr__" : "__stdout__") == 0)
    own_outputs[which] = PySys_GetObject(name);
  PyErr_Clear();
}

/* False when something has to end what runs; what cannot be written is dropped. */
static bool flush(int which) {
  const char *name = which ? "stderr" : "stdout";
  static PyObject *method;
  if (!method) method = PyUnicode_InternFromString("flush");
  PyObject *stream = PySys_GetObject(name);
  if (!method || !stream || Py_IsNone(stream)) return true;
  PyObject *done = PyObject_CallMethodNoArgs(stream, method);
  bool ends = !done && !PyErr_ExceptionMatches(PyExc_Exception);
  bool closed = !done && stream == own_outputs[which] && PyErr_ExceptionMatches(PyExc_ValueError);
  if (!done && !ends) PyErr_Clear();
  Py_XDECREF(done);
  if (closed) open_output_again(which);
  return !ends;
}

int streams_flush(void) { return flush(0) && flush(1) ? 0 : -1; }

/* A cell that has removed sys.stdout, or put None there, has done so for itself alone. */
int streams_end(void) {
  static const char *const names[] = { "stdout", "stderr" };
  for (int which = 0; which < 2; which++) {
    PyObject *stream = PySys_GetObject(names[which]);
    if (!stream || Py_IsNone(stream)) open_output_again(which);
  }
  return streams_flush();
}
