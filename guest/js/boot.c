/* The start of an interpreter that is going to be frozen: Node's library is loaded, the first requests are
 * rehearsed, and memory that means nothing is cleared, for only pages that are not zero cost something in an
 * image. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "engine.h"
#include "start.h"

enum { ROUNDS = 3 };

static const char *const cells[] = {
  "1",
  "let x = 1; const y = { a: [1, 2.5, null, true, 'b'] }; y",
  "x += 1; x",
  "process.stdout.write('')",
  "process.stdout._write = (chunk, encoding, done) => done(); console.log(1); console.log('a %d', 1, { b: [true] }); delete process.stdout._write; 0",
  "process.stderr._write = (chunk, encoding, done) => done(); console.error('a', 1); delete process.stderr._write; 0",
  "function f(a, b = 2) { return a + b }\nf(1)",
  "class A { constructor() { this.a = 1 } }\nnew A().a",
  "[1, 2].map((n) => n * 2).join(); `${x}`",
  "undefined_name",
  "null.x",
  "throw new TypeError('x')",
  "x +",
  "process.exit(0)",
  "await null",
  "await new Promise((resolve) => setTimeout(resolve, 1)); 1",
  "require('fs').existsSync('/'); require('path').join('a', 'b')",
  "JSON.stringify({ a: 1 }); new Map([[1, 2]])",
  "Buffer.from('abc').toString('hex')",
  "try { await invoke('') } catch { }",
  "await import('node:fs'); 0",
};

static int call(const char *function) {
  JSValue done = runtime_call(function, 0, NULL);
  if (JS_IsException(done)) return -1;
  JS_FreeValue(js, done);
  return 0;
}

static void rehearse(void) {
  reply ignored = { 0 };
  fields none = { 0 };
  for (int round = 0; round < ROUNDS; round++)
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) request_rehearse(cells[i]);
  request_execute(TALK_CLEAR_STATE, &none, &ignored);
  free(ignored.data);
}

/* The image's own code; its declarations stay. */
static int run_source(const char *source) {
  JSValue done = JS_Eval(js, source, strlen(source), "[image]", JS_EVAL_TYPE_GLOBAL);
  if (JS_IsException(done)) return -1;
  JS_FreeValue(js, done);
  return 0;
}

int EXPORT(cay_boot)(void) {
  char **argv = start_process();
  if (runtime_start(true) < 0) return -1;
  runtime_hold_reserve();
  if (call("prepareSession") < 0) return runtime_report("preparing a session"), -1;
  rehearse();
  if (argv[0] && argv[1] && run_source(argv[1]) < 0) return runtime_report("the image's code"), -1;
  if (call("endBoot") < 0) return runtime_report("ending the start"), -1;
  engine_settle(js);
  start_clear_unmapped();
  start_clear_stack();
  return 0;
}
