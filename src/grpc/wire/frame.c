/* frame.c - frames of messages, read as their bytes arrive, and the head of one to send (frame.h). */
#include "grpc/wire/frame.h"

#include <string.h>

void frame_reader_init(frame_reader *f, size_t max) {
  *f = (frame_reader){ .max = max, .message = BUF_INIT(max) };
}

void frame_reader_free(frame_reader *f) { buf_free(&f->message); }

static cay_slice frame_cut(cay_slice *data, size_t most) {
  cay_slice front = { data->data, data->len < most ? data->len : most };
  *data = (cay_slice){ (const uint8_t *)data->data + front.len, data->len - front.len };
  return front;
}

static enum frame_event frame_read_head(frame_reader *f) {
  if (f->head[0] > 1) return FRAME_BAD_FLAG;
  f->compressed = f->head[0] == 1;
  f->want = (size_t)f->head[1] << 24 | (size_t)f->head[2] << 16 | (size_t)f->head[3] << 8 | f->head[4];
  return f->want > f->max ? FRAME_TOO_LONG : FRAME_MORE;
}

enum frame_event frame_take(frame_reader *f, cay_slice *data) {
  if (data->len == 0) return FRAME_MORE;
  if (f->head_len < FRAME_HEAD) {
    cay_slice part = frame_cut(data, FRAME_HEAD - f->head_len);
    memcpy(f->head + f->head_len, part.data, part.len);
    f->head_len += part.len;
    if (f->head_len < FRAME_HEAD) return FRAME_MORE;
    enum frame_event event = frame_read_head(f);
    if (event != FRAME_MORE) return event;
  }
  cay_slice part = frame_cut(data, f->want - f->message.len);
  if (buf_append(&f->message, part.data, part.len) != CAY_OK) return FRAME_NO_MEMORY;
  return f->message.len == f->want ? FRAME_MESSAGE : FRAME_MORE;
}

void frame_next(frame_reader *f) {
  buf_free(&f->message);
  f->head_len = 0;
  f->want = 0;
}

bool frame_inside(const frame_reader *f) { return f->head_len != 0; }

void frame_head(uint8_t out[static FRAME_HEAD], bool compressed, uint32_t len) {
  out[0] = compressed;
  for (int i = 0; i < 4; i++) out[1 + i] = (uint8_t)(len >> (24 - 8 * i));
}
