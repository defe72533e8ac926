/* terminal.c - raw mode of this terminal, and the thread that passes its size on and restores its settings
 * (terminal.h). */
#include "cli/terminal.h"

#include "cli/stop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

struct terminal {
  int signals, end; /* a signalfd; an eventfd that ends the thread */
  pthread_t thread;
  pthread_mutex_t mu; /* for all below */
  cay_process *process;
  bool raw;
  struct termios cooked; /* how it was */
};

/* SIGINT, SIGTERM and SIGHUP are of stop.h. Others end a program by default, and would leave it raw. */
static sigset_t terminal_wanted(void) {
  static const int all[] = { SIGWINCH, SIGTSTP, SIGCONT, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU };
  sigset_t set;
  (void)sigemptyset(&set);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) (void)sigaddset(&set, all[i]);
  return set;
}

void terminal_size(const terminal *t, uint16_t *rows, uint16_t *cols) {
  (void)t;
  struct winsize w = { 0 };
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &w) != 0)
    w = (struct winsize){ 0 };
  *rows = w.ws_row;
  *cols = w.ws_col;
}

/* ---- with t->mu ---- */

static void make_raw(terminal *t) {
  if (!t->raw && tcgetattr(STDIN_FILENO, &t->cooked) != 0) return;
  struct termios raw = t->cooked;
  cfmakeraw(&raw);
  if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0) t->raw = true;
}

static void terminal_put_back(terminal *t) {
  if (t->raw) (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->cooked);
  t->raw = false;
}

static void pass_size(terminal *t) {
  uint16_t rows, cols;
  terminal_size(t, &rows, &cols);
  if (t->process != NULL && rows != 0 && cols != 0)
    if (cay_process_resize(t->process, rows, cols, NULL) != CAY_OK) return; /* nothing to be done */
}

/* The shell that continues this process may have changed the settings: it puts back its own. */
static void take_again(terminal *t) {
  make_raw(t);
  pass_size(t);
}

/* ---- the thread ---- */

static void terminal_on_signal(terminal *t, int number) {
  (void)pthread_mutex_lock(&t->mu);
  switch (number) {
  case SIGWINCH: pass_size(t); break;
  case SIGCONT:
    if (t->raw) take_again(t);
    break;
  case SIGTSTP: {
    bool was_raw = t->raw;
    terminal_put_back(t);
    (void)raise(SIGSTOP);
    if (was_raw) take_again(t);
    break;
  }
  default: terminal_put_back(t); stop_die(number);
  }
  (void)pthread_mutex_unlock(&t->mu);
}

static void *terminal_watch(void *ctx) {
  terminal *t = ctx;
  for (;;) {
    struct pollfd fds[] = { { .fd = t->signals, .events = POLLIN }, { .fd = t->end, .events = POLLIN } };
    struct signalfd_siginfo info;
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return NULL;
    if (fds[1].revents != 0) return NULL;
    if (fds[0].revents != 0 && read(t->signals, &info, sizeof info) == sizeof info)
      terminal_on_signal(t, (int)info.ssi_signo);
  }
}

static void close_both(terminal *t) {
  if (t->signals >= 0) (void)close(t->signals);
  if (t->end >= 0) (void)close(t->end);
}

/* The thread takes no signal but from the signalfd, or one would act before it is read. */
static int start_thread(terminal *t) {
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&t->thread, NULL, terminal_watch, t);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

terminal *terminal_new(void) {
  terminal *t = calloc(1, sizeof *t);
  if (t == NULL) return NULL;
  sigset_t set = terminal_wanted();
  *t = (terminal){ .signals = signalfd(-1, &set, SFD_CLOEXEC), .end = eventfd(0, EFD_CLOEXEC) };
  (void)pthread_mutex_init(&t->mu, NULL);
  int error = t->signals < 0 || t->end < 0 ? errno : start_thread(t);
  (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (error == 0) return t;
  close_both(t);
  free(t);
  (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  errno = error;
  return NULL;
}

void terminal_begin(terminal *t) {
  (void)pthread_mutex_lock(&t->mu);
  make_raw(t);
  (void)pthread_mutex_unlock(&t->mu);
}

void terminal_lend(terminal *t, cay_process *process) {
  (void)pthread_mutex_lock(&t->mu);
  t->process = process;
  if (process != NULL) {
    make_raw(t);
    pass_size(t);
  } else {
    terminal_put_back(t);
  }
  (void)pthread_mutex_unlock(&t->mu);
}

void terminal_free(terminal *t) {
  if (t == NULL) return;
  terminal_lend(t, NULL);
  (void)eventfd_write(t->end, 1);
  (void)pthread_join(t->thread, NULL);
  (void)pthread_mutex_destroy(&t->mu);
  close_both(t);
  free(t);
}
