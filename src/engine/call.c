/* Entering and leaving the guest. What must be cheap here: a call that returns, and a host call that
 * continues. */
#include "base/stack.h"
#include "engine/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- functions ---- */

static wasmtime_func_t *func_of(eng_func *f) { return (wasmtime_func_t *)(void *)f->opaque; }

static size_t values_of(const char *type) {
  size_t params = strcspn(type, ":"), results = strlen(type) - params - 1;
  return params > results ? params : results;
}

bool eng_func_find(eng_instance *i, const char *name, const char *type, eng_func *out) {
  const struct export *e = eng_export_find(i->module, name, ENG_KIND_FUNC);
  wasmtime_extern_t item;
  if (e == NULL || strcmp(e->type, type) != 0 || strchr(type, '?') != NULL ||
      !wasmtime_instance_export_get(i->cx, &i->wasm, e->name, e->len, &item))
    return false;
  *out = (eng_func){ .values = values_of(type) };
  *func_of(out) = item.of.func;
  return true;
}

bool eng_table_type(eng_instance *i, uint32_t index, char *out, size_t cap) {
  const struct export *e = eng_export_find(i->module, "__indirect_function_table", ENG_KIND_TABLE);
  wasmtime_extern_t item;
  wasmtime_val_t value;
  if (e == NULL || e->type[0] != 'f' ||
      !wasmtime_instance_export_get(i->cx, &i->wasm, e->name, e->len, &item) ||
      !wasmtime_table_get(i->cx, &item.of.table, index, &value) || value.kind != WASMTIME_FUNCREF ||
      wasmtime_funcref_is_null(&value.of.funcref))
    return false;
  wasm_functype_t *type = wasmtime_func_type(i->cx, &value.of.funcref);
  eng_function_text(type, out, cap);
  wasm_functype_delete(type);
  return true;
}

/* ---- how a call ended ---- */

void eng_drop_trap(eng_instance *i) {
  if (i->trap != NULL) wasm_trap_delete(i->trap);
  if (i->error != NULL) wasmtime_error_delete(i->error);
  i->trap = NULL;
  i->error = NULL;
}

/* A pending exception that is not thrown on would be thrown by the next one to raise
 * anything. */
static void drop_exception(eng_instance *i) {
  wasmtime_exnref_t exception;
  if (wasmtime_context_take_exception(i->cx, &exception)) wasmtime_exnref_unroot(&exception);
}

/* The load or store that hit the memory we had taken away. */
static bool was_stopped(const eng_instance *i) {
  return i->module->stop == ENG_STOP_PROTECT && i->kind == ENG_TRAP_MEMORY && atomic_load(&i->stop.kicked);
}

static enum eng_end end_of(eng_instance *i, wasmtime_error_t *error, wasm_trap_t *trap) {
  i->error = error;
  i->trap = trap;
  i->kind = ENG_TRAP_OTHER;
  if (i->unwinding) {
    i->unwinding = false;
    eng_drop_trap(i);
    drop_exception(i);
    return ENG_LEFT;
  }
  if (trap == NULL) return ENG_TRAPPED;
  if (wasmtime_context_has_exception(i->cx)) {
    i->kind = ENG_TRAP_EXCEPTION;
    if (i->depth > 0) return ENG_THREW;
    drop_exception(i);
    return ENG_TRAPPED;
  }
  i->kind = eng_kind_of(trap);
  if (!was_stopped(i)) return ENG_TRAPPED;
  (void)eng_stop_answer(i);
  eng_drop_trap(i);
  return ENG_LEFT;
}

enum eng_end eng_call(eng_instance *i, const eng_func *func, eng_val *values) {
  eng_func f = *func;
  if (__builtin_expect(i->asleep, 0)) eng_wake(i);
  if (i->trap != NULL || i->error != NULL) {
    eng_drop_trap(i);
    drop_exception(i);
  }
  if (eng_stop_enter_guest(i)) {
    (void)eng_stop_answer(i);
    return ENG_LEFT;
  }
  eng_instance *before = eng_rescue_swap(i);
  if (i->depth++ == 0) atomic_store_explicit(&i->stop.rearmed, false, memory_order_relaxed);
  if (i->depth == 1) atomic_store_explicit(&i->stack_over, false, memory_order_relaxed);
  wasm_trap_t *trap = NULL;
  wasmtime_error_t *error =
      wasmtime_func_call_unchecked(i->cx, func_of(&f), (wasmtime_val_raw_t *)values, f.values, &trap);
  i->depth--;
  (void)eng_rescue_swap(before);
  (void)eng_stop_enter_host(i);
  if (before == NULL && (i->stack_more > 0 || stack_is_long())) eng_stack_gave(i);
  if (__builtin_expect(error == NULL && trap == NULL, 1)) return ENG_RETURNED;
  return end_of(i, error, trap);
}

/* ---- from the guest into the host ---- */

static wasm_trap_t *unwind(eng_instance *i) {
  i->unwinding = true;
  return wasmtime_trap_new_code(WASMTIME_TRAP_CODE_INTERRUPT);
}

wasm_trap_t *eng_settle(eng_instance *i, enum eng_flow flow) {
  if (flow == ENG_THROW && i->trap != NULL && i->kind == ENG_TRAP_EXCEPTION) return MOVE(i->trap);
  if (i->trap != NULL || i->error != NULL) { /* a nested call failed, and that was dealt with */
    eng_drop_trap(i);
    drop_exception(i);
  }
  return flow == ENG_CONTINUE ? NULL : unwind(i);
}

/* A kick that was found at a crossing (ENG_STOP_PROTECT): it ends the guest in any case. */
static wasm_trap_t *stopped(eng_instance *i) {
  (void)eng_stop_answer(i);
  return eng_settle(i, ENG_UNWIND);
}

/* Functions of the host need no more than this, and system calls in them cannot wait for a handler. */
static void make_room(eng_instance *i) {
  size_t more = stack_need(stack_current, ENG_HOST_STACK);
  if (__builtin_expect(more > 0, 0)) eng_stack_took(i, more);
}

wasm_trap_t *eng_host_entry(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t count) {
  (void)count;
  const eng_import *import = env;
  eng_instance *i = wasmtime_context_get_data(wasmtime_caller_context(caller));
  if (eng_stop_enter_host(i)) return stopped(i);
  make_room(i);
  enum eng_flow flow = import->fn(i, i->head.ctx, (eng_val *)values);
  if (__builtin_expect(flow != ENG_CONTINUE || i->trap != NULL || i->error != NULL, 0)) {
    wasm_trap_t *trap = eng_settle(i, flow);
    if (trap != NULL) return trap; /* `where` stays IN_HOST: no more guest code runs before the call ends */
  }
  if (eng_stop_enter_guest(i)) return stopped(i);
  return NULL;
}
