/* finish.c - after the end of input: pending requests are finished and answered, then the server ends.
 *
 * The reading thread has nothing to read any more and watches the client instead; a thread of the pool waits until nothing
 * is under way, because a condition cannot be polled. */
#include "serve/client_request.h"
#include "serve/python.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct finish {
  server *server;
  int done_fd;   /* readable: nothing is under way, or `given_up` was seen */
  bool given_up; /* the client is gone; with server.mu */
} finish;

/* With server.mu. The lists of sandboxes change on the reading thread only, which is in server_finish. */
static bool server_is_idle(const server *s) {
  if (!list_empty(&s->runs) || !list_empty(&s->tool_calls)) return false;
  LIST_EACH (box, &s->boxes, serve_box, in_server) {
    if (box->takes != 0) return false;
    LIST_EACH (one, &box->sessions, serve_session, in_box) {
      if (one->uses != 0) return false;
    }
  }
  return true;
}

static void await_idle(void *ctx) {
  finish *f = ctx;
  int done_fd = f->done_fd;
  server *s = f->server;
  pthread_mutex_lock(&s->mu);
  while (!server_is_idle(s) && !f->given_up) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  if (done_fd >= 0) (void)eventfd_write(done_fd, 1);
}

/* True: everything is answered. False: the client is gone. */
static bool watch_client(const finish *f, int parent_fd) {
  struct pollfd fds[3] = { { .fd = f->done_fd, .events = POLLIN },
                           { .fd = parent_fd, .events = POLLIN },
                           { .fd = f->server->options.out } };
  while (poll(fds, COUNT_OF(fds), -1) < 0)
    if (errno != EINTR) return false;
  return fds[0].revents != 0;
}

static void await_done(const finish *f) {
  eventfd_t count;
  while (eventfd_read(f->done_fd, &count) != 0 && errno == EINTR) continue;
}

/* Reading done_fd also orders its close after the write of the other thread. */
static void finish_watched(finish *f, int parent_fd) {
  server *s = f->server;
  if (!watch_client(f, parent_fd)) {
    pthread_mutex_lock(&s->mu);
    f->given_up = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mu);
  }
  await_done(f);
}

void server_finish(server *s, int parent_fd) {
  finish f = { .server = s, .done_fd = eventfd(0, EFD_CLOEXEC) };
  asks_end(s, NULL); /* their answers would come through the input */
  runs_end_input(s);
  if (f.done_fd >= 0 && thread_pool_run(s->waiters, await_idle, &f, NULL) == CAY_OK)
    finish_watched(&f, parent_fd);
  else
    await_idle(&f); /* without an eye on the client: writing to it will fail */
  if (f.done_fd >= 0) close(f.done_fd);
}
