/* TypeScript as text: see typescript/. */
#include "native.h"

#include <stdlib.h>

#include "typescript.h"

static JSValue refusal(JSContext *c, const ts_result *why) {
  JSValue list = JS_NewArray(c);
  JS_SetPropertyUint32(c, list, 0, JS_NewString(c, why->message));
  JS_SetPropertyUint32(c, list, 1, JS_NewInt64(c, (int64_t)why->line));
  JS_SetPropertyUint32(c, list, 2, JS_NewInt64(c, (int64_t)why->column));
  return list;
}

/* transformTypeScript(text, legacy): JavaScript as a string, or [message, line, column]. */
NATIVE(transformTypeScript) {
  size_t len;
  const char *text = JS_ToCStringLen(c, &len, argv[0]);
  if (!text) return JS_EXCEPTION;
  ts_result made;
  bool done = ts_transform(text, len, &(ts_options){ .legacy = JS_ToBool(c, argv[1]) }, &made);
  JS_FreeCString(c, text);
  JSValue result = done ? JS_NewStringLen(c, made.text, made.len) : refusal(c, &made);
  free(made.text);
  return result;
}

static const JSCFunctionListEntry functions[] = { FUNCTION(transformTypeScript, 2) };

void native_add_typescript(JSContext *c, JSValueConst into) { ADD(into, functions); }
