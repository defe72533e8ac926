/* What lib/session.js needs of this program. */
#include "binding/native.h"
#include "driver.h"
#include "engine.h"

NATIVE(leaveSession) { return stop_leave(native_int(c, argv[0])); }
NATIVE(lexicalNames) { return engine_lexical_names(c); }

NATIVE(lexicalValue) { return native_by_name(c, argv[0], engine_lexical); }

NATIVE(forgetGlobal) {
  const char *name = JS_ToCString(c, argv[0]);
  if (name) engine_forget_global(c, name);
  JS_FreeCString(c, name);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(leaveSession, 1),
  FUNCTION(lexicalNames, 0),
  FUNCTION(lexicalValue, 1),
  FUNCTION(forgetGlobal, 1),
};

void native_add_session(JSContext *c, JSValueConst into) { ADD(into, functions); }
