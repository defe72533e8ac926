/* own_calls - the calls that only the C library makes, made wrongly: answers, or the end of that process
 * alone. */
#include "../posix/posix.h"

#include <sys/syscall.h>

#define IMPORT(name) __attribute__((import_module("linux"), import_name(#name)))
IMPORT(init) int linux_init(long sp);
IMPORT(syscall) int linux_syscall(long n, long a, long b, long c, long d, long e, long f);

enum { VFORK = 2001, SIGTAKE = 2002, SIGRETURN = 2003, MEMGROW = 2004 };

static void init_wild(void) { say("init %d\n", linux_init(-16) < 0); }
static void init_again(void) {
  static char room[65536] __attribute__((aligned(16)));
  int need = linux_init(0);
  IS(need > 0 && need < (int)sizeof room);
  SHOW(linux_init((long)(uintptr_t)room) == 0);
}
static void take_wild(void) {
  say("sigtake %s\n", linux_syscall(SIGTAKE, -16, 0, 0, 0, 0, 0) <= 0 ? "refused" : "taken");
}
static void return_wild(void) { say("sigreturn %d\n", linux_syscall(SIGRETURN, -4, 0, 0, 0, 0, 0)); }
static void return_blocks_kill(void) {
  uint32_t all[2] = { ~0u, ~0u };
  linux_syscall(SIGRETURN, (long)(uintptr_t)all, 0, 0, 0, 0, 0);
  sigset_t now;
  sigprocmask(SIG_SETMASK, NULL, &now);
  SHOW(sigismember(&now, SIGKILL));
  kill(getpid(), SIGKILL);
  say("lives on\n");
}
static void abandon_nothing(void) {
  say("abandon %s\n", linux_syscall(VFORK, -1, 0, 0, 0, 0, 0) < 0 ? "refused" : "done");
}
static void vfork_odd(void) {
  say("odd mode %s\n", linux_syscall(VFORK, 77, 0, 0, 0, 0, 0) < 0 ? "refused" : "done");
}
static void vfork_nested(void) {
  int begun = 0;
  while (begun < 1000 && linux_syscall(VFORK, 1, 0, 0, 0, 0, 0) >= 0) begun++;
  IS(begun < 1000);
}
static void grow_wild(void) {
  say("grow %s\n", linux_syscall(MEMGROW, -1, 0, 0, 0, 0, 0) == -ENOMEM ? "ENOMEM" : "other");
  say("grow %s\n", linux_syscall(MEMGROW, 0x7fffffff, 0, 0, 0, 0, 0) == -ENOMEM ? "ENOMEM" : "other");
  say("grow %s\n", linux_syscall(MEMGROW, 65536, 0, 0, 0, 0, 0) == -ENOMEM ? "ENOMEM" : "other");
}
static void grow_around(void) {
  size_t before = __builtin_wasm_memory_size(0);
  size_t got = __builtin_wasm_memory_grow(0, 60000);
  say("the instruction itself: %s\n", got == (size_t)-1 ? "refused" : "grown");
  IS(__builtin_wasm_memory_size(0) >= before);
}

int main(void) {
  reap_child("init_wild", init_wild);
  reap_child("init_again", init_again);
  reap_child("take_wild", take_wild);
  reap_child("return_wild", return_wild);
  reap_child("return_blocks_kill", return_blocks_kill);
  reap_child("abandon_nothing", abandon_nothing);
  reap_child("vfork_odd", vfork_odd);
  reap_child("vfork_nested", vfork_nested);
  reap_child("grow_wild", grow_wild);
  reap_child("grow_around", grow_around);
  say("the parent is well\n");
  return 0;
}
