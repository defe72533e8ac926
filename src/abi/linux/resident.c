/* resident.c - an interpreter at rest: its start, its calls, checkpoint and rollback, parking, and
 * stopping it (resident.h). */
#include "abi/linux/resident.h"

#include "abi/linux/life.h"
#include "base/error.h"
#include "engine/checkpoint.h"
#include "engine/stop.h"
#include "kernel/file/fd_snapshot.h"
#include "kernel/signal/timer.h"

#include <stdatomic.h>
#include <stdio.h>

/* What undo gives back to the process. */
struct before {
  k_sigaction actions[K_NSIG + 1];
  k_sigset mask;
  k_inode *cwd; /* a reference */
  uint32_t umask;
  k_rlimit rlimits[K_RLIMIT_COUNT];
  k_fd_snapshot open;
};

struct abi_resident {
  abi_machine *m;
  eng_func boot, room, serve, stop_words;
  bool
      knows_words; /* m->words are those of the instance; m->has_words: it is being called, and they may be written */
  bool calling;          /* kernel.mu: inside eng_call */
  bool poked;            /* kernel.mu: the reason was set in this call */
  bool alone;            /* the last call */
  struct before *before; /* NULL: there is no checkpoint, or it is parked */
};

k_process *abi_resident_process(const abi_resident *r) { return r->m->p; }
uint64_t abi_resident_memory(abi_resident *r) { return eng_memory_len(r->m->instance); }

/* ---- making ---- */

static cay_status find_functions(abi_resident *r, cay_error *err) {
  eng_instance *i = r->m->instance;
  if (eng_func_find(i, "cay_boot", ":i", &r->boot) && eng_func_find(i, "cay_room", "i:i", &r->room) &&
      eng_func_find(i, "cay_serve", "ii:i", &r->serve) &&
      eng_func_find(i, "cay_stop_words", ":i", &r->stop_words))
    return CAY_OK;
  return err_set(err, CAY_UNSUPPORTED, "%s is not a resident program", r->m->p->program->path);
}

static cay_status resident_alloc(abi_runner *runner, k_process *p, abi_resident **out, cay_error *err) {
  abi_resident *r = mem_zalloc(sizeof *r);
  abi_machine *m = r != NULL ? abi_machine_new(runner, p) : NULL;
  if (m == NULL) {
    mem_free(r);
    return err_no_memory(err);
  }
  r->m = m;
  *out = r;
  return CAY_OK;
}

static void resident_install(abi_resident *r) {
  k_process *p = r->m->p;
  k_lock(p->kernel);
  p->resident = true;
  p->leader.machine = r->m;
  k_unlock(p->kernel);
}

cay_status abi_resident_wake(abi_resident *r, eng_image *image, cay_error *err) {
  abi_machine *m = r->m;
  cay_status status = abi_instance_from(m, image, err);
  if (status == CAY_OK) status = find_functions(r, err);
  if (status != CAY_OK && m->instance != NULL) abi_instance_park(m);
  return status;
}

cay_status abi_resident_new(abi_runner *runner, k_process *p, eng_image *from, abi_resident **out,
                            cay_error *err) {
  abi_resident *r = NULL;
  S_TRY(resident_alloc(runner, p, &r, err));
  cay_status status = abi_resident_wake(r, from, err);
  if (status != CAY_OK) {
    abi_instance_drop(r->m);
    abi_machine_free(r->m);
    mem_free(r);
    return status;
  }
  resident_install(r);
  *out = r;
  return CAY_OK;
}

cay_status abi_resident_new_parked(abi_runner *runner, k_process *p, abi_resident **out, cay_error *err) {
  abi_resident *r = NULL;
  S_TRY(resident_alloc(runner, p, &r, err));
  resident_install(r);
  *out = r;
  return CAY_OK;
}

K_LOCKED static void forget_before(abi_resident *r) {
  if (r->before == NULL) return;
  k_inode_unref(r->before->cwd);
  k_fd_snapshot_clear(&r->before->open);
  mem_free(r->before);
  r->before = NULL;
}

void abi_resident_park(abi_resident *r) {
  abi_instance_park(r->m);
  r->knows_words = false;
  k_lock(r->m->kernel);
  forget_before(r);
  k_unlock(r->m->kernel);
}

/* They leave the guest where they stand. At rest. */
static void end_threads(abi_resident *r) {
  k_process *p = r->m->p;
  k_lock(p->kernel);
  if (p->thread_count > 1) k_threads_end(&p->leader);
  k_sleep_until_alone(&p->leader);
  k_unlock(p->kernel);
}

void abi_resident_free(abi_resident *r) {
  if (r == NULL) return;
  abi_machine *m = r->m;
  k_kernel *k = m->kernel;
  end_threads(r);
  abi_instance_drop(m);
  k_lock(k);
  forget_before(r);
  k->used.syscalls += m->calls;
  m->p->leader.machine = NULL;
  m->p->memory = 0; /* given back with the instance */
  k_process_discard(m->p);
  k_unlock(k);
  abi_machine_free(m);
  mem_free(r);
}

/* ---- calls ---- */

static void resident_enter(abi_resident *r) {
  abi_machine *m = r->m;
  k_lock(m->kernel);
  k_kernel_hold(m->kernel);
  k_turn_resume(m->p);
  k_cpu_meter_begin(m->p);
  r->calling = true;
  r->alone = m->p->thread_count == 1;
  r->poked = false;
  m->has_words = r->knows_words;
  if (k_cpu_limit_is_set(m->p)) k_cpu_limit_begin(m->p);
  m->next = ABI_NEXT_NONE;
  m->status = 0;
  abi_set_why(m, NULL);
  m->attended = false;
  if (eng_module_stop(eng_instance_module(m->instance)) == ENG_STOP_FUEL && m->p->job != NULL &&
      m->runner->options.fuel != NULL) {
    m->fuel = m->runner->options.fuel(m->runner->options.fuel_ctx, m->p->job);
    m->fuel_given = m->fuel != NULL ? *m->fuel : UINT64_MAX;
  }
  m->odd = abi_is_odd(m);
  k_unlock(m->kernel);
  eng_fuel_set(m->instance, m->fuel != NULL ? m->fuel_given : UINT64_MAX);
  m->cpu_mark_ns = clock_thread_cpu_ns();
  m->cpu_from_ns = m->cpu_mark_ns - (m->p->user_ns + m->p->system_ns);
}

/* Contexts of vfork that were left go with the call: there is no way back into their frames. */
K_LOCKED static void end_children(abi_machine *m, int32_t status) {
  while (m->depth > 0) {
    k_process *child = m->p;
    abi_vfork_leave(m);
    k_process_exit(child, child->dying ? child->exit_status : status);
  }
}

/* With kernel.mu. A call leaves no signals to the next one: its timers are off, and what came at the very end is
 * forgotten. Signals that the program has blocked stay pending, and so does the end of a child. */
K_LOCKED static void settle_signals(k_process *p) {
  k_itimers_off(p);
  k_timers_off(p);
  k_sigset pending = p->signals.pending.set | p->leader.pending.set;
  k_sigset late = pending & ~p->leader.mask & ~k_sigbit(K_SIGCHLD);
  if (late != 0) k_signals_forget(p, late);
}

static void resident_leave(abi_resident *r, bool returned) {
  abi_machine *m = r->m;
  if (m->fuel != NULL) abi_fuel_settle(m);
  k_lock(m->kernel);
  r->calling = m->has_words = false;
  r->alone &= returned && !r->poked && !m->attended && m->calls == 0;
  end_children(m, K_SIGKILL);
  settle_signals(m->p);
  k_cpu_meter_end(m->p);
  abi_charge_time(m);
  m->kernel->used.syscalls += m->calls;
  m->calls = 0;
  m->fuel = NULL;
  if (returned && m->p->dying) m->status = m->p->exit_status;
  k_cpu_limit_pause(m->p);
  k_turn_rest(m->p);
  k_kernel_drop(m->kernel);
  k_unlock(m->kernel);
  eng_kick_clear(m->instance);
}

static void resident_say_why(abi_resident *r, abi_gone *gone) {
  const abi_machine *m = r->m;
  const k_process *p = abi_root(m);
  k_lock(m->kernel);
  bool dying = p->dying;
  gone->status = dying ? p->exit_status : m->status;
  k_unlock(m->kernel);
  (void)snprintf(gone->why, sizeof gone->why, "%s", dying || m->why == NULL ? "" : m->why);
}

/* True: it returned. */
static bool call(abi_resident *r, const eng_func *func, eng_val values[2]) {
  abi_machine *m = r->m;
  enum eng_end end = eng_call(m->instance, func, values);
  if (end == ENG_RETURNED) return m->next == ABI_NEXT_NONE;
  if (end != ENG_LEFT) abi_trapped(m);
  if (m->next == ABI_NEXT_NONE) abi_die(m, K_SIGKILL, NULL);
  return false;
}

cay_status abi_resident_boot(abi_resident *r, bool *returned, abi_gone *gone, cay_error *err) {
  eng_val values[2] = { 0 };
  resident_enter(r);
  *returned = call(r, &r->boot, values);
  resident_leave(r, *returned);
  if (!*returned) {
    resident_say_why(r, gone);
    return CAY_OK;
  }
  if (values[0].i32 != 0) return err_set(err, CAY_INVALID, "cay_boot answered %d", values[0].i32);
  return CAY_OK;
}

static void nonsense(abi_resident *r, const char *what) {
  char why[100];
  (void)snprintf(why, sizeof why, "the interpreter answered nonsense: %s", what);
  abi_die(r->m, K_SIGABRT, why);
}

static bool resident_read_words(abi_resident *r) {
  eng_val values[2] = { 0 };
  if (!call(r, &r->stop_words, values)) return false;
  k_lock(r->m->kernel);
  r->knows_words = r->m->has_words = abi_stop_words_read(r->m->instance, values[0].u32, &r->m->words);
  k_unlock(r->m->kernel);
  return true;
}

/* A stop that came too late for the call before means nothing to this one, nor does a SIGINT that found nothing to
 * interrupt. */
static void clear_words(abi_resident *r) {
  const uint32_t zero = 0;
  if (!r->knows_words) return;
  (void)abi_put(r->m->instance, r->m->words.reason, &zero);
  k_lock(r->m->kernel);
  k_signals_forget(r->m->p, k_sigbit((int)r->m->words.signal) | k_sigbit(K_SIGINT));
  k_unlock(r->m->kernel);
}

static bool resident_serve(abi_resident *r, uint32_t op, cay_slice request, cay_slice *reply, bool *no_room) {
  eng_instance *i = r->m->instance;
  eng_val values[2] = { { .u32 = (uint32_t)request.len } };
  uint32_t answer[2];
  void *bytes;
  if (!r->knows_words && !resident_read_words(r)) return false;
  clear_words(r);
  if (!call(r, &r->room, values)) return false;
  *no_room = values[0].u32 == 0 && request.len != 0;
  if (*no_room) return true;
  if (abi_copy_out(i, values[0].u32, request.data, request.len) < 0)
    return nonsense(r, "a room outside its memory"), false;
  values[0].u32 = op;
  values[1].u32 = (uint32_t)request.len;
  if (!call(r, &r->serve, values)) return false;
  if (values[0].u32 == 0 || abi_get(i, values[0].u32, &answer) < 0 ||
      abi_ptr(i, answer[0], answer[1], &bytes) < 0)
    return nonsense(r, "a reply outside its memory"), false;
  *reply = (cay_slice){ bytes, answer[1] };
  return true;
}

cay_status abi_resident_call(abi_resident *r, uint32_t op, cay_slice request, cay_slice *reply,
                             bool *returned, abi_gone *gone, cay_error *err) {
  bool no_room = false;
  if (request.len > INT32_MAX) return err_set(err, CAY_LIMIT, "the request is longer than 2 GiB");
  resident_enter(r);
  *returned = resident_serve(r, op, request, reply, &no_room);
  resident_leave(r, *returned);
  if (!*returned)
    resident_say_why(r, gone);
  else if (no_room)
    return err_set(err, CAY_NO_MEMORY, "the interpreter has no room for a request of %zu bytes", request.len);
  return CAY_OK;
}

bool abi_resident_was_alone(const abi_resident *r) { return r->alone; }

/* ---- undo ---- */

K_LOCKED static k_ret resident_remember(abi_resident *r) {
  k_process *p = r->m->p;
  k_fd_snapshot open;
  if (r->before == NULL && (r->before = mem_zalloc(sizeof *r->before)) == NULL) return -K_ENOMEM;
  struct before *b = r->before;
  K_TRY(k_fd_snapshot_take(p, &open));
  k_fd_snapshot_clear(&b->open);
  b->open = open;
  k_signals_save(&p->signals, b->actions);
  b->mask = p->leader.mask;
  b->umask = p->view.umask;
  memcpy(b->rlimits, p->rlimits, sizeof b->rlimits);
  if (b->cwd != p->view.cwd) {
    k_inode *old = b->cwd;
    b->cwd = p->view.cwd != NULL ? k_inode_ref(p->view.cwd) : NULL;
    k_inode_unref(old);
  }
  return 0;
}

uint32_t abi_resident_threads(const abi_resident *r) {
  const k_process *p = r->m->p;
  k_lock(p->kernel);
  uint32_t others = (uint32_t)p->thread_count - 1;
  k_unlock(p->kernel);
  return others;
}

cay_status abi_resident_begin(abi_resident *r, cay_error *err) {
  k_lock(r->m->kernel);
  k_ret kept = resident_remember(r);
  k_unlock(r->m->kernel);
  return kept < 0 ? err_no_memory(err) : CAY_OK;
}

cay_status abi_resident_checkpoint(abi_resident *r, cay_error *err) {
  S_TRY(abi_resident_begin(r, err));
  return eng_checkpoint(r->m->instance, err);
}

cay_status abi_resident_settle(abi_resident *r, cay_error *err) {
  S_TRY(abi_resident_begin(r, err));
  return eng_instance_settle(r->m->instance, err);
}

/* Restores exactly the descriptors that were open at the checkpoint. */
static k_ret restore_files(k_process *p, const k_fd_snapshot *open) {
  k_file **files;
  K_TRY(k_fd_snapshot_open(p, open, &files));
  k_fd_snapshot_put(p, open, files);
  return 0;
}

K_LOCKED static k_ret restore_process(abi_resident *r) {
  k_process *p = r->m->p;
  const struct before *b = r->before;
  if (b == NULL) return 0;
  k_signals_restore(&p->signals, b->actions);
  p->leader.mask = b->mask;
  p->leader.has_saved_mask = false;
  p->view.umask = b->umask;
  memcpy(p->rlimits, b->rlimits, sizeof p->rlimits);
  p->fds.limit = (uint32_t)b->rlimits[K_RLIMIT_NOFILE].soft;
  if (b->cwd != NULL && b->cwd != p->view.cwd) (void)!vfs_chdir(&p->view, b->cwd);
  return restore_files(p, &b->open);
}

void abi_resident_signals(const abi_resident *r, abi_signals *out) {
  const k_process *p = r->m->p;
  *out = (abi_signals){ 0 };
  k_lock(r->m->kernel);
  k_signals_save(&p->signals, out->actions);
  out->mask = p->leader.mask;
  out->umask = p->view.umask;
  k_unlock(r->m->kernel);
}

void abi_resident_set_signals(abi_resident *r, const abi_signals *signals) {
  k_process *p = r->m->p;
  k_lock(r->m->kernel);
  for (int sig = 1; sig <= K_NSIG; sig++)
    (void)!k_sigaction_set(p, sig, &signals->actions[sig], NULL); /* refused for SIGKILL and SIGSTOP */
  k_signal_return(p, signals->mask);
  p->view.umask = signals->umask & 0777;
  k_unlock(r->m->kernel);
}

void abi_resident_revive(abi_resident *r) {
  abi_machine *m = r->m;
  k_lock(m->kernel);
  k_process_revive(m->p);
  k_unlock(m->kernel);
  if (m->instance != NULL) eng_kick_clear(m->instance);
}

cay_status abi_resident_undo(abi_resident *r, cay_error *err) {
  abi_machine *m = r->m;
  end_threads(r);
  m->nested = 0;
  m->next = ABI_NEXT_NONE;
  m->handler_waits = false;
  k_lock(m->kernel);
  k_process_revive(m->p); /* or it could not sleep while files are opened */
  k_ret put_back = restore_process(r);
  k_unlock(m->kernel);
  abi_resident_revive(r);
  if (put_back < 0) return err_no_memory(err);
  return eng_rollback(m->instance, err);
}

cay_status abi_resident_freeze(abi_resident *r, eng_image **out, cay_error *err) {
  uint32_t threads = abi_resident_threads(r);
  if (threads > 0)
    return err_set(
        err, CAY_BUSY,
        "the session has %u thread%s that go%s on with its next evaluation: a copy cannot have them", threads,
        threads == 1 ? "" : "s", threads == 1 ? "es" : "");
  return eng_image_freeze(r->m->instance, out, err);
}

static void resident_drop(void *instance) { eng_instance_free(instance); }

/* Giving back tens of megabytes takes longer than mapping others in their place. */
static void drop_later(abi_runner *runner, eng_instance *instance) {
  if (thread_pool_run(runner->options.threads, resident_drop, instance, NULL) != CAY_OK)
    resident_drop(instance);
}

cay_status abi_resident_restore(abi_resident *r, eng_image *image, cay_error *err) {
  abi_machine *m = r->m;
  end_threads(r);
  abi_set_why(m, NULL);
  const abi_machine before = *m;
  OWNED(eng_image_unref) eng_image *fit = NULL;
  if (eng_image_for(image, eng_instance_module(before.instance), &fit, NULL) == CAY_UNSUPPORTED)
    return err_set(err, CAY_INVALID, "the image is one of another program");
  cay_status status = fit != NULL ? abi_instance_from(m, fit, err) : err_no_memory(err);
  if (status == CAY_OK) status = find_functions(r, err);
  if (status == CAY_OK) {
    eng_stack_settle(before.instance, true);
    drop_later(m->runner, before.instance);
    r->knows_words = false;
    return CAY_OK;
  }
  k_lock(m->kernel);
  eng_instance *unfit = m->instance;
  uint64_t charged = m->charged;
  *m = before;
  m->charged = charged; /* a memory that it could not have was not charged either */
  k_unlock(m->kernel);
  if (unfit == before.instance) return status;
  eng_stack_settle(unfit, true);
  eng_instance_free(unfit);
  return status;
}

/* ---- stopping ---- */

/* The guest runs meanwhile and does not know of us: it reads and writes its breaker in two steps, and may
 * lose our bit. That is why the reason is looked at, and all of it repeated. The memory has rights as long as
 * that was not kicked, which happens only to a process that is dying, under kernel.mu. */
bool abi_resident_poke(abi_resident *r, uint32_t reason) {
  abi_machine *m = r->m;
  if (!r->calling || !m->has_words || m->p == NULL || abi_root(m)->dying) return true;
  uint8_t *base = eng_memory(m->instance);
  _Atomic uint32_t *word = (_Atomic uint32_t *)(void *)(base + m->words.reason);
  if (r->poked && atomic_load(word) == 0) return true;
  r->poked = true;
  atomic_store(word, reason);
  abi_stop_words_trip(m->instance, &m->words);
  const k_siginfo info = { .signo = (int32_t)m->words.signal, .code = K_SI_KERNEL };
  (void)!k_signal_send_to(&abi_root(m)->leader, &info); /* the exception is its */
  return false;
}
