/* Requests: the room they are written to, and what serves them. */
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

/* When not even the outcome fits into memory: a reply that needs none. */
static void without_memory(reply *r) {
  static uint8_t last_resort[256];
  if (r->data != last_resort) free(r->data);
  *r = (reply){ .data = last_resort, .cap = sizeof last_resort };
  reply_u32(r, TALK_STATUS, TALK_EXCEPTION);
  reply_bytes(r, TALK_ERROR_TYPE, "InternalError", 13);
  reply_bytes(r, TALK_ERROR_TEXT, "out of memory", 13);
}

const place *EXPORT(cay_serve)(uint32_t op, uint32_t len) {
  static reply r;
  static place where;
  static bool lent; /* r.data is not from malloc */
  if (lent) r = (reply){ 0 };
  lent = false;
  reply_reset(&r);
  if (len > room_cap) return NULL;
  runtime_enter();
  if (!begun) stop_install();
  begun = true;
  fields request = { room, room + len };
  execute(op, &request, &r);
  if ((lent = r.failed)) without_memory(&r);
  stop_forget();
  where = (place){ (uintptr_t)r.data, r.len };
  return &where;
}
