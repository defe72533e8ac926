/* output.h - whole lines to a descriptor, from any thread, never mixed.
 *
 * A reader that does not read makes the writers sleep. line_writer_end bounds that: from then on no writer waits
 * longer than the given time, so a server can always end. */
#pragma once

#include "base/buf.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct line_writer {
  int fd;
  int own_fd;     /* the same pipe, opened anew so that only we do not wait in it; -1: none */
  bool is_socket; /* then each send says that it must not wait */
  int wake_fd;    /* readable from line_writer_end on */
  _Atomic int grace_ms;
  pthread_mutex_t mu;
  atomic_bool broken; /* its reader is gone */
} line_writer;

/* CAY_IO. The descriptor stays the caller's. */
cay_status line_writer_init(line_writer *w, int fd, cay_error *err) CHECKED;
void line_writer_destroy(line_writer *w);

/* Writes it all, in one piece as others see it. False: the other side is gone. SIGPIPE must be ignored. */
bool line_write(line_writer *w, const char *data, size_t len);

/* [any thread] From now on a writer gives up when the reader takes nothing for `grace_ms`. */
void line_writer_end(line_writer *w, int grace_ms);
