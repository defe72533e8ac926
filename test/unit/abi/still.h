/* still.h - a machine that stands still: its system calls are made by the test, on the test's thread. */
#pragma once

#include "box.h"

typedef struct still {
  box *box;
  k_job *job;
  k_process *p;
  abi_machine *m;
} still;

#define STILL_PROGRAM "(module " IMPORTS LIBC " (func (export \"_start\")))"

static inline still still_open(box *b) {
  still s = { .box = b };
  cay_error err = { 0 };
  s.job = box_job(b, STILL_PROGRAM, &s.p);
  s.m = abi_machine_new(b->runner, s.p);
  EXPECT(s.m != NULL);
  s.m->cpu_mark_ns = clock_thread_cpu_ns();
  EXPECT_EQ(abi_instance_make(s.m, &err), CAY_OK);
  s.p->leader.machine = s.m;
  return s;
}

static inline void still_close(still *s) {
  abi_instance_drop(s->m);
  k_lock(s->box->kernel);
  while (s->m->depth > 0) {
    k_process *child = s->m->p;
    abi_vfork_leave(s->m);
    k_process_discard(child);
  }
  if (s->m->exec != NULL) k_program_unref(s->box->kernel, s->m->exec);
  k_process_exit(s->p, 0);
  k_job_unref(s->job);
  k_unlock(s->box->kernel);
  abi_machine_free(s->m);
}

static inline int32_t still_call(still *s, int32_t number, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                 uint32_t e, uint32_t f) {
  const uint32_t args[6] = { a, b, c, d, e, f };
  int32_t result = 0;
  (void)abi_call(s->m, number, args, &result);
  return result;
}

static inline uint8_t *still_memory(still *s, uint32_t addr) { return eng_memory(s->m->instance) + addr; }

static inline void still_text(still *s, uint32_t addr, const char *text) {
  memcpy(still_memory(s, addr), text, strlen(text) + 1);
}

/* A handled signal is always pending, so whatever would sleep comes back at once. */
static inline void still_keep_awake(still *s) {
  k_sigaction handled = { .handler = 100 };
  k_siginfo info = { .signo = K_SIGUSR1, .code = K_SI_USER };
  k_sigset none = 0;
  k_lock(s->box->kernel);
  EXPECT_EQ(k_sigmask_set(s->m->p, K_SIG_SETMASK, &none, NULL), 0);
  EXPECT_EQ(k_sigaction_set(s->m->p, K_SIGUSR1, &handled, NULL), 0);
  k_signal_send(s->m->p, &info);
  k_unlock(s->box->kernel);
}
