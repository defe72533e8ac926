/* splice.c - splice(2) and tee(2): decode, call the kernel, encode. */
#include "kernel/file/splice.h"

#include "abi/linux/machine.h"

enum { NONBLOCK = 2, KNOWN_FLAGS = 15 };

K_LOCKED static k_ret splice_locked(abi_machine *m, const uint32_t *a, int64_t *in_pos, int64_t *out_pos) {
  k_splice s = { .p = m->p, .in_pos = in_pos, .out_pos = out_pos, .now = (a[5] & NONBLOCK) != 0 };
  K_TRY(abi_file(m, a[0], &s.in));
  K_TRY(abi_file(m, a[2], &s.out));
  return k_splice_some(&s, a[4]);
}

k_ret sys_splice(abi_machine *m, const uint32_t a[static 6]) {
  int64_t in_pos = 0, out_pos = 0;
  if (a[4] == 0) return 0;
  if ((a[5] & ~(uint32_t)KNOWN_FLAGS) != 0) return -K_EINVAL;
  if (a[1] != 0) K_TRY(abi_get(m->instance, a[1], &in_pos));
  if (a[3] != 0) K_TRY(abi_get(m->instance, a[3], &out_pos));
  k_ret r = ABI_LOCKED(m, splice_locked(m, a, a[1] != 0 ? &in_pos : NULL, a[3] != 0 ? &out_pos : NULL));
  if (r > 0 && a[1] != 0) K_TRY(abi_put(m->instance, a[1], &in_pos));
  if (r > 0 && a[3] != 0) K_TRY(abi_put(m->instance, a[3], &out_pos));
  return r;
}

K_LOCKED static k_ret tee_locked(abi_machine *m, const uint32_t *a) {
  k_splice s = { .p = m->p, .now = (a[3] & NONBLOCK) != 0 };
  K_TRY(abi_file(m, a[0], &s.in));
  K_TRY(abi_file(m, a[1], &s.out));
  return k_tee_some(&s, a[2]);
}

k_ret sys_tee(abi_machine *m, const uint32_t a[static 6]) {
  if ((a[3] & ~(uint32_t)KNOWN_FLAGS) != 0) return -K_EINVAL;
  return a[2] == 0 ? 0 : ABI_LOCKED(m, tee_locked(m, a));
}
