/* native.h - the functions in C that the bindings of lib/binding are written over: members of one object.
 *
 * System calls answer a number: 0 or more, or -errno. An engine's exception is for wrong types alone. */
#pragma once

#include <quickjs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function with `self`, `argc` and `argv`; there are as many of the last as FUNCTION says. */
#define NATIVE(name)                                                                                         \
  static JSValue name([[maybe_unused]] JSContext *c, [[maybe_unused]] JSValueConst self,                     \
                      [[maybe_unused]] int argc, [[maybe_unused]] JSValueConst *argv)
#define FUNCTION(name, count) JS_CFUNC_DEF(#name, count, name)
#define ADD(into, list) JS_SetPropertyFunctionList(c, into, list, sizeof list / sizeof *list)

/* What belongs together, as files of binding/. */
void native_add_values(JSContext *c, JSValueConst into);
void native_add_code(JSContext *c, JSValueConst into);
void native_add_modules(JSContext *c, JSValueConst into);
void native_add_tasks(JSContext *c, JSValueConst into);
void native_add_bytes(JSContext *c, JSValueConst into);
void native_add_files(JSContext *c, JSValueConst into);
void native_add_stat(JSContext *c, JSValueConst into);
void native_add_process(JSContext *c, JSValueConst into);
void native_add_children(JSContext *c, JSValueConst into);
void native_add_constants(JSContext *c, JSValueConst into);
void native_add_sockets(JSContext *c, JSValueConst into);
void native_add_terminal(JSContext *c, JSValueConst into);
void native_add_http(JSContext *c, JSValueConst into);
void native_add_tls(JSContext *c, JSValueConst into);
void native_add_digest(JSContext *c, JSValueConst into);
void native_add_deflate(JSContext *c, JSValueConst into);
void native_add_brotli(JSContext *c, JSValueConst into);
void native_add_zstd(JSContext *c, JSValueConst into);
void native_add_watch(JSContext *c, JSValueConst into);
void native_add_host(JSContext *c, JSValueConst into);
void native_add_typescript(JSContext *c, JSValueConst into);
void native_add_session(JSContext *c, JSValueConst into);

int terminal_restore(void); /* puts back the modes that setRawMode changed; -1 with errno */

/* ---- arguments and results ---- */

int64_t native_integer(JSContext *c, JSValueConst value); /* 0 when it is none */
static inline int native_int(JSContext *c, JSValueConst value) { return (int)native_integer(c, value); }
JSValue native_result(JSContext *c, int64_t result); /* below 0: -errno */

/* The bytes of an ArrayBuffer or of a view of one. NULL: it is none, or has none. */
uint8_t *native_bytes(JSContext *c, JSValueConst value, size_t *len);

/* The input of a compressor and its room, of six arguments: bytes, offset, length, twice. Never beyond the bytes. */
typedef struct {
  const uint8_t *in;
  uint8_t *out;
  size_t in_len, out_len; /* the bytes left of them */
} native_flow;
native_flow native_flow_of(JSContext *c, JSValueConst *argv);
JSValue native_flow_list(JSContext *c, int result,
                         const native_flow *f); /* [result, room left, input left] */

/* A path as a string or as bytes. The caller frees it with js_free. NULL with an exception, also for a path
 * with a zero in it. */
char *native_path(JSContext *c, JSValueConst value);

/* What `find` makes of the text of an argument. */
JSValue native_by_name(JSContext *c, JSValueConst name, JSValue (*find)(JSContext *c, const char *name));

/* An array of strings, ended with NULL, to be freed with native_free_strings. NULL with an exception. */
char **native_strings(JSContext *c, JSValueConst array);
void native_free_strings(JSContext *c, char **strings);
uint32_t native_length(JSContext *c, JSValueConst array);

/* A new ArrayBuffer that owns `data`, which is from js_malloc. */
JSValue native_buffer(JSContext *c, uint8_t *data, size_t len);
