/* GREET: what a copy of an image must learn before anything runs in it. */
#include <string.h>
#include <sys/random.h>

#include "driver.h"
#include "engine.h"
#include "greeting.h"

void greet_reseed(const char *seed, size_t len) {
  uint64_t number = 0;
  if (len >= sizeof number)
    memcpy(&number, seed, sizeof number);
  else
    (void)!getrandom(&number, sizeof number, 0);
  engine_seed(js, number);
}

int greet(fields *request) {
  greeting g;
  greeting_read(request, &g);
  if (g.count && variables_set(g.variables, g.count) < 0) return JS_ThrowOutOfMemory(js), -1;
  greet_reseed(g.seed.data, g.seed.len);
  JSValue done = runtime_call("greet", 0, NULL);
  if (JS_IsException(done)) return -1;
  JS_FreeValue(js, done);
  return 0;
}
