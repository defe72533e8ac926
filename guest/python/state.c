/* The user's variables as bytes and back. The work is done in Python (cay/_state.py), on the dictionary of
 * __main__. */
#include "driver.h"

static void report_failure(reply *r) {
  r->len = 0;
  report_exception(r, NULL);
}

void state_snapshot(reply *r) {
  PyObject *bytes = helper_call("state", "snapshot", "(O)", user_names());
  if (!bytes) {
    report_failure(r);
    return;
  }
  reply_u32(r, TALK_STATUS, TALK_OK);
  reply_bytes(r, TALK_BYTES, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
  Py_DECREF(bytes);
  streams_flush();
}

static void report_none(PyObject *none, reply *r) {
  if (!none) {
    report_failure(r);
    return;
  }
  Py_DECREF(none);
  reply_u32(r, TALK_STATUS, TALK_OK);
  streams_flush();
}

void state_restore(fields *request, reply *r) {
  field f = { 0 };
  while (fields_next(request, &f) && f.tag != TALK_BYTES) continue;
  bool given = f.tag == TALK_BYTES;
  report_none(helper_call("state", "restore", "(Oy#)", user_names(), given ? f.data : "",
                          given ? (Py_ssize_t)f.len : 0),
              r);
}

void state_clear(reply *r) { report_none(helper_call("state", "clear", "(O)", user_names()), r); }

void state_names(reply *r) {
  PyObject *json = helper_call("state", "describe", "(O)", user_names());
  Py_ssize_t len;
  const char *data = json ? PyUnicode_AsUTF8AndSize(json, &len) : NULL;
  if (!data) {
    Py_XDECREF(json);
    report_failure(r);
    return;
  }
  reply_u32(r, TALK_STATUS, TALK_OK);
  reply_bytes(r, TALK_JSON, data, (size_t)len);
  Py_DECREF(json);
}
