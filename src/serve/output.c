/* output.c - the writer of lines: non-blocking writes, and the bound on a slow reader (output.h). */
#include "serve/output.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK belongs to the open file, which others may share: a pipe is opened anew to have our own. */
static int reopen_pipe(int fd) {
  char path[32];
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

cay_status line_writer_init(line_writer *w, int fd, cay_error *err) {
  struct stat st;
  if (fstat(fd, &st) != 0) return err_errno(err, errno, "the descriptor for replies");
  int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return err_errno(err, errno, "eventfd");
  *w = (line_writer){ .fd = fd, .own_fd = -1, .wake_fd = wake, .grace_ms = -1 };
  if (S_ISFIFO(st.st_mode)) w->own_fd = reopen_pipe(fd);
  w->is_socket = S_ISSOCK(st.st_mode);
  pthread_mutex_init(&w->mu, NULL);
  return CAY_OK;
}

void line_writer_destroy(line_writer *w) {
  pthread_mutex_destroy(&w->mu);
  close(w->wake_fd);
  if (w->own_fd >= 0) close(w->own_fd);
}

static ssize_t output_write_some(const line_writer *w, const char *data, size_t len) {
  if (w->is_socket) return send(w->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
  return write(w->own_fd >= 0 ? w->own_fd : w->fd, data, len);
}

/* Until the reader takes more. False: it did not in the time that is left for it. */
static bool output_wait_for_room(line_writer *w) {
  for (;;) {
    int grace = w->grace_ms;
    struct pollfd fds[2] = { { .fd = w->own_fd >= 0 ? w->own_fd : w->fd, .events = POLLOUT },
                             { .fd = w->wake_fd, .events = POLLIN } };
    int n = poll(fds, grace < 0 ? 2 : 1, grace);
    if (n > 0 && fds[0].revents != 0) return true;
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
  }
}

static bool output_write_all(line_writer *w, const char *data, size_t len) {
  while (len > 0) {
    ssize_t n = output_write_some(w, data, len);
    if (n >= 0) {
      data += n;
      len -= (size_t)n;
    } else if (errno == EAGAIN) {
      if (!output_wait_for_room(w)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool line_write(line_writer *w, const char *data, size_t len) {
  pthread_mutex_lock(&w->mu);
  if (!w->broken && !output_write_all(w, data, len)) w->broken = true;
  bool fine = !w->broken;
  pthread_mutex_unlock(&w->mu);
  return fine;
}

void line_writer_end(line_writer *w, int grace_ms) {
  w->grace_ms = grace_ms;
  (void)eventfd_write(w->wake_fd, 1);
}
