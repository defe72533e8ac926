/* thread.c - the threads of a process: birth, end, and finding them. */
#include "base/alloc.h"
#include "kernel/proc/inner.h"

k_ret k_thread_init(k_thread *t, k_process *p) {
  *t = (k_thread){ .process = p };
  list_init(&t->in_process);
  list_init(&t->in_turns);
  list_init(&t->futex.node);
  return k_sleeper_init(&t->sleeper, p->kernel, t);
}

void k_thread_clear(k_thread *t) { k_sleeper_destroy(&t->sleeper); }

K_LOCKED static k_thread *self_of_many(k_process *p) {
  LIST_EACH (t, &p->threads, k_thread, in_process)
    if (pthread_equal(t->host, pthread_self())) return t;
  return &p->leader;
}

K_LOCKED k_thread *k_self(k_process *p) { return p->thread_count == 1 ? &p->leader : self_of_many(p); }

bool k_is_ending(const k_thread *t) { return t->leaving || t->process->dying; }

k_thread *k_thread_find(k_kernel *k, int32_t tid) {
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    LIST_EACH (t, &p->threads, k_thread, in_process)
      if (t->tid == tid && !p->zombie) return t;
  }
  return NULL;
}

/* ---- birth ---- */

K_LOCKED static void thread_enter(k_thread *t) {
  k_process *p = t->process;
  k_kernel *k = p->kernel;
  t->tid = k_next_pid(k);
  t->mask = k_self(p)->mask;
  if (!p->takes_turns) k_turns_begin(p);
  list_push(&p->threads, &t->in_process);
  p->thread_count++;
  if (++k->used.processes > k->used.processes_peak) k->used.processes_peak = k->used.processes;
  k_kernel_hold(k);
}

k_ret k_thread_new(k_process *p, k_thread **out) {
  if (k_is_ending(k_self(p))) return -K_EKILLED;
  if (k_process_at_limit(p->kernel, p)) return -K_EAGAIN;
  k_thread *t = mem_alloc(sizeof *t);
  if (t == NULL) return -K_ENOMEM;
  k_ret r = k_thread_init(t, p);
  if (r < 0) {
    mem_free(t);
    return r;
  }
  thread_enter(t);
  *out = t;
  return 0;
}

void k_thread_begin(k_thread *t) {
  t->host = pthread_self();
  k_cpu_meter_begin(t->process);
  t->began_ns = t->meter.from_ns;
  k_turn_take(t);
}

/* ---- end ---- */

/* Signals for the process that this thread has not taken are for the others. */
K_LOCKED static void leave_signals(k_thread *t) {
  k_process *p = t->process;
  k_pending_clear(&t->pending);
  k_signal_update(p);
  if (p->signals.pending.set != 0)
    LIST_EACH (other, &p->threads, k_thread, in_process) k_thread_look(other);
}

void k_thread_exit(k_thread *t) {
  k_process *p = t->process;
  k_kernel *k = p->kernel;
  if (t->meter.running) {
    p->ended_threads_ns += clock_read_ns(t->meter.clock, t->began_ns) - t->began_ns;
    k_cpu_meter_end(p);
  }
  k_turn_leave(t);
  list_remove(&t->in_process);
  p->thread_count--;
  k->used.processes--;
  leave_signals(t);
  if (p->thread_count == 1) k_nudge_sleeper(&p->leader.sleeper);
  k_thread_clear(t);
  mem_free(t);
  k_kernel_drop(k);
}

void k_thread_retire(k_thread *leader) {
  leader->leaving = true;
  leave_signals(leader);
}

void k_threads_end(k_thread *but) {
  k_process *p = but->process;
  LIST_EACH (t, &p->threads, k_thread, in_process) t->leaving |= t != but;
  k_signal_update(p);
  LIST_EACH (t, &p->threads, k_thread, in_process)
    if (t != but) k_thread_look(t);
}
