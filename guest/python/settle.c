#include "settle.h"

#include <stdlib.h>
#include <unistd.h>

#include "driver.h"

#include "internal/pycore_object.h"

enum { ROUNDS = 24 };

static const char *const cells[] = {
  "pass",
  "x = 1",
  "x += 1\nx",
  "print(end='')",
  "import sys, json",
  "def f(a, b=2):\n  return a + b\nf(1)",
  "class A:\n  def __init__(self): self.a = 1\nA().a",
  "[i for i in range(3)]",
  "{'a': [1, 2.5, None, True, 'b']}",
  "for i in range(4):\n  s = f'{i} {x!r}'",
  "x, y = 'a b'.split(); x + y",
  "f(None)",
  "1 / 0",
  "raise ValueError('x')",
  "undefined",
  "x +",
  "exit()",
  "raise __import__('cay').Stopped('x')",
  "import asyncio\nawait asyncio.sleep(0)",
  "await asyncio.sleep(0.0001)\n1",
  "await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))",
  "await invoke('')",
  "import asyncio\nt = asyncio.create_task(asyncio.sleep(0))",
  "t.done()",
  "_",
};

int settle_warm_up(void) {
  reply ignored = { 0 };
  if (module_add_builtins() < 0 || greet_prepare() < 0) return -1;
  for (int round = 0; round < ROUNDS; round++) {
    if (greet_reseed("rehearsal", 9) < 0) return -1;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) request_rehearse(cells[i]);
    kept_forget(); /* or nothing would be compiled in the next */
  }
  state_clear(&ignored); /* `_`, too */
  free(ignored.data);
  execute_forget_sources();
  return 0;
}

/* Objects that were made immortal and not yet followed. */
typedef struct {
  PyObject **objects;
  size_t count, cap;
  bool failed;
} heap;

static int meet(PyObject *object, void *context) {
  heap *h = context;
  if (_Py_IsImmortal(object)) return 0;
  if (h->count == h->cap) {
    size_t cap = h->cap ? h->cap * 2 : 4096;
    PyObject **grown = realloc(h->objects, cap * sizeof *grown);
    if (!grown) return h->failed = true;
    h->objects = grown;
    h->cap = cap;
  }
  _Py_SetImmortalUntracked(object);
  h->objects[h->count++] = object;
  return 0;
}

static void meet_code(PyCodeObject *code, heap *h) {
  PyObject *const parts[] = { code->co_consts,         code->co_names,
                              code->co_exceptiontable, code->co_localsplusnames,
                              code->co_filename,       code->co_localspluskinds,
                              code->co_name,           code->co_qualname,
                              code->co_linetable };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) meet(parts[i], h);
}

static void follow(PyObject *object, heap *h) {
  traverseproc traverse = Py_TYPE(object)->tp_traverse;
  if (PyCode_Check(object))
    meet_code((PyCodeObject *)object, h);
  else if (traverse && PyObject_IS_GC(object))
    traverse(object, meet, h);
}

/* What the collector knows leads to nearly everything else. */
static PyObject *known_objects(void) {
  PyObject *collector = PyImport_ImportModule("gc");
  PyObject *list = collector ? PyObject_CallMethod(collector, "get_objects", NULL) : NULL;
  Py_XDECREF(collector);
  return list;
}

int settle_objects(void) {
  heap h = { 0 };
  PyObject *known = known_objects();
  for (Py_ssize_t i = 0; known && i < PyList_GET_SIZE(known); i++) meet(PyList_GET_ITEM(known, i), &h);
  while (h.count) follow(h.objects[--h.count], &h);
  free(h.objects);
  Py_XDECREF(known);
  if (h.failed) PyErr_NoMemory();
  return known && !h.failed ? 0 : -1;
}
