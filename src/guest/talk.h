/* talk.h - requests to the driver of an interpreter at rest, and its replies, on the host's side (talk.def).
 *
 * A reply comes out of a guest's memory: its fields are checked here, and their contents hurt only the
 * guest. */
#pragma once

#include "base/buf.h"
#include "guest/talk_words.h"

/* Appends a field. CAY_NO_MEMORY, CAY_LIMIT. */
cay_status talk_put(buf *to, enum talk_tag tag, const void *data, size_t len) CHECKED;
cay_status talk_put_text(buf *to, enum talk_tag tag, const char *text) CHECKED;
cay_status talk_put_u32(buf *to, enum talk_tag tag, uint32_t value) CHECKED;

/* The fields of a reply by tag: the first of each; absent: data NULL. They point into the reply. */
typedef struct talk_reply {
  cay_slice fields[TALK_TAG_END];
} talk_reply;

/* False: a field reaches past the end. Unknown tags are skipped. */
bool talk_read(cay_slice bytes, talk_reply *out) CHECKED;

/* A field of exactly four bytes, else `otherwise`. */
uint32_t talk_u32(const talk_reply *reply, enum talk_tag tag, uint32_t otherwise);
