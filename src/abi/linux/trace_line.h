/* trace_line.h - a line of the trace that is being written, and the words for numbers. Private to trace*.c. */
#pragma once

#include "base/defs.h"

/* Text that does not fit is dropped; there is always a NUL. */
struct line {
  char *text;
  size_t len, cap;
};

void abi_line_add(struct line *l, const char *format, ...) PRINTF(2, 3);

struct word {
  uint32_t bits;
  const char *name;
};

/* All words whose bits are set, then the remaining bits; 0: "0". */
void abi_line_bits(struct line *l, uint32_t value, const struct word *words, size_t count);
/* The one word with that value, or the number. */
void abi_line_word(struct line *l, uint32_t value, const struct word *words, size_t count);

void abi_line_open_flags(struct line *l, uint32_t value);
void abi_line_fd_flags(struct line *l, uint32_t value);
void abi_line_access(struct line *l, uint32_t value);
void abi_line_access_flags(struct line *l, uint32_t value);
void abi_line_how(struct line *l, uint32_t value);
void abi_line_at_flags(struct line *l, uint32_t value);
void abi_line_signal(struct line *l, uint32_t value);
void abi_line_fcntl(struct line *l, uint32_t value);
void abi_line_ioctl(struct line *l, uint32_t value);
void abi_line_clock(struct line *l, uint32_t value);
void abi_line_whence(struct line *l, uint32_t value);
