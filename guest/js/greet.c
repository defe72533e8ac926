/* GREET: what a copy of an image must learn before anything runs in it. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "driver.h"
#include "engine.h"

enum { VARIABLES_MAX = 1024 };

extern char **environ;

typedef struct {
  const char *data; /* NAME=value, not ended */
  size_t len;
} variable;

static bool is_entry(const variable *v) {
  const char *sign = memchr(v->data, '=', v->len);
  return sign && sign != v->data && !memchr(v->data, 0, v->len);
}

/* One block: the vector, and the strings after it. */
static void set_environment(const variable *variables, size_t count) {
  size_t len = (count + 1) * sizeof(char *), used = 0;
  for (size_t i = 0; i < count; i++) len += variables[i].len + 1;
  char **vector = malloc(len), *at = vector ? (char *)(vector + count + 1) : NULL;
  if (!vector) return;
  for (size_t i = 0; i < count; i++) {
    if (!is_entry(&variables[i])) continue;
    vector[used++] = memcpy(at, variables[i].data, variables[i].len);
    at[variables[i].len] = 0;
    at += variables[i].len + 1;
  }
  vector[used] = NULL;
  environ = vector; /* setenv(3) copies the strings it changes */
}

void greet_reseed(const char *seed, size_t len) {
  uint64_t number = 0;
  if (len >= sizeof number)
    memcpy(&number, seed, sizeof number);
  else
    (void)!getrandom(&number, sizeof number, 0);
  engine_seed(js, number);
}

int greet(fields *request) {
  variable variables[VARIABLES_MAX];
  size_t count = 0;
  field f, seed = { .data = "" };
  while (fields_next(request, &f)) {
    if (f.tag == TALK_SEED)
      seed = f;
    else if (f.tag == TALK_ENV && count < VARIABLES_MAX)
      variables[count++] = (variable){ f.data, f.len };
  }
  if (count) set_environment(variables, count);
  greet_reseed(seed.data, seed.len);
  JSValue done = runtime_call("greet", 0, NULL);
  if (JS_IsException(done)) return -1;
  JS_FreeValue(js, done);
  return 0;
}
