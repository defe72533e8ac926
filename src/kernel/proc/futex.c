/* futex.c - sleeping on a word of memory (futex(2)). The words are the process's own, so who sleeps stands in a list of
 * it: a process has as many threads as it may have processes, and most of them do not sleep here. */
#include "kernel/proc/inner.h"

static k_thread *futex_owner(k_futex_sleep *s) { return CONTAINER_OF(s, k_thread, futex); }

K_LOCKED k_ret k_futex_wait(k_process *p, uint32_t addr, const uint32_t *word, uint32_t expected,
                            uint32_t bits, int64_t deadline_ns) {
  k_thread *t = k_self(p);
  if (addr % sizeof *word != 0 || bits == 0) return -K_EINVAL;
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != expected) return -K_EAGAIN;
  t->futex.addr = addr;
  t->futex.bits = bits;
  list_push(&p->futexes, &t->futex.node);
  k_ret r = 0;
  while (r >= 0 && list_linked(&t->futex.node)) r = k_sleep(&t->sleeper, NULL, 0, deadline_ns);
  if (!list_linked(&t->futex.node)) return 0;
  list_remove(&t->futex.node);
  return deadline_ns == K_FOREVER ? r : k_never_restart(r);
}

uint32_t k_futex_wake(k_process *p, uint32_t addr, uint32_t most, uint32_t bits) {
  uint32_t woken = 0;
  LIST_EACH_SAFE (s, &p->futexes, k_futex_sleep, node) {
    if (woken == most) break;
    if (s->addr != addr || (s->bits & bits) == 0) continue;
    list_remove(&s->node);
    k_wake_sleeper(&futex_owner(s)->sleeper);
    woken++;
  }
  return woken;
}

uint32_t k_futex_requeue(k_process *p, uint32_t from, uint32_t wake, uint32_t to, uint32_t move) {
  uint32_t woken = k_futex_wake(p, from, wake, UINT32_MAX), moved = 0;
  LIST_EACH (s, &p->futexes, k_futex_sleep, node) {
    if (moved == move) break;
    if (s->addr != from) continue;
    s->addr = to;
    moved++;
  }
  return woken + moved;
}
