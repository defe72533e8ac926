/* input.c - the thread that copies standard input to a process of the guest (input.h). */
#include "cli/input.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024, LOOK_AGAIN_MS = 200 };

struct input {
  int fd, end; /* `end`: an eventfd that stops the thread */
  cay_process *process;
  pthread_t thread;
  char chunk[CHUNK];
};

/* Reading would stop us: the terminal belongs to another job. */
static bool is_in_background(int fd) {
  pid_t foreground = tcgetpgrp(fd); /* < 0: no terminal */
  return foreground >= 0 && foreground != getpgrp();
}

/* False: there will be no more. */
static bool carry_some(input *in) {
  ssize_t n = read(in->fd, in->chunk, sizeof in->chunk);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  cay_slice bytes = { .data = in->chunk, .len = (size_t)n };
  return cay_process_write(in->process, bytes, NULL) == CAY_OK;
}

static void *carry(void *ctx) {
  input *in = ctx;
  for (bool more = true; more;) {
    struct pollfd fds[] = { { .fd = in->fd, .events = POLLIN }, { .fd = in->end, .events = POLLIN } };
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    if (fds[1].revents != 0) return NULL;
    if (fds[0].revents == 0) continue;
    if (is_in_background(in->fd))
      (void)poll(&fds[1], 1, LOOK_AGAIN_MS);
    else
      more = carry_some(in);
  }
  cay_process_close_input(in->process);
  return NULL;
}

input *input_start(int fd, cay_process *process) {
  input *in = malloc(sizeof *in);
  if (in == NULL) return NULL;
  in->fd = fd;
  in->process = process;
  in->end = eventfd(0, EFD_CLOEXEC);
  int error = in->end < 0 ? errno : pthread_create(&in->thread, NULL, carry, in);
  if (error == 0) return in;
  if (in->end >= 0) (void)close(in->end);
  free(in);
  errno = error;
  return NULL;
}

void input_stop(input *in) {
  if (in == NULL) return;
  (void)eventfd_write(in->end, 1);
  (void)pthread_join(in->thread, NULL);
  (void)close(in->end);
  free(in);
}
