/* misc.c - the machine the guest believes to be on: its name, memory, randomness. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/when.h"

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
  uint64_t total = k->limits.memory / K_PAGE, used = k_memory_used(k) / K_PAGE;
  struct g_sysinfo out = {
    .uptime = (uint32_t)(k_mono_ns(k) / NS_PER_SEC),
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

k_ret sys_membarrier(abi_machine *m, const uint32_t a[static 6]) {
  enum { QUERY = 0, ALL = 0x1ff };
  (void)m;
  if (a[1] != 0) return -K_EINVAL;
  if (a[0] == QUERY) return ALL;
  return (a[0] & (a[0] - 1)) == 0 && (a[0] & ALL) != 0 ? 0 : -K_EINVAL;
}
