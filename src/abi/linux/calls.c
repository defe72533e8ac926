/* calls.c - one system call of a guest: its handler, and what follows each call (abi_call, abi_attend). */
#include "abi/linux/life.h"

#include <stdatomic.h>

static k_ret calls_unknown(abi_machine *m) {
  k_lock(m->kernel);
  m->kernel->used.unknown_syscalls++;
  k_unlock(m->kernel);
  return -K_ENOSYS;
}

/* The time that a process computes inside system calls (times(2)) is estimated, as by a clock that ticks: one call of
 * MEASURED is measured, and stands for all. A prime, so that no loop of calls has a favourite. */
enum { MEASURED = 251 };

static k_ret calls_measured(abi_machine *m, const abi_row *row, const uint32_t *a) {
  int64_t before = clock_thread_cpu_ns();
  k_ret r = row != NULL ? row->fn(m, a) : calls_unknown(m);
  m->system_ns += (clock_thread_cpu_ns() - before) * MEASURED;
  m->unmeasured = 0;
  return r;
}

static inline k_ret calls_run(abi_machine *m, const abi_row *row, const uint32_t *a) {
  if (__builtin_expect(++m->unmeasured == MEASURED, 0)) return calls_measured(m, row, a);
  return row != NULL ? row->fn(m, a) : calls_unknown(m);
}

/* ---- signals ---- */

static void raise_flag(abi_machine *m) {
  int32_t one = 1;
  if (m->pending_addr == 0) return;
  memcpy(eng_memory(m->instance) + m->pending_addr, &one, sizeof one);
}

static enum eng_flow attend(abi_machine *m, bool handlers_run) {
  m->attended = true;
  if (m->next != ABI_NEXT_NONE) return ENG_UNWIND;
  k_lock(m->kernel);
  enum k_signal_todo todo = k_signal_poll(m->p);
  bool all = abi_root(m)->dying;
  m->kernel->used.syscalls += m->calls;
  m->calls = 0;
  k_unlock(m->kernel);

  if (all || (todo == K_SIGNAL_END && m->depth == 0)) {
    m->next = ABI_NEXT_EXIT;
    return ENG_UNWIND;
  }
  /* The memory is the parent's: a dead child must find the way to its exec or exit, which wakes the parent. */
  if (todo == K_SIGNAL_END) m->child_dead = m->odd = true;
  m->handler_waits = todo == K_SIGNAL_HANDLER;
  if (m->handler_waits && handlers_run) raise_flag(m);
  return ENG_CONTINUE;
}

enum eng_flow abi_attend(abi_machine *m) { return attend(m, true); }

/* An interpreter reads the clock and then sleeps. A handler that ran between the two would only note the signal, and
 * the sleep would not know of it; so after a clock no handler runs. The next call runs it, and a sleep among them
 * answers EINTR; code that makes none sees its words (stop_words.h). */
static bool calls_leave_handlers(const abi_machine *m, const abi_row *row) {
  return m->has_words && row != NULL && row->fn == sys_clock_gettime;
}

/* ---- one call ---- */

static enum eng_flow calls_finish(abi_machine *m, const abi_row *row, k_ret r, int32_t *result) {
  enum eng_flow flow = attend(m, !calls_leave_handlers(m, row));
  if (r == -K_EKILLED) r = -K_EINTR;
  if (r == -K_ERESTART && m->pending_addr == 0) r = -K_EINTR;
  *result = (int32_t)r;
  return flow;
}

static inline bool calls_is_plain(const abi_machine *m, k_ret r) {
  return m->next == ABI_NEXT_NONE && r != -K_EKILLED && r != -K_ERESTART &&
         !atomic_load_explicit(&m->t->attention, memory_order_relaxed);
}

enum eng_flow abi_call_follow(abi_machine *m, k_ret r) {
  int32_t unused = 0;
  return calls_is_plain(m, r) ? ENG_CONTINUE : calls_finish(m, NULL, r, &unused);
}

bool abi_is_odd(const abi_machine *m) {
  return m->runner->options.trace != NULL || m->fuel != NULL || m->grows_itself || m->child_dead ||
         abi_in_fork(m) || (m->instance != NULL && eng_memory_is_shared(m->instance));
}

/* A dead child of vfork: nothing but its end is possible, and not for ever. */
static k_ret call_of_the_dead(abi_machine *m, const abi_row *row, const uint32_t *a) {
  enum { PATIENCE = 10000 };
  if (row != NULL &&
      (row->fn == sys_exit || row->fn == sys_exit_group || row->fn == sys_execve || row->fn == sys_execveat))
    return sys_exit(m, a);
  if (m->refused++ > PATIENCE) abi_die(m, K_SIGKILL, "a dead child of vfork did not exit");
  return -K_EINTR;
}

static enum eng_flow odd_call(abi_machine *m, const abi_row *row, int32_t number, const uint32_t *a,
                              int32_t *result) {
  int32_t pid = m->t->tid; /* of the caller: the end of a child context changes it */
  k_ret r;
  if (abi_in_fork(m)) { /* no asyncify does that */
    abi_fork_abandon(m);
    abi_die(m, K_SIGKILL, "a system call while its stack was being unwound");
    return ENG_UNWIND;
  }
  if (m->child_dead)
    r = call_of_the_dead(m, row, a);
  else
    r = calls_run(m, row, a);
  if (m->grows_itself && abi_memory_settle(m) < 0) abi_die(m, K_SIGKILL, "the memory limit is reached");
  if (m->fuel != NULL) abi_fuel_settle(m);
  abi_trace(m, pid, row, number, a, m->next == ABI_NEXT_EXIT ? NULL : &r);
  *result = (int32_t)r;
  return calls_is_plain(m, r) ? ENG_CONTINUE : calls_finish(m, row, r, result);
}

enum eng_flow abi_call(abi_machine *m, int32_t number, const uint32_t a[static 6], int32_t *result) {
  const abi_row *row = abi_row_of(number);
  m->calls++;
  if (__builtin_expect(m->odd, 0)) {
    enum eng_flow flow = odd_call(m, row, number, a, result);
    if (m->kept_count > 0) abi_kept_drop(m);
    return flow;
  }
  k_ret r = calls_run(m, row, a);
  *result = (int32_t)r;
  return __builtin_expect(calls_is_plain(m, r), 1) ? ENG_CONTINUE : calls_finish(m, row, r, result);
}
