/* scheduler - nice values and scheduling policies of an unprivileged process: kept, inherited, refused as Linux
 * refuses them. */
#include "posix.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* The C library may have these as stubs. */
static long set_policy(long pid, int policy, int priority) {
  return syscall(SYS_sched_setscheduler, pid, policy, &priority);
}
static long get_policy(long pid) { return syscall(SYS_sched_getscheduler, pid); }

static int child_nice(void) {
  int status;
  pid_t pid = MUST(fork());
  if (pid == 0) _exit(getpriority(PRIO_PROCESS, 0));
  MUST(waitpid(pid, &status, 0));
  return WEXITSTATUS(status);
}

int main(void) {
  int before = getpriority(PRIO_PROCESS, 0);
  MUST(setpriority(PRIO_PROCESS, 0, before + 3));
  SHOW(getpriority(PRIO_PROCESS, 0) - before);
  SHOW(getpriority(PRIO_PROCESS, (id_t)getpid()) - before);
  SAY(setpriority(PRIO_PROCESS, 0, before + 1));
  SHOW(child_nice() - before);
  SHOW(nice(2) - before);
  SHOW(nice(0) - before);
  SAY(nice(-1));
  SAY(setpriority(PRIO_PROCESS, 0, 1000));
  SHOW(getpriority(PRIO_PROCESS, 0));
  SAY(setpriority(PRIO_PROCESS, 1 << 22, 19));
  SAY(getpriority(PRIO_PROCESS, 1 << 22));
  SAY(getpriority(PRIO_PGRP, 1 << 22));
  SAY(setpriority(7, 0, 0));
  SAY(getpriority(7, 0));

  SAY(get_policy(0));
  SAY(get_policy(-1));
  SAY(get_policy(1 << 22));
  SAY(set_policy(0, SCHED_FIFO, 0));
  SAY(set_policy(0, SCHED_OTHER, 1));
  SAY(set_policy(0, SCHED_RR, 100));
  SAY(set_policy(0, 77, 0));
  SAY(set_policy(-1, SCHED_OTHER, 0));
  SAY(set_policy(1 << 22, SCHED_OTHER, 0));
  SAY(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, NULL));
  SAY(syscall(SYS_sched_getparam, 0, NULL));
  SAY(set_policy(0, SCHED_BATCH, 0));
  SAY(get_policy(getpid()));
  SAY(set_policy(0, SCHED_OTHER, 0));
  SAY(set_policy(0, SCHED_IDLE, 0));
  SAY(get_policy(0));
  SAY(set_policy(0, SCHED_OTHER, 0));
  SAY(sched_get_priority_max(SCHED_FIFO));
  SAY(sched_get_priority_min(SCHED_RR));
  SAY(sched_get_priority_max(SCHED_OTHER));
  SAY(sched_get_priority_max(77));
  return 0;
}
