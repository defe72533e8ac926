/* say.c - messages on standard error, each in one write, and the known word nearest to a misspelled one
 * (say.h). */
#include "cli/say.h"

#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD_MAX = 40 };

bool say_write(int fd, const void *text, size_t len) {
  const char *at = text;
  while (len > 0) {
    ssize_t n = write(fd, at, len);
    if (n >= 0) {
      at += n;
      len -= (size_t)n;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      (void)poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

static void line(const char *prefix, const char *format, va_list arguments) {
  char *text = NULL, *whole = NULL;
  if (vasprintf(&text, format, arguments) < 0) return;
  text_clean(text, true); /* what a guest named must not drive the terminal */
  int len = asprintf(&whole, "%s%s\n", prefix, text);
  free(text);
  if (len < 0) return;
  (void)say_write(STDERR_FILENO, whole, (size_t)len);
  free(whole);
}

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  line("cay: ", format, arguments);
  va_end(arguments);
}

void say_hint(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  line("  ", format, arguments);
  va_end(arguments);
}

static size_t say_least(size_t a, size_t b, size_t c) {
  size_t two = a < b ? a : b;
  return two < c ? two : c;
}

/* Levenshtein's distance, one row at a time. */
static size_t distance(const char *a, const char *b) {
  size_t row[WORD_MAX + 1], columns = strlen(b);
  for (size_t i = 0; i <= columns; i++) row[i] = i;
  for (size_t r = 1; a[r - 1] != '\0'; r++) {
    size_t diagonal = row[0];
    row[0] = r;
    for (size_t c = 1; c <= columns; c++) {
      size_t above = row[c];
      row[c] = say_least(above + 1, row[c - 1] + 1, diagonal + (a[r - 1] != b[c - 1]));
      diagonal = above;
    }
  }
  return row[columns];
}

/* The first letter is seldom the wrong one: among words of the same distance, one that begins alike is nearer. */
const char *say_nearest(const char *word, const char *const *candidates) {
  const char *best = NULL;
  size_t best_cost = 2 * 3;
  for (; *candidates != NULL; candidates++) {
    if (strlen(*candidates) > WORD_MAX) continue;
    size_t d = distance(word, *candidates), cost = 2 * d + (word[0] != **candidates);
    if (cost >= best_cost || 2 * d >= strlen(*candidates)) continue; /* of a short word, one letter */
    best = *candidates;
    best_cost = cost;
  }
  return best;
}
