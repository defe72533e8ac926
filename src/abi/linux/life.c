/* life.c - the thread of a process: run, and whatever made the guest leave, until there is nothing to run. */
#include "abi/linux/life.h"
#include "abi/wasi/wasi.h"

#include <stdio.h>
#include <string.h>

enum { STACK_EDGE = 5 << 10 }; /* a stack pointer this near to address 0 is about to reach its first page */

abi_machine *abi_machine_new(abi_runner *runner, k_process *p) {
  abi_machine *m = mem_zalloc(sizeof *m);
  if (m == NULL) return NULL;
  *m = (abi_machine){ .runner = runner, .kernel = p->kernel, .p = p, .t = &p->leader, .own = &p->leader };
  m->leader = m;
  return m;
}

void abi_machine_free(abi_machine *m) {
  if (m == NULL) return;
  wasi_state_free(m->wasi);
  mem_free(m->why);
  mem_free(m);
}

/* ---- why it ends ---- */

int abi_trap_signal(enum eng_trap kind) {
  switch (kind) {
  case ENG_TRAP_MEMORY:
  case ENG_TRAP_STACK:
  case ENG_TRAP_CALL:
  case ENG_TRAP_TABLE: return K_SIGSEGV;
  case ENG_TRAP_DIVISION:
  case ENG_TRAP_ARITHMETIC: return K_SIGFPE;
  case ENG_TRAP_EXCEPTION: return K_SIGABRT;
  case ENG_TRAP_FUEL: return K_SIGKILL;
  case ENG_TRAP_NONE:
  case ENG_TRAP_UNREACHABLE:
  case ENG_TRAP_OTHER: break;
  }
  return K_SIGILL;
}

/* Without memory there is nothing to say. */
void abi_set_why(abi_machine *m, const char *why) {
  mem_free(m->why);
  m->why = why != NULL && why[0] != '\0' ? mem_strdup(why) : NULL;
}

void abi_die(abi_machine *m, int32_t status, const char *why) {
  m->next = ABI_NEXT_EXIT;
  m->status = status;
  if (why != NULL) abi_set_why(m, why);
}

/* The stack begins at address 0 of the memory and grows down: a stack pointer below it has wrapped around, and the
 * access that failed was a function's own frame. */
static bool stack_ran_over(abi_machine *m) {
  if (m->stack_pointer.type != 'i') return false;
  uint32_t sp = eng_global_get(m->instance, &m->stack_pointer).u32;
  return sp < STACK_EDGE || sp > eng_memory_len(m->instance);
}

/* The words of the trap; the overflow of either stack, in memory or of the machine, is called by its name. */
static void trap_words(abi_machine *m, enum eng_trap kind) {
  char text[1024], over[sizeof text];
  (void)eng_trap_text(m->instance, text, sizeof text);
  const char *frames = strchr(text, '\n');
  bool is_over = kind == ENG_TRAP_STACK || (kind == ENG_TRAP_MEMORY && stack_ran_over(m));
  (void)snprintf(over, sizeof over, "stack overflow: a recursion is too deep, or an array too large%s",
                 frames != NULL ? frames : "");
  abi_set_why(m, is_over ? over : text);
}

void abi_trapped(abi_machine *m) {
  enum eng_trap kind = eng_trap_kind(m->instance);
  abi_die(m, abi_trap_signal(kind), NULL);
  if (kind == ENG_TRAP_FUEL && m->fuel != NULL)
    abi_fuel_settle(m);
  else
    trap_words(m, kind);
}

/* ---- imports ---- */

enum eng_flow abi_import_init(eng_instance *instance, void *ctx, eng_val *values) {
  (void)instance;
  values[0].i32 = (int32_t)abi_initial_stack(ctx, values[0].u32);
  return ENG_CONTINUE;
}

enum eng_flow abi_import_syscall(eng_instance *instance, void *ctx, eng_val *v) {
  const uint32_t a[6] = { v[1].u32, v[2].u32, v[3].u32, v[4].u32, v[5].u32, v[6].u32 };
  (void)instance;
  return abi_call(ctx, v[0].i32, a, &v[0].i32);
}

/* ---- one program after the other ---- */

/* The engine answers CAY_LIMIT for both: a memory that begins larger than its limit, and a host that has no room for
 * another instance, which its message begins with. */
static enum k_job_start start_failure(const cay_error *err) {
  static const char host[] = "cannot make an instance";
  if (err->status == CAY_LIMIT && strncmp(err->message, host, strlen(host)) != 0) return K_START_MEMORY;
  return err->status == CAY_INVALID || err->status == CAY_UNSUPPORTED ? K_START_OK : K_START_HOST;
}

static void cannot_start(abi_machine *m, const cay_error *err) {
  char why[300];
  m->start_failure = start_failure(err);
  (void)snprintf(why, sizeof why, "%s cannot be started: %s", m->p->program->path, err->message);
  abi_die(m, K_SIGKILL, why);
}

/* False: there is nothing to run, m->next and m->status say why. */
bool abi_prepare(abi_machine *m) {
  cay_error err;
  if (m->instance == NULL && abi_instance_make(m, &err) != CAY_OK) {
    cannot_start(m, &err);
    return false;
  }
  if (abi_attend(m) == ENG_UNWIND) return false;
  return !m->rewinding || abi_rewind(m);
}

/* Runs until the guest leaves; m->next says what then. */
void abi_run(abi_machine *m) {
  eng_val args[3] = { { .u32 = m->thread_args[0] },
                      { .u32 = m->thread_args[1] },
                      { .u32 = m->thread_args[2] } };
  switch (eng_call(m->instance, &m->start, args)) {
  case ENG_RETURNED:
    if (m->next == ABI_NEXT_NONE) abi_die(m, 0, NULL); /* _start came back: as exit(0) */
    break;
  case ENG_LEFT:
    if (m->next == ABI_NEXT_FORK) abi_fork_abandon(m);
    if (m->next == ABI_NEXT_NONE) abi_die(m, K_SIGKILL, NULL);
    break;
  case ENG_THREW:
  case ENG_TRAPPED:
    if (m->next == ABI_NEXT_FORK) abi_fork_abandon(m);
    abi_trapped(m);
    break;
  }
}

/* execve(2) in the process of the machine: the new program starts with nothing of the old. */
static void replace(abi_machine *m) {
  abi_instance_drop(m);
  wasi_state_free(m->wasi);
  m->wasi = NULL;
  k_lock(m->kernel);
  k_program *program = m->exec;
  m->exec = NULL;
  m->next = ABI_NEXT_NONE;
  m->handler_waits = false;
  m->is_thread = false;
  m->clear_tid = 0;
  memset(m->thread_args, 0, sizeof m->thread_args);
  m->rewinding = false; /* the old program's functions are gone */
  m->nested = 0;
  k_exec_commit(m->p, program);
  k_unlock(m->kernel);
}

/* ---- the end ---- */

K_LOCKED void abi_tell_why(abi_machine *m, k_process *p) {
  if (m->why == NULL) return;
  if (p->job == NULL || p->job->pid != p->pid) return;
  k_job_explain(p->job, m->why);
  p->job->start = m->start_failure;
}

K_LOCKED static int32_t end_status(const abi_machine *m, const k_process *p) {
  return p->dying ? p->exit_status : m->status;
}

static void trace_end(abi_machine *m) {
  k_lock(m->kernel);
  int32_t status = end_status(m, m->p);
  k_unlock(m->kernel);
  if (m->why != NULL)
    abi_trace_text(m->runner, m->p->pid, "--- %.*s ---", (int)strcspn(m->why, "\n"), m->why);
  if ((status & 0x7f) == 0)
    abi_trace_text(m->runner, m->p->pid, "+++ exited with %d +++", status >> 8 & 0xff);
  else
    abi_trace_text(m->runner, m->p->pid, "+++ killed by signal %d +++", status & 0x7f);
}

/* A child context that is left goes with its parent: there is no way back into the parent's frames. */
static void end(abi_machine *m) {
  k_kernel *k = m->kernel;
  trace_end(m);
  abi_instance_drop(m);
  k_lock(k);
  k->used.syscalls += m->calls;
  if (m->exec != NULL) k_program_unref(k, m->exec);
  int32_t status = end_status(m, abi_root(m));
  while (m->depth > 0) {
    k_process *child = m->p;
    abi_vfork_leave(m);
    k_process_exit(child, child->dying ? child->exit_status : status);
  }
  k_process *p = m->p;
  abi_charge_time(m);
  if (!p->dying) abi_tell_why(m, p);
  p->leader.machine = NULL;
  k_process_exit(p, status);
  k_unlock(k); /* neither kernel nor runner may be touched from here on */
  abi_machine_free(m);
}

static bool is_ending(const abi_machine *m) {
  k_lock(m->kernel);
  bool dying = m->p->dying;
  k_unlock(m->kernel);
  return dying;
}

void abi_live(void *machine) {
  abi_machine *m = machine;
  k_lock(m->kernel);
  m->cpu_mark_ns = m->cpu_from_ns = k_cpu_limit_begin(m->p);
  k_unlock(m->kernel);
  for (;;) {
    if (abi_prepare(m)) abi_run(m);
    abi_threads_settle(m);
    if (m->next == ABI_NEXT_FORK)
      abi_fork_finish(m);
    else if (m->next == ABI_NEXT_EXEC && !is_ending(m))
      replace(m);
    else
      break;
  }
  end(m);
}
