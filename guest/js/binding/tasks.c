/* Jobs of the engine: reactions of promises, import(), hooks of promises, and the context that follows promises around. */
#include "native.h"

#include "driver.h"
#include "engine.h"
#include "tasks.h"

enum { HOOK_INIT, HOOK_BEFORE, HOOK_AFTER, HOOK_SETTLED, HOOK_FAILED, HOOKS };

static struct {
  JSValue hooks[HOOKS]; /* functions of a promise; the last one is told what another one has thrown */
  bool hooked;          /* one of them is set */
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

/* ---- hooks of promises ---- */

static void call_hook(JSContext *c, int hook, int count, JSValueConst *args) {
  JSValue done = JS_Call(c, tasks.hooks[hook], JS_UNDEFINED, count, args);
  if (JS_IsException(done)) done = JS_GetException(c);
  JS_FreeValue(c, done);
}

/* The last call that fits into the stack may make a promise: a hook has a part of its own, since its failure ends the program. */
static JSValue call_with_room(JSContext *c, JSValueConst function, int count, JSValueConst *args) {
  static bool inside;
  if (inside) return JS_Call(c, function, JS_UNDEFINED, count, args);
  inside = true;
  runtime_hooks_run(true);
  JSValue done = JS_Call(c, function, JS_UNDEFINED, count, args);
  runtime_hooks_run(false);
  inside = false;
  return done;
}

static void tell(JSContext *c, int hook, JSValueConst promise, JSValueConst parent) {
  if (!tasks.hooked || !JS_IsObject(promise) || !JS_IsFunction(c, tasks.hooks[hook])) return;
  bool pending = JS_HasException(c);
  JSValue kept = pending ? JS_GetException(c) : JS_UNDEFINED;
  JSValueConst args[] = { promise, parent };
  JSValue function = JS_DupValue(c, tasks.hooks[hook]); /* it may take itself off */
  JSValue done = call_with_room(c, function, hook == HOOK_INIT ? 2 : 1, args);
  JS_FreeValue(c, function);
  if (JS_IsException(done)) {
    done = JS_GetException(c);
    call_hook(c, HOOK_FAILED, 1, (JSValueConst *)&done);
  }
  JS_FreeValue(c, done);
  if (pending) JS_Throw(c, kept);
}

static void on_promise(JSContext *c, JSPromiseHookType type, JSValueConst promise, JSValueConst parent,
                       void *opaque) {
  (void)opaque;
  switch (type) {
  case JS_PROMISE_HOOK_INIT:
    if (!JS_IsUndefined(tasks.frame)) keep_frame(c, promise);
    tell(c, HOOK_INIT, promise, parent);
    break;
  case JS_PROMISE_HOOK_BEFORE: tell(c, HOOK_BEFORE, promise, JS_UNDEFINED); break;
  case JS_PROMISE_HOOK_AFTER: tell(c, HOOK_AFTER, promise, JS_UNDEFINED); break;
  case JS_PROMISE_HOOK_RESOLVE: tell(c, HOOK_SETTLED, promise, JS_UNDEFINED); break;
  }
}

/* Promises are watched once there is a frame to be kept, or a hook. */
static void watch_promises(JSContext *c) {
  JS_SetPromiseHook(JS_GetRuntime(c), tasks.frames || tasks.hooked ? on_promise : NULL,
                    tasks.hooked ? &tasks : NULL);
}

NATIVE(setPromiseHooks) {
  tasks.hooked = false;
  for (int i = 0; i < HOOKS; i++) {
    replace(c, &tasks.hooks[i], argv[i]);
    if (i != HOOK_FAILED && JS_IsFunction(c, argv[i])) tasks.hooked = true;
  }
  watch_promises(c);
  return JS_UNDEFINED;
}

/* ---- one job ---- */

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

/* Hooks may come and go while the job runs. */
static int run_job(JSContext *c) {
  JSContext *of;
  JSValue promise = engine_next_settled(c);
  tell(c, HOOK_BEFORE, promise, JS_UNDEFINED);
  int ran = tasks.frames ? run_in_frame(c) : JS_ExecutePendingJob(JS_GetRuntime(c), &of);
  if (ran > 0) tell(c, HOOK_AFTER, promise, JS_UNDEFINED);
  JS_FreeValue(c, promise);
  return ran;
}

int tasks_run(JSContext *c) {
  engine_import import;
  int ran;
  do {
    while (JS_IsFunction(c, tasks.on_import) && engine_take_import(c, &import)) run_import(c, &import);
    ran = run_job(c);
  } while (ran > 0);
  return ran;
}

NATIVE(runMicrotasks) { return tasks_run(c) < 0 ? JS_EXCEPTION : JS_UNDEFINED; }

NATIVE(getFrame) { return JS_DupValue(c, tasks.frame); }

NATIVE(setFrame) {
  replace(c, &tasks.frame, argv[0]);
  if (!JS_IsUndefined(argv[0]) && !tasks.frames) {
    tasks.frames = true;
    watch_promises(c);
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
  FUNCTION(setPromiseHooks, 5),
};

void native_add_tasks(JSContext *c, JSValueConst into) {
  tasks.on_rejection = tasks.on_import = tasks.frame = JS_UNDEFINED;
  for (int i = 0; i < HOOKS; i++) tasks.hooks[i] = JS_UNDEFINED;
  tasks.frame_key = engine_private_symbol(c, "async_context_frame");
  tasks.key = JS_ValueToAtom(c, tasks.frame_key);
  JS_SetHostPromiseRejectionTracker(JS_GetRuntime(c), on_rejection, NULL);
  ADD(into, functions);
}
