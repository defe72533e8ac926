/* Requests: the room they are written to, and who serves them. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { ROOM_KEPT = 64 << 10 };

static uint8_t *room;
static uint32_t room_cap;
static bool begun;

uint8_t *EXPORT(cay_room)(uint32_t len) {
  if (len <= room_cap && (room_cap <= ROOM_KEPT || len > ROOM_KEPT)) return room;
  uint32_t cap = len < 4096 ? 4096 : len;
  free(room);
  room = malloc(cap);
  room_cap = room ? cap : 0;
  return room;
}

/* What a process does before its first request: the image that it was made from has served nobody. */
static int begin(void) {
  if (begun) return 0;
  PyObject *fresh = helper_call("process", "begin_session", "()");
  Py_XDECREF(fresh);
  if (!fresh || stop_install() < 0 || module_add_builtins() < 0) return -1;
  begun = true;
  return 0;
}

static PyObject *read_environment(fields *request) {
  PyObject *entries = PyList_New(0);
  field f;
  while (entries && fields_next(request, &f)) {
    if (f.tag != TAG_ENV) continue;
    PyObject *entry = PyBytes_FromStringAndSize(f.data, (Py_ssize_t)f.len);
    if (!entry || PyList_Append(entries, entry) < 0) Py_CLEAR(entries);
    Py_XDECREF(entry);
  }
  return entries;
}

/* Gives the outcome of something that has no value. */
static void report_done(PyObject *done, reply *r) {
  if (!done) {
    report_exception(r, NULL);
    return;
  }
  Py_DECREF(done);
  reply_u32(r, TAG_STATUS, STATUS_OK);
}

static void set_environment(fields *request, reply *r) {
  PyObject *entries = read_environment(request);
  report_done(entries ? helper_call("process", "set_environment", "(N)", entries) : NULL, r);
}

static void reseed(fields *request, reply *r) {
  field f = { 0 };
  while (fields_next(request, &f) && f.tag != TAG_SEED) continue;
  report_done(helper_call("process", "reseed", "(y#)", f.tag == TAG_SEED ? f.data : "",
                          f.tag == TAG_SEED ? (Py_ssize_t)f.len : 0),
              r);
}

static void dispatch(uint32_t op, fields *request, reply *r) {
  switch (op) {
  case OP_EXECUTE: execute(request, r); return;
  case OP_SNAPSHOT_STATE: state_snapshot(r); return;
  case OP_RESTORE_STATE: state_restore(request, r); return;
  case OP_CLEAR_STATE: state_clear(r); return;
  case OP_RESEED: reseed(request, r); return;
  case OP_NAMES: state_names(r); return;
  case OP_ENVIRONMENT: set_environment(request, r); return;
  default: PyErr_Format(PyExc_ValueError, "no operation %u", op); report_exception(r, NULL);
  }
}

/* When not even the outcome fits into memory: a reply that needs none. */
static void without_memory(reply *r) {
  static uint8_t last_resort[256];
  if (r->data != last_resort) free(r->data);
  *r = (reply){ .data = last_resort, .cap = sizeof last_resort };
  reply_u32(r, TAG_STATUS, STATUS_EXCEPTION);
  reply_bytes(r, TAG_ERROR_TYPE, "MemoryError", 11);
  reply_bytes(r, TAG_ERROR_TEXT, "no memory for the result", 24);
}

const place *EXPORT(cay_serve)(uint32_t op, uint32_t len) {
  static reply r;
  static place where;
  static bool lent; /* r.data is not from malloc */
  if (lent) r = (reply){ 0 };
  lent = false;
  reply_reset(&r);
  if (len > room_cap) return NULL;
  fields request = { room, room + len };
  if (begin() < 0)
    report_exception(&r, NULL);
  else
    dispatch(op, &request, &r);
  if ((lent = r.failed)) without_memory(&r);
  PyErr_Clear();
  stop_forget();
  where = (place){ (uintptr_t)r.data, r.len };
  return &where;
}
