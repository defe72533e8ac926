/* What a trap was, and where, in words. */
#include "base/text.h"
#include "engine/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FRAMES_MAX = 16, NAME_CAP = 128 };

enum eng_trap eng_kind_of(const wasm_trap_t *trap) {
  wasmtime_trap_code_t code;
  if (!wasmtime_trap_code(trap, &code)) return ENG_TRAP_OTHER;
  switch (code) {
  case WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED: return ENG_TRAP_UNREACHABLE;
  case WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS: return ENG_TRAP_MEMORY;
  case WASMTIME_TRAP_CODE_STACK_OVERFLOW: return ENG_TRAP_STACK;
  case WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO: return ENG_TRAP_DIVISION;
  case WASMTIME_TRAP_CODE_INTEGER_OVERFLOW:
  case WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER: return ENG_TRAP_ARITHMETIC;
  case WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL:
  case WASMTIME_TRAP_CODE_BAD_SIGNATURE: return ENG_TRAP_CALL;
  case WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS: return ENG_TRAP_TABLE;
  case WASMTIME_TRAP_CODE_OUT_OF_FUEL: return ENG_TRAP_FUEL;
  default: return ENG_TRAP_OTHER;
  }
}

enum eng_trap eng_trap_kind(const eng_instance *i) { return i->kind; }

const char *eng_trap_name(enum eng_trap kind) {
  static const char *const names[] = {
    [ENG_TRAP_NONE] = "no trap",
    [ENG_TRAP_UNREACHABLE] = "unreachable instruction (abort)",
    [ENG_TRAP_MEMORY] = "memory access out of bounds",
    [ENG_TRAP_STACK] = "stack overflow",
    [ENG_TRAP_DIVISION] = "division by zero",
    [ENG_TRAP_ARITHMETIC] = "integer overflow or bad conversion",
    [ENG_TRAP_CALL] = "indirect call to nothing or to another type",
    [ENG_TRAP_TABLE] = "table access out of bounds",
    [ENG_TRAP_EXCEPTION] = "uncaught exception",
    [ENG_TRAP_FUEL] = "out of fuel",
    [ENG_TRAP_OTHER] = "trap",
  };
  return names[kind];
}

/* ---- the stack of the guest ---- */

struct out {
  char *text;
  size_t cap, len;
};

static void trap_put(struct out *o, const char *format, ...) PRINTF(2, 3);
static void trap_put(struct out *o, const char *format, ...) {
  if (o->len + 1 >= o->cap) return;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(o->text + o->len, o->cap - o->len, format, args);
  va_end(args);
  if (n > 0) o->len = (size_t)n < o->cap - o->len ? o->len + (size_t)n : o->cap - 1;
}

static bool is_mangled(const wasm_name_t *name) {
  return name->size > 2 && name->data[0] == '_' && (name->data[1] == 'Z' || name->data[1] == 'R');
}

/* The library demangles only in its message, one line a frame: "    3:   0x1234 - module!name(arguments)". */
static bool put_demangled(struct out *o, const wasm_byte_vec_t *message, size_t frame) {
  char label[24];
  int len = snprintf(label, sizeof label, "%5zu: ", frame);
  const char *line = memmem(message->data, message->size, label, (size_t)len);
  if (line == NULL) return false;
  size_t left = message->size - (size_t)(line - message->data);
  const char *end = memchr(line, '\n', left), *name = memchr(line, '!', left);
  if (end == NULL || name == NULL || name > end) return false;
  char shown[NAME_CAP];
  trap_put(o, "%s", text_name(shown, sizeof shown, name + 1, (size_t)(end - name - 1)));
  return true;
}

static void put_frame(struct out *o, const wasm_frame_t *frame, const wasm_byte_vec_t *message,
                      size_t number) {
  const wasm_name_t *name = wasmtime_frame_func_name(frame);
  char shown[NAME_CAP];
  trap_put(o, "\n  at ");
  if (name != NULL && is_mangled(name) && put_demangled(o, message, number)) {
  } else if (name != NULL) {
    trap_put(o, "%s", text_name(shown, sizeof shown, name->data, name->size));
  } else {
    trap_put(o, "function %u", wasm_frame_func_index(frame));
  }
  size_t offset = wasm_frame_module_offset(frame);
  if (offset != SIZE_MAX)
    trap_put(o, " (0x%zx)", offset); /* code compiled ahead of time has no table of them */
}

static void put_frames(struct out *o, const wasm_frame_vec_t *frames, const wasm_byte_vec_t *message) {
  for (size_t n = 0; n < frames->size && n < FRAMES_MAX; n++) put_frame(o, frames->data[n], message, n);
  if (frames->size > FRAMES_MAX) trap_put(o, "\n  and more");
}

size_t eng_trap_text(eng_instance *i, char *out, size_t cap) {
  struct out o = { .text = out, .cap = cap };
  if (cap > 0) out[0] = '\0';
  trap_put(&o, "%s", eng_trap_name(i->kind));
  if (i->trap == NULL && i->error == NULL) return o.len;
  wasm_frame_vec_t frames;
  wasm_byte_vec_t message;
  if (i->trap != NULL) {
    wasm_trap_trace(i->trap, &frames);
    wasm_trap_message(i->trap, &message);
  } else {
    wasmtime_error_wasm_trace(i->error, &frames);
    wasmtime_error_message(i->error, &message);
  }
  put_frames(&o, &frames, &message);
  wasm_frame_vec_delete(&frames);
  wasm_byte_vec_delete(&message);
  return o.len;
}
