/* timer.c - timers that send a signal (timer_create(2)). */
#include "kernel/signal/timer.h"

#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/when.h"

static k_ret timer_clock(uint32_t clock, enum k_timer_clock *out) {
  enum {
    REALTIME,
    MONOTONIC,
    PROCESS_CPUTIME,
    THREAD_CPUTIME,
    BOOTTIME = 7,
    REALTIME_ALARM,
    BOOTTIME_ALARM,
    TAI = 11
  };
  switch (clock) {
  case REALTIME:
  case TAI: *out = K_TIMER_REALTIME; return 0;
  case MONOTONIC:
  case BOOTTIME: *out = K_TIMER_MONOTONIC; return 0;
  case PROCESS_CPUTIME:
  case THREAD_CPUTIME: *out = K_TIMER_CPU; return 0;
  case REALTIME_ALARM:
  case BOOTTIME_ALARM: return -K_EPERM; /* they would wake a machine */
  default: return -K_EINVAL;
  }
}

static k_ret timer_options(abi_machine *m, uint32_t addr, k_timer_options *out) {
  struct g_sigevent event = { .signo = K_SIGALRM, .notify = G_SIGEV_SIGNAL };
  if (addr != 0) K_TRY(abi_get(m->instance, addr, &event));
  bool to_thread = event.notify == G_SIGEV_THREAD_ID && event.tid == m->p->pid;
  if (event.notify > G_SIGEV_NONE && !to_thread) return -K_EINVAL;
  out->signals = event.notify != G_SIGEV_NONE;
  out->has_value = addr != 0;
  out->signo = event.signo;
  out->value = event.value;
  return 0;
}

k_ret sys_timer_create(abi_machine *m, const uint32_t a[static 6]) {
  k_timer_options how = { 0 };
  void *to = NULL;
  K_TRY(timer_clock(a[0], &how.clock));
  K_TRY(timer_options(m, a[1], &how));
  K_TRY(abi_ptr(m->instance, a[2], sizeof(int32_t), &to));
  k_ret id = ABI_LOCKED(m, k_timer_create(m->p, &how));
  K_TRY(id);
  memcpy(to, &(int32_t){ (int32_t)id }, sizeof(int32_t));
  return 0;
}

static k_ret put_timer(abi_machine *m, uint32_t addr, const k_timer_value *v) {
  struct g_itimerspec out = { { v->interval_ns / NS_PER_SEC, v->interval_ns % NS_PER_SEC },
                              { v->first_ns / NS_PER_SEC, v->first_ns % NS_PER_SEC } };
  return abi_put(m->instance, addr, &out);
}

k_ret sys_timer_gettime(abi_machine *m, const uint32_t a[static 6]) {
  k_timer_value value = { 0 };
  K_TRY(ABI_LOCKED(m, k_timer_get(m->p, (int32_t)a[0], &value)));
  return put_timer(m, a[1], &value);
}

k_ret sys_timer_settime(abi_machine *m, const uint32_t a[static 6]) {
  enum { ABSTIME = 1 };
  k_timer_value given = { 0 }, old = { 0 };
  if (a[2] > UINT32_MAX - sizeof(struct g_timespec)) return -K_EFAULT;
  K_TRY(abi_duration(m, a[2], &given.interval_ns));
  K_TRY(abi_duration(m, a[2] + (uint32_t)sizeof(struct g_timespec), &given.first_ns));
  K_TRY(ABI_LOCKED(m, k_timer_set(m->p, (int32_t)a[0], (a[1] & ABSTIME) != 0, &given, &old)));
  return a[3] != 0 ? put_timer(m, a[3], &old) : 0;
}

k_ret sys_timer_getoverrun(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, k_timer_overrun(m->p, (int32_t)a[0]));
}

k_ret sys_timer_delete(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, k_timer_delete(m->p, (int32_t)a[0]));
}
