/* process.c - processes: new ones, copies by fork(2), their start, exit, zombies, and lookup by pid
 * (process.h). */
#include "kernel/proc/process.h"

#include "base/alloc.h"
#include "kernel/core/job.h"
#include "kernel/proc/inner.h"
#include "kernel/signal/timer.h"
#include "kernel/tty/tty.h"

#include <string.h>

/* ---- birth ---- */

K_LOCKED static bool pid_is_free(k_kernel *k, int32_t pid) {
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (p->pgid == pid || p->sid == pid) return false;
    LIST_EACH (t, &p->threads, k_thread, in_process)
      if (t->tid == pid) return false;
  }
  return !k_tty_uses_number(k, pid);
}

K_LOCKED int32_t k_next_pid(k_kernel *k) {
  do {
    k->last_pid = k->last_pid >= K_PID_MAX - 1 ? 2 : k->last_pid + 1;
  } while (!pid_is_free(k, k->last_pid));
  return k->last_pid;
}

K_LOCKED bool k_process_at_limit(const k_kernel *k, const k_process *parent) {
  uint64_t limit = k->limits.processes;
  if (parent != NULL && parent->rlimits[K_RLIMIT_NPROC].soft < limit)
    limit = parent->rlimits[K_RLIMIT_NPROC].soft;
  /* Pids must stay findable even where no limit was meant. */
  return k->shutting_down || k->used.processes >= limit || k->used.processes >= K_PID_MAX / 4;
}

/* The parts that need nothing of others and cannot fail. */
K_LOCKED static void init_fields(k_process *p, k_kernel *k) {
  *p = (k_process){ .kernel = k, .start_ns = k_mono_ns(k) };
  list_init(&p->in_kernel);
  list_init(&p->children);
  list_init(&p->sibling);
  list_init(&p->pidfds);
  list_init(&p->threads);
  list_init(&p->turn_waiters);
  list_init(&p->futexes);
  k_waitq_init(&p->child_events);
  k_itimers_init(p);
  k_cpu_limit_init(p);
}

K_LOCKED static k_ret process_allocate(k_kernel *k, k_process **out) {
  k_process *p = mem_alloc(sizeof *p);
  if (p == NULL) return -K_ENOMEM;
  init_fields(p, k);
  k_ret r = k_thread_init(&p->leader, p);
  if (r < 0) {
    mem_free(p);
    return r;
  }
  list_push(&p->threads, &p->leader.in_process);
  p->thread_count = 1;
  *out = p;
  return 0;
}

/* Everything a process holds besides its place in lists. May release and retake kernel.mu. */
K_LOCKED static void let_go(k_process *p) {
  k_cpu_meter_end(p);
  k_itimers_stop(p);
  k_timers_delete(p);
  k_cpu_limit_stop(p);
  k_fdtable_clear(&p->fds);
  uint32_t uid = p->view.uid; /* of a zombie: si_uid */
  vfs_view_clear(&p->view);
  p->view.uid = uid;
  if (p->program != NULL) {
    k_program *program = p->program;
    p->program = NULL;
    k_program_unref(p->kernel, program);
  }
  k_pending_clear(&p->signals.pending);
  k_pending_clear(&p->leader.pending);
  k_memory_uncharge(p->kernel, p->memory);
  p->memory = 0;
}

static void process_release(k_process *p) {
  k_pidfds_detach(p);
  k_thread_clear(&p->leader);
  k_signals_clear(&p->signals);
  mem_free(p);
}

K_LOCKED static void process_destroy(k_process *p) {
  let_go(p);
  process_release(p);
}

K_LOCKED static k_ret process_allocate_with_view(k_kernel *k, k_process **out) {
  k_process *p = NULL;
  K_TRY(process_allocate(k, &p));
  k_ret r = vfs_view_init(&p->view, k);
  if (r < 0) {
    process_release(p);
    return r;
  }
  *out = p;
  return 0;
}

K_LOCKED static void process_enter(k_process *p, k_process *parent) {
  k_kernel *k = p->kernel;
  p->pid = p->leader.tid = k_next_pid(k);
  p->parent = parent;
  list_push(&parent->children, &p->sibling);
  list_push(&k->processes, &p->in_kernel);
  if (++k->used.processes > k->used.processes_peak) k->used.processes_peak = k->used.processes;
}

k_ret k_process_make_init(k_kernel *k) {
  k_process *p = NULL;
  K_TRY(process_allocate_with_view(k, &p));
  p->pid = p->leader.tid = p->pgid = p->sid = 1;
  p->view.process = p;
  k_fdtable_init(&p->fds, 0);
  k_rlimits_init(p);
  memcpy(p->comm, "init", sizeof "init");
  k->init = p;
  return 0;
}

K_LOCKED void k_process_free_init(k_kernel *k) {
  assert(list_empty(&k->init->children));
  process_destroy(k->init);
  k->init = NULL;
}

k_ret k_process_new(k_kernel *k, k_job *job, k_process **out) {
  if (k_process_at_limit(k, NULL)) return -K_EAGAIN;
  k_process *p = NULL;
  K_TRY(process_allocate_with_view(k, &p));
  p->view.process = p;
  k_fdtable_init(&p->fds, k->limits.open_files);
  k_rlimits_init(p);
  process_enter(p, k->init);
  p->pgid = p->sid = p->pid;
  if (job != NULL) k_job_entered(job, p);
  *out = p;
  return 0;
}

K_LOCKED static k_ret copy_parts(k_process *child, k_process *parent) {
  k_ret r = vfs_view_copy(&child->view, &parent->view);
  if (r >= 0) {
    child->view.process = child;
    r = k_fdtable_copy(&child->fds, &parent->fds);
  }
  if (r >= 0) r = k_signals_fork(child, parent);
  return r;
}

K_LOCKED k_ret k_process_fork(k_process *parent, k_process **out) {
  if (k_is_ending(k_self(parent))) return -K_EKILLED;
  if (k_process_at_limit(parent->kernel, parent)) return -K_EAGAIN;
  k_process *p = NULL;
  K_TRY(process_allocate(parent->kernel, &p));
  k_fdtable_init(&p->fds, parent->fds.limit);
  k_ret r = copy_parts(p, parent);
  if (r < 0) {
    process_destroy(p);
    return r;
  }
  memcpy(p->rlimits, parent->rlimits, sizeof p->rlimits);
  memcpy(p->comm, parent->comm, sizeof p->comm);
  if (parent->program != NULL) p->program = k_program_ref(parent->program);
  p->pgid = parent->pgid;
  p->sid = parent->sid;
  p->has_no_tty = parent->has_no_tty;
  p->nice = parent->nice;
  p->policy = parent->policy;
  process_enter(p, parent);
  if (parent->job != NULL) k_job_entered(parent->job, p);
  p->kernel->used.forks++;
  *out = p;
  return 0;
}

k_ret k_process_start(k_process *p) {
  k_kernel *k = p->kernel;
  if (k->shutting_down && !p->dying) return -K_EAGAIN;
  assert(!p->started && p->program != NULL);
  p->started = true;
  k_kernel_hold(k);
  k_ret r = k->runner->start(k->runner_ctx, p);
  if (r < 0) {
    p->started = false;
    k_kernel_drop(k);
  }
  return r;
}

/* ---- end ---- */

K_LOCKED static void process_leave(k_process *p) {
  list_remove(&p->sibling);
  list_remove(&p->in_kernel);
  p->kernel->used.processes--;
}

void k_process_reap(k_process *p) {
  assert(p->zombie);
  process_leave(p);
  process_release(p);
}

void k_process_discard(k_process *p) {
  assert(!p->started && !p->zombie);
  p->dying = true;
  let_go(p);
  k_tty_leader_exits(p); /* the terminal of a run was made its session's before it started */
  k_children_to_init(p);
  k_process *parent = p->parent;
  k_job *job = p->job;
  k_job_left(p, false);
  process_leave(p);
  process_release(p);
  k_wake(&parent->child_events); /* it may have been the last one waited for: ECHILD */
  k_job_unref(job);
}

K_LOCKED static void become_zombie(k_process *p) {
  k_process *parent = p->parent;
  bool reap = parent == p->kernel->init || k_parent_reaps_itself(parent);
  p->zombie = true;
  p->stopped = false;
  k_parent_notify(p, (p->exit_status & 0x7f) == 0 ? K_CLD_EXITED : K_CLD_KILLED);
  if (reap) k_process_reap(p);
}

void k_process_exit(k_process *p, int32_t status) {
  k_kernel *k = p->kernel;
  bool started = p->started;
  assert(!p->zombie && p->thread_count == 1);
  p->dying = true;
  p->exit_status = status;
  let_go(p);
  p->leader.machine = NULL;
  k_tty_leader_exits(p);
  k_group_after_exit(p);
  k_children_to_init(p);
  k_job *job = p->job;
  k_job_left(p, true);
  become_zombie(p);
  k_job_unref(job); /* last: it may release kernel.mu, and the parent may free `p` */
  if (started) k_kernel_drop(k);
}

void k_process_end(k_process *p, int32_t status) {
  if (p->dying || p->zombie) return;
  p->dying = true;
  p->exit_status = status;
  k_signal_update(p);
  LIST_EACH (t, &p->threads, k_thread, in_process) k_thread_look(t);
}

void k_process_revive(k_process *p) {
  assert(p->resident && !p->zombie);
  p->dying = p->stopped = false;
  p->exit_status = 0;
  k_signals_forget(p, ~(k_sigset)0);
}

k_process *k_process_find(k_kernel *k, int32_t pid) {
  if (pid == 1) return k->init;
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (p->pid == pid) return p;
  }
  return NULL;
}

K_LOCKED k_ret k_nanosleep(k_process *p, int64_t deadline_ns) {
  k_ret r = k_sleep(k_sleeper_of(p), NULL, 0, deadline_ns);
  return r == -K_ETIMEDOUT ? 0 : k_never_restart(r);
}
