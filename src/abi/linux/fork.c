/* fork.c - fork(2): the guest unwinds its stack into a buffer of its own (Binaryen's asyncify), its memory is
 * copied, and both wind it up again from their copy. The import `fork` is where the unwinding starts and the
 * winding up ends, so it is called twice. */
#include "abi/linux/life.h"

struct unwind_buffer {
  uint32_t cur, end;
};

/* ---- into the buffer ---- */

static k_ret check_buffer(abi_machine *m, uint32_t addr) {
  struct unwind_buffer b;
  void *all = NULL;
  if (addr % 4 != 0) return -K_EINVAL;
  K_TRY(abi_get(m->instance, addr, &b));
  if (b.cur < addr + sizeof b || b.end < b.cur) return -K_EINVAL;
  return abi_ptr(m->instance, addr, b.end - addr, &all);
}

static k_ret fork_begin(abi_machine *m, uint32_t buffer) {
  if (m->next == ABI_NEXT_FORK) { /* it goes on where it should unwind */
    abi_fork_abandon(m);
    abi_die(m, K_SIGKILL, "a fork while its stack was being unwound");
    return -K_EAGAIN;
  }
  if (!m->can_fork) return -K_ENOSYS;
  if (m->nested > 0) return -K_EAGAIN; /* frames of the host stand between the guest's */
  K_TRY(check_buffer(m, buffer));
  k_ret r = ABI_LOCKED(m, k_process_fork(m->p, &m->fork_child));
  if (r < 0) return r;
  m->fork_buffer = buffer;
  m->next = ABI_NEXT_FORK;
  m->odd = true;
  eng_val arg = { .u32 = buffer };
  if (eng_call(m->instance, &m->start_unwind, &arg) == ENG_RETURNED) return 0;
  abi_fork_abandon(m);
  return -K_ENOMEM;
}

static void trace(abi_machine *m, k_ret result) {
  static const abi_row row = { .name = "fork", .format = "" };
  const uint32_t none[6] = { 0 };
  if (m->runner->options.trace != NULL) abi_trace(m, m->p->pid, &row, 0, none, &result);
}

enum eng_flow abi_import_fork(eng_instance *instance, void *ctx, eng_val *values) {
  abi_machine *m = ctx;
  (void)instance;
  m->calls++;
  if (!m->rewinding) {
    k_ret r = fork_begin(m, values[0].u32);
    values[0].i32 = (int32_t)r;
    if (r >= 0) return ENG_CONTINUE;
    trace(m, r);
    return abi_attend(m);
  }
  m->rewinding = false;
  m->odd = abi_is_odd(m);
  eng_val none = { 0 };
  if (eng_call(m->instance, &m->stop_rewind, &none) != ENG_RETURNED) return ENG_UNWIND;
  values[0].i32 = (int32_t)m->fork_result;
  if (m->fork_result != 0) trace(m, m->fork_result);
  return abi_attend(m);
}

void abi_fork_abandon(abi_machine *m) {
  k_lock(m->kernel);
  if (m->fork_child != NULL) k_process_discard(m->fork_child);
  k_unlock(m->kernel);
  m->fork_child = NULL;
  m->rewinding = false;
  if (m->next == ABI_NEXT_FORK) m->next = ABI_NEXT_NONE;
  m->odd = abi_is_odd(m);
}

/* ---- two of them ---- */

static abi_machine *copy_machine(abi_machine *m, k_process *child) {
  abi_machine *copy = abi_machine_new(m->runner, child);
  cay_error err;
  if (copy == NULL) return NULL;
  if (abi_instance_copy(m, copy, &err) != CAY_OK) {
    abi_trace_text(m->runner, m->p->pid, "fork: %s", err.message);
    abi_instance_drop(copy);
    abi_machine_free(copy);
    return NULL;
  }
  copy->rewinding = copy->odd = true;
  copy->fork_buffer = m->fork_buffer;
  return copy;
}

/* The pid, and the child runs; or minus the error, and there is none. */
static k_ret fork_start_child(abi_machine *m, k_process *child) {
  abi_machine *copy = copy_machine(m, child);
  if (copy == NULL) return -K_ENOMEM;
  k_lock(m->kernel);
  k_ret pid = child->pid; /* once it runs it may end, and be gone */
  child->leader.machine = copy;
  k_ret r = k_process_start(child);
  if (r < 0) child->leader.machine = NULL;
  k_unlock(m->kernel);
  if (r >= 0) return pid;
  abi_instance_drop(copy);
  abi_machine_free(copy);
  return r;
}

void abi_fork_finish(abi_machine *m) {
  k_process *child = m->fork_child;
  eng_val none = { 0 };
  m->fork_child = NULL;
  m->next = ABI_NEXT_NONE;
  m->rewinding = true;
  bool unwound = eng_call(m->instance, &m->stop_unwind, &none) == ENG_RETURNED;
  m->fork_result = unwound ? fork_start_child(m, child) : -K_ENOMEM;
  if (m->fork_result >= 0) return;
  k_lock(m->kernel);
  k_process_discard(child);
  k_unlock(m->kernel);
}

bool abi_rewind(abi_machine *m) {
  eng_val arg = { .u32 = m->fork_buffer };
  if (eng_call(m->instance, &m->start_rewind, &arg) == ENG_RETURNED) return true;
  m->rewinding = false;
  if (m->next == ABI_NEXT_NONE) abi_trapped(m);
  return false;
}
