/* The parser of HTTP/1 that Node.js has, llhttp: bytes come in, and one function of JavaScript is called for each part of a message. */
#include "native.h"

#include <llhttp.h>
#include <string.h>

typedef struct {
  llhttp_t parser; /* first: callbacks get this alone */
  llhttp_settings_t settings;
  JSContext *c; /* while it runs */
  JSValue
      on; /* a function of (event, offset, length) that answers with what llhttp wants from its callbacks */
  const char *bytes;
  char reason[96];
  bool thrown;
} http_parser;

static JSClassID parser_class;

/* The order is that of EVENTS in lib/binding/http_parser.js. */
enum {
  MESSAGE_BEGIN,
  URL,
  STATUS,
  FIELD,
  VALUE,
  HEADERS_COMPLETE,
  BODY,
  MESSAGE_COMPLETE,
  CHUNK_HEADER,
  CHUNK_EXTENSION,
  CHUNK_COMPLETE
};

static void parser_finalize(JSRuntime *rt, JSValueConst value) {
  http_parser *p = JS_GetOpaque(value, parser_class);
  if (p) JS_FreeValueRT(rt, p->on);
  js_free_rt(rt, p);
}

static void parser_mark(JSRuntime *rt, JSValueConst value, JS_MarkFunc *mark) {
  const http_parser *p = JS_GetOpaque(value, parser_class);
  if (p) JS_MarkValue(rt, p->on, mark);
}

/* ---- what llhttp calls ---- */

static int parser_tell(llhttp_t *llhttp, int event, const char *at, size_t len) {
  http_parser *p = (http_parser *)llhttp;
  JSValue arguments[] = { JS_NewInt32(p->c, event), JS_NewInt64(p->c, at ? at - p->bytes : 0),
                          JS_NewInt64(p->c, (int64_t)len) };
  JSValue answer = JS_Call(p->c, p->on, JS_UNDEFINED, 3, (JSValueConst *)arguments);
  if (JS_IsException(answer)) {
    p->thrown = true;
    return HPE_USER;
  }
  int result = native_int(p->c, answer);
  JS_FreeValue(p->c, answer);
  return result;
}

#define SPAN(name, event)                                                                                    \
  static int name(llhttp_t *p, const char *at, size_t len) { return parser_tell(p, event, at, len); }
#define MOMENT(name, event)                                                                                  \
  static int name(llhttp_t *p) { return parser_tell(p, event, NULL, 0); }

MOMENT(on_message_begin, MESSAGE_BEGIN)
MOMENT(on_headers_complete, HEADERS_COMPLETE)
MOMENT(on_message_complete, MESSAGE_COMPLETE)
MOMENT(on_chunk_header, CHUNK_HEADER)
MOMENT(on_chunk_complete, CHUNK_COMPLETE)
SPAN(on_url, URL)
SPAN(on_status, STATUS)
SPAN(on_header_field, FIELD)
SPAN(on_header_value, VALUE)
SPAN(on_body, BODY)
SPAN(on_chunk_extension, CHUNK_EXTENSION)

static void parser_set(http_parser *p, int type) {
  llhttp_settings_init(&p->settings);
  p->settings.on_message_begin = on_message_begin;
  p->settings.on_url = on_url;
  p->settings.on_status = on_status;
  p->settings.on_header_field = on_header_field;
  p->settings.on_header_value = on_header_value;
  p->settings.on_headers_complete = on_headers_complete;
  p->settings.on_body = on_body;
  p->settings.on_message_complete = on_message_complete;
  p->settings.on_chunk_header = on_chunk_header;
  p->settings.on_chunk_extension_name = on_chunk_extension;
  p->settings.on_chunk_extension_value = on_chunk_extension;
  p->settings.on_chunk_complete = on_chunk_complete;
  llhttp_init(&p->parser, (llhttp_type_t)type, &p->settings);
}

/* ---- what JavaScript calls ---- */

/* httpParser(type, on) */
NATIVE(httpParser) {
  JSValue object = JS_NewObjectClass(c, (int)parser_class);
  http_parser *p = JS_IsException(object) ? NULL : js_mallocz(c, sizeof *p);
  if (!p) return JS_FreeValue(c, object), JS_EXCEPTION;
  int type = native_int(c, argv[0]);
  parser_set(p, type >= HTTP_BOTH && type <= HTTP_RESPONSE ? type : HTTP_BOTH);
  p->on = JS_DupValue(c, argv[1]);
  JS_SetOpaque(object, p);
  return object;
}

static http_parser *parser_enter(JSContext *c, JSValueConst object) {
  http_parser *p = JS_GetOpaque2(c, object, parser_class);
  if (p) p->c = c, p->thrown = false;
  return p;
}

/* The number of llhttp's error, 0 for none; or the exception that a callback threw. */
static JSValue parser_leave(JSContext *c, const http_parser *p, llhttp_errno_t error) {
  return p->thrown ? JS_EXCEPTION : JS_NewInt32(c, (int)error);
}

/* httpExecute(parser, bytes): the bytes stay where they are while it runs */
NATIVE(httpExecute) {
  size_t len;
  const uint8_t *data = native_bytes(c, argv[1], &len);
  http_parser *p = parser_enter(c, argv[0]);
  if (!p) return JS_EXCEPTION;
  p->bytes = data ? (const char *)data : "";
  return parser_leave(c, p, llhttp_execute(&p->parser, p->bytes, len));
}

NATIVE(httpFinish) {
  http_parser *p = parser_enter(c, argv[0]);
  return p ? parser_leave(c, p, llhttp_finish(&p->parser)) : JS_EXCEPTION;
}

/* httpErrorAt(parser): where in the bytes of the last httpExecute it stopped */
NATIVE(httpErrorAt) {
  const http_parser *p = parser_enter(c, argv[0]);
  if (!p) return JS_EXCEPTION;
  const char *at = llhttp_get_error_pos(&p->parser);
  return JS_NewInt64(c, at ? at - p->bytes : 0);
}

/* [name, reason] */
NATIVE(httpError) {
  const http_parser *p = parser_enter(c, argv[0]);
  if (!p) return JS_EXCEPTION;
  const char *reason = llhttp_get_error_reason(&p->parser);
  JSValue list = JS_NewArray(c);
  JS_SetPropertyUint32(c, list, 0, JS_NewString(c, llhttp_errno_name(llhttp_get_errno(&p->parser))));
  JS_SetPropertyUint32(c, list, 1, JS_NewString(c, reason ? reason : ""));
  return list;
}

/* httpFail(parser, reason): why the callback that calls this is going to answer HPE_USER */
NATIVE(httpFail) {
  http_parser *p = parser_enter(c, argv[0]);
  const char *reason = p ? JS_ToCString(c, argv[1]) : NULL;
  if (!reason) return JS_EXCEPTION;
  strncpy(p->reason, reason, sizeof p->reason - 1);
  JS_FreeCString(c, reason);
  llhttp_set_error_reason(&p->parser, p->reason);
  return JS_NewInt32(c, HPE_USER);
}

enum { PAUSE, RESUME, RESUME_AFTER_UPGRADE };

/* httpControl(parser, what) */
NATIVE(httpControl) {
  http_parser *p = parser_enter(c, argv[0]);
  if (!p) return JS_EXCEPTION;
  switch (native_int(c, argv[1])) {
  case PAUSE: llhttp_pause(&p->parser); break;
  case RESUME: llhttp_resume(&p->parser); break;
  case RESUME_AFTER_UPGRADE: llhttp_resume_after_upgrade(&p->parser); break;
  default: break;
  }
  return JS_UNDEFINED;
}

/* httpLenient(parser, flags): the bits of lib/binding/http_parser.js */
NATIVE(httpLenient) {
  static void (*const setters[])(llhttp_t *, int) = {
    llhttp_set_lenient_headers,
    llhttp_set_lenient_chunked_length,
    llhttp_set_lenient_keep_alive,
    llhttp_set_lenient_transfer_encoding,
    llhttp_set_lenient_version,
    llhttp_set_lenient_data_after_close,
    llhttp_set_lenient_optional_lf_after_cr,
    llhttp_set_lenient_optional_crlf_after_chunk,
    llhttp_set_lenient_optional_cr_before_lf,
    llhttp_set_lenient_spaces_after_chunk_size,
  };
  http_parser *p = parser_enter(c, argv[0]);
  if (!p) return JS_EXCEPTION;
  int64_t flags = native_integer(c, argv[1]);
  for (size_t i = 0; i < sizeof setters / sizeof *setters; i++)
    if (flags & (1 << i)) setters[i](&p->parser, 1);
  return JS_UNDEFINED;
}

/* [major, minor, method, status, upgrade, keep alive] of the message whose headers are complete */
NATIVE(httpState) {
  const http_parser *p = parser_enter(c, argv[0]);
  if (!p) return JS_EXCEPTION;
  const int fields[] = { p->parser.http_major,  p->parser.http_minor, p->parser.method,
                         p->parser.status_code, p->parser.upgrade,    llhttp_should_keep_alive(&p->parser) };
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++)
    JS_SetPropertyUint32(c, list, i, JS_NewInt32(c, fields[i]));
  return list;
}

/* [[number, name], …] of all methods */
NATIVE(httpMethods) {
  JSValue list = JS_NewArray(c);
  uint32_t count = 0;
#define METHOD(number, name, text)                                                                           \
  {                                                                                                          \
    JSValue entry = JS_NewArray(c);                                                                          \
    JS_SetPropertyUint32(c, entry, 0, JS_NewInt32(c, number));                                               \
    JS_SetPropertyUint32(c, entry, 1, JS_NewString(c, #text));                                               \
    JS_SetPropertyUint32(c, list, count++, entry);                                                           \
  }
  HTTP_ALL_METHOD_MAP(METHOD)
#undef METHOD
  return list;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(httpParser, 2), FUNCTION(httpExecute, 2), FUNCTION(httpFinish, 1),  FUNCTION(httpErrorAt, 1),
  FUNCTION(httpError, 1),  FUNCTION(httpFail, 2),    FUNCTION(httpControl, 2), FUNCTION(httpLenient, 2),
  FUNCTION(httpState, 1),  FUNCTION(httpMethods, 0),
};

void native_add_http(JSContext *c, JSValueConst into) {
  static const JSClassDef parser = { .class_name = "HttpParser",
                                     .finalizer = parser_finalize,
                                     .gc_mark = parser_mark };
  JSRuntime *rt = JS_GetRuntime(c);
  JS_NewClass(rt, JS_NewClassID(rt, &parser_class), &parser);
  ADD(into, functions);
}
