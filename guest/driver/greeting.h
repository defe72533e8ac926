/* greeting.h - the request GREET: the environment and the seed of a process that is a copy of an image. */
#pragma once

#include "fields.h"

enum { GREETING_VARIABLES_MAX = 1024 };

typedef struct {
  const char *data; /* NAME=value, not ended */
  size_t len;
} variable;

typedef struct {
  field seed; /* `data` is never NULL */
  variable variables[GREETING_VARIABLES_MAX];
  size_t count;
} greeting;

void greeting_read(fields *request, greeting *out);

/* Whether this is a name, a sign and a value. */
bool variable_is_entry(const char *data, size_t len);

/* These become the environment of the libc; entries that are none are left out. -1: no memory, and nothing has
 * changed. */
int variables_set(const variable *variables, size_t count);
