/* Source text and packed bytecode become functions. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "engine.h"
#include "pack.h"

/* ---- the pack: see pack/pack.c ---- */

static uint32_t word(size_t at) {
  uint32_t value;
  memcpy(&value, pack_bytes + at, sizeof value);
  return value;
}

typedef struct {
  const char *name;
  size_t name_len;
  const uint8_t *code;
  size_t len;
} entry;

static entry entry_at(size_t index) {
  size_t at = 4 + 16 * index;
  return (entry){ (const char *)pack_bytes + word(at), word(at + 4), pack_bytes + word(at + 8),
                  word(at + 12) };
}

static bool find(const char *name, size_t len, entry *out) {
  size_t low = 0, high = word(0);
  while (low < high) {
    size_t middle = (low + high) / 2;
    entry e = entry_at(middle);
    int order = memcmp(name, e.name, len < e.name_len ? len : e.name_len);
    if (!order) order = (len > e.name_len) - (len < e.name_len);
    *out = e;
    if (!order) return true;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return false;
}

JSValue pack_function(JSContext *c, const char *name) {
  entry e;
  if (!find(name, strlen(name), &e)) return JS_ThrowReferenceError(c, "No such built-in module: %s", name);
  JSValue code = JS_ReadObject(c, e.code, e.len, JS_READ_OBJ_BYTECODE);
  return JS_IsException(code) ? code : JS_EvalFunction(c, code);
}

NATIVE(packed) { return native_by_name(c, argv[0], pack_function); }

NATIVE(packedNames) {
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < word(0); i++) {
    entry e = entry_at(i);
    JS_SetPropertyUint32(c, list, i, JS_NewStringLen(c, e.name, e.name_len));
  }
  return list;
}

/* ---- sources ---- */

typedef struct {
  const char *text, *file;
  size_t len;
} source;

static bool source_get(JSContext *c, JSValueConst *argv, source *out) {
  out->text = JS_ToCStringLen(c, &out->len, argv[0]);
  out->file = out->text ? JS_ToCString(c, argv[1]) : NULL;
  return out->file != NULL;
}

static void source_free(JSContext *c, source *s) {
  JS_FreeCString(c, s->text);
  JS_FreeCString(c, s->file);
}

static JSValue evaluate(JSContext *c, const source *s, int line, int flags) {
  JSEvalOptions options = { JS_EVAL_OPTIONS_VERSION, flags, s->file, line };
  return JS_Eval2(c, s->text, s->len, &options);
}

/* A first line that begins with #! stays, as a comment. */
static void hide_interpreter(char *text, size_t len) {
  if (len > 1 && text[0] == '#' && text[1] == '!') text[0] = text[1] = '/';
}

/* compileFunction(text, file, "a,b", line, context or undefined): a function whose body is the text. Its columns are those of the text, too:
 * the head stands in lines of its own, two of them, for the engine takes a line 0 for none. */
NATIVE(compileFunction) {
  source s;
  const char *names = JS_ToCString(c, argv[2]);
  if (!names || !source_get(c, argv, &s)) return JS_EXCEPTION;
  int line = JS_IsUndefined(argv[3]) ? 1 : native_int(c, argv[3]) + 1, lines = line == 1 ? 2 : 1;
  size_t head = strlen(names) + 13 + (size_t)lines;
  char *wrapped = js_malloc(c, head + s.len + 4);
  JSValue function = JS_EXCEPTION;
  if (wrapped) {
    memcpy(wrapped, "(function (", 11);
    memcpy(wrapped + 11, names, strlen(names));
    memcpy(wrapped + head - lines - 2, "){\n\n", 2 + (size_t)lines);
    memcpy(wrapped + head, s.text, s.len);
    hide_interpreter(wrapped + head, s.len);
    memcpy(wrapped + head + s.len, "\n})", 4);
    source whole = { wrapped, s.file, head + s.len + 3 };
    JSContext *in = JS_IsObject(argv[4]) ? engine_context(argv[4]) : NULL;
    function = evaluate(in ? in : c, &whole, line - lines, JS_EVAL_TYPE_GLOBAL);
    js_free(c, wrapped);
  }
  source_free(c, &s);
  JS_FreeCString(c, names);
  return function;
}

/* What ran too long has ended with an exception that cannot be caught; here `late` throws one that can. */
static JSValue limit_result(JSContext *c, JSValue value, JSValueConst late) {
  if (!stop_limit_passed()) return value;
  JS_FreeValue(c, value);
  if (JS_HasException(c)) JS_FreeValue(c, JS_GetException(c));
  return JS_Call(c, late, JS_UNDEFINED, 0, NULL);
}

/* runScript(text, file, line, context or undefined, milliseconds or undefined, a function that throws when
 * these are over) */
NATIVE(runScript) {
  source s;
  if (!source_get(c, argv, &s)) return JS_EXCEPTION;
  int line = native_int(c, argv[2]) + 1;
  int64_t before = stop_limit(JS_IsNumber(argv[4]) ? native_integer(c, argv[4]) : -1);
  JSValue value = JS_IsObject(argv[3]) && engine_context(argv[3])
                      ? engine_context_run(c, argv[3], s.text, s.len, s.file, line)
                      : evaluate(c, &s, line, JS_EVAL_TYPE_GLOBAL);
  value = limit_result(c, value, argv[5]);
  stop_limit_restore(before);
  source_free(c, &s);
  return value;
}

/* newContext(object or undefined), globalOf(context) */
NATIVE(newContext) { return engine_context_new(c, argv[0]); }
NATIVE(globalOf) { return engine_context_global(c, argv[0]); }

/* Throws the SyntaxError that the script has, if any. */
NATIVE(checkScript) {
  source s;
  if (!source_get(c, argv, &s)) return JS_EXCEPTION;
  JSValue code = evaluate(c, &s, native_int(c, argv[2]) + 1, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
  source_free(c, &s);
  if (JS_IsException(code)) return code;
  JS_FreeValue(c, code);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(packed, 1),      FUNCTION(packedNames, 0), FUNCTION(compileFunction, 5), FUNCTION(runScript, 6),
  FUNCTION(checkScript, 3), FUNCTION(newContext, 1),  FUNCTION(globalOf, 1),
};

void native_add_code(JSContext *c, JSValueConst into) {
  engine_contexts_ready(c);
  ADD(into, functions);
}
