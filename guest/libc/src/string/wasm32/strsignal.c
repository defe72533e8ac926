/* In the words of other libcs, which shells and programs repeat. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "locale_impl.h"

static const char *const texts[] = {
  [SIGHUP] = "Hangup",
  [SIGINT] = "Interrupt",
  [SIGQUIT] = "Quit",
  [SIGILL] = "Illegal instruction",
  [SIGTRAP] = "Trace/breakpoint trap",
  [SIGABRT] = "Aborted",
  [SIGBUS] = "Bus error",
  [SIGFPE] = "Floating point exception",
  [SIGKILL] = "Killed",
  [SIGUSR1] = "User defined signal 1",
  [SIGSEGV] = "Segmentation fault",
  [SIGUSR2] = "User defined signal 2",
  [SIGPIPE] = "Broken pipe",
  [SIGALRM] = "Alarm clock",
  [SIGTERM] = "Terminated",
  [SIGSTKFLT] = "Stack fault",
  [SIGCHLD] = "Child exited",
  [SIGCONT] = "Continued",
  [SIGSTOP] = "Stopped (signal)",
  [SIGTSTP] = "Stopped",
  [SIGTTIN] = "Stopped (tty input)",
  [SIGTTOU] = "Stopped (tty output)",
  [SIGURG] = "Urgent I/O condition",
  [SIGXCPU] = "CPU time limit exceeded",
  [SIGXFSZ] = "File size limit exceeded",
  [SIGVTALRM] = "Virtual timer expired",
  [SIGPROF] = "Profiling timer expired",
  [SIGWINCH] = "Window changed",
  [SIGPOLL] = "I/O possible",
  [SIGPWR] = "Power failure",
  [SIGSYS] = "Bad system call",
};

char *strsignal(int signal) {
  static char numbered[40];
  if (signal > 0 && (unsigned)signal < sizeof texts / sizeof *texts)
    return (char *)LCTRANS_CUR(texts[signal]);
  int realtime = signal >= SIGRTMIN && signal <= SIGRTMAX;
  const char *form = realtime ? LCTRANS_CUR("Real-time signal %d") : LCTRANS_CUR("Unknown signal %d");
  snprintf(numbered, sizeof numbered, form, realtime ? signal - SIGRTMIN : signal);
  return numbered;
}
