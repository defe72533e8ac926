/* linear_stack.c - the stack of a C program, at the beginning of its linear memory, takes memory as it grows.
 *
 *   0                           closed            stack pointer      module->stack
 *   | read                      | read and write              | static data, heap ...
 *
 * A program is linked with a stack of megabytes and uses a hundred kilobytes. What lies below `closed` can be read,
 * as zeros of which the host holds nothing, and not written: the guest's first store there faults, and rescue.c opens the
 * memory down to it, twice as much as before at least. on_stack is told, so the account has every byte that the guest can
 * make its own. The closed part has no contents: a stack has none below its pointer. So images and forks leave it out.
 *
 * The first page is where null pointers point, and where a stack that is used up ends: no store of the guest opens it. Loads
 * give zero, as those of musl's syscall() and fcntl() need: a function with variable arguments that was given none reads
 * them there (BasicCABI).
 *
 * A kick by page protection (stop.c) takes all rights at any moment. Either it comes later than the opening here and
 * undoes it, or its flag is seen afterwards and the memory is taken again.
 *
 * The host's own accesses go through eng_memory_at, which opens first: system calls of the machine do not fault,
 * they fail. */
#include "base/error.h"
#include "engine/image_inner.h"

#include <errno.h>
#include <sys/mman.h>

enum { LINEAR_FIRST = 128 << 10 /* below the stack pointer at the beginning */ };

uint64_t eng_linear_closed(const eng_module *m, uint32_t sp) {
  uint64_t page = sp & ~(uint64_t)(MEM_PAGE - 1);
  return sp <= m->stack && m->stack <= m->memory_min && page > 2 * LINEAR_FIRST ? page - LINEAR_FIRST : 0;
}

uint64_t eng_module_stack(const eng_module *m) { return m->stack; }
uint64_t eng_module_stack_closed(const eng_module *m) { return eng_linear_closed(m, (uint32_t)m->stack); }

cay_status eng_linear_begin(eng_instance *i, uint64_t closed, cay_error *err) {
  i->grows_stack = i->on_stack != NULL;
  if (closed == 0 || !i->grows_stack) return CAY_OK;
  if (mprotect(i->head.base, closed, PROT_READ) != 0) return err_errno(err, errno, "closing a stack");
  i->head.closed = closed;
  return CAY_OK;
}

/* ---- growing ---- */

/* Down to the page of `address`, and as much as is open already; the first page only if it is asked for. */
static uint64_t linear_target(const eng_instance *i, uint64_t address) {
  uint64_t closed = i->head.closed, used = i->module->stack - closed;
  uint64_t page = address & ~(uint64_t)(MEM_PAGE - 1),
           twice = closed > used + MEM_PAGE ? closed - used : MEM_PAGE;
  return page < twice ? page : twice;
}

static bool linear_open(eng_instance *i, uint64_t address) {
  uint64_t to = linear_target(i, address), more = i->head.closed - to;
  if (mprotect(i->head.base + to, more, PROT_READ | PROT_WRITE) != 0) return false;
  i->head.closed = to;
  i->linear_more += more;
  eng_stack_tell(i, more);
  return true;
}

bool eng_stack_touch(eng_instance *i, uint32_t addr) {
  return addr >= i->head.closed || linear_open(i, addr);
}

bool eng_linear_grew(eng_instance *i, const uint8_t *address, const uint8_t *pc) {
  if (i == NULL || address < i->head.base || address >= i->head.base + i->head.closed) return false;
  bool compiled = pc >= i->module->code && pc < i->module->code_end;
  if (compiled && eng_stop_took_memory(i)) return false;
  if (compiled && address < i->head.base + MEM_PAGE) return false;
  if (!linear_open(i, (uint64_t)(address - i->head.base))) return false;
  if (compiled) eng_stop_take_again(i);
  return true;
}

/* ---- giving back ---- */

static void linear_gave(eng_instance *i, uint64_t less) {
  if (less > i->linear_more) less = i->linear_more; /* the rest was counted with the memory as a whole */
  i->linear_more -= less;
  if (less > 0 && i->on_stack != NULL) (void)i->on_stack(i->head.ctx, -(int64_t)less);
}

cay_status eng_linear_close(eng_instance *i, uint64_t closed, cay_error *err) {
  uint64_t less = closed - i->head.closed;
  if (closed <= i->head.closed || !i->grows_stack) return CAY_OK;
  uint8_t *from = i->head.base + i->head.closed;
  eng_pages_drop(i->watched ? i->module->engine : NULL, from, less);
  if (mprotect(from, less, PROT_READ) != 0) return err_errno(err, errno, "closing a stack");
  i->head.closed = closed;
  linear_gave(i, less);
  return CAY_OK;
}

cay_status eng_linear_trim(eng_instance *i, cay_error *err) {
  eng_global sp;
  if (i->linear_more == 0 || !eng_global_find(i, "__stack_pointer", &sp) || sp.type != 'i') return CAY_OK;
  return eng_linear_close(i, eng_linear_closed(i->module, eng_global_get(i, &sp).u32), err);
}

void eng_stack_settle(eng_instance *i, bool last) {
  linear_gave(i, i->linear_more);
  if (last) i->on_stack = NULL;
}
