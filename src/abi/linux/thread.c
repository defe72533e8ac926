/* thread.c - threads of a guest: clone(2) as the C library needs it, their end, futexes, and signals to one of them.
 *
 * A thread is an instance on the memory of its process, on a thread of the host. Its end, and that of the whole process,
 * are told apart in abi_threads_settle (leader) and thread_end (all others). */
#include "abi/linux/life.h"
#include "abi/linux/when.h"

/* ---- files that a call holds ---- */

K_LOCKED k_ret abi_keep(abi_machine *m, k_file *f) {
  for (uint32_t i = 0; i < m->kept_count; i++)
    if (m->kept[i] == f) return 0;
  if (m->kept_count == COUNT_OF(m->kept)) return -K_EMFILE;
  m->kept[m->kept_count++] = k_file_ref(f);
  return 0;
}

void abi_kept_drop(abi_machine *m) {
  k_lock(m->kernel);
  while (m->kept_count > 0) k_file_unref(m->kept[--m->kept_count]);
  k_unlock(m->kernel);
}

/* ---- the end ---- */

/* A joiner waits for this word. With the turn. */
K_LOCKED static void clear_tid(abi_machine *m) {
  uint32_t *word = m->clear_tid != 0 ? eng_memory_at(m->instance, m->clear_tid, sizeof *word) : NULL;
  if (word == NULL || m->clear_tid % sizeof *word != 0) return;
  __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
  (void)k_futex_wake(m->p, m->clear_tid, 1, UINT32_MAX);
}

/* The guest of a thread was left. That is the end of the process, unless the thread alone was to end. */
K_LOCKED static void thread_leave(abi_machine *m) {
  k_process *p = m->p;
  while (m->depth > 0) {
    k_process *child = m->p;
    abi_vfork_leave(m);
    k_process_exit(child, child->dying ? child->exit_status : K_SIGKILL);
    p = m->p;
  }
  m->kernel->used.syscalls += m->calls;
  if (m->thread_over && !p->dying) clear_tid(m);
  if (m->thread_over || k_is_ending(m->own)) return;
  abi_tell_why(m, p);
  k_process_end(p, m->status);
}

static void thread_end(abi_machine *m) {
  k_kernel *k = m->kernel;
  k_lock(k);
  thread_leave(m);
  abi_charge_time(m);
  m->own->machine = NULL;
  k_unlock(k);
  abi_instance_drop(m);
  k_lock(k);
  k_thread_exit(m->own);
  k_unlock(k); /* neither kernel nor runner may be touched from here on */
  abi_machine_free(m);
}

/* The others have ended; what becomes of the leader? */
K_LOCKED static void settle_alone(abi_machine *m) {
  k_process *p = m->own->process;
  m->own->leaving = false;
  if (m->taken_over == NULL) return;
  if (p->dying) {
    k_program_unref(m->kernel, m->taken_over);
  } else {
    if (m->exec != NULL) k_program_unref(m->kernel, m->exec);
    m->exec = m->taken_over;
    m->next = ABI_NEXT_EXEC;
    m->thread_over = false;
  }
  m->taken_over = NULL;
}

void abi_threads_settle(abi_machine *m) {
  k_process *p = m->own->process;
  if (m->next == ABI_NEXT_FORK) return;
  k_lock(m->kernel);
  if (p->takes_turns) {
    if (m->thread_over && !p->dying) {
      clear_tid(m);
      k_thread_retire(m->own);
    } else if (m->taken_over == NULL) {
      if (m->next == ABI_NEXT_EXIT && !p->dying) {
        abi_tell_why(m, p);
        k_process_end(p, m->status);
      }
      k_threads_end(m->own);
    }
    k_sleep_until_alone(m->own);
    settle_alone(m);
  }
  k_unlock(m->kernel);
}

k_ret abi_thread_execs(abi_machine *m, k_program *program) {
  abi_machine *leader = m->leader;
  if (leader->taken_over != NULL || k_is_ending(m->own)) {
    k_program_unref(m->kernel, program);
    return -K_EAGAIN;
  }
  leader->taken_over = program;
  leader->own->mask = m->own->mask;
  k_threads_end(m->own);
  m->next = ABI_NEXT_EXIT;
  m->thread_over = true;
  m->clear_tid = 0;
  return 0;
}

/* ---- birth ---- */

static void thread_live(void *machine) {
  abi_machine *m = machine;
  m->cpu_mark_ns = m->cpu_from_ns = clock_thread_cpu_ns();
  k_lock(m->kernel);
  k_thread_begin(m->own);
  k_unlock(m->kernel);
  eng_val stack = { .u32 = m->thread_stack };
  eng_global_set(m->instance, &m->stack_pointer, stack);
  do {
    if (abi_prepare(m)) abi_run(m);
    if (m->next == ABI_NEXT_FORK) abi_fork_finish(m);
  } while (m->rewinding);
  thread_end(m);
}

static abi_machine *thread_machine(abi_machine *m, k_thread *t, const uint32_t *a) {
  abi_machine *fresh = abi_machine_new(m->runner, m->p);
  cay_error err;
  if (fresh == NULL) return NULL;
  fresh->t = fresh->own = t;
  fresh->leader = m->leader;
  fresh->is_thread = true;
  fresh->thread_stack = a[0];
  fresh->thread_args[0] = a[2];
  fresh->thread_args[1] = a[3];
  fresh->thread_args[2] = a[1];
  fresh->clear_tid = a[5];
  if (abi_instance_thread(m, fresh, &err) == CAY_OK && fresh->stack_pointer.type == 'i') return fresh;
  abi_instance_drop(fresh);
  abi_machine_free(fresh);
  return NULL;
}

/* What k_thread_new made runs, or is gone. */
static k_ret thread_run(abi_machine *m, k_thread *t, const uint32_t *a) {
  abi_machine *fresh = thread_machine(m, t, a);
  k_ret tid = t->tid;
  k_lock(m->kernel);
  t->machine = fresh;
  k_unlock(m->kernel);
  if (fresh != NULL) {
    if (a[4] != 0) memcpy(eng_memory(m->instance) + a[4], &t->tid, sizeof t->tid);
    if (thread_pool_run(m->runner->options.threads, thread_live, fresh, NULL) == CAY_OK) return tid;
    k_lock(m->kernel);
    t->machine = NULL;
    k_unlock(m->kernel);
    abi_instance_drop(fresh);
    abi_machine_free(fresh);
  }
  k_lock(m->kernel);
  k_thread_exit(t);
  k_unlock(m->kernel);
  return -K_EAGAIN;
}

/* An interpreter without checks in its code has words for it. */
static void find_turn_words(abi_machine *m) {
  struct abi_turn_words words = { 0 };
  eng_func find;
  eng_val values[2] = { 0 };
  if (m->leader->turn_words.bit != 0 || !eng_func_find(m->instance, "cay_turn_words", ":i", &find) ||
      eng_call(m->instance, &find, values) != ENG_RETURNED)
    return;
  (void)abi_turn_words_read(m->instance, values[0].u32, &words);
  k_lock(m->kernel);
  m->leader->turn_words = words;
  k_unlock(m->kernel);
}

/* (stack, variables, function, argument, parent's tid, child's tid) */
k_ret sys_cay_clone(abi_machine *m, const uint32_t a[static 6]) {
  eng_func entry;
  void *word = NULL;
  k_thread *t = NULL;
  if (!eng_memory_is_shared(m->instance) || !eng_func_find(m->instance, "__cay_thread", "iii:", &entry))
    return -K_ENOSYS;
  if (m->depth > 0) return -K_EAGAIN; /* the memory is that of the parent of a vfork */
  if (a[4] != 0) K_TRY(abi_ptr(m->instance, a[4], sizeof(uint32_t), &word));
  find_turn_words(m);
  k_ret r = ABI_LOCKED(m, k_thread_new(m->p, &t));
  return r < 0 ? r : thread_run(m, t, a);
}

/* ---- what a thread says of itself ---- */

k_ret sys_cay_flag(abi_machine *m, const uint32_t a[static 6]) {
  void *word = NULL;
  if (!eng_memory_is_shared(m->instance) || a[0] % sizeof(uint32_t) != 0) return -K_EINVAL;
  K_TRY(abi_ptr(m->instance, a[0], sizeof(uint32_t), &word));
  m->pending_addr = a[0];
  return 0;
}

k_ret sys_gettid(abi_machine *m, const uint32_t a[static 6]) {
  (void)a;
  return m->t->tid;
}

k_ret sys_set_tid_address(abi_machine *m, const uint32_t a[static 6]) {
  if (m->depth == 0) m->clear_tid = a[0];
  return m->t->tid;
}

/* ---- futexes ---- */

enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_REQUEUE = 3, FUTEX_CMP_REQUEUE = 4, FUTEX_WAIT_BITSET = 9 };
enum { FUTEX_WAKE_BITSET = 10, FUTEX_PRIVATE = 128, FUTEX_REALTIME = 256 };

static k_ret word_at(abi_machine *m, uint32_t addr, uint32_t **out) {
  void *word = NULL;
  if (addr % sizeof **out != 0) return -K_EINVAL;
  K_TRY(abi_ptr(m->instance, addr, sizeof **out, &word));
  *out = word;
  return 0;
}

/* Of FUTEX_WAIT from now on; of FUTEX_WAIT_BITSET a moment of its clock. */
static k_ret futex_deadline(abi_machine *m, uint32_t op, uint32_t addr, int64_t *out) {
  int64_t until = 0, now = 0;
  *out = K_FOREVER;
  if (addr == 0) return 0;
  if ((op & ~(uint32_t)(FUTEX_PRIVATE | FUTEX_REALTIME)) == FUTEX_WAIT) return abi_deadline(m, addr, out);
  K_TRY(abi_duration(m, addr, &until));
  K_TRY(abi_read_clock(m, (op & FUTEX_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now));
  *out = until > now ? abi_after(clock_mono_ns(), until - now) : 0;
  return 0;
}

static k_ret futex_wait(abi_machine *m, const uint32_t *a, uint32_t bits) {
  uint32_t *word = NULL;
  int64_t deadline = 0;
  K_TRY(word_at(m, a[0], &word));
  K_TRY(futex_deadline(m, a[1], a[3], &deadline));
  return ABI_LOCKED(m, k_futex_wait(m->p, a[0], word, a[2], bits, deadline));
}

static k_ret futex_requeue(abi_machine *m, const uint32_t *a, bool compares) {
  uint32_t *from = NULL, *to = NULL;
  K_TRY(word_at(m, a[0], &from));
  K_TRY(word_at(m, a[4], &to));
  if ((int32_t)a[2] < 0 || (int32_t)a[3] < 0) return -K_EINVAL;
  if (compares && __atomic_load_n(from, __ATOMIC_SEQ_CST) != a[5]) return -K_EAGAIN;
  return ABI_LOCKED(m, (k_ret)k_futex_requeue(m->p, a[0], a[2], a[4], a[3]));
}

k_ret sys_futex(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t *word = NULL;
  switch (a[1] & ~(uint32_t)(FUTEX_PRIVATE | FUTEX_REALTIME)) {
  case FUTEX_WAIT: return futex_wait(m, a, UINT32_MAX);
  case FUTEX_WAIT_BITSET: return futex_wait(m, a, a[5]);
  case FUTEX_WAKE_BITSET:
    if (a[5] == 0) return -K_EINVAL;
    K_TRY(word_at(m, a[0], &word));
    return ABI_LOCKED(m, (k_ret)k_futex_wake(m->p, a[0], a[2], a[5]));
  case FUTEX_WAKE:
    K_TRY(word_at(m, a[0], &word));
    return ABI_LOCKED(m, (k_ret)k_futex_wake(m->p, a[0], a[2], UINT32_MAX));
  case FUTEX_REQUEUE: return futex_requeue(m, a, false);
  case FUTEX_CMP_REQUEUE: return futex_requeue(m, a, true);
  default: return -K_ENOSYS;
  }
}
