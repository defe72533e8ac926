/* output.h - whole lines to a descriptor, from any thread, never mixed. */
#pragma once

#include "base/buf.h"

#include <pthread.h>

typedef struct line_writer {
  int fd;
  pthread_mutex_t mu;
  bool broken; /* nobody reads any more */
} line_writer;

void line_writer_init(line_writer *w, int fd);
void line_writer_destroy(line_writer *w);

/* Writes it all, in one piece as others see it. False: the other side is gone. SIGPIPE must be ignored. */
bool line_write(line_writer *w, const char *data, size_t len);
