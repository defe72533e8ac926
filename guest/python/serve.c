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

/* Work of a process before its first request, which the image has not done. */
static int begin(uint32_t op) {
  if (begun) return 0;
  stop_install();
  if (op != TALK_GREET && (greet_reseed_hashes("", 0) < 0 || greet_reseed("", 0) < 0)) return -1;
  begun = true;
  return 0;
}

static void serve_greeting(fields *request, reply *r) {
  if (greet(request) < 0)
    report_exception(r, NULL);
  else
    reply_u32(r, TALK_STATUS, TALK_OK);
}

static void dispatch(uint32_t op, fields *request, reply *r) {
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

/* When not even the outcome fits into memory: a reply that needs none. */
static void without_memory(reply *r) {
  static uint8_t last_resort[256];
  if (r->data != last_resort) free(r->data);
  *r = (reply){ .data = last_resort, .cap = sizeof last_resort };
  reply_u32(r, TALK_STATUS, TALK_EXCEPTION);
  reply_bytes(r, TALK_ERROR_TYPE, "MemoryError", 11);
  reply_bytes(r, TALK_ERROR_TEXT, "no memory for the result", 24);
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
  if (begin(op) < 0)
    report_exception(&r, NULL);
  else
    dispatch(op, &request, &r);
  if ((lent = r.failed)) without_memory(&r);
  PyErr_Clear();
  stop_forget();
  where = (place){ (uintptr_t)r.data, r.len };
  return &where;
}
