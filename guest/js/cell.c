/* Cells become functions: scripts, with import and export statements as import(), or TypeScript. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "engine.h"
#include "typescript.h"

/* import and export statements of JavaScript: lib/session.js writes the cell anew. Takes the exception that is pending, and throws it again
 * for code that is no cell in any case. */
static JSValue cell_rewrite(const field *code, const char *name, bool *async) {
  JSValue arguments[] = { JS_GetException(js), JS_NewStringLen(js, code->data, code->len) };
  JSValue rewritten = runtime_call("rewriteCell", 2, arguments);
  if (JS_IsException(rewritten)) return rewritten;
  size_t len;
  const char *again = JS_ToCStringLen(js, &len, rewritten);
  JS_FreeValue(js, rewritten);
  JSValue cell = again ? engine_compile_cell(js, again, len, name, async) : JS_EXCEPTION;
  JS_FreeCString(js, again);
  return cell;
}

static JSValue cell_compile_text(const field *code, const char *name, bool *async) {
  char *text = js_malloc(js, code->len + 1);
  if (!text) return JS_EXCEPTION;
  memcpy(text, code->data, code->len);
  text[code->len] = 0;
  JSValue cell = engine_compile_cell(js, text, code->len, name, async);
  js_free(js, text);
  return cell;
}

static JSValue cell_refuse(const char *name, const ts_result *why) {
  JSValue arguments[] = { JS_NewString(js, name), JS_NewString(js, why->message),
                          JS_NewInt64(js, (int64_t)why->line), JS_NewInt64(js, (int64_t)why->column) };
  return runtime_call("throwSyntaxError", 4, arguments);
}

/* Modules that a cell of TypeScript imports are found as in its files. */
static bool cell_prepare_imports(const ts_result *made) {
  if (!memmem(made->text, made->len, "import(", 7)) return true;
  JSValue done = runtime_call("prepareTypeScript", 0, NULL);
  JS_FreeValue(js, done);
  return !JS_IsException(done);
}

/* What the transformation refuses may still be JavaScript. */
static JSValue cell_compile_typescript(const field *code, const char *name, bool *async) {
  ts_result made;
  if (ts_transform(code->data, code->len, &(ts_options){ .cell = true }, &made)) {
    JSValue cell = cell_prepare_imports(&made) ? engine_compile_cell(js, made.text, made.len, name, async)
                                               : JS_EXCEPTION;
    free(made.text);
    return cell;
  }
  JSValue cell = cell_compile_text(code, name, async);
  if (!JS_IsException(cell)) return cell;
  JS_FreeValue(js, JS_GetException(js));
  return cell_refuse(name, &made);
}

JSValue cell_compile(const field *code, const field *name, bool typescript, bool *async) {
  char file[256];
  snprintf(file, sizeof file, "%.*s", (int)(name->len < 250 ? name->len : 250), name->data);
  if (typescript) return cell_compile_typescript(code, file, async);
  JSValue cell = cell_compile_text(code, file, async);
  return JS_IsException(cell) ? cell_rewrite(code, file, async) : cell;
}
