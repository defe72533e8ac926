/* replay.c - the list of requests to make again, as bytes one behind the other (replay.h). */
#include "sandbox/session/replay.h"

#include <string.h>

struct head {
  uint32_t op, len;
};

bool sb_replay_add(sb_replay *r, enum talk_op op, cay_slice fields, int64_t run_ns) {
  if (fields.len > SB_REPLAY_LEN_MAX || r->run_ns + run_ns > SB_REPLAY_NS_MAX) return false;
  struct head head = { (uint32_t)op, (uint32_t)fields.len };
  uint8_t *room = buf_room(&r->requests, sizeof head + fields.len);
  if (room == NULL) return false;
  memcpy(room, &head, sizeof head);
  if (fields.len != 0) memcpy(room + sizeof head, fields.data, fields.len);
  buf_grew(&r->requests, sizeof head + fields.len);
  r->run_ns += run_ns;
  return true;
}

void sb_replay_clear(sb_replay *r) {
  buf_clear(&r->requests);
  r->run_ns = 0;
}

void sb_replay_free(sb_replay *r) {
  buf_free(&r->requests);
  r->run_ns = 0;
}

bool sb_replay_next(const sb_replay *r, size_t *at, enum talk_op *op, cay_slice *fields) {
  struct head head;
  if (*at == r->requests.len) return false;
  memcpy(&head, r->requests.data + *at, sizeof head);
  *op = head.op;
  *fields = (cay_slice){ r->requests.data + *at + sizeof head, head.len };
  *at += sizeof head + head.len;
  return true;
}
