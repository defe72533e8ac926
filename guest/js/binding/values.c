/* Looking into values: what reflection does not show. */
#include "native.h"

#include "engine.h"

NATIVE(classOf) { return JS_NewInt32(c, JS_IsObject(argv[0]) ? (int32_t)JS_GetClassID(argv[0]) : 0); }

NATIVE(promiseDetails) {
  JSPromiseStateEnum state = JS_PromiseState(c, argv[0]);
  JSValue list = JS_NewArray(c);
  JS_SetPropertyUint32(c, list, 0, JS_NewInt32(c, state));
  JS_SetPropertyUint32(c, list, 1, JS_PromiseResult(c, argv[0]));
  return list;
}

NATIVE(proxyDetails) { return engine_proxy(c, argv[0]); }
NATIVE(entries) { return engine_entries(c, argv[0]); }

NATIVE(privateSymbol) {
  const char *name = JS_ToCString(c, argv[0]);
  JSValue symbol = name ? engine_private_symbol(c, name) : JS_EXCEPTION;
  JS_FreeCString(c, name);
  return symbol;
}

static bool is_index(const char *text) {
  double number = 0;
  if (*text == '0') return text[1] == 0;
  for (const char *p = text; *p; p++) {
    if (*p < '0' || *p > '9') return false;
    number = number * 10 + (*p - '0');
  }
  return *text && number < 4294967295.0;
}

enum { ONLY_ENUMERABLE = 2, SKIP_STRINGS = 8, SKIP_SYMBOLS = 16 }; /* of V8's PropertyFilter */

static int property_flags(int filter) {
  return (filter & SKIP_STRINGS ? 0 : JS_GPN_STRING_MASK) | (filter & SKIP_SYMBOLS ? 0 : JS_GPN_SYMBOL_MASK) |
         (filter & ONLY_ENUMERABLE ? JS_GPN_ENUM_ONLY : 0);
}

/* All keys of its own but those of elements, as the filter has it. */
NATIVE(ownNonIndexProperties) {
  JSPropertyEnum *names;
  uint32_t count, kept = 0;
  int flags = property_flags(native_int(c, argv[1]));
  if (JS_GetOwnPropertyNames(c, &names, &count, argv[0], flags) < 0) return JS_EXCEPTION;
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < count; i++) {
    JSValue key = JS_AtomToValue(c, names[i].atom);
    const char *text = JS_IsString(key) ? JS_ToCString(c, key) : NULL;
    bool skip = text && is_index(text);
    JS_FreeCString(c, text);
    if (skip)
      JS_FreeValue(c, key);
    else
      JS_SetPropertyUint32(c, list, kept++, key);
  }
  JS_FreePropertyEnum(c, names, count);
  return list;
}

NATIVE(isConstructor) { return JS_NewBool(c, JS_IsConstructor(c, argv[0])); }
NATIVE(callSitePrototype) { return engine_call_site_prototype(c); }
NATIVE(rawStack) { return engine_stack(c, argv[0]); }

NATIVE(setRawStack) {
  engine_set_stack(c, argv[0], argv[1]);
  return JS_UNDEFINED;
}

/* What the engine calls with a new error and the list of its call sites. The error keeps the list, and gets the
 * property `stack`, which says it as text when it is asked. */
static JSValue stack_getter, stack_setter;
static JSAtom stack_name;

NATIVE(keepStack) {
  JSValue kept = engine_stack(c, argv[0]);
  bool known = !JS_IsUndefined(
      kept); /* it is thrown again, or captured: then the caller puts the answer in its place */
  JS_FreeValue(c, kept);
  if (known || !JS_IsError(argv[0])) return JS_DupValue(c, argv[1]);
  JS_DefinePropertyGetSet(c, argv[0], stack_name, JS_DupValue(c, stack_getter), JS_DupValue(c, stack_setter),
                          JS_PROP_CONFIGURABLE);
  engine_set_stack(c, argv[0], argv[1]); /* the engine itself leaves errors alone that have a `stack` */
  return JS_DupValue(c, argv[1]);
}

/* stackHook(getter, setter) */
NATIVE(stackHook) {
  stack_getter = JS_DupValue(c, argv[0]);
  stack_setter = JS_DupValue(c, argv[1]);
  stack_name = JS_NewAtom(c, "stack");
  return JS_NewCFunction(c, keepStack, "keepStack", 2);
}

NATIVE(collect) {
  JS_RunGC(JS_GetRuntime(c));
  return JS_UNDEFINED;
}

NATIVE(memoryUsage) {
  JSMemoryUsage usage;
  JS_ComputeMemoryUsage(JS_GetRuntime(c), &usage);
  return JS_NewInt64(c, usage.malloc_size);
}

NATIVE(detach) {
  if (JS_IsArrayBuffer(argv[0])) JS_DetachArrayBuffer(c, argv[0]);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(classOf, 1),       FUNCTION(promiseDetails, 1),    FUNCTION(proxyDetails, 1),
  FUNCTION(entries, 1),       FUNCTION(privateSymbol, 1),     FUNCTION(ownNonIndexProperties, 2),
  FUNCTION(isConstructor, 1), FUNCTION(callSitePrototype, 0), FUNCTION(rawStack, 1),
  FUNCTION(setRawStack, 2),   FUNCTION(collect, 0),           FUNCTION(memoryUsage, 0),
  FUNCTION(detach, 1),        FUNCTION(stackHook, 2),
};

void native_add_values(JSContext *c, JSValueConst into) {
  ADD(into, functions);
  JS_SetPropertyStr(c, into, "CLASS", engine_classes(c));
}
