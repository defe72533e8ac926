#include "greeting.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

void greeting_read(fields *request, greeting *out) {
  field f;
  out->seed = (field){ .data = "" };
  out->count = 0;
  while (fields_next(request, &f)) {
    if (f.tag == TALK_SEED)
      out->seed = f;
    else if (f.tag == TALK_ENV && out->count < GREETING_VARIABLES_MAX)
      out->variables[out->count++] = (variable){ f.data, f.len };
  }
}

bool variable_is_entry(const char *data, size_t len) {
  const char *sign = memchr(data, '=', len);
  return sign && sign != data && !memchr(data, 0, len);
}

/* One block: the vector, and the strings after it. */
static char **variables_lay_out(const variable *variables, size_t count) {
  size_t len = (count + 1) * sizeof(char *), used = 0;
  for (size_t i = 0; i < count; i++) len += variables[i].len + 1;
  char **vector = malloc(len);
  char *at = vector ? (char *)(vector + count + 1) : NULL;
  for (size_t i = 0; vector && i < count; i++) {
    if (!variable_is_entry(variables[i].data, variables[i].len)) continue;
    vector[used++] = memcpy(at, variables[i].data, variables[i].len);
    at[variables[i].len] = 0;
    at += variables[i].len + 1;
  }
  if (vector) vector[used] = NULL;
  return vector;
}

int variables_set(const variable *variables, size_t count) {
  static char **own;
  char **vector = variables_lay_out(variables, count);
  if (!vector) return -1;
  environ = vector; /* setenv(3) copies the strings it changes */
  free(own);
  own = vector;
  return 0;
}
