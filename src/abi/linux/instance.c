/* instance.c - making the instance of a program, its memory account, and what a kick does to it. */
#include "abi/linux/life.h"
#include "base/error.h"
#include "base/stack.h"
#include "engine/image.h"
#include "engine/pool.h"
#include "engine/stop.h"

enum {
  RED_ZONE = 128,      /* below the stack pointer leaf functions keep data */
  TABLE_MAX = 1 << 17, /* elements */
};

/* ---- the memory account: linear memory, and what an instance holds beside it ---- */

/* What the machine needs for an instance of `module` beside its linear memory, with the part of a stack that its thread
 * has from the beginning. */
static uint64_t beside(const eng_module *module) {
  return eng_module_beside(module, TABLE_MAX) + STACK_FIRST;
}

/* For the linear memory of an instance of `module`, with the part of its stack that is not there yet. */
static uint64_t memory_left(abi_machine *m, const eng_module *module) {
  k_kernel *k = m->kernel;
  k_lock(k);
  uint64_t used = k_memory_used(k) - m->charged; /* its own is given back when it gets another memory */
  used += beside(module);
  uint64_t left = k->limits.memory > used ? k->limits.memory - used : 0;
  k_unlock(k);
  return left + eng_module_stack_closed(module);
}

/* With kernel.mu. */
K_LOCKED static k_ret charge(abi_machine *m, uint64_t want) {
  k_process *root = abi_root(m);
  if (want > m->charged)
    K_TRY(k_memory_charge(m->kernel, want - m->charged));
  else
    k_memory_uncharge(m->kernel, m->charged - want);
  root->memory += want - m->charged;
  m->charged = want;
  return 0;
}

/* A program of our C library asks for memory and needs no cap but that of its exceptions. One that grows its memory
 * itself is charged in advance, for a quarter of the memory that the sandbox has left, so that several of them cannot
 * go beyond the limit together; it could fill as much again with exceptions. */
static uint64_t cap_of(const abi_machine *m, uint64_t used, uint64_t len, bool throws) {
  uint64_t limit = m->kernel->limits.memory, left = limit > used ? limit - used : 0;
  if (!m->grows_itself) return len < ENG_EXCEPTION_HEAP ? len : ENG_EXCEPTION_HEAP;
  return len + left / (throws ? 8 : 4) / ENG_PAGE * ENG_PAGE;
}

k_ret abi_memory_settle(abi_machine *m) {
  const eng_module *module = eng_instance_module(m->instance);
  bool throws = eng_module_throws(module);
  eng_stack_settle(m->instance, false); /* from now on it is part of the memory */
  uint64_t len = eng_memory_len(m->instance), closed = eng_stack_closed(m->instance), extra = beside(module);
  uint64_t mine = m->leader == m ? len - closed : 0;
  k_lock(m->kernel);
  uint64_t others = k_memory_used(m->kernel) - m->charged;
  uint64_t cap = cap_of(m, others + extra + (throws ? 2 * len : len) - closed, len, throws);
  k_ret r = charge(m, (m->grows_itself ? cap - closed : mine) + extra + (throws ? cap : 0));
  k_unlock(m->kernel);
  if (r >= 0) eng_memory_set_max(m->instance, m->cap = cap);
  return r;
}

/* Before an instance is made, so that many of them at once do not hold what only one may. */
static cay_status admit(abi_machine *m, const eng_module *module, cay_error *err) {
  uint64_t extra = beside(module);
  k_lock(m->kernel);
  k_ret r = m->charged < extra ? charge(m, extra) : 0;
  k_unlock(m->kernel);
  return r < 0 ? err_set(err, CAY_LIMIT, "the memory limit of the sandbox is reached") : CAY_OK;
}

K_LOCKED static k_ret charge_more(abi_machine *m, uint64_t len, uint64_t more) {
  if (len + more > m->p->rlimits[K_RLIMIT_AS].soft) return -K_ENOMEM;
  return charge(m, m->charged + more);
}

k_ret sys_cay_memgrow(abi_machine *m, const uint32_t a[static 6]) {
  uint64_t len = eng_memory_len(m->instance), more = (uint64_t)a[0] * ENG_PAGE;
  uint32_t old = 0;
  if (m->grows_itself) return -K_ENOSYS;
  if (more == 0) return (k_ret)(len / ENG_PAGE);
  K_TRY(ABI_LOCKED(m, charge_more(m->leader, len, more)));
  eng_memory_set_max(m->instance, len + more);
  cay_status grown = eng_memory_grow(m->instance, a[0], &old, NULL);
  eng_memory_set_max(m->instance, m->cap);
  if (grown == CAY_OK) return old;
  (void)!ABI_LOCKED(m, charge(m->leader, m->leader->charged - more)); /* giving back does not fail */
  return -K_ENOMEM;
}

/* ---- making ---- */

static bool is_counting(const abi_machine *m) {
  return eng_module_stop(eng_instance_module(m->instance)) == ENG_STOP_FUEL;
}

/* What the machine needs of the module, by name. */
static cay_status bind(abi_machine *m, cay_error *err) {
  eng_instance *i = m->instance;
  eng_global pending;
  m->pending_addr = 0;
  m->grows_itself = true;
  if (!eng_func_find(i, "_start", ":", &m->start)) return err_set(err, CAY_INVALID, "it exports no _start");
  if (m->is_thread && !eng_func_find(i, "__cay_thread", "iii:", &m->start))
    return err_set(err, CAY_INVALID, "it exports no __cay_thread");
  if (eng_global_find(i, "__cay_sigpending", &pending) && pending.type == 'i') {
    m->grows_itself = false;
    m->pending_addr = eng_global_get(i, &pending).u32;
    if (m->pending_addr < eng_module_stack_closed(eng_instance_module(i)) ||
        eng_memory_at(i, m->pending_addr, sizeof(int32_t)) == NULL)
      m->pending_addr = 0;
  }
  m->stack_pointer =
      (eng_global){ 0 }; /* that of the program before, in another store, ends the host's process */
  bool stack = eng_global_find(i, "__stack_pointer", &m->stack_pointer) && m->stack_pointer.type == 'i' &&
               m->stack_pointer.is_mutable;
  bool delivers = stack && eng_func_find(i, "__cay_deliver", ":", &m->deliver);
  if (delivers && eng_memory_is_shared(i))
    m->grows_itself = false; /* each thread has a flag, and says where */
  m->can_deliver = delivers && (m->pending_addr != 0 || eng_memory_is_shared(i));
  m->can_fork = eng_func_find(i, "asyncify_start_unwind", "i:", &m->start_unwind) &&
                eng_func_find(i, "asyncify_stop_unwind", ":", &m->stop_unwind) &&
                eng_func_find(i, "asyncify_start_rewind", "i:", &m->start_rewind) &&
                eng_func_find(i, "asyncify_stop_rewind", ":", &m->stop_rewind);
  return CAY_OK;
}

static cay_status adopt(abi_machine *m, eng_instance *instance, cay_error *err) {
  k_lock(m->kernel);
  m->instance = instance;
  m->has_words = false;
  m->turn_words = (struct abi_turn_words){ 0 };
  k_unlock(m->kernel);
  S_TRY(bind(m, err));
  m->fuel_given = m->fuel != NULL && is_counting(m) ? *m->fuel : 0;
  eng_fuel_set(instance, m->fuel_given);
  m->odd = abi_is_odd(m);
  if (abi_memory_settle(m) < 0) return err_set(err, CAY_LIMIT, "the memory limit of the sandbox is reached");
  return CAY_OK;
}

/* In a handler of signals, too. */
static bool stack_took(void *ctx, int64_t more) {
  const abi_machine *m = ctx;
  return k_memory_stack(m->kernel, more);
}

static eng_instance_options options_for(abi_machine *m, uint64_t memory_max) {
  return (eng_instance_options){ .ctx = m,
                                 .on_kick = abi_on_kick,
                                 .on_stack = stack_took,
                                 .memory_max = memory_max > 0 ? memory_max : 1,
                                 .table_max = TABLE_MAX,
                                 .fuel = UINT64_MAX };
}

/* A program with a boot image begins as that, in cay_main; unless its fuel is counted, which the image's code
 * does not do. */
static eng_image *boot_of(const abi_machine *m) {
  return m->fuel == NULL ? m->p->program->image->boot : NULL;
}

/* `image` NULL: from the module. */
static cay_status make(abi_machine *m, eng_module *module, eng_image *image,
                       const eng_instance_options *options, eng_instance **out, cay_error *err) {
  if (image == NULL) return eng_instance_new(module, options, out, err);
  *out = eng_pool_take(m->runner->options.spares, image, options);
  return *out != NULL ? CAY_OK : eng_instance_from_image(image, options, out, err);
}

/* Of a program with threads that begins as a memory image: it has run as another process. */
static cay_status begin_again(abi_machine *m, cay_error *err) {
  eng_func again;
  eng_val values[2] = { { .i32 = m->t->tid } };
  if (!eng_memory_is_shared(m->instance)) return CAY_OK;
  if (!eng_func_find(m->instance, "__cay_again", "i:i", &again))
    return err_set(err, CAY_INVALID, "it exports no __cay_again");
  if (eng_call(m->instance, &again, values) != ENG_RETURNED) return CAY_OK; /* it is being ended */
  uint32_t flag = values[0].u32;
  bool is_word = flag % sizeof(int32_t) == 0 && eng_memory_at(m->instance, flag, sizeof(int32_t)) != NULL;
  m->pending_addr = is_word ? flag : 0;
  return CAY_OK;
}

static void find_words(abi_machine *m) {
  eng_func words;
  eng_val values[2] = { 0 };
  eng_instance *i = m->instance;
  if (!eng_func_find(i, "cay_stop_words", ":i", &words) || eng_call(i, &words, values) != ENG_RETURNED)
    return;
  k_lock(m->kernel);
  m->has_words = abi_stop_words_read(i, values[0].u32, &m->words);
  k_unlock(m->kernel);
}

/* RLIMIT_STACK of a program is the stack that it was linked with: it stands first in its memory. A boot image has used
 * a little of it. */
static void tell_stack(abi_machine *m) {
  if (m->stack_pointer.type != 'i') return;
  uint64_t len = (eng_global_get(m->instance, &m->stack_pointer).u32 + ENG_PAGE - 1) / ENG_PAGE * ENG_PAGE;
  k_lock(m->kernel);
  k_rlimit *limit = &m->p->rlimits[K_RLIMIT_STACK];
  limit->soft = len < limit->hard ? len : limit->hard;
  k_unlock(m->kernel);
}

static cay_status begin(abi_machine *m, eng_module *module, eng_image *boot, cay_error *err) {
  S_TRY(admit(m, module, err));
  eng_instance_options options = options_for(m, memory_left(m, module));
  eng_instance *instance = NULL;
  S_TRY(make(m, module, boot, &options, &instance, err));
  S_TRY(adopt(m, instance, err));
  tell_stack(m);
  if (boot != NULL && !eng_func_find(instance, "cay_main", ":i", &m->start))
    return err_set(err, CAY_INVALID, "it exports no cay_main");
  if (boot != NULL) S_TRY(begin_again(m, err));
  if (boot != NULL) find_words(m);
  return CAY_OK;
}

static cay_status choose_module(abi_machine *m, eng_module **out, cay_error *err) {
  k_program *program = m->p->program;
  if (m->fuel != NULL)
    return abi_image_counted(program->image, m->runner, m->p, program->exe, K_FOREVER, out, err);
  *out = eng_module_ref(abi_linux_image_module(program->image));
  return CAY_OK;
}

cay_status abi_instance_make(abi_machine *m, cay_error *err) {
  OWNED(eng_module_unref) eng_module *module = NULL;
  abi_runner *runner = m->runner;
  k_lock(m->kernel);
  m->fuel = runner->options.fuel != NULL && m->p->job != NULL
                ? runner->options.fuel(runner->options.fuel_ctx, m->p->job)
                : NULL;
  k_unlock(m->kernel);
  S_TRY(choose_module(m, &module, err));
  return begin(m, module, boot_of(m), err);
}

cay_status abi_instance_from(abi_machine *m, eng_image *image, cay_error *err) {
  eng_module *module = abi_linux_image_module(m->p->program->image);
  eng_instance_options options = options_for(m, memory_left(m, module));
  eng_instance *instance = NULL;
  S_TRY(admit(m, module, err));
  S_TRY(make(m, module, image, &options, &instance, err));
  S_TRY(adopt(m, instance, err));
  return image != NULL ? begin_again(m, err) : CAY_OK;
}

cay_status abi_instance_copy(abi_machine *parent, abi_machine *child, cay_error *err) {
  eng_instance_options options = options_for(child, eng_memory_len(parent->instance));
  eng_instance *instance = NULL;
  S_TRY(admit(child, eng_instance_module(parent->instance), err));
  S_TRY(eng_instance_fork(parent->instance, &options, &instance, err));
  child->fuel = parent->fuel;
  child->is_thread = parent->is_thread;
  memcpy(child->thread_args, parent->thread_args, sizeof child->thread_args);
  S_TRY(adopt(child, instance, err));
  if (eng_memory_is_shared(instance)) child->pending_addr = parent->pending_addr;
  return CAY_OK;
}

cay_status abi_instance_thread(abi_machine *from, abi_machine *m, cay_error *err) {
  eng_instance_options options = options_for(m, eng_memory_len(from->instance));
  eng_instance *instance = NULL;
  S_TRY(admit(m, eng_instance_module(from->instance), err));
  S_TRY(eng_instance_thread(from->instance, &options, &instance, err));
  m->fuel = from->fuel;
  return adopt(m, instance, err);
}

static eng_instance *instance_take(abi_machine *m) {
  k_lock(m->kernel);
  eng_instance *instance = m->instance;
  m->instance = NULL;
  m->has_words = false;
  k_unlock(m->kernel);
  if (instance != NULL) eng_stack_settle(instance, true);
  return instance;
}

void abi_instance_park(abi_machine *m) { eng_instance_free(instance_take(m)); }

void abi_instance_drop(abi_machine *m) {
  eng_pool_give(m->runner->options.spares, instance_take(m));
  k_lock(m->kernel);
  (void)!charge(m, 0); /* giving back does not fail */
  k_unlock(m->kernel);
}

/* ---- fuel ---- */

void abi_fuel_settle(abi_machine *m) {
  uint64_t left = eng_fuel_left(m->instance);
  uint64_t used = m->fuel_given > left ? m->fuel_given - left : 0;
  uint64_t before = atomic_load(m->fuel), after;
  do {
    after = before > used ? before - used : 0;
  } while (!atomic_compare_exchange_weak(m->fuel, &before, after));
  m->fuel_given = after;
  eng_fuel_set(m->instance, after);
  if (after > 0) return;
  k_lock(m->kernel);
  k_job_kill(m->p->job, K_JOB_FUEL);
  k_unlock(m->kernel);
}

/* ---- kicks ---- */

/* Runs the guest's handlers at a loop edge, below what its leaf functions keep under the stack pointer. */
static enum eng_flow deliver(abi_machine *m) {
  eng_val stack = eng_global_get(m->instance, &m->stack_pointer), lower = stack;
  if (stack.u32 < RED_ZONE) return ENG_CONTINUE; /* overflows soon anyway; the next call delivers */
  lower.u32 -= RED_ZONE;
  eng_global_set(m->instance, &m->stack_pointer, lower);
  m->nested++;
  eng_val none = { 0 };
  enum eng_end end = eng_call(m->instance, &m->deliver, &none);
  m->nested--;
  switch (end) {
  case ENG_RETURNED: eng_global_set(m->instance, &m->stack_pointer, stack); return ENG_CONTINUE;
  case ENG_THREW: return ENG_THROW; /* a longjmp out of the handler: who catches it sets the pointer */
  case ENG_TRAPPED: abi_trapped(m); return ENG_UNWIND;
  case ENG_LEFT: break;
  }
  return ENG_UNWIND;
}

static bool is_ending(const abi_machine *m) {
  k_lock(m->kernel);
  bool ending = abi_root(m)->dying;
  k_unlock(m->kernel);
  return ending;
}

enum eng_flow abi_on_kick(eng_instance *instance, void *ctx) {
  abi_machine *m = ctx;
  if (eng_stack_is_over(instance)) {
    abi_die(m, K_SIGSEGV, "stack overflow: the sandbox has no memory left for a recursion as deep as this");
    return ENG_UNWIND;
  }
  /* Half unwound there is nothing to interrupt; it is looked at again when that is over. But a program that
   * does something else instead must still be ended. */
  if (abi_in_fork(m)) return is_ending(m) ? ENG_UNWIND : ENG_CONTINUE;
  if (abi_attend(m) == ENG_UNWIND) return ENG_UNWIND;
  if (!m->handler_waits || !m->can_deliver || m->nested == ABI_NESTED_MAX) return ENG_CONTINUE;
  return deliver(m);
}
