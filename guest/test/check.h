/* check.h - the least that a test of the libc needs: say what failed, go on, and tell by the exit status. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int check_failures;

#define CHECK(fact)                                                                                          \
  ((fact) ? (void)0                                                                                          \
          : (void)(check_failures++,                                                                         \
                   printf("%s:%d: not so: %s (errno %s)\n", __FILE__, __LINE__, #fact, strerror(errno))))

#define CHECKED() (check_failures ? 1 : (puts("ok"), 0))

#endif
