/* What the embedder does for this program: callbacks. */
#include "native.h"

#include <errno.h>
#include <string.h>

#include "host.h"

enum { ANSWER_AT_ONCE = 16 << 10 };

/* ask(name, JSON): [status, answer], or [status, undefined, descriptor] when the answer is to be read, or -errno.
 * 0: it is the answer; 1: it is a refusal. */
NATIVE(ask) {
  static char answer[ANSWER_AT_ONCE];
  host_callback_call q = { .reply = answer, .reply_cap = sizeof answer, .fd = -1 };
  q.name = JS_ToCStringLen(c, &q.name_len, argv[0]);
  q.args = q.name ? JS_ToCStringLen(c, &q.args_len, argv[1]) : NULL;
  if (!q.args) return JS_FreeCString(c, q.name), JS_EXCEPTION;
  long asked = host_callback(&q);
  JS_FreeCString(c, q.name);
  JS_FreeCString(c, q.args);
  if (asked < 0) return JS_NewInt64(c, asked);
  JSValue list = JS_NewArray(c);
  JS_SetPropertyUint32(c, list, 0, JS_NewUint32(c, q.status));
  if (q.fd >= 0)
    JS_SetPropertyUint32(c, list, 2, JS_NewInt32(c, q.fd));
  else
    JS_SetPropertyUint32(c, list, 1,
                         JS_NewStringLen(c, answer, q.len < sizeof answer ? q.len : sizeof answer));
  return list;
}

/* The list of callbacks as JSON. It may grow between two looks. */
NATIVE(callbacks) {
  size_t cap = 4096;
  for (;;) {
    char *text = js_malloc(c, cap);
    if (!text) return JS_EXCEPTION;
    long len = host_callbacks(text, cap);
    JSValue list = JS_UNDEFINED;
    if (len <= (long)cap) list = len > 0 ? JS_NewStringLen(c, text, (size_t)len) : JS_NewString(c, "[]");
    js_free(c, text);
    if (!JS_IsUndefined(list)) return list;
    cap = (size_t)len;
  }
}

static const JSCFunctionListEntry functions[] = { FUNCTION(ask, 2), FUNCTION(callbacks, 0) };

void native_add_host(JSContext *c, JSValueConst into) { ADD(into, functions); }
