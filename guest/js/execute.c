/* The requests of a session. What needs no speed is in lib/session.js; a cell that awaits nothing and has a plain
 * value runs none of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "binding/tasks.h"
#include "driver.h"
#include "engine.h"

enum { VALUE_MAX = 1 << 20 };

typedef struct {
  field code, name, input;
  uint32_t flags, value_max;
} order;

static uint32_t cells; /* so far, for their names */

/* ---- replies ---- */

/* At most that many bytes, and whole characters. */
static size_t cut(const char *text, size_t len, size_t max) {
  if (len <= max) return len;
  for (len = max; len > 0 && (text[len] & 0xc0) == 0x80;) len--;
  return len;
}

static void put_string(reply *r, enum talk_tag tag, JSValueConst string) {
  size_t len;
  const char *text = JS_ToCStringLen(js, &len, string);
  if (text) reply_bytes(r, tag, text, cut(text, len, VALUE_MAX));
  if (!text) JS_FreeValue(js, JS_GetException(js));
  JS_FreeCString(js, text);
}

static void put_member(reply *r, enum talk_tag tag, JSValueConst object, const char *name) {
  JSValue value = JS_GetPropertyStr(js, object, name);
  if (JS_IsString(value)) put_string(r, tag, value);
  JS_FreeValue(js, value);
}

/* The bytes of an ArrayBuffer of lib/, which stays where it is. */
static const uint8_t *host_bytes(const char *name) {
  size_t len;
  JSValue buffer = runtime_get(name);
  const uint8_t *bytes = JS_GetArrayBuffer(js, &len, buffer);
  JS_FreeValue(js, buffer);
  return bytes;
}

/* Ticks, warnings of rejections, and jobs of the engine: nothing of it waits after most cells. */
static bool is_settled(void) {
  static const uint8_t *ticks;
  if (!ticks) ticks = host_bytes("tickInfo");
  return ticks && !ticks[0] && !ticks[1] && !JS_IsJobPending(JS_GetRuntime(js));
}

/* Jobs and ticks of a cell that was stopped would run in the next one, and may never end. The host ends a cell by force that does
 * not end by itself, and puts the session back. */
static void await_undo(void) {
  while (!is_settled()) pause();
}

static void report_stopped(reply *r, const char *why) {
  r->len = 0;
  reply_u32(r, TALK_STATUS, TALK_STOPPED);
  reply_bytes(r, TALK_ERROR_TYPE, "Stopped", 7);
  reply_bytes(r, TALK_ERROR_TEXT, why, strlen(why));
}

/* An error whose description failed, too: memory or the stack is short. */
static void report_plainly(reply *r, JSValueConst error) {
  const char *text = JS_ToCString(js, error);
  reply_bytes(r, TALK_ERROR_TYPE, "Error", 5);
  if (text) reply_bytes(r, TALK_ERROR_TEXT, text, cut(text, strlen(text), VALUE_MAX));
  JS_FreeCString(js, text);
  JS_FreeValue(js, JS_GetException(js));
}

/* As Node's REPL says it. */
static JSValue interrupted_error(void) {
  enum { HIDDEN = JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE };
  JSValue error = JS_NewError(js), message = JS_NewString(js, "Script execution was interrupted by `SIGINT`");
  JS_DefinePropertyValueStr(js, error, "message", message, HIDDEN);
  JS_DefinePropertyValueStr(js, error, "code", JS_NewString(js, "ERR_SCRIPT_EXECUTION_INTERRUPTED"),
                            JS_PROP_C_W_E);
  return error;
}

/* Takes the exception that is pending. */
static void report_exception(reply *r, const field *cell) {
  JSValue error = JS_GetException(js);
  int32_t code;
  if (stop_cell_interrupted()) {
    JS_FreeValue(js, error);
    error = interrupted_error();
  }
  const char *why = stop_ended(&code);
  r->len = 0;
  tasks_forget(js);
  if (why && *why) {
    await_undo();
    report_stopped(r, why);
  } else if (why) {
    reply_u32(r, TALK_STATUS, TALK_EXIT);
    reply_u32(r, TALK_EXIT_CODE, (uint32_t)code);
  } else {
    JSValue arguments[] = { JS_DupValue(js, error), JS_NewStringLen(js, cell->data, cell->len) };
    JSValue parts = runtime_call("describeError", 2, arguments);
    reply_u32(r, TALK_STATUS, TALK_EXCEPTION);
    if (JS_IsException(parts)) {
      JS_FreeValue(js, JS_GetException(js));
      report_plainly(r, error);
    } else {
      put_member(r, TALK_ERROR_TYPE, parts, "type");
      put_member(r, TALK_ERROR_TEXT, parts, "text");
      put_member(r, TALK_TRACEBACK, parts, "stack");
      JSValue line = JS_GetPropertyStr(js, parts, "line");
      int32_t number = 0;
      JS_ToInt32(js, &number, line);
      if (number > 0) reply_u32(r, TALK_ERROR_LINE, (uint32_t)number);
    }
    JS_FreeValue(js, parts);
  }
  JS_FreeValue(js, error);
}

/* ---- values ---- */

/* Numbers, truths and null say the same in JavaScript and in JSON. */
static bool put_plain(reply *r, JSValueConst value, bool json) {
  double number = 0;
  if (!JS_IsNumber(value) && !JS_IsBool(value) && !JS_IsNull(value)) return false;
  if (JS_IsNumber(value)) JS_ToFloat64(js, &number, value);
  if (number == 0 && signbit(number)) return false;
  put_string(r, TALK_REPR, value);
  if (json && isfinite(number)) put_string(r, TALK_JSON, value);
  return true;
}

/* A text of the value that is not too long; else a replacement, and the bit that says so. */
static uint32_t put_value(reply *r, enum talk_tag tag, JSValueConst parts, const char *name, const order *o,
                          uint32_t bit) {
  JSValue value = JS_GetPropertyStr(js, parts, name);
  size_t len;
  const char *text = JS_IsString(value) ? JS_ToCStringLen(js, &len, value) : NULL;
  bool too_large = text && len > o->value_max;
  if (text && (!too_large || tag == TALK_REPR)) reply_bytes(r, tag, text, cut(text, len, o->value_max));
  JS_FreeCString(js, text);
  JS_FreeValue(js, value);
  return too_large ? bit : 0;
}

/* `_` names the value from now on, unless the user has put something else there. */
static JSValue last_value;
static bool has_last_value;

static void keep_value(JSValueConst value) {
  static JSAtom name;
  if (!name) name = JS_NewAtom(js, "_");
  if (!has_last_value) last_value = JS_UNDEFINED;
  has_last_value = true;
  JSValue global = JS_GetGlobalObject(js), current = JS_GetProperty(js, global, name);
  if (JS_IsSameValue(js, current, last_value)) JS_SetProperty(js, global, name, JS_DupValue(js, value));
  JS_FreeValue(js, current);
  JS_FreeValue(js, global);
  JS_FreeValue(js, last_value);
  last_value = JS_DupValue(js, value);
}

static int report_value(reply *r, JSValueConst value, const order *o) {
  bool json = o->flags & TALK_WANT_JSON;
  reply_u32(r, TALK_STATUS, TALK_OK);
  if (JS_IsUndefined(value)) return 0;
  keep_value(value);
  if (put_plain(r, value, json)) return 0;
  JSValue arguments[] = { JS_DupValue(js, value), JS_NewBool(js, json) };
  JSValue parts = runtime_call("describeValue", 2, arguments);
  if (JS_IsException(parts)) return -1;
  uint32_t too_large = put_value(r, TALK_REPR, parts, "repr", o, TALK_REPR_CUT);
  too_large |= put_value(r, TALK_JSON, parts, "json", o, TALK_JSON_LEFT_OUT);
  if (too_large) reply_u32(r, TALK_TOO_LARGE, too_large);
  JS_FreeValue(js, parts);
  return 0;
}

/* ---- running ---- */

static order read_order(fields *request) {
  static char name[24];
  order o = { .code = { .data = "" }, .value_max = VALUE_MAX };
  o.name = (field){ .data = name, .len = (size_t)snprintf(name, sizeof name, "<cell %u>", ++cells) };
  field f;
  while (fields_next(request, &f)) switch (f.tag) {
    case TALK_CODE: o.code = f; break;
    case TALK_NAME: o.name = f; break;
    case TALK_INPUT: o.input = f; break;
    case TALK_FLAGS: o.flags = field_u32(&f); break;
    case TALK_VALUE_MAX: o.value_max = field_u32(&f); break;
    default: break;
    }
  return o;
}

/* What an awaited cell answers with is settled by the loop. Takes the promise. */
static JSValue await_cell(JSValue promise) {
  JSValue arguments[] = { promise };
  JSValue outcome = runtime_call("settleCell", 1, arguments);
  if (JS_IsException(outcome)) return outcome;
  JSValue value = JS_GetPropertyStr(js, outcome, "value");
  JS_FreeValue(js, outcome);
  return value;
}

static int call_host(const char *function) {
  JSValue done = runtime_call(function, 0, NULL);
  if (JS_IsException(done)) return -1;
  JS_FreeValue(js, done);
  return 0;
}

static bool is_clean(void) {
  static const uint8_t *left;
  if (!left) left = host_bytes("cellInfo");
  return left && !left[0];
}

static int give_input(const field *input) {
  JSValue bytes = JS_NewArrayBufferCopy(js, (const uint8_t *)input->data, input->len);
  JSValue done = runtime_call("giveInput", 1, &bytes);
  JS_FreeValue(js, done);
  return JS_IsException(done) ? -1 : 0;
}

static JSValue run(const order *o) {
  bool async;
  if (o->flags & TALK_CALLBACKS_CHANGED && call_host("bindCallbacks") < 0) return JS_EXCEPTION;
  if (!is_clean() && call_host("beginCell") < 0) return JS_EXCEPTION;
  if (o->input.data && give_input(&o->input) < 0) return JS_EXCEPTION;
  JSValue code = cell_compile(&o->code, &o->name, o->flags & TALK_TYPESCRIPT, &async);
  if (JS_IsException(code)) return code;
  JSValue value = engine_run_cell(js, code);
  if (JS_IsException(value)) return value;
  if (async) return await_cell(value);
  if (!is_settled() && call_host("endCell") < 0) {
    JS_FreeValue(js, value);
    return JS_EXCEPTION;
  }
  return value;
}

static bool wants_end(const order *o) { return o->flags & TALK_DRAIN; }

static void execute_cell(fields *request, reply *r) {
  order o = read_order(request);
  JSValue value = run(&o);
  if (!JS_IsException(value) && wants_end(&o) && call_host("drainCell") < 0) {
    JS_FreeValue(js, value);
    value = JS_EXCEPTION;
  }
  if (JS_IsException(value) || report_value(r, value, &o) < 0) report_exception(r, &o.name);
  JS_FreeValue(js, value);
}

/* ---- the other requests ---- */

static const field NO_CELL = { .data = "" };

/* A function of lib/session.js whose answer is text for one field, or nothing. */
static void call_for_text(const char *function, enum talk_tag tag, reply *r) {
  JSValue text = runtime_call(function, 0, NULL);
  if (JS_IsException(text)) {
    report_exception(r, &NO_CELL);
    return;
  }
  reply_u32(r, TALK_STATUS, TALK_OK);
  if (JS_IsString(text)) put_string(r, tag, text);
  JS_FreeValue(js, text);
}

static void save_state(reply *r) {
  JSValue all = runtime_call("collectState", 0, NULL);
  size_t len;
  uint8_t *bytes = JS_IsException(all) ? NULL : JS_WriteObject(js, &len, all, JS_WRITE_OBJ_REFERENCE);
  JS_FreeValue(js, all);
  if (!bytes) {
    report_exception(r, &NO_CELL);
    return;
  }
  reply_u32(r, TALK_STATUS, TALK_OK);
  reply_bytes(r, TALK_BYTES, bytes, len);
  js_free(js, bytes);
}

static void load_state(fields *request, reply *r) {
  field f = { 0 };
  while (fields_next(request, &f) && f.tag != TALK_BYTES) continue;
  JSValue all = f.tag == TALK_BYTES ? JS_ReadObject(js, (const uint8_t *)f.data, f.len, JS_READ_OBJ_REFERENCE)
                                    : JS_ThrowTypeError(js, "no bytes were given");
  JSValue done = JS_EXCEPTION;
  if (!JS_IsException(all)) {
    JSValue arguments[] = { all };
    done = runtime_call("restoreState", 1, arguments);
  }
  if (JS_IsException(done))
    report_exception(r, &NO_CELL);
  else
    reply_u32(r, TALK_STATUS, TALK_OK);
  JS_FreeValue(js, done);
}

static void clear_state(reply *r) {
  engine_forget_lexical(js);
  if (has_last_value) JS_FreeValue(js, last_value);
  has_last_value = false;
  cells = 0;
  call_for_text("clearState", TALK_REPR, r);
}

static void serve_greeting(fields *request, reply *r) {
  if (greet(request) < 0)
    report_exception(r, &NO_CELL);
  else
    reply_u32(r, TALK_STATUS, TALK_OK);
}

const char request_memory_error[] = "InternalError";

bool request_begin(uint32_t op, reply *r) {
  static bool begun;
  (void)op, (void)r;
  runtime_enter();
  runtime_hold_reserve();
  if (begun) return true;
  stop_install();
  stop_install_interrupt();
  return begun = true;
}

void request_end(void) { stop_forget(); }

void request_execute(uint32_t op, fields *request, reply *r) {
  switch (op) {
  case TALK_EXECUTE: execute_cell(request, r); return;
  case TALK_SAVE_STATE: save_state(r); return;
  case TALK_LOAD_STATE: load_state(request, r); return;
  case TALK_CLEAR_STATE: clear_state(r); return;
  case TALK_GREET: serve_greeting(request, r); return;
  case TALK_NAMES: call_for_text("describeNames", TALK_JSON, r); return;
  default: JS_ThrowRangeError(js, "there is no operation %u", op); report_exception(r, &NO_CELL);
  }
}
