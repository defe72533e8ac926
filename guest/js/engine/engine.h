/* engine.h - what this program needs to see of QuickJS-ng beyond its public interface: engine.c includes the
 * engine's own source, so nothing of it is patched.
 *
 * Values      as in quickjs.h: a JSValue that is returned belongs to the caller, JSValueConst is borrowed. */
#pragma once

#include <quickjs.h>

/* ---- values ---- */

JSValue engine_classes(JSContext *c);                          /* {NAME: class number} */
JSValue engine_private_symbol(JSContext *c, const char *name); /* a key that reflection does not list */
JSValue engine_proxy(JSContext *c,
                     JSValueConst proxy); /* [target, handler], nulls once revoked; or undefined */

/* [entries, are they pairs] of a Map, Set, WeakMap, WeakSet or of an iterator over one; else undefined.
 * An iterator does not move. */
JSValue engine_entries(JSContext *c, JSValueConst object);

/* ---- errors ---- */

JSValue engine_call_site_prototype(JSContext *c);
/* What the hook for stacks has left in an error; undefined for anything else. */
JSValue engine_stack(JSContext *c, JSValueConst error);
void engine_set_stack(JSContext *c, JSValueConst error, JSValueConst stack);

/* ---- code ---- */

/* Compiles a cell: a script that may await at its top level, and may declare again what an earlier one has
 * declared. A function without parameters, or an exception. `*async`: it answers with a promise of an object
 * whose `value` is the cell's, instead of with the value. `text` ends with a zero. */
JSValue engine_compile_cell(JSContext *c, const char *text, size_t len, const char *name, bool *async);
/* Runs it, once; takes it over. */
JSValue engine_run_cell(JSContext *c, JSValue cell);

/* The names that cells have declared with let, const and class: [name…]. */
JSValue engine_lexical_names(JSContext *c);
JSValue engine_lexical(JSContext *c, const char *name);
void engine_forget_lexical(JSContext *c);
void engine_forget_global(JSContext *c, const char *name); /* a property of the global object */

/* ---- modules ---- */

typedef struct JSModuleDef engine_module;

enum engine_module_status {
  ENGINE_UNLINKED,
  ENGINE_LINKED,
  ENGINE_EVALUATING,
  ENGINE_EVALUATED,
  ENGINE_FAILED
};

void engine_modules_ready(JSContext *c); /* once, before the first of them */

/* Compiled, and linked with nothing yet. NULL with an exception. Modules live as long as the context. */
engine_module *engine_module_compile(JSContext *c, const char *text, size_t len, const char *name);

/* [[specifier, {attribute: value}], …] in the order of the source. */
JSValue engine_module_requests(JSContext *c, const engine_module *m);
bool engine_module_link(engine_module *m, int index, engine_module *target); /* false: no such request */
int engine_module_instantiate(JSContext *c, engine_module *m);               /* -1 with an exception */
JSValue engine_module_evaluate(JSContext *c, engine_module *m);              /* a promise */
enum engine_module_status engine_module_status(const engine_module *m);
JSValue engine_module_error(JSContext *c, const engine_module *m);
bool engine_module_awaits(const engine_module *m); /* itself, or something that it imports */

/* The next job is an import(): takes it. The caller frees the values and settles the promise by them. */
typedef struct {
  JSValue resolve, reject, referrer, specifier, attributes;
} engine_import;
bool engine_take_import(JSContext *c, engine_import *out);

/* The promise that the next job settles, or undefined. `*resumes`: it is that of an asynchronous function, which
 * the job lets go on. */
JSValue engine_next_promise(JSContext *c, bool *resumes);

/* The promise that the next job settles itself: behind an `await` that of what goes on, if a hook wanted one. */
JSValue engine_next_settled(JSContext *c);

/* ---- contexts of vm ---- */

void engine_contexts_ready(JSContext *c); /* once, before the first of them */

/* A context with globals of its own, as an object that holds it. When `sandbox` is an object, its code looks names up there first, and
 * defines and changes them there. */
JSValue engine_context_new(JSContext *c, JSValueConst sandbox);
JSContext *engine_context(JSValueConst holder); /* NULL: it holds none */
JSValue engine_context_global(JSContext *c, JSValueConst holder);
JSValue engine_context_run(JSContext *c, JSValueConst holder, const char *text, size_t len, const char *name,
                           int line);

/* ---- the life of an image ---- */

void engine_seed(JSContext *c, uint64_t seed); /* of Math.random */
int *engine_breaker(JSContext *c);             /* the interpreter looks up once this is negative */

/* The collector leaves alone, from now on, what there is: following it would only copy the image's pages. */
void engine_settle(JSContext *c);
