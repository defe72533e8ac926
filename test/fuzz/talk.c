/* talk.c - any bytes of a guest are a reply or none; the fields of one lie within it. */
#include "guest/talk.h"

#include "input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void look_at(const talk_reply *reply, const uint8_t *data, size_t len) {
  for (size_t tag = 0; tag < TALK_TAG_END; tag++) {
    cay_slice field = reply->fields[tag];
    const uint8_t *from = field.data;
    if (from == NULL) {
      must(field.len == 0);
      continue;
    }
    must(from >= data + 8 && field.len <= len && from + field.len <= data + len);
    uint32_t value = talk_u32(reply, (enum talk_tag)tag, 7);
    must(field.len == sizeof value ? memcmp(from, &value, sizeof value) == 0 : value == 7);
  }
}

/* Written anew they are read as the same. */
static void write_again(const talk_reply *reply) {
  buf copy = BUF_INIT(BUF_UNLIMITED);
  talk_reply read;
  for (size_t tag = 0; tag < TALK_TAG_END; tag++)
    if (reply->fields[tag].data != NULL)
      must(talk_put(&copy, (enum talk_tag)tag, reply->fields[tag].data, reply->fields[tag].len) == CAY_OK);
  must(talk_read((cay_slice){ copy.data, copy.len }, &read));
  for (size_t tag = 0; tag < TALK_TAG_END; tag++) {
    cay_slice a = reply->fields[tag], b = read.fields[tag];
    must(a.len == b.len && (a.data == NULL) == (b.data == NULL));
    must(a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
  }
  buf_free(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  talk_reply reply;
  if (!talk_read((cay_slice){ data, len }, &reply)) return 0;
  look_at(&reply, data, len);
  write_again(&reply);
  return 0;
}
