/* line.h - lines from a descriptor, each at most so long.
 *
 * A line that is longer is thrown away up to its end and reported, and the next one is read as if nothing had
 * happened. */
#pragma once

#include "base/buf.h"

enum line_kind { LINE_READY, LINE_TOO_LONG, LINE_END, LINE_GONE, LINE_FAILED, LINE_NO_MEMORY };

typedef struct line_reader {
  int fd;
  int parent_fd; /* readable: the process that started us is gone, LINE_GONE once nothing is to be read; -1: none */
  int reply_fd;    /* its other end is closed: LINE_GONE at once; -1: none */
  buf bytes;       /* bytes read and not yet given out */
  size_t start;    /* of the next line in `bytes` */
  size_t searched; /* no newline before here */
  size_t max;
  bool skipping; /* in a line that is too long */
  bool at_end, parent_gone;
} line_reader;

void line_reader_init(line_reader *r, int fd, int parent_fd, int reply_fd, size_t max);
void line_reader_free(line_reader *r);

/* The next line without its newline, borrowed until the next call. Sleeps. A last line without a newline
 * counts. LINE_GONE: the client is gone, by one of the two other descriptors. */
enum line_kind line_next(line_reader *r, char **data, size_t *len);
