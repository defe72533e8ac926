#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "binding/native.h"
#include "binding/pack.h"
#include "driver.h"

/* About as many calls as V8 has in its stack. The program's own stack is larger by what a system call or a part of the library may
 * need below the last call of JavaScript; see build. */
enum { STACK_MAX = 4 << 20, HOOKS_STACK_MAX = 256 << 10 };

JSContext *js;
static JSValue host;

/* ---- memory ---- */

/* Held back, and given up by the first allocation that fails: code that catches the error needs some, too. It is taken again when there is
 * room. */
enum { RESERVE = 512 << 10 };
static void *reserve;

static void *checked(void *memory, size_t len) {
  if (memory || !len) return memory;
  free(reserve);
  reserve = NULL;
  return NULL;
}

static void *memory_take(void *opaque, size_t len) {
  (void)opaque;
  return checked(malloc(len), len);
}

static void *memory_take_zeroed(void *opaque, size_t count, size_t len) {
  (void)opaque;
  return checked(calloc(count, len), count * len);
}

static void *memory_resize(void *opaque, void *memory, size_t len) {
  (void)opaque;
  return checked(realloc(memory, len), len);
}

static void memory_give(void *opaque, void *memory) {
  (void)opaque;
  free(memory);
}

void runtime_hold_reserve(void) {
  if (!reserve) reserve = malloc(RESERVE);
}

static size_t memory_size(const void *memory) { return malloc_usable_size((void *)memory); }

static const JSMallocFunctions memory = { memory_take_zeroed, memory_take, memory_give, memory_resize,
                                          memory_size };

static void (*const parts[])(JSContext *, JSValueConst) = {
  native_add_values,  native_add_code,     native_add_modules, native_add_tasks,    native_add_bytes,
  native_add_files,   native_add_stat,     native_add_process, native_add_children, native_add_constants,
  native_add_host,    native_add_session,  native_add_digest,  native_add_deflate,  native_add_typescript,
  native_add_sockets, native_add_terminal, native_add_http,    native_add_tls,      native_add_brotli,
  native_add_zstd,    native_add_watch,
};

static JSValue make_native(void) {
  JSValue native = JS_NewObject(js);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) parts[i](js, native);
  return native;
}

static int fail(const char *doing) {
  runtime_report(doing);
  return -1;
}

int runtime_start(bool image) {
  JSRuntime *rt = JS_NewRuntime2(&memory, NULL);
  if (rt) JS_SetMaxStackSize(rt, STACK_MAX);
  if (rt) JS_SetCanBlock(rt, true); /* Atomics.wait: programs sleep by it, and node lets them */
  if (rt) js = JS_NewContext(rt);
  if (!js) return fprintf(stderr, "node: no memory for the engine\n"), -1;
  signal(SIGPIPE, SIG_IGN);
  JS_SetInterruptHandler(rt, stop_wanted, NULL);
  host = JS_NewObject(js);
  JS_SetPropertyStr(js, host, "isImage", JS_NewBool(js, image));
  JSValue native = make_native(), boot = pack_function(js, "cay/boot");
  if (JS_IsException(boot)) return fail("the library");
  JSValueConst arguments[] = { host, native };
  JSValue made = JS_Call(js, boot, JS_UNDEFINED, 2, arguments);
  JS_FreeValue(js, boot);
  JS_FreeValue(js, native);
  if (JS_IsException(made)) return fail("starting");
  JS_FreeValue(js, made);
  return 0;
}

void runtime_hooks_run(bool now) {
  JS_SetMaxStackSize(JS_GetRuntime(js), now ? STACK_MAX + HOOKS_STACK_MAX : STACK_MAX);
}

void runtime_enter(void) { JS_UpdateStackTop(JS_GetRuntime(js)); }

JSValue runtime_call(const char *function, int argc, JSValue *argv) {
  JSValue f = JS_GetPropertyStr(js, host, function);
  JSValue result = JS_Call(js, f, host, argc, (JSValueConst *)argv);
  JS_FreeValue(js, f);
  for (int i = 0; i < argc; i++) JS_FreeValue(js, argv[i]);
  return result;
}

JSValue runtime_get(const char *name) { return JS_GetPropertyStr(js, host, name); }

JSValue runtime_strings(char **strings) {
  JSValue list = JS_NewArray(js);
  for (uint32_t i = 0; strings[i]; i++) JS_SetPropertyUint32(js, list, i, JS_NewString(js, strings[i]));
  return list;
}

void runtime_report(const char *doing) {
  JSValue error = js ? JS_GetException(js) : JS_UNDEFINED, stack = JS_GetPropertyStr(js, error, "stack");
  const char *text = JS_ToCString(js, error), *where = JS_IsString(stack) ? JS_ToCString(js, stack) : NULL;
  fprintf(stderr, "node: %s: %s\n%s\n", doing, text ? text : "an error without a text", where ? where : "");
  JS_FreeCString(js, text);
  JS_FreeCString(js, where);
  JS_FreeValue(js, stack);
  JS_FreeValue(js, error);
}
