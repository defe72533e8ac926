/* say.h - what the command line tells a person, on standard error.
 *
 * A message says what failed, why, and if it is not obvious what to do: the last on a line of its own that
 * starts with two blanks. Each call is one write, so that lines of several threads stay whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SAY_PRINTF(text, rest) __attribute__((format(printf, text, rest)))

/* "cay: " before the text and a line end behind it. */
void say(const char *format, ...) SAY_PRINTF(1, 2);

/* Only indented: the line below a message, telling what to do. */
void say_hint(const char *format, ...) SAY_PRINTF(1, 2);

/* Every byte of `text` to `fd`; false with errno when that fails. Waits where the descriptor does not block. */
bool say_write(int fd, const void *text, size_t len);

/* The candidate that `word` was probably meant to be, or NULL. The list ends with NULL. */
const char *say_nearest(const char *word, const char *const *candidates);
