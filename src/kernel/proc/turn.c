/* turn.c - which of a process's threads runs (thread.h).
 *
 * First come, first served: a thread that lets the turn go hands it to the first that waits. One that has waited for a
 * slice asks for it, and its owner passes it on at its next system call or loop edge (k_signal_poll). The first in the line does
 * the asking, so nothing ticks while no thread waits. */
#include "kernel/proc/inner.h"

static const int64_t slice_ns = NS_PER_MS;

K_LOCKED static k_thread *turn_first(const k_process *p) {
  return list_empty(&p->turn_waiters) ? NULL : CONTAINER_OF(p->turn_waiters.next, k_thread, in_turns);
}

void k_turns_begin(k_process *p) {
  p->takes_turns = true;
  p->leader.host = pthread_self();
  p->turn = &p->leader;
}

K_LOCKED static void turn_ask(k_process *p) {
  p->turn_wanted = true;
  p->turn->attention = true;
  k_thread_look(p->turn);
}

K_LOCKED static void turn_wait(k_thread *t) {
  k_process *p = t->process;
  bool first = turn_first(p) == t && !p->resting;
  int64_t until = first ? clock_mono_ns() + slice_ns : K_FOREVER;
  k_sleep_for_turn(t, until);
  if (first && p->turn != t && !p->resting && clock_mono_ns() >= until) turn_ask(p);
}

void k_turn_take(k_thread *t) {
  k_process *p = t->process;
  if (!p->takes_turns || p->turn == t) return;
  if (p->turn == NULL) {
    p->turn = t;
    return;
  }
  list_push(&p->turn_waiters, &t->in_turns);
  while (p->turn != t) turn_wait(t);
}

void k_turn_leave(k_thread *t) {
  k_process *p = t->process;
  if (p->turn != t) return;
  p->turn_wanted = false;
  p->turn = turn_first(p);
  if (p->turn == NULL) return;
  list_remove(&p->turn->in_turns);
  k_nudge_sleeper(&p->turn->sleeper);
  if (turn_first(p) != NULL) k_nudge_sleeper(&turn_first(p)->sleeper); /* it is the one to ask now */
}

void k_turn_pass(k_thread *t) {
  const k_process *p = t->process;
  if (p->turn_wanted && p->turn == t) k_turn_yield(t);
}

void k_turn_yield(k_thread *t) {
  if (turn_first(t->process) == NULL) return;
  k_turn_leave(t);
  k_turn_take(t);
}

void k_turn_rest(k_process *p) {
  p->resting = p->takes_turns;
  if (p->resting) p->leader.host = (pthread_t)0; /* another of its threads may be run there next */
  p->turn_wanted = false;
}

void k_turn_resume(k_process *p) {
  p->leader.host = pthread_self();
  if (!p->resting) return;
  p->resting = false;
  k_thread *first = turn_first(p);
  if (first != NULL) k_nudge_sleeper(&first->sleeper); /* its slice begins */
}
