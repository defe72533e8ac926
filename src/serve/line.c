/* line.c - the reader of lines: its buffer, the wait for input, lines that are too long (line.h). */
#include "serve/line.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 64 * 1024 };

void line_reader_init(line_reader *r, int fd, int parent_fd, int reply_fd, size_t max) {
  *r = (line_reader){
    .fd = fd, .parent_fd = parent_fd, .reply_fd = reply_fd, .bytes = BUF_INIT(BUF_UNLIMITED), .max = max
  };
}

/* Lines may have secrets: none outlives its answer. */
static void line_wipe(line_reader *r) {
  if (r->bytes.data != NULL) explicit_bzero(r->bytes.data, r->bytes.len);
  buf_free(&r->bytes);
}

/* Moves the rest to the front, and gives back the memory of a long line. */
static void compact(line_reader *r) {
  size_t had = r->bytes.len, left = had - r->start;
  if (left == 0 && r->bytes.cap > 1 << 20) {
    line_wipe(r);
    r->bytes = BUF_INIT(BUF_UNLIMITED);
  } else if (r->start != 0) {
    memmove(r->bytes.data, r->bytes.data + r->start, left);
    explicit_bzero(r->bytes.data + left, had - left);
  }
  r->bytes.len = left;
  r->searched -= r->start;
  r->start = 0;
}

void line_reader_free(line_reader *r) { line_wipe(r); }

/* Room for another piece. No copy stays behind, as with realloc(3). */
static uint8_t *line_room(line_reader *r) {
  buf more = BUF_INIT(BUF_UNLIMITED);
  if (r->bytes.cap - r->bytes.len > PIECE) return buf_room(&r->bytes, PIECE);
  if (buf_room(&more, r->bytes.len + r->bytes.len / 2 + PIECE) == NULL) return NULL;
  if (r->bytes.len != 0) IGNORED(buf_append(&more, r->bytes.data, r->bytes.len)); /* there is room */
  line_wipe(r);
  r->bytes = more;
  return buf_room(&r->bytes, PIECE);
}

/* Until there is input, or the client is gone: LINE_GONE. */
static enum line_kind wait_for_input(line_reader *r) {
  struct pollfd fds[3] = { { .fd = r->fd, .events = POLLIN },
                           { .fd = r->parent_fd, .events = POLLIN },
                           { .fd = r->reply_fd } };
  while (poll(fds, COUNT_OF(fds), -1) < 0)
    if (errno != EINTR) return LINE_READY; /* the read will report the error */
  if (fds[2].revents != 0) return LINE_GONE;
  r->parent_gone = fds[0].revents == 0 && fds[1].revents != 0;
  return LINE_READY;
}

static enum line_kind line_fill(line_reader *r) {
  compact(r);
  uint8_t *room = line_room(r);
  if (room == NULL) return LINE_NO_MEMORY;
  if (wait_for_input(r) == LINE_GONE) return LINE_GONE;
  if (r->parent_gone) {
    r->at_end = true;
    return LINE_READY;
  }
  ssize_t n;
  do n = read(r->fd, room, PIECE);
  while (n < 0 && errno == EINTR);
  if (n < 0) return LINE_FAILED;
  if (n == 0) r->at_end = true;
  buf_grew(&r->bytes, (size_t)n);
  return LINE_READY;
}

/* Bytes [start, end), which are not none: an empty buffer has no address. */
static void line_give(line_reader *r, size_t end, char **data, size_t *len) {
  *data = (char *)r->bytes.data + r->start;
  *len = end - r->start;
  r->start = end < r->bytes.len ? end + 1 : end;
  r->searched = r->start;
}

enum line_kind line_next(line_reader *r, char **data, size_t *len) {
  for (;;) {
    size_t left = r->bytes.len - r->searched;
    uint8_t *newline = left != 0 ? memchr(r->bytes.data + r->searched, '\n', left) : NULL;
    if (newline != NULL) {
      line_give(r, (size_t)(newline - r->bytes.data), data, len);
      bool too_long = r->skipping || *len > r->max;
      r->skipping = false;
      return too_long ? LINE_TOO_LONG : LINE_READY;
    }
    r->searched = r->bytes.len;
    if (r->bytes.len - r->start > r->max) { /* keep nothing of it */
      r->skipping = true;
      r->start = r->searched = r->bytes.len;
    }
    if (r->at_end) {
      if (r->bytes.len == r->start || r->skipping) return r->parent_gone ? LINE_GONE : LINE_END;
      line_give(r, r->bytes.len, data, len);
      return LINE_READY;
    }
    enum line_kind kind = line_fill(r);
    if (kind != LINE_READY) return kind;
  }
}
