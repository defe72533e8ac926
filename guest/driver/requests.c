#include "requests.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_KEPT = 64 << 10 };

static uint8_t *room;
static uint32_t room_cap;

uint8_t *EXPORT(cay_room)(uint32_t len) {
  if (len <= room_cap && (room_cap <= ROOM_KEPT || len > ROOM_KEPT)) return room;
  uint32_t cap = len < 4096 ? 4096 : len;
  free(room);
  room = malloc(cap);
  room_cap = room ? cap : 0;
  return room;
}

/* When not even the outcome fits into memory: a reply that needs none. */
static void reply_without_memory(reply *r) {
  static const char text[] = "no memory for the result";
  static uint8_t last_resort[256];
  if (r->data != last_resort) free(r->data);
  *r = (reply){ .data = last_resort, .cap = sizeof last_resort };
  reply_u32(r, TALK_STATUS, TALK_EXCEPTION);
  reply_bytes(r, TALK_ERROR_TYPE, request_memory_error, strlen(request_memory_error));
  reply_bytes(r, TALK_ERROR_TEXT, text, sizeof text - 1);
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
  if (request_begin(op, &r)) request_execute(op, &request, &r);
  if ((lent = r.failed)) reply_without_memory(&r);
  request_end();
  where = (place){ (uintptr_t)r.data, r.len };
  return &where;
}

void request_rehearse(const char *code) {
  static reply request, answer;
  reply_reset(&request);
  reply_reset(&answer);
  reply_bytes(&request, TALK_CODE, code, strlen(code));
  reply_u32(&request, TALK_FLAGS, TALK_WANT_JSON);
  fields f = { request.data, request.data + request.len };
  request_execute(TALK_EXECUTE, &f, &answer);
}
