/* wasi_misc.c - arguments, environment, clocks, randomness, the end of a program. */
#include "abi/linux/when.h"
#include "abi/wasi/wasi.h"

#include <sched.h>

/* ---- arguments and environment ---- */

static size_t strings_len(char *const *list, uint32_t count) {
  size_t len = 0;
  for (uint32_t i = 0; i < count; i++) len += strlen(list[i]) + 1;
  return len;
}

static k_ret put_sizes(abi_machine *m, const eng_val *v, char *const *list, uint32_t count) {
  uint32_t len = (uint32_t)strings_len(list, count);
  K_TRY(abi_put(m->instance, v[0].u32, &count));
  return abi_put(m->instance, v[1].u32, &len);
}

/* The addresses at v[0], without a null pointer at their end, and the strings at v[1]. */
static k_ret wasi_put_strings(abi_machine *m, const eng_val *v, char *const *list, uint32_t count) {
  void *words = NULL, *text = NULL;
  K_TRY(abi_array(m->instance, v[0].u32, count, sizeof(uint32_t), &words));
  K_TRY(abi_ptr(m->instance, v[1].u32, strings_len(list, count), &text));
  uint32_t addr = v[1].u32;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t len = (uint32_t)strlen(list[i]) + 1;
    memcpy((uint8_t *)words + i * sizeof addr, &addr, sizeof addr);
    memcpy((uint8_t *)text + (addr - v[1].u32), list[i], len);
    addr += len;
  }
  return 0;
}

k_ret wasi_args_sizes_get(abi_machine *m, const eng_val *v) {
  return put_sizes(m, v, m->p->program->argv, m->p->program->argc);
}

k_ret wasi_args_get(abi_machine *m, const eng_val *v) {
  return wasi_put_strings(m, v, m->p->program->argv, m->p->program->argc);
}

k_ret wasi_environ_sizes_get(abi_machine *m, const eng_val *v) {
  return put_sizes(m, v, m->p->program->envp, m->p->program->envc);
}

k_ret wasi_environ_get(abi_machine *m, const eng_val *v) {
  return wasi_put_strings(m, v, m->p->program->envp, m->p->program->envc);
}

/* ---- clocks: realtime, monotonic, process_cputime_id, thread_cputime_id are numbered as on Linux ---- */

k_ret wasi_clock_time_get(abi_machine *m, const eng_val *v) {
  int64_t ns = 0;
  if (v[0].u32 > 3) return -K_EINVAL;
  K_TRY(abi_read_clock(m, v[0].u32, &ns));
  return abi_put(m->instance, v[2].u32, &ns);
}

k_ret wasi_clock_res_get(abi_machine *m, const eng_val *v) {
  uint64_t ns = 1;
  return v[0].u32 > 3 ? -K_EINVAL : abi_put(m->instance, v[1].u32, &ns);
}

/* ---- randomness ---- */

k_ret wasi_random_get(abi_machine *m, const eng_val *v) {
  void *buf = NULL;
  K_TRY(abi_ptr(m->instance, v[0].u32, v[1].u32, &buf));
  for (uint32_t done = 0; done < v[1].u32;) {
    const uint32_t a[6] = { v[0].u32 + done, v[1].u32 - done };
    k_ret n = sys_getrandom(m, a);
    if (n <= 0 || ABI_LOCKED(m, m->p->dying)) return n < 0 ? n : -K_EINTR;
    done += (uint32_t)n;
  }
  return 0;
}

/* ---- the process ---- */

k_ret wasi_proc_exit(abi_machine *m, const eng_val *v) {
  const uint32_t a[6] = { v[0].u32 };
  return sys_exit(m, a);
}

/* The signals of witx in their order. */
k_ret wasi_proc_raise(abi_machine *m, const eng_val *v) {
  static const uint8_t signals[] = {
    0,         K_SIGHUP,    K_SIGINT,  K_SIGQUIT,  K_SIGILL,  K_SIGTRAP, K_SIGABRT, K_SIGBUS,
    K_SIGFPE,  K_SIGKILL,   K_SIGUSR1, K_SIGSEGV,  K_SIGUSR2, K_SIGPIPE, K_SIGALRM, K_SIGTERM,
    K_SIGCHLD, K_SIGCONT,   K_SIGSTOP, K_SIGTSTP,  K_SIGTTIN, K_SIGTTOU, K_SIGURG,  K_SIGXCPU,
    K_SIGXFSZ, K_SIGVTALRM, K_SIGPROF, K_SIGWINCH, K_SIGIO,   K_SIGPWR,  K_SIGSYS,
  };
  if (v[0].u32 >= COUNT_OF(signals)) return -K_EINVAL;
  const uint32_t a[6] = { (uint32_t)m->p->pid, signals[v[0].u32] };
  return sys_kill(m, a);
}

k_ret wasi_sched_yield(abi_machine *m, const eng_val *v) {
  (void)m, (void)v;
  sched_yield();
  return 0;
}
