#include "fields.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 64 << 10 };

static size_t padded(size_t len) { return (len + 3) & ~(size_t)3; }

bool fields_next(fields *f, field *out) {
  uint32_t head[2];
  if ((size_t)(f->end - f->at) < sizeof head) return false;
  memcpy(head, f->at, sizeof head);
  size_t room = (size_t)(f->end - f->at) - sizeof head;
  if (head[1] > room) return false;
  *out = (field){ .tag = head[0], .data = (const char *)f->at + sizeof head, .len = head[1] };
  size_t step = padded(head[1]);
  f->at += sizeof head + (step < room ? step : room);
  return true;
}

uint32_t field_u32(const field *f) {
  uint32_t value = 0;
  if (f->len == sizeof value) memcpy(&value, f->data, sizeof value);
  return value;
}

const char *reason_text(uint32_t reason) {
  switch (reason) {
#define TALK_REASON(name, number, message)                                                                   \
  case number: return message;
#include "talk.def"
  default: return "stopped";
  }
}

static bool make_room(reply *r, size_t more) {
  if (r->failed || more > UINT32_MAX / 2 - r->len) return !(r->failed = true);
  if (r->len + more <= r->cap) return true;
  size_t cap = r->cap ? r->cap : 1024;
  while (cap < r->len + more) cap *= 2;
  uint8_t *data = realloc(r->data, cap);
  if (!data) return !(r->failed = true);
  r->data = data;
  r->cap = cap;
  return true;
}

void reply_bytes(reply *r, enum talk_tag tag, const void *data, size_t len) {
  if (len > UINT32_MAX / 4 || !make_room(r, 8 + padded(len))) {
    r->failed = true;
    return;
  }
  uint32_t head[2] = { (uint32_t)tag, (uint32_t)len };
  memcpy(r->data + r->len, head, sizeof head);
  if (len) memcpy(r->data + r->len + sizeof head, data, len);
  memset(r->data + r->len + sizeof head + len, 0, padded(len) - len);
  r->len += sizeof head + padded(len);
}

void reply_u32(reply *r, enum talk_tag tag, uint32_t value) { reply_bytes(r, tag, &value, sizeof value); }

void reply_reset(reply *r) {
  r->len = 0;
  r->failed = false;
  if (r->cap <= KEPT) return;
  free(r->data);
  *r = (reply){ 0 };
}
