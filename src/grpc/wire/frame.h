/* frame.h - messages of gRPC in the data of a stream: a flag, a length of four bytes (big-endian), the message.
 *
 * A message is kept as its bytes arrive, up to `max`: a claimed length costs nothing. */
#pragma once

#include "base/buf.h"

enum { FRAME_HEAD = 5 };

typedef struct frame_reader {
  uint8_t head[FRAME_HEAD];
  size_t head_len;
  bool compressed;
  size_t want; /* bytes of the message */
  buf message;
  size_t max;
} frame_reader;

enum frame_event {
  FRAME_MORE,    /* all was taken, the message goes on */
  FRAME_MESSAGE, /* `message` is whole; frame_next begins the next one */
  FRAME_TOO_LONG,
  FRAME_BAD_FLAG,
  FRAME_NO_MEMORY,
};

void frame_reader_init(frame_reader *f, size_t max);
void frame_reader_free(frame_reader *f);

/* Takes bytes from the front of *data up to the end of one message. */
enum frame_event frame_take(frame_reader *f, cay_slice *data) CHECKED;
void frame_next(frame_reader *f);         /* frees the message */
bool frame_inside(const frame_reader *f); /* a message has begun and is not whole */
void frame_head(uint8_t out[static FRAME_HEAD], bool compressed, uint32_t len);
