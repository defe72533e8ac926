/* time.c - clocks, sleeping and timers. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/when.h"
#include "kernel/file/eventfd.h"

k_ret abi_duration(abi_machine *m, uint32_t addr, int64_t *ns) {
  struct g_timespec t;
  K_TRY(abi_get(m->instance, addr, &t));
  uint32_t nsec = (uint32_t)t.nsec;
  if (t.sec < 0 || nsec >= NS_PER_SEC) return -K_EINVAL;
  if (__builtin_mul_overflow(t.sec, NS_PER_SEC, ns) || __builtin_add_overflow(*ns, (int64_t)nsec, ns))
    *ns = INT64_MAX;
  return 0;
}

int64_t abi_after(int64_t from_ns, int64_t ns) {
  int64_t sum = 0;
  return __builtin_add_overflow(from_ns, ns, &sum) ? K_FOREVER : sum;
}

k_ret abi_deadline(abi_machine *m, uint32_t addr, int64_t *deadline_ns) {
  int64_t ns = 0;
  K_TRY(abi_duration(m, addr, &ns));
  *deadline_ns = abi_after(clock_mono_ns(), ns);
  return 0;
}

k_ret abi_put_duration(abi_machine *m, uint32_t addr, int64_t ns) {
  struct g_timespec t = { ns / NS_PER_SEC, ns % NS_PER_SEC };
  return abi_put(m->instance, addr, &t);
}

/* ---- clocks ---- */

enum {
  REALTIME,
  MONOTONIC,
  PROCESS_CPUTIME,
  THREAD_CPUTIME,
  MONOTONIC_RAW,
  REALTIME_COARSE,
  MONOTONIC_COARSE,
  BOOTTIME,
  REALTIME_ALARM,
  BOOTTIME_ALARM,
  TAI = 11,
};

static int64_t cpu_time(abi_machine *m) {
  k_lock(m->kernel);
  abi_charge_time(m);
  int64_t ns = m->p->user_ns + m->p->system_ns;
  k_unlock(m->kernel);
  return ns;
}

/* CPUCLOCK_* of Linux: the complement of a pid above three bits, of which two are the kind. */
static k_ret process_clock(abi_machine *m, uint32_t clock, int64_t *ns) {
  enum { PID_SHIFT = 3, KIND = 3, FD = 3 };
  int32_t pid = ~((int32_t)clock >> PID_SHIFT);
  if ((clock & KIND) == FD) return -K_EINVAL;
  if (pid == 0 || pid == m->p->pid) {
    *ns = cpu_time(m);
    return 0;
  }
  k_lock(m->kernel);
  const k_process *p = k_process_find(m->kernel, pid);
  if (p != NULL) *ns = k_cpu_time_ns(p);
  k_unlock(m->kernel);
  return p != NULL ? 0 : -K_EINVAL;
}

k_ret abi_read_clock(abi_machine *m, uint32_t clock, int64_t *ns) {
  switch (clock) {
  case REALTIME:
  case REALTIME_COARSE:
  case REALTIME_ALARM:
  case TAI: *ns = k_real_ns(m->kernel); return 0;
  case MONOTONIC:
  case MONOTONIC_RAW:
  case MONOTONIC_COARSE: *ns = k_mono_ns(m->kernel); return 0;
  case BOOTTIME:
  case BOOTTIME_ALARM: *ns = k_mono_ns(m->kernel); return 0;
  case PROCESS_CPUTIME:
  case THREAD_CPUTIME:
    *ns = m->p->takes_turns ? clock_thread_cpu_ns() - m->cpu_from_ns : cpu_time(m);
    return 0;
  default: return (int32_t)clock < 0 ? process_clock(m, clock, ns) : -K_EINVAL;
  }
}

k_ret sys_clock_gettime(abi_machine *m, const uint32_t a[static 6]) {
  int64_t ns = 0;
  K_TRY(abi_read_clock(m, a[0], &ns));
  return abi_put_duration(m, a[1], ns);
}

k_ret sys_clock_getres(abi_machine *m, const uint32_t a[static 6]) {
  int64_t ns = 0;
  K_TRY(abi_read_clock(m, a[0], &ns));
  return a[1] != 0 ? abi_put_duration(m, a[1], 1) : 0;
}

k_ret sys_gettimeofday(abi_machine *m, const uint32_t a[static 6]) {
  int64_t ns = k_real_ns(m->kernel);
  struct g_timeval32 now = { (int32_t)(ns / NS_PER_SEC), (int32_t)(ns % NS_PER_SEC / 1000) };
  int32_t zone[2] = { 0 };
  if (a[0] != 0) K_TRY(abi_put(m->instance, a[0], &now));
  return a[1] != 0 ? abi_put(m->instance, a[1], &zone) : 0;
}

/* ---- sleeping ---- */

k_ret sys_clock_nanosleep(abi_machine *m, const uint32_t a[static 6]) {
  enum { ABSTIME = 1 };
  int64_t now = 0, ns = 0;
  if (a[0] == THREAD_CPUTIME || a[0] == PROCESS_CPUTIME) return -K_EINVAL;
  K_TRY(abi_read_clock(m, a[0], &now));
  K_TRY(abi_duration(m, a[2], &ns));
  if ((a[1] & ABSTIME) != 0) ns = ns > now ? ns - now : 0;
  int64_t deadline = abi_after(clock_mono_ns(), ns);
  k_ret r = k_never_restart(ABI_LOCKED(m, k_nanosleep(m->p, deadline)));
  if (r == -K_EINTR && (a[1] & ABSTIME) == 0 && a[3] != 0) {
    int64_t left = deadline - clock_mono_ns();
    K_TRY(abi_put_duration(m, a[3], left > 0 ? left : 0));
  }
  return r;
}

/* ---- interval timers ---- */

static struct g_timeval32 timeval_up(int64_t ns) {
  int64_t us = ns / 1000 + (ns % 1000 != 0); /* a remainder is never rounded to zero */
  return (struct g_timeval32){ (int32_t)(us / 1000000), (int32_t)(us % 1000000) };
}

static k_ret timeval_ns(const struct g_timeval32 *t, int64_t *ns) {
  if (t->sec < 0 || t->usec < 0 || t->usec >= 1000000) return -K_EINVAL;
  *ns = t->sec * NS_PER_SEC + t->usec * INT64_C(1000);
  return 0;
}

k_ret sys_setitimer(abi_machine *m, const uint32_t a[static 6]) {
  struct g_itimerval32 given = { 0 };
  int64_t first = 0, interval = 0, old_first = 0, old_interval = 0;
  if (a[0] >= K_ITIMER_COUNT) return -K_EINVAL;
  if (a[1] != 0) K_TRY(abi_get(m->instance, a[1], &given));
  K_TRY(timeval_ns(&given.value, &first));
  K_TRY(timeval_ns(&given.interval, &interval));
  K_TRY(ABI_LOCKED(m, k_itimer_set(m->p, (int)a[0], first, interval, &old_first, &old_interval)));
  struct g_itimerval32 old = { timeval_up(old_interval), timeval_up(old_first) };
  return a[2] != 0 ? abi_put(m->instance, a[2], &old) : 0;
}

k_ret sys_getitimer(abi_machine *m, const uint32_t a[static 6]) {
  int64_t left = 0, interval = 0;
  if (a[0] >= K_ITIMER_COUNT) return -K_EINVAL;
  k_lock(m->kernel);
  k_itimer_get(m->p, (int)a[0], &left, &interval);
  k_unlock(m->kernel);
  struct g_itimerval32 out = { timeval_up(interval), timeval_up(left) };
  return abi_put(m->instance, a[1], &out);
}

/* ---- timers that are files ---- */

K_LOCKED static k_ret give_fd(abi_machine *m, k_file *f, uint32_t flags) {
  k_ret fd = k_fd_add(&m->p->fds, f, 0, (flags & K_O_CLOEXEC) != 0);
  if (fd < 0) k_file_unref(f);
  return fd;
}

K_LOCKED static k_ret timerfd_locked(abi_machine *m, bool realtime, uint32_t flags) {
  k_file *f = NULL;
  K_TRY(k_timerfd(m->kernel, realtime, flags & K_O_NONBLOCK, &f));
  return give_fd(m, f, flags);
}

k_ret sys_timerfd_create(abi_machine *m, const uint32_t a[static 6]) {
  bool realtime = a[0] == REALTIME || a[0] == REALTIME_ALARM;
  bool known = realtime || a[0] == MONOTONIC || a[0] == BOOTTIME || a[0] == BOOTTIME_ALARM;
  if (!known || (a[1] & ~(uint32_t)(K_O_NONBLOCK | K_O_CLOEXEC)) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, timerfd_locked(m, realtime, a[1]));
}

static k_ret put_itimerspec(abi_machine *m, uint32_t addr, int64_t interval, int64_t left) {
  K_TRY(abi_put_duration(m, addr + (uint32_t)sizeof(struct g_timespec), left));
  return abi_put_duration(m, addr, interval);
}

K_LOCKED static k_ret timerfd_set_locked(abi_machine *m, const uint32_t *a, const int64_t given[2],
                                         int64_t old[2]) {
  enum { ABSTIME = 1 };
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  return k_timerfd_set(f, (a[1] & ABSTIME) != 0, given[1], given[0], &old[1], &old[0]);
}

k_ret sys_timerfd_settime(abi_machine *m, const uint32_t a[static 6]) {
  int64_t given[2], old[2] = { 0 }; /* interval, first */
  if (a[1] > 3) return -K_EINVAL;
  if (a[2] > UINT32_MAX - sizeof(struct g_timespec)) return -K_EFAULT;
  K_TRY(abi_duration(m, a[2], &given[0]));
  K_TRY(abi_duration(m, a[2] + (uint32_t)sizeof(struct g_timespec), &given[1]));
  K_TRY(ABI_LOCKED(m, timerfd_set_locked(m, a, given, old)));
  return a[3] != 0 ? put_itimerspec(m, a[3], old[0], old[1]) : 0;
}

static k_ret timerfd_get_locked(abi_machine *m, uint32_t fd, int64_t *left, int64_t *interval) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  return k_timerfd_get(f, left, interval);
}

k_ret sys_timerfd_gettime(abi_machine *m, const uint32_t a[static 6]) {
  int64_t left = 0, interval = 0;
  K_TRY(ABI_LOCKED(m, timerfd_get_locked(m, a[0], &left, &interval)));
  return put_itimerspec(m, a[1], interval, left);
}
