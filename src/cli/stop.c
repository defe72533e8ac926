/* stop.c - the thread that takes SIGINT, SIGTERM and SIGHUP, passes them to a run, and ends it when it
 * does not stop (stop.h). */
#include "cli/stop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_MS = 1000, AGAIN_MS = 1000, START_MS = 100 };

struct stop {
  int signals, end, wake; /* a signalfd; eventfds: one ends the thread, one lets it look at the times again */
  pthread_t thread;
  pthread_mutex_t mu; /* for all below */
  cay_sandbox *box;
  cay_process *process;
  cay_tool_cancel *call; /* a tool's, in place of the two */
  int last;
  int64_t last_ms;  /* when it came */
  int64_t force_ms; /* when everything is ended; < 0: not planned */
  bool forced;
  bool starting;    /* a process may run already that nothing is aimed at yet */
  int early;        /* a signal that came in that time */
  int64_t early_ms; /* when it ends cay, if no process is there by then */
};

static int64_t now_ms(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static sigset_t stop_wanted(void) {
  static const int all[] = { SIGINT, SIGTERM, SIGHUP };
  sigset_t set;
  (void)sigemptyset(&set);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct sigaction action;
    if (sigaction(all[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) (void)sigaddset(&set, all[i]);
  }
  return set;
}

void stop_die(int signal_number) {
  (void)signal(signal_number, SIG_DFL);
  sigset_t one;
  (void)sigemptyset(&one);
  (void)sigaddset(&one, signal_number);
  (void)raise(signal_number); /* pending while blocked, so it comes below */
  (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
  _exit(128 + signal_number);
}

/* Requires s->mu. */
static void stop_force(stop *s) {
  s->forced = true;
  s->force_ms = -1;
  cay_sandbox_interrupt(s->box);
}

/* Requires s->mu. */
static void stop_take(stop *s, int signal_number) {
  int64_t now = now_ms();
  bool again = s->last == signal_number && (signal_number != SIGINT || now - s->last_ms < AGAIN_MS);
  s->last = signal_number;
  s->last_ms = now;
  if (again) {
    stop_force(s);
    return;
  }
  if (signal_number != SIGINT) s->force_ms = now + GRACE_MS;
  cay_process_signal(s->process, signal_number == SIGHUP ? SIGTERM : signal_number);
}

static void stop_on_signal(stop *s) {
  struct signalfd_siginfo info;
  if (read(s->signals, &info, sizeof info) != sizeof info) return;
  int signal_number = (int)info.ssi_signo;
  (void)pthread_mutex_lock(&s->mu);
  bool early = s->starting && s->early == 0;
  bool aimed = early || s->process != NULL || (s->call != NULL && s->last == 0);
  if (s->process != NULL) stop_take(s, signal_number);
  if (early) {
    s->early = signal_number;
    s->early_ms = now_ms() + START_MS;
  }
  if (s->call != NULL) {
    cay_tool_cancel_raise(s->call);
    s->last = signal_number;
  }
  (void)pthread_mutex_unlock(&s->mu);
  if (!aimed) stop_die(signal_number);
}

/* Ends overdue runs. Returns how long poll may sleep. */
static int until_force(stop *s) {
  (void)pthread_mutex_lock(&s->mu);
  if (s->early != 0) {
    int64_t left = s->early_ms - now_ms();
    int early = s->early;
    (void)pthread_mutex_unlock(&s->mu);
    if (left <= 0) stop_die(early);
    return (int)left;
  }
  int64_t left = s->force_ms < 0 ? -1 : s->force_ms - now_ms();
  if (s->force_ms >= 0 && left <= 0) {
    if (s->process != NULL) stop_force(s);
    s->force_ms = left = -1;
  }
  (void)pthread_mutex_unlock(&s->mu);
  return (int)left;
}

static void *stop_watch(void *ctx) {
  stop *s = ctx;
  for (;;) {
    struct pollfd fds[] = { { .fd = s->signals, .events = POLLIN },
                            { .fd = s->end, .events = POLLIN },
                            { .fd = s->wake, .events = POLLIN } };
    eventfd_t count;
    if (poll(fds, 3, until_force(s)) < 0 && errno != EINTR) return NULL;
    if (fds[1].revents != 0) return NULL;
    if (fds[2].revents != 0) (void)eventfd_read(s->wake, &count);
    if (fds[0].revents != 0) stop_on_signal(s);
  }
}

static void close_all(stop *s) {
  if (s->signals >= 0) (void)close(s->signals);
  if (s->end >= 0) (void)close(s->end);
  if (s->wake >= 0) (void)close(s->wake);
}

stop *stop_new(void) {
  stop *s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  sigset_t set = stop_wanted();
  *s = (stop){ .signals = signalfd(-1, &set, SFD_CLOEXEC),
               .end = eventfd(0, EFD_CLOEXEC),
               .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
               .force_ms = -1 };
  (void)pthread_mutex_init(&s->mu, NULL);
  (void)pthread_sigmask(SIG_BLOCK, &set, NULL);

  int error =
      s->signals < 0 || s->end < 0 || s->wake < 0 ? errno : pthread_create(&s->thread, NULL, stop_watch, s);
  if (error == 0) return s;
  close_all(s);
  free(s);
  (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  errno = error;
  return NULL;
}

void stop_expect(stop *s) {
  (void)pthread_mutex_lock(&s->mu);
  s->starting = true;
  (void)pthread_mutex_unlock(&s->mu);
}

void stop_aim(stop *s, cay_sandbox *box, cay_process *process) {
  (void)pthread_mutex_lock(&s->mu);
  s->box = box;
  s->process = process;
  s->force_ms = -1;
  int early = s->early;
  s->starting = false;
  s->early = 0;
  if (early != 0 && process != NULL) stop_take(s, early);
  (void)pthread_mutex_unlock(&s->mu);
  if (early != 0 && process == NULL) stop_die(early);
  if (early != 0) (void)eventfd_write(s->wake, 1); /* its thread may have a second to count */
}

void stop_aim_tool(stop *s, cay_tool_cancel *call) {
  (void)pthread_mutex_lock(&s->mu);
  s->call = call;
  (void)pthread_mutex_unlock(&s->mu);
}

int stop_signal(stop *s) {
  (void)pthread_mutex_lock(&s->mu);
  int last = s->last;
  (void)pthread_mutex_unlock(&s->mu);
  return last;
}

bool stop_forced(stop *s) {
  (void)pthread_mutex_lock(&s->mu);
  bool forced = s->forced;
  (void)pthread_mutex_unlock(&s->mu);
  return forced;
}

void stop_free(stop *s) {
  if (s == NULL) return;
  (void)eventfd_write(s->end, 1);
  (void)pthread_join(s->thread, NULL);
  (void)pthread_mutex_destroy(&s->mu);
  close_all(s);
  free(s);
}
