/* check.h - one thing that `cay doctor` looks at. */
#pragma once

#include <cay/cay.h>

typedef enum check_level {
  CHECK_OK,
  CHECK_NOTE, /* cay works without it */
  CHECK_FAIL, /* something a user needs does not work */
} check_level;

typedef struct check {
  const char *name;
  check_level level;
  char text[256];   /* the finding */
  char advice[256]; /* what to do; "": nothing */
} check;

typedef void check_fn(check *c);

/* The verdict of a check, and after a failure or note what to do. */
void check_says(check *c, check_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
void check_advises(check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The kernel and this account (check_host.c). */
check_fn check_openat2, check_memfd, check_address_space, check_mappings, check_open_files;
check_fn check_landlock, check_seccomp, check_namespaces;

/* The installation (check_engine.c). */
check_fn check_cache, check_guests, check_run;
