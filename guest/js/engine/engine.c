#include "quickjs.c"

#include "engine.h"

/* ---- values ---- */

JSValue engine_classes(JSContext *c) {
  static const struct {
    const char *name;
    int number;
  } classes[] = {
#define CLASS(name) { #name, JS_CLASS_##name }
    CLASS(ERROR),
    CLASS(NUMBER),
    CLASS(STRING),
    CLASS(BOOLEAN),
    CLASS(SYMBOL),
    CLASS(ARGUMENTS),
    CLASS(DATE),
    CLASS(MAPPED_ARGUMENTS),
    CLASS(MODULE_NS),
    CLASS(GENERATOR_FUNCTION),
    CLASS(REGEXP),
    CLASS(ARRAY_BUFFER),
    CLASS(DATAVIEW),
    CLASS(SHARED_ARRAY_BUFFER),
    CLASS(BIG_INT),
    CLASS(MAP),
    CLASS(SET),
    CLASS(WEAKMAP),
    CLASS(WEAKSET),
    CLASS(MAP_ITERATOR),
    CLASS(SET_ITERATOR),
    CLASS(GENERATOR),
    CLASS(PROXY),
    CLASS(PROMISE),
    CLASS(ASYNC_FUNCTION),
    CLASS(ASYNC_GENERATOR_FUNCTION),
    CLASS(ASYNC_GENERATOR),
    CLASS(CALL_SITE),
#undef CLASS
  };
  JSValue all = JS_NewObject(c);
  for (size_t i = 0; i < countof(classes); i++)
    JS_SetPropertyStr(c, all, classes[i].name, JS_NewInt32(c, classes[i].number));
  return all;
}

JSValue engine_private_symbol(JSContext *c, const char *name) {
  JSAtom atom = JS_NewAtom(c, name);
  JSValue symbol = JS_NewSymbolFromAtom(c, atom, JS_ATOM_TYPE_PRIVATE);
  JS_FreeAtom(c, atom);
  return symbol;
}

static JSValue pair(JSContext *c, JSValue first, JSValue second) {
  JSValue both = JS_NewArray(c);
  JS_SetPropertyUint32(c, both, 0, first);
  JS_SetPropertyUint32(c, both, 1, second);
  return both;
}

JSValue engine_proxy(JSContext *c, JSValueConst proxy) {
  if (!JS_IsProxy(proxy)) return JS_UNDEFINED;
  const JSProxyData *data = JS_VALUE_GET_OBJ(proxy)->u.proxy_data;
  if (data->is_revoked) return pair(c, JS_NULL, JS_NULL);
  return pair(c, js_dup(data->target), js_dup(data->handler));
}

static JSValue list_records(JSContext *c, JSMapState *s, struct list_head *from, bool keys, bool values) {
  JSValue list = JS_NewArray(c);
  uint32_t count = 0;
  for (struct list_head *at = from; at != &s->records; at = at->next) {
    JSMapRecord *record = list_entry(at, JSMapRecord, link);
    if (record->empty) continue;
    if (keys) JS_SetPropertyUint32(c, list, count++, js_dup(record->key));
    if (values) JS_SetPropertyUint32(c, list, count++, js_dup(record->value));
  }
  return list;
}

static JSValue iterator_entries(JSContext *c, const JSObject *p) {
  const JSMapIteratorData *it = p->u.map_iterator_data;
  bool is_set = p->class_id == JS_CLASS_SET_ITERATOR;
  if (!it || JS_IsUndefined(it->obj)) return pair(c, JS_NewArray(c), JS_FALSE);
  JSMapState *s = JS_VALUE_GET_OBJ(it->obj)->u.map_state;
  struct list_head *from = it->cur_record ? it->cur_record->link.next : s->records.next;
  bool both = it->kind == JS_ITERATOR_KIND_KEY_AND_VALUE;
  if (!is_set)
    return pair(
        c, list_records(c, s, from, it->kind != JS_ITERATOR_KIND_VALUE, it->kind != JS_ITERATOR_KIND_KEY),
        JS_NewBool(c, both));
  JSValue list = list_records(c, s, from, true, false);
  if (!both) return pair(c, list, JS_FALSE);
  JSValue twice = JS_NewArray(c);
  uint32_t count = 0;
  for (struct list_head *at = from; at != &s->records; at = at->next) {
    JSMapRecord *record = list_entry(at, JSMapRecord, link);
    if (record->empty) continue;
    JS_SetPropertyUint32(c, twice, count++, js_dup(record->key));
    JS_SetPropertyUint32(c, twice, count++, js_dup(record->key));
  }
  JS_FreeValue(c, list);
  return pair(c, twice, JS_TRUE);
}

JSValue engine_entries(JSContext *c, JSValueConst object) {
  if (!JS_IsObject(object)) return JS_UNDEFINED;
  const JSObject *p = JS_VALUE_GET_OBJ(object);
  switch (p->class_id) {
  case JS_CLASS_MAP:
  case JS_CLASS_WEAKMAP: {
    JSMapState *s = p->u.map_state;
    return pair(c, list_records(c, s, s->records.next, true, true), JS_TRUE);
  }
  case JS_CLASS_SET:
  case JS_CLASS_WEAKSET: {
    JSMapState *s = p->u.map_state;
    return pair(c, list_records(c, s, s->records.next, true, false), JS_FALSE);
  }
  case JS_CLASS_MAP_ITERATOR:
  case JS_CLASS_SET_ITERATOR: return iterator_entries(c, p);
  default: return JS_UNDEFINED;
  }
}

/* ---- errors ---- */

JSValue engine_call_site_prototype(JSContext *c) { return JS_GetClassProto(c, JS_CLASS_CALL_SITE); }

JSValue engine_stack(JSContext *c, JSValueConst error) {
  if (!JS_IsObject(error) || JS_VALUE_GET_OBJ(error)->class_id != JS_CLASS_ERROR) return JS_UNDEFINED;
  return js_dup(JS_VALUE_GET_OBJ(error)->u.object_data);
}

void engine_set_stack(JSContext *c, JSValueConst error, JSValueConst stack) {
  if (!JS_IsObject(error) || JS_VALUE_GET_OBJ(error)->class_id != JS_CLASS_ERROR) return;
  set_value(c, &JS_VALUE_GET_OBJ(error)->u.object_data, js_dup(stack));
}

/* ---- cells ---- */

static void forget_name(JSContext *c, JSValueConst holder, JSAtom name) {
  JSObject *p = JS_VALUE_GET_OBJ(holder);
  JSShapeProperty *found = find_own_property1(p, name);
  if (!found) return;
  if (!(found->flags & JS_PROP_CONFIGURABLE) && js_shape_prepare_update(c, p, &found) == 0)
    found->flags |= JS_PROP_CONFIGURABLE;
  JS_DeleteProperty(c, holder, name, 0);
}

/* undefined, NaN and Infinity, which nothing may hide. */
static bool is_constant(const JSShapeProperty *found) { return !(found->flags & JS_PROP_WRITABLE); }

/* Variables and functions of earlier cells are not configurable; the engine's own are. */
static void allow_over_global(JSContext *c, JSAtom name) {
  const JSShapeProperty *found = find_own_property1(JS_VALUE_GET_OBJ(c->global_obj), name);
  if (found && !(found->flags & JS_PROP_CONFIGURABLE) && !is_constant(found))
    forget_name(c, c->global_obj, name);
}

/* What the cell declares is no longer declared, so that it may be. Declarations are the first instructions. */
static void allow_again(JSContext *c, const JSFunctionBytecode *b) {
  const uint8_t *at = b->byte_code_buf, *end = at + b->byte_code_len;
  for (; at < end; at += short_opcode_info(*at).size) {
    if (*at != OP_check_define_var) continue;
    JSAtom name = get_u32(at + 1);
    forget_name(c, c->global_var_obj, name);
    if (at[5] & DEFINE_GLOBAL_LEX_VAR) allow_over_global(c, name);
  }
}

void engine_forget_global(JSContext *c, const char *name) {
  JSAtom atom = JS_NewAtom(c, name);
  forget_name(c, c->global_obj, atom);
  JS_FreeAtom(c, atom);
}

static JSValue compile_script(JSContext *c, const char *text, size_t len, const char *name, int flags) {
  return JS_Eval(c, text, len, name, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY | flags);
}

JSValue engine_compile_cell(JSContext *c, const char *text, size_t len, const char *name, bool *async) {
  *async = memmem(text, len, "await", 5) != NULL;
  JSValue code = compile_script(c, text, len, name, *async ? JS_EVAL_FLAG_ASYNC : 0);
  if (JS_IsException(code) && *async) { /* a program that calls something else await */
    JSValue error = JS_GetException(c);
    code = compile_script(c, text, len, name, 0);
    if (JS_IsException(code)) {
      JS_FreeValue(c, JS_GetException(c));
      JS_Throw(c, error);
    } else {
      JS_FreeValue(c, error);
      *async = false;
    }
  }
  return code;
}

JSValue engine_run_cell(JSContext *c, JSValue cell) {
  if (JS_VALUE_GET_TAG(cell) == JS_TAG_FUNCTION_BYTECODE) allow_again(c, JS_VALUE_GET_PTR(cell));
  return JS_EvalFunction(c, cell);
}

JSValue engine_lexical_names(JSContext *c) {
  JSPropertyEnum *names;
  uint32_t count;
  if (JS_GetOwnPropertyNames(c, &names, &count, c->global_var_obj, JS_GPN_STRING_MASK) < 0)
    return JS_EXCEPTION;
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < count; i++) JS_SetPropertyUint32(c, list, i, JS_AtomToString(c, names[i].atom));
  JS_FreePropertyEnum(c, names, count);
  return list;
}

JSValue engine_lexical(JSContext *c, const char *name) {
  JSAtom atom = JS_NewAtom(c, name);
  JSProperty *property;
  JSShapeProperty *found = find_own_property(&property, JS_VALUE_GET_OBJ(c->global_var_obj), atom);
  JS_FreeAtom(c, atom);
  return found && !JS_IsUninitialized(property->u.value) ? js_dup(property->u.value) : JS_UNDEFINED;
}

void engine_forget_lexical(JSContext *c) {
  JSPropertyEnum *names;
  uint32_t count;
  if (JS_GetOwnPropertyNames(c, &names, &count, c->global_var_obj, JS_GPN_STRING_MASK) < 0) {
    JS_FreeValue(c, JS_GetException(c));
    return;
  }
  for (uint32_t i = 0; i < count; i++) forget_name(c, c->global_var_obj, names[i].atom);
  JS_FreePropertyEnum(c, names, count);
}

/* ---- modules ---- */

/* The engine looks for what a module imports while it compiles it. It always finds this one, and the real module
 * is put in its place later. */
static const char PLACEHOLDER[] = "cay:unlinked";

static int placeholder_run(JSContext *c, JSModuleDef *m) { return 0; }

static char *placeholder_name(JSContext *c, const char *base, const char *name, void *opaque) {
  return js_strdup(c, PLACEHOLDER);
}

static JSModuleDef *placeholder_load(JSContext *c, const char *name, void *opaque, JSValueConst attributes) {
  JSModuleDef *m = JS_NewCModule(c, PLACEHOLDER, placeholder_run);
  if (m) m->resolved = true;
  return m;
}

void engine_modules_ready(JSContext *c) {
  JS_SetModuleLoaderFunc2(JS_GetRuntime(c), placeholder_name, placeholder_load, NULL, NULL);
}

engine_module *engine_module_compile(JSContext *c, const char *text, size_t len, const char *name) {
  JSValue value = JS_Eval(c, text, len, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
  return JS_IsException(value) ? NULL : JS_VALUE_GET_PTR(value);
}

JSValue engine_module_requests(JSContext *c, const engine_module *m) {
  JSValue list = JS_NewArray(c);
  for (int i = 0; i < m->req_module_entries_count; i++) {
    const JSReqModuleEntry *r = &m->req_module_entries[i];
    JSValue attributes = JS_IsObject(r->attributes) ? js_dup(r->attributes) : JS_NewObjectProto(c, JS_NULL);
    JS_SetPropertyUint32(c, list, (uint32_t)i, pair(c, JS_AtomToString(c, r->module_name), attributes));
  }
  return list;
}

bool engine_module_link(engine_module *m, int index, engine_module *target) {
  if (index < 0 || index >= m->req_module_entries_count) return false;
  m->req_module_entries[index].module = target;
  return true;
}

static bool is_linked_through(const engine_module *m) {
  for (int i = 0; i < m->req_module_entries_count; i++) {
    const JSModuleDef *to = m->req_module_entries[i].module;
    if (!to || to->init_func == placeholder_run) return false;
  }
  return true;
}

int engine_module_instantiate(JSContext *c, engine_module *m) {
  if (!is_linked_through(m)) {
    JS_ThrowTypeError(c, "an import of this module is not linked");
    return -1;
  }
  if (m->status != JS_MODULE_STATUS_UNLINKED) return 0;
  return js_create_module_function(c, m) < 0 ? -1 : js_link_module(c, m);
}

JSValue engine_module_evaluate(JSContext *c, engine_module *m) {
  if (m->status == JS_MODULE_STATUS_UNLINKED && engine_module_instantiate(c, m) < 0) return JS_EXCEPTION;
  if (m->status == JS_MODULE_STATUS_LINKING || m->status == JS_MODULE_STATUS_EVALUATING)
    return JS_ThrowTypeError(c, "the module is being evaluated");
  return js_evaluate_module(c, m);
}

enum engine_module_status engine_module_status(const engine_module *m) {
  if (m->eval_has_exception) return ENGINE_FAILED;
  switch (m->status) {
  case JS_MODULE_STATUS_UNLINKED:
  case JS_MODULE_STATUS_LINKING: return ENGINE_UNLINKED;
  case JS_MODULE_STATUS_LINKED: return ENGINE_LINKED;
  case JS_MODULE_STATUS_EVALUATING:
  case JS_MODULE_STATUS_EVALUATING_ASYNC: return ENGINE_EVALUATING;
  default: return ENGINE_EVALUATED;
  }
}

JSValue engine_module_error(JSContext *c, const engine_module *m) { return js_dup(m->eval_exception); }

enum { DEPTH_MAX = 1000 };

static bool awaits(const engine_module *m, int depth, int stamp) {
  if (m->has_tla) return true;
  if (depth > DEPTH_MAX || m->dfs_index == stamp) return false;
  ((engine_module *)m)->dfs_index = stamp; /* free to use between two evaluations */
  for (int i = 0; i < m->req_module_entries_count; i++) {
    const JSModuleDef *to = m->req_module_entries[i].module;
    if (to && awaits(to, depth + 1, stamp)) return true;
  }
  return false;
}

bool engine_module_awaits(const engine_module *m) {
  static int stamp = -1;
  return awaits(m, 0, --stamp);
}

bool engine_take_import(JSContext *c, engine_import *out) {
  JSRuntime *rt = JS_GetRuntime(c);
  if (list_empty(&rt->job_list)) return false;
  JSJobEntry *job = list_entry(rt->job_list.next, JSJobEntry, link);
  if (job->job_func != js_dynamic_import_job) return false;
  *out = (engine_import){ job->argv[0], job->argv[1], job->argv[2], job->argv[3], job->argv[4] };
  list_del(&job->link);
  js_free(job->ctx, job);
  return true;
}

static const JSJobEntry *next_reaction(JSContext *c) {
  JSRuntime *rt = JS_GetRuntime(c);
  if (list_empty(&rt->job_list)) return NULL;
  const JSJobEntry *job = list_entry(rt->job_list.next, JSJobEntry, link);
  return job->job_func == promise_reaction_job ? job : NULL;
}

static JSValue promise_of(JSValueConst resolve) {
  if (!JS_IsObject(resolve) || JS_GetClassID(resolve) != JS_CLASS_PROMISE_RESOLVE_FUNCTION)
    return JS_UNDEFINED;
  return js_dup(JS_VALUE_GET_OBJ(resolve)->u.promise_function_data->promise);
}

JSValue engine_next_promise(JSContext *c, bool *resumes) {
  *resumes = false;
  const JSJobEntry *job = next_reaction(c);
  if (!job) return JS_UNDEFINED;
  JSClassID kind = JS_IsObject(job->argv[2]) ? JS_GetClassID(job->argv[2]) : 0;
  *resumes = kind == JS_CLASS_ASYNC_FUNCTION_RESOLVE || kind == JS_CLASS_ASYNC_FUNCTION_REJECT;
  if (!*resumes) return promise_of(job->argv[0]);
  return promise_of(JS_VALUE_GET_OBJ(job->argv[2])->u.async_function_data->resolving_funcs[0]);
}

JSValue engine_next_settled(JSContext *c) {
  const JSJobEntry *job = next_reaction(c);
  return job ? promise_of(job->argv[0]) : JS_UNDEFINED;
}

/* ---- the life of an image ---- */

void engine_seed(JSContext *c, uint64_t seed) { c->random_state = seed ? seed : 1; }

int *engine_breaker(JSContext *c) { return &c->interrupt_counter; }

void engine_settle(JSContext *c) {
  static struct list_head settled = { &settled, &settled };
  JSRuntime *rt = JS_GetRuntime(c);
  struct list_head *at, *next;
  JS_RunGC(rt);
  list_for_each_safe(at, next, &rt->gc_obj_list) {
    list_del(at);
    list_add_tail(at, &settled);
  }
  JS_SetGCThreshold(rt, rt->malloc_state.malloc_size + (1 << 20));
}

/* ---- contexts of vm ---- */

#include "contexts.inc"
