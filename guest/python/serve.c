/* Requests: how one begins, which part of the driver serves it, how it ends. */
#include "driver.h"

const char request_memory_error[] = "MemoryError";

/* Work of a process before its first request, which the image has not done. */
static int begin(uint32_t op) {
  static bool begun;
  if (begun) return 0;
  stop_install();
  if (op != TALK_GREET && (greet_reseed_hashes("", 0) < 0 || greet_reseed("", 0) < 0)) return -1;
  begun = true;
  return 0;
}

bool request_begin(uint32_t op, reply *r) {
  if (begin(op) == 0) return true;
  report_exception(r, NULL);
  return false;
}

static void serve_greeting(fields *request, reply *r) {
  if (greet(request) < 0)
    report_exception(r, NULL);
  else
    reply_u32(r, TALK_STATUS, TALK_OK);
}

void request_execute(uint32_t op, fields *request, reply *r) {
  switch (op) {
  case TALK_EXECUTE: execute(request, r); return;
  case TALK_SAVE_STATE: state_snapshot(r); return;
  case TALK_LOAD_STATE: state_restore(request, r); return;
  case TALK_CLEAR_STATE: state_clear(r); return;
  case TALK_GREET: serve_greeting(request, r); return;
  case TALK_NAMES: state_names(r); return;
  default: PyErr_Format(PyExc_ValueError, "no operation %u", op); report_exception(r, NULL);
  }
}

void request_end(void) {
  PyErr_Clear();
  stop_forget();
}
