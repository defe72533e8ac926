/* misc.c - the machine the guest believes to be on: its name, memory, randomness, scheduler, futexes. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/when.h"

#include <sched.h>

k_ret sys_uname(abi_machine *m, const uint32_t a[static 6]) {
  static const struct g_utsname name = {
    .sysname = "Linux",
    .nodename = "sandbox",
    .release = "6.12.0",
    .version = "#1 cay " CAY_VERSION,
    .machine = "wasm32",
    .domainname = "(none)",
  };
  return abi_put(m->instance, a[0], &name);
}

k_ret sys_sysinfo(abi_machine *m, const uint32_t a[static 6]) {
  k_kernel *k = m->kernel;
  k_lock(k);
  uint64_t total = k->limits.memory / K_PAGE, used = k->used.memory / K_PAGE;
  struct g_sysinfo out = {
    .uptime = (uint32_t)((k_mono_ns(k) - k->boot_mono_ns) / NS_PER_SEC),
    .totalram = (uint32_t)(total < UINT32_MAX ? total : UINT32_MAX),
    .freeram = (uint32_t)(used < total ? total - used : 0),
    .procs = (uint16_t)k->used.processes,
    .mem_unit = K_PAGE,
  };
  k_unlock(k);
  return abi_put(m->instance, a[0], &out);
}

K_LOCKED static k_ret random_pieces(abi_machine *m, uint8_t *buf, size_t len) {
  size_t done = 0;
  bool ending = false;
  while (done < len && !ending) {
    size_t n = len - done < K_WORK_MAX ? len - done : K_WORK_MAX;
    rng_bytes(&m->kernel->random, buf + done, n);
    done += n;
    ending = k_work(m->kernel, m->p, n);
  }
  return (k_ret)done;
}

k_ret sys_getrandom(abi_machine *m, const uint32_t a[static 6]) {
  enum { NONBLOCK = 1, RANDOM = 2, INSECURE = 4, MOST = 1 << 20 };
  void *buf = NULL;
  if ((a[2] & ~(uint32_t)(NONBLOCK | RANDOM | INSECURE)) != 0) return -K_EINVAL;
  if ((a[2] & (RANDOM | INSECURE)) == (RANDOM | INSECURE)) return -K_EINVAL;
  uint32_t len = a[1] < MOST ? a[1] : MOST;
  K_TRY(abi_ptr(m->instance, a[0], len, &buf));
  k_lock(m->kernel);
  k_ret done = random_pieces(m, buf, len);
  k_unlock(m->kernel);
  return done;
}

/* ---- one thread ---- */

/* Only a signal or the timeout can end a wait: no other thread runs in this memory. */
static k_ret futex_wait(abi_machine *m, const uint32_t *a) {
  uint32_t word = 0;
  int64_t deadline = K_FOREVER;
  K_TRY(abi_get(m->instance, a[0], &word));
  if (word != a[2]) return -K_EAGAIN;
  if (a[3] != 0) K_TRY(abi_deadline(m, a[3], &deadline));
  k_ret r = ABI_LOCKED(m, k_nanosleep(m->p, deadline));
  return r == 0 ? -K_ETIMEDOUT : k_never_restart(r);
}

k_ret sys_futex(abi_machine *m, const uint32_t a[static 6]) {
  enum { WAIT, WAKE, REQUEUE = 3, CMP_REQUEUE = 4, WAKE_OP = 5, PRIVATE = 128, REALTIME = 256 };
  switch (a[1] & ~(uint32_t)(PRIVATE | REALTIME)) {
  case WAIT: return futex_wait(m, a);
  case WAKE:
  case REQUEUE:
  case CMP_REQUEUE:
  case WAKE_OP: return 0;
  default: return -K_ENOSYS;
  }
}

k_ret sys_membarrier(abi_machine *m, const uint32_t a[static 6]) {
  enum { QUERY = 0, ALL = 0x1ff };
  (void)m;
  if (a[1] != 0) return -K_EINVAL;
  if (a[0] == QUERY) return ALL;
  return (a[0] & (a[0] - 1)) == 0 && (a[0] & ALL) != 0 ? 0 : -K_EINVAL;
}

k_ret sys_sched_yield(abi_machine *m, const uint32_t a[static 6]) {
  (void)m, (void)a;
  sched_yield();
  return 0;
}

/* ---- a scheduler with one processor and one class ---- */

/* The numbers of sched(7) are the host's; 4 was never given. */
static k_ret check_class(uint32_t policy) { return policy <= 6 && policy != 4 ? 0 : -K_EINVAL; }

static k_ret check_param(abi_machine *m, uint32_t addr) {
  int32_t priority = 0;
  K_TRY(abi_get(m->instance, addr, &priority));
  return priority == 0 ? 0 : -K_EINVAL;
}

k_ret sys_sched_setparam(abi_machine *m, const uint32_t a[static 6]) { return check_param(m, a[1]); }

k_ret sys_sched_setscheduler(abi_machine *m, const uint32_t a[static 6]) {
  K_TRY(check_class(a[1]));
  if (a[1] == SCHED_FIFO || a[1] == SCHED_RR || a[1] == 6) return -K_EPERM;
  return check_param(m, a[2]);
}

k_ret sys_sched_getparam(abi_machine *m, const uint32_t a[static 6]) {
  int32_t priority = 0;
  return abi_put(m->instance, a[1], &priority);
}

k_ret sys_sched_getaffinity(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t mask = 1;
  if (a[1] < sizeof mask || a[1] % sizeof mask != 0) return -K_EINVAL;
  K_TRY(abi_put(m->instance, a[2], &mask));
  return sizeof mask;
}

k_ret sys_sched_priority_max(abi_machine *m, const uint32_t a[static 6]) {
  (void)m;
  if (a[0] == SCHED_FIFO || a[0] == SCHED_RR) return 99;
  return check_class(a[0]);
}

k_ret sys_sched_priority_min(abi_machine *m, const uint32_t a[static 6]) {
  (void)m;
  if (a[0] == SCHED_FIFO || a[0] == SCHED_RR) return 1;
  return check_class(a[0]);
}

k_ret sys_sched_rr_interval(abi_machine *m, const uint32_t a[static 6]) {
  return abi_put_duration(m, a[1], 0);
}

k_ret sys_setpriority(abi_machine *m, const uint32_t a[static 6]) {
  (void)m;
  if (a[0] > 2) return -K_EINVAL;
  return (int32_t)a[2] < 0 ? -K_EACCES : 0;
}

k_ret sys_getpriority(abi_machine *m, const uint32_t a[static 6]) {
  (void)m;
  return a[0] > 2 ? -K_EINVAL : 20; /* the C library answers 20 minus that */
}

k_ret sys_getcpu(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t zero = 0;
  if (a[0] != 0) K_TRY(abi_put(m->instance, a[0], &zero));
  return a[1] != 0 ? abi_put(m->instance, a[1], &zero) : 0;
}
