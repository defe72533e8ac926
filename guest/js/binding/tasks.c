/* Jobs of the engine: reactions of promises, import(), and the context that follows promises around. */
#include "native.h"

#include "engine.h"
#include "tasks.h"

static struct {
  JSValue on_rejection; /* (event, promise, reason): 0 no handler, 1 handled later */
  JSValue on_import;    /* (referrer, specifier, attributes): a promise */
  JSValue frame;        /* of AsyncLocalStorage */
  JSValue frame_key;    /* under which a promise keeps the frame of its birth */
  JSAtom key;
  bool frames; /* one was set: before that, none is looked for */
} tasks;

static void replace(JSContext *c, JSValue *what, JSValueConst with) {
  JSValue old = *what;
  *what = JS_DupValue(c, with);
  JS_FreeValue(c, old);
}

/* ---- rejections ---- */

static void on_rejection(JSContext *c, JSValueConst promise, JSValueConst reason, bool handled,
                         void *opaque) {
  (void)opaque;
  JSValue event = JS_NewInt32(c, handled);
  JSValueConst args[] = { event, promise, reason };
  if (!JS_IsFunction(c, tasks.on_rejection)) return;
  bool pending = JS_HasException(c);
  JSValue kept = pending ? JS_GetException(c) : JS_UNDEFINED;
  JSValue done = JS_Call(c, tasks.on_rejection, JS_UNDEFINED, 3, args);
  if (JS_IsException(done)) done = JS_GetException(c);
  JS_FreeValue(c, done);
  if (pending) JS_Throw(c, kept);
}

NATIVE(setRejectionCallback) {
  replace(c, &tasks.on_rejection, argv[0]);
  return JS_UNDEFINED;
}

/* ---- import() ---- */

NATIVE(setImportCallback) {
  replace(c, &tasks.on_import, argv[0]);
  return JS_UNDEFINED;
}

static void settle(JSContext *c, JSValueConst function, JSValue value) {
  JSValue done = JS_Call(c, function, JS_UNDEFINED, 1, (JSValueConst *)&value);
  if (JS_IsException(done)) done = JS_GetException(c);
  JS_FreeValue(c, done);
  JS_FreeValue(c, value);
}

static void run_import(JSContext *c, engine_import *i) {
  JSValueConst args[] = { i->referrer, i->specifier, i->attributes };
  JSValue promise = JS_Call(c, tasks.on_import, JS_UNDEFINED, 3, args);
  if (JS_IsException(promise))
    settle(c, i->reject, JS_GetException(c));
  else
    settle(c, i->resolve, promise);
  JSValue *all[] = { &i->resolve, &i->reject, &i->referrer, &i->specifier, &i->attributes };
  for (size_t n = 0; n < sizeof all / sizeof *all; n++) JS_FreeValue(c, *all[n]);
}

/* ---- the frame of AsyncLocalStorage ---- */

/* A promise keeps the frame of its birth, that of an asynchronous function the one with which it last stopped. */
static void keep_frame(JSContext *c, JSValueConst promise) {
  JS_DefinePropertyValue(c, promise, tasks.key, JS_DupValue(c, tasks.frame),
                         JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
}

static void on_promise(JSContext *c, JSPromiseHookType type, JSValueConst promise, JSValueConst parent,
                       void *opaque) {
  (void)parent, (void)opaque;
  if (type == JS_PROMISE_HOOK_INIT && !JS_IsUndefined(tasks.frame)) keep_frame(c, promise);
}

/* The next job runs with the frame of the promise that it is for. */
static int run_in_frame(JSContext *c) {
  JSContext *of;
  bool resumes;
  JSValue promise = engine_next_promise(c, &resumes), outer = tasks.frame;
  tasks.frame = JS_IsObject(promise) ? JS_GetProperty(c, promise, tasks.key) : JS_DupValue(c, outer);
  int ran = JS_ExecutePendingJob(JS_GetRuntime(c), &of);
  if (resumes && JS_IsObject(promise)) keep_frame(c, promise);
  JS_FreeValue(c, promise);
  JS_FreeValue(c, tasks.frame);
  tasks.frame = outer;
  return ran;
}

/* ---- running ---- */

int tasks_run(JSContext *c) {
  JSContext *of;
  engine_import import;
  int ran;
  do {
    while (JS_IsFunction(c, tasks.on_import) && engine_take_import(c, &import)) run_import(c, &import);
    ran = tasks.frames ? run_in_frame(c) : JS_ExecutePendingJob(JS_GetRuntime(c), &of);
  } while (ran > 0);
  return ran;
}

NATIVE(runMicrotasks) { return tasks_run(c) < 0 ? JS_EXCEPTION : JS_UNDEFINED; }

NATIVE(getFrame) { return JS_DupValue(c, tasks.frame); }

/* Promises are watched once there is a frame to be kept. */
NATIVE(setFrame) {
  replace(c, &tasks.frame, argv[0]);
  if (!JS_IsUndefined(argv[0]) && !tasks.frames) {
    tasks.frames = true;
    JS_SetPromiseHook(JS_GetRuntime(c), on_promise, NULL);
  }
  return JS_UNDEFINED;
}

void tasks_forget(JSContext *c) { replace(c, &tasks.frame, JS_UNDEFINED); }

static const JSCFunctionListEntry functions[] = {
  FUNCTION(setRejectionCallback, 1),
  FUNCTION(setImportCallback, 1),
  FUNCTION(runMicrotasks, 0),
  FUNCTION(getFrame, 0),
  FUNCTION(setFrame, 1),
};

void native_add_tasks(JSContext *c, JSValueConst into) {
  tasks.on_rejection = tasks.on_import = tasks.frame = JS_UNDEFINED;
  tasks.frame_key = engine_private_symbol(c, "async_context_frame");
  tasks.key = JS_ValueToAtom(c, tasks.frame_key);
  JS_SetHostPromiseRejectionTracker(JS_GetRuntime(c), on_rejection, NULL);
  ADD(into, functions);
}
