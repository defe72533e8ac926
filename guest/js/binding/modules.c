/* ES modules: the steps that Node's ModuleWrap takes one by one. */
#include "native.h"

#include "engine.h"

static JSClassID module_class;

static JSValue wrap(JSContext *c, engine_module *m) {
  JSValue object = JS_NewObjectClass(c, (int)module_class);
  if (!JS_IsException(object)) JS_SetOpaque(object, m);
  return object;
}

static engine_module *unwrap(JSContext *c, JSValueConst value) {
  return JS_GetOpaque2(c, value, module_class);
}

/* compileModule(text, url) */
NATIVE(compileModule) {
  size_t len;
  const char *text = JS_ToCStringLen(c, &len, argv[0]), *name = text ? JS_ToCString(c, argv[1]) : NULL;
  engine_module *m = name ? engine_module_compile(c, text, len, name) : NULL;
  JS_FreeCString(c, text);
  JS_FreeCString(c, name);
  return m ? wrap(c, m) : JS_EXCEPTION;
}

/* The body of a synthetic module: the function that it keeps is called. */
static int run_synthetic(JSContext *c, JSModuleDef *m) {
  JSValue evaluate = JS_GetModulePrivateValue(c, m);
  JSValue done = JS_IsFunction(c, evaluate) ? JS_Call(c, evaluate, JS_UNDEFINED, 0, NULL) : JS_UNDEFINED;
  JS_FreeValue(c, evaluate);
  if (JS_IsException(done)) return -1;
  JS_FreeValue(c, done);
  return 0;
}

/* syntheticModule(url, [export…], evaluate) */
NATIVE(syntheticModule) {
  const char *name = JS_ToCString(c, argv[0]);
  JSModuleDef *m = name ? JS_NewCModule(c, name, run_synthetic) : NULL;
  char **exports = m ? native_strings(c, argv[1]) : NULL;
  JS_FreeCString(c, name);
  if (!exports) return JS_EXCEPTION;
  for (char **e = exports; *e; e++) JS_AddModuleExport(c, m, *e);
  native_free_strings(c, exports);
  JS_SetModulePrivateValue(c, m, JS_DupValue(c, argv[2]));
  return wrap(c, m);
}

NATIVE(setModuleExport) {
  engine_module *m = unwrap(c, argv[0]);
  const char *name = m ? JS_ToCString(c, argv[1]) : NULL;
  if (!name) return JS_EXCEPTION;
  int set = JS_SetModuleExport(c, m, name, JS_DupValue(c, argv[2]));
  JSValue done =
      set < 0 ? JS_ThrowReferenceError(c, "Export '%s' is not defined in module", name) : JS_UNDEFINED;
  JS_FreeCString(c, name);
  return done;
}

NATIVE(moduleRequests) {
  engine_module *m = unwrap(c, argv[0]);
  return m ? engine_module_requests(c, m) : JS_EXCEPTION;
}

/* linkModule(module, index, target) */
NATIVE(linkModule) {
  engine_module *m = unwrap(c, argv[0]), *to = m ? unwrap(c, argv[2]) : NULL;
  if (!to) return JS_EXCEPTION;
  return JS_NewBool(c, engine_module_link(m, native_int(c, argv[1]), to));
}

NATIVE(instantiateModule) {
  engine_module *m = unwrap(c, argv[0]);
  return !m || engine_module_instantiate(c, m) < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

NATIVE(evaluateModule) {
  engine_module *m = unwrap(c, argv[0]);
  return m ? engine_module_evaluate(c, m) : JS_EXCEPTION;
}

NATIVE(moduleNamespace) {
  engine_module *m = unwrap(c, argv[0]);
  return m ? JS_GetModuleNamespace(c, m) : JS_EXCEPTION;
}

NATIVE(moduleMeta) {
  engine_module *m = unwrap(c, argv[0]);
  return m ? JS_GetImportMeta(c, m) : JS_EXCEPTION;
}

NATIVE(moduleStatus) {
  engine_module *m = unwrap(c, argv[0]);
  return m ? JS_NewInt32(c, (int)engine_module_status(m)) : JS_EXCEPTION;
}

NATIVE(moduleError) {
  engine_module *m = unwrap(c, argv[0]);
  return m ? engine_module_error(c, m) : JS_EXCEPTION;
}

NATIVE(moduleAwaits) {
  engine_module *m = unwrap(c, argv[0]);
  return m ? JS_NewBool(c, engine_module_awaits(m)) : JS_EXCEPTION;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(compileModule, 2),  FUNCTION(syntheticModule, 3), FUNCTION(setModuleExport, 3),
  FUNCTION(moduleRequests, 1), FUNCTION(linkModule, 3),      FUNCTION(instantiateModule, 1),
  FUNCTION(evaluateModule, 1), FUNCTION(moduleNamespace, 1), FUNCTION(moduleMeta, 1),
  FUNCTION(moduleStatus, 1),   FUNCTION(moduleError, 1),     FUNCTION(moduleAwaits, 1),
};

void native_add_modules(JSContext *c, JSValueConst into) {
  static const JSClassDef definition = { .class_name = "Module" };
  JS_NewClassID(JS_GetRuntime(c), &module_class);
  JS_NewClass(JS_GetRuntime(c), module_class, &definition);
  engine_modules_ready(c);
  ADD(into, functions);
}
