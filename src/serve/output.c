#include "serve/output.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

void line_writer_init(line_writer *w, int fd) {
  *w = (line_writer){ .fd = fd };
  pthread_mutex_init(&w->mu, NULL);
}

void line_writer_destroy(line_writer *w) { pthread_mutex_destroy(&w->mu); }

static bool write_all(int fd, const char *data, size_t len) {
  while (len > 0) {
    ssize_t n = write(fd, data, len);
    if (n >= 0) {
      data += n;
      len -= (size_t)n;
    } else if (errno == EAGAIN) {
      struct pollfd p = { .fd = fd, .events = POLLOUT };
      (void)poll(&p, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool line_write(line_writer *w, const char *data, size_t len) {
  pthread_mutex_lock(&w->mu);
  if (!w->broken && !write_all(w->fd, data, len)) w->broken = true;
  bool fine = !w->broken;
  pthread_mutex_unlock(&w->mu);
  return fine;
}
