/* rescue.c - faults that are neither the guest's nor an error: memory that stop.c took away, and stacks that grow.
 *
 * Wasmtime turns a fault of guest code into a trap. Its runtime functions for memory.copy and memory.fill are
 * native code and a fault there would end the process. When the cause is that stop.c took the memory away,
 * this handler gives
 * a piece back and the function goes on, piece by piece. The rest stays away, so the guest still traps when
 * it computes again.
 *
 * A signal handler can know its instance only by a thread-local variable, and the handler it replaced only by
 * a static: these are the two exceptions to "no state of the process". */
#include "base/stack.h"
#include "engine/internal.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PIECE = ENG_PAGE }; /* divides every length of a memory */

static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local __attribute__((tls_model("initial-exec"))) eng_instance *running;

eng_instance *eng_rescue_swap(eng_instance *now) {
  eng_instance *last = running;
  running = now;
  return last;
}

static const uint8_t *program_counter(const void *context) {
  const ucontext_t *u = context;
#if defined(__x86_64__)
  return (const uint8_t *)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (const uint8_t *)u->uc_mcontext.pc;
#else
#error "where does this processor keep the program counter?"
#endif
}

/* Native code, on memory that we took away. In guest code the same fault is wasmtime's to handle. */
static bool rescue_is_ours(const eng_instance *i, const uint8_t *address, const uint8_t *pc) {
  if (i == NULL || i->module->stop != ENG_STOP_PROTECT || !atomic_load(&i->stop.kicked)) return false;
  if (atomic_load(&i->stop.where) != IN_GUEST) return false;
  if (pc >= i->module->code && pc < i->module->code_end) return false;
  uint64_t len = i->shared != NULL ? wasmtime_sharedmemory_data_size(i->shared->memory)
                                   : wasmtime_memory_data_size(i->cx, &i->memory);
  return address >= i->head.base && address < i->head.base + len;
}

static void pass_on(int number, siginfo_t *info, void *context) {
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    (void)sigaction(number, &before, NULL); /* the instruction faults again, and then no handler takes it */
  } else {
    before.sa_handler(number);
  }
}

/* ---- the stack ---- */

void eng_stack_tell(eng_instance *i, size_t more) {
  if (i->on_stack == NULL || i->on_stack(i->head.ctx, (int64_t)more)) return;
  if (!atomic_exchange(&i->stack_over, true)) eng_stop_now(i);
}

void eng_stack_took(eng_instance *i, size_t more) {
  if (i == NULL || i->on_stack == NULL) return;
  i->stack_more += (int64_t)more;
  eng_stack_tell(i, more);
}

void eng_stack_gave(eng_instance *i) {
  if (stack_current != NULL) (void)stack_trim(stack_current);
  if (i->stack_more > 0 && i->on_stack != NULL) (void)i->on_stack(i->head.ctx, -i->stack_more);
  i->stack_more = 0;
}

static bool stack_grew(eng_instance *i, const void *address) {
  size_t more = stack_current != NULL ? stack_grow(stack_current, address) : 0;
  if (more > 0) eng_stack_took(i, more);
  return more > 0;
}

static void on_fault(int number, siginfo_t *info, void *context) {
  eng_instance *i = running;
  if (stack_grew(i, info->si_addr) || eng_linear_grew(i, info->si_addr, program_counter(context))) return;
  if (!rescue_is_ours(i, info->si_addr, program_counter(context))) {
    pass_on(number, info, context);
    return;
  }
  size_t at =
      (size_t)((uint8_t *)info->si_addr - i->head.base) & ~(size_t)(PIECE - 1); /* of a multiple of PIECE */
  (void)mprotect(i->head.base + at, PIECE, PROT_READ | PROT_WRITE);
}

static void rescue_install(void) {
  struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGSEGV, NULL, &before); /* known before the first fault can ask for it */
  (void)sigaction(SIGSEGV, &action, &before);
}

void eng_rescue_install(void) { (void)pthread_once(&once, rescue_install); }
