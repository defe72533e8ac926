/* calls.c - one call of WASI: its handler, and what follows each call of a guest (abi/linux/calls.c). */
#include "abi/linux/life.h"
#include "abi/wasi/wasi.h"

#include <stdio.h>

uint32_t wasi_errno(k_ret r) {
  if (r >= 0) return 0;
  switch (-r) {
#define E(name, linux_number, wasi, status, text)                                                            \
  case linux_number: return wasi;
#include "kernel/core/errno.def"
#undef E
  case K_ERESTART:
  case K_EKILLED: return 27; /* intr */
  default: return 29;        /* io */
  }
}

/* ---- the trace ---- */

static void wasi_trace(abi_machine *m, const char *name, const char *type, const eng_val *args, k_ret r) {
  char text[400];
  size_t len = 0;
  if (m->runner->options.trace == NULL) return;
  for (size_t i = 0; type[i] != ':' && len < sizeof text; i++)
    len += (size_t)snprintf(text + len, sizeof text - len, "%s%lld", i > 0 ? ", " : "",
                            type[i] == 'I' ? (long long)args[i].i64 : (long long)args[i].i32);
  text[len < sizeof text ? len : sizeof text - 1] = 0;
  if (r >= 0)
    abi_trace_text(m->runner, m->p->pid, "wasi.%s(%s) = 0", name, text);
  else
    abi_trace_text(m->runner, m->p->pid, "wasi.%s(%s) = %u %s", name, text, wasi_errno(r),
                   k_errno_name((int)-r));
}

/* ---- one call ---- */

/* Imports of both kinds may be mixed in one module. In the middle of fork(2), and as the dead child of vfork(2), a
 * process may do nothing of this. */
static bool wasi_out_of_place(abi_machine *m) {
  if (!abi_in_fork(m) && !m->child_dead) return false;
  if (abi_in_fork(m)) abi_fork_abandon(m);
  abi_die(m, K_SIGKILL, "a call of WASI in the middle of fork or vfork");
  return true;
}

static enum eng_flow wasi_enter(abi_machine *m, const char *name, const char *type, wasi_fn *fn, eng_val *v) {
  enum { ARGS_MAX = 9 };
  eng_val args[ARGS_MAX];
  if (wasi_out_of_place(m)) return ENG_UNWIND;
  m->calls++;
  memcpy(args, v, strcspn(type, ":") * sizeof *v);
  k_ret r = m->wasi != NULL ? 0 : wasi_begin(m);
  if (r >= 0) r = fn(m, args);
  if (m->grows_itself && abi_memory_settle(m) < 0) abi_die(m, K_SIGKILL, "the memory limit is reached");
  if (m->fuel != NULL) abi_fuel_settle(m);
  wasi_trace(m, name, type, args, r);
  v[0].u32 = wasi_errno(r);
  return abi_call_follow(m, r);
}

#define WASI_CALL(name, type)                                                                                \
  enum eng_flow wasi_import_##name(eng_instance *instance, void *ctx, eng_val *v) {                          \
    (void)instance;                                                                                          \
    return wasi_enter(ctx, #name, type, wasi_##name, v);                                                     \
  }
#include "abi/wasi/calls.def"
#undef WASI_CALL
