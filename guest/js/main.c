/* node in the shell: _start begins from nothing, cay_main in an interpreter that came out of an image. */
#include <stdlib.h>

#include "driver.h"
#include "start.h"

static _Noreturn void run(char **argv) {
  runtime_hold_reserve();
  JSValue arguments[] = { runtime_strings(argv[0] ? argv + 1 : argv),
                          JS_NewString(js, argv[0] ? argv[0] : "node") };
  JSValue done = runtime_call("main", 2, arguments);
  if (JS_IsException(done)) runtime_report("running");
  exit(JS_IsException(done) ? 7 : 0);
}

int main(int argc, char **argv) {
  (void)argc;
  if (runtime_start(false) < 0) return 10;
  run(argv);
}

int EXPORT(cay_main)(void) {
  char **argv = start_process();
  runtime_enter();
  stop_install();
  greet_reseed("", 0);
  run(argv);
}
