/* What the compiler's lowering of setjmp and longjmp calls (clang: -mllvm -wasm-enable-sjlj). A jmp_buf names
 * the frame that called setjmp and the place in it; longjmp throws, and every frame that called setjmp
 * catches and asks whether it is meant.
 */
#include <stdint.h>

#include "cay_arch.h"

#define TAG_LONGJMP 1 /* the compiler's number of the tag __c_longjmp */

struct buffer {
  void *frame;
  uint32_t label;
  int handling; /* signal handlers around the frame */
  struct {
    void *env;
    int value;
  } thrown;
};

void __wasm_setjmp(void *env, uint32_t label, void *frame) {
  struct buffer *b = env;
  if (!label || !frame) __builtin_trap();
  b->frame = frame;
  b->label = label;
  b->handling = __cay_handling;
}

uint32_t __wasm_setjmp_test(void *env, void *frame) {
  struct buffer *b = env;
  return b->frame == frame ? b->label : 0;
}

void __wasm_longjmp(void *env, int value) {
  struct buffer *b = env;
  b->thrown.env = env;
  b->thrown.value = value ? value : 1;
  __cay_handling = b->handling;
  __builtin_wasm_throw(TAG_LONGJMP, &b->thrown);
}
