/* talk.c - fields of a request appended to a buffer, and fields of a reply found and checked (talk.h). */
#include "guest/talk.h"

#include <string.h>

enum { HEAD = 8, ALIGN = 4 };

cay_status talk_put(buf *to, enum talk_tag tag, const void *data, size_t len) {
  static const uint8_t zeros[ALIGN];
  const uint32_t head[2] = { tag, (uint32_t)len };
  size_t before = to->len;
  if (len > INT32_MAX) return CAY_LIMIT;
  cay_status status = buf_append(to, head, sizeof head);
  if (status == CAY_OK) status = buf_append(to, data, len);
  if (status == CAY_OK) status = buf_append(to, zeros, (ALIGN - len % ALIGN) % ALIGN);
  if (status != CAY_OK) to->len = before;
  return status;
}

cay_status talk_put_text(buf *to, enum talk_tag tag, const char *text) {
  return talk_put(to, tag, text, strlen(text));
}

cay_status talk_put_u32(buf *to, enum talk_tag tag, uint32_t value) {
  return talk_put(to, tag, &value, sizeof value);
}

bool talk_read(cay_slice bytes, talk_reply *out) {
  const uint8_t *at = bytes.data;
  size_t left = bytes.len;
  memset(out, 0, sizeof *out);
  while (left > 0) {
    uint32_t head[2];
    if (left < HEAD) return false;
    memcpy(head, at, HEAD);
    size_t len = head[1], padded = len + (ALIGN - len % ALIGN) % ALIGN;
    if (padded > left - HEAD) return false;
    if (head[0] < TALK_TAG_END && out->fields[head[0]].data == NULL)
      out->fields[head[0]] = (cay_slice){ at + HEAD, len };
    at += HEAD + padded;
    left -= HEAD + padded;
  }
  return true;
}

uint32_t talk_u32(const talk_reply *reply, enum talk_tag tag, uint32_t otherwise) {
  uint32_t value = otherwise;
  if (reply->fields[tag].len == sizeof value) memcpy(&value, reply->fields[tag].data, sizeof value);
  return value;
}
