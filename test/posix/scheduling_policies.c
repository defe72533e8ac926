/* scheduling_policies - sched(7): policies that an unprivileged process may have, and those that it may not. */
#include "posix.h"

#include <sched.h>

static void say_policy(void) {
  struct sched_param param = { .sched_priority = 77 };
  int policy = sched_getscheduler(0);
  say("%s ", policy == SCHED_OTHER   ? "other"
             : policy == SCHED_BATCH ? "batch"
             : policy == SCHED_IDLE  ? "idle"
                                     : "unknown");
  SAY(sched_getparam(0, &param));
  SHOW(param.sched_priority);
}

int main(void) {
  struct sched_param none = { 0 }, one = { .sched_priority = 1 }, param;
  say_policy();
  SAY(sched_getscheduler(getpid()));
  SAY(sched_getscheduler(-1));
  SAY(sched_getscheduler(0x3ffffff));
  SAY(sched_getparam(0, NULL));
  SAY(sched_getparam(-1, &param));
  SAY(sched_getparam(0x3ffffff, &param));
  SAY(sched_getparam(0, WILD));
  SAY(sched_setparam(0, &none));
  SAY(sched_setparam(0, &one));
  SAY(sched_setparam(0, NULL));
  SAY(sched_setparam(0, WILD));
  SAY(sched_setscheduler(0, SCHED_FIFO, &one));
  SAY(sched_setscheduler(0, SCHED_RR, &one));
  SAY(sched_setscheduler(0, SCHED_FIFO, &none));
  SAY(sched_setscheduler(0, SCHED_OTHER, &one));
  SAY(sched_setscheduler(0, 4, &none));
  SAY(sched_setscheduler(0, 99, &none));
  SAY(sched_setscheduler(0, -1, &none));
  SAY(sched_setscheduler(-1, SCHED_OTHER, &none));
  SAY(sched_setscheduler(0x3ffffff, SCHED_OTHER, &none));
  SAY(sched_setscheduler(1, SCHED_BATCH, &none));
  SAY(sched_setscheduler(0, SCHED_OTHER, NULL));
  SAY(sched_setscheduler(0, SCHED_BATCH, &none));
  say_policy();
  SAY(sched_setscheduler(0, SCHED_OTHER, &none));
  SAY(sched_setscheduler(0, SCHED_IDLE, &none));
  say_policy();
  SAY(sched_setscheduler(0, SCHED_OTHER, &none));
  reap_child("child", say_policy);
  SAY(sched_get_priority_max(SCHED_FIFO));
  SAY(sched_get_priority_min(SCHED_RR));
  SAY(sched_get_priority_max(SCHED_IDLE));
  SAY(sched_get_priority_max(99));
  SAY(timer_delete((timer_t)0x7777));
  return 0;
}
