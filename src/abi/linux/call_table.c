/* call_table.c - the table of system calls: from a number to a handler (syscalls.def). */
#include "abi/linux/life.h"

/* The numbers of Linux as they are, ours behind them. */
enum { LINUX_END = 467, OURS_FIRST = 2001, OURS_END = 2010 };
#define SLOT(number) ((number) < LINUX_END ? (number) : (number) - OURS_FIRST + LINUX_END)

#define SYSCALL(number, name, handler, format, level, caveat)                                                \
  [SLOT(number)] = { handler, #name, format, number, ABI_##level },
const abi_row abi_rows[] = {
#include "abi/linux/syscalls.def"
};
#undef SYSCALL
const size_t abi_row_count = COUNT_OF(abi_rows);
_Static_assert(COUNT_OF(abi_rows) == LINUX_END + OURS_END - OURS_FIRST, "numbers beyond the table");

const abi_row *abi_row_of(int32_t number) {
  if (number >= OURS_FIRST && number < OURS_END)
    number = SLOT(number);
  else if (number < 0 || number >= LINUX_END)
    return NULL;
  return abi_rows[number].fn != NULL ? &abi_rows[number] : NULL;
}

k_ret answer_0(abi_machine *m, const uint32_t a[static 6]) { return (void)m, (void)a, 0; }
k_ret answer_ENOSYS(abi_machine *m, const uint32_t a[static 6]) { return (void)m, (void)a, -K_ENOSYS; }
k_ret answer_EPERM(abi_machine *m, const uint32_t a[static 6]) { return (void)m, (void)a, -K_EPERM; }
k_ret answer_EINVAL(abi_machine *m, const uint32_t a[static 6]) { return (void)m, (void)a, -K_EINVAL; }
k_ret answer_EINTR(abi_machine *m, const uint32_t a[static 6]) { return (void)m, (void)a, -K_EINTR; }
k_ret answer_EOPNOTSUPP(abi_machine *m, const uint32_t a[static 6]) {
  return (void)m, (void)a, -K_EOPNOTSUPP;
}
