/* EXECUTE: the code of a cell runs in the dictionary of __main__. For code that does not await, no Python of
 * ours runs.
 *
 * A cell whose last statement is an expression is compiled in two parts, so that its value is at hand without
 * a name in the user's dictionary. Both parts are compiled before anything runs. */
#include "display.h"
#include "driver.h"

#include "internal/pycore_ast.h"
#include "internal/pycore_compile.h"
#include "internal/pycore_parser.h"
#include "internal/pycore_pyarena.h"
#include "text.h"

enum { SOURCES_MAX = 512, SOURCES_BYTES_MAX = 4 << 20, VALUE_MAX = 1 << 20 };

static uint32_t cells; /* so far, for their names */

typedef struct {
  PyObject *source, *name;
  cell_code code;
} cell;

PyObject *user_names(void) {
  static PyObject *names;
  if (!names) {
    PyObject *module = PyImport_AddModule("__main__");
    names = module ? Py_NewRef(PyModule_GetDict(module)) : NULL;
  }
  return names;
}

/* linecache shows source lines in tracebacks. It gets those of the latest cells; a name that is used again
 * takes the place of the older one. */

static struct {
  PyObject *names[SOURCES_MAX];
  Py_ssize_t lens[SOURCES_MAX];
  size_t first, count;
  Py_ssize_t bytes;
} sources;

static void forget_oldest_source(PyObject *cache) {
  PyObject *name = sources.names[sources.first];
  sources.bytes -= sources.lens[sources.first];
  sources.first = (sources.first + 1) % SOURCES_MAX;
  sources.count--;
  if (PyDict_DelItem(cache, name) < 0) PyErr_Clear();
  Py_DECREF(name);
}

static bool known_source(PyObject *name, Py_ssize_t len) {
  if (!sources.count) return false;
  size_t last = (sources.first + sources.count - 1) % SOURCES_MAX;
  if (PyUnicode_Compare(sources.names[last], name) != 0) return false;
  sources.bytes += len - sources.lens[last];
  sources.lens[last] = len;
  return true;
}

static void count_source(PyObject *cache, PyObject *name, Py_ssize_t len) {
  if (known_source(name, len)) return;
  while (sources.count == SOURCES_MAX || (sources.count && sources.bytes + len > SOURCES_BYTES_MAX))
    forget_oldest_source(cache);
  size_t slot = (sources.first + sources.count++) % SOURCES_MAX;
  sources.names[slot] = Py_NewRef(name);
  sources.lens[slot] = len;
  sources.bytes += len;
}

static PyObject *source_cache(void) {
  static PyObject *cache;
  if (cache) return cache;
  PyObject *module = PyImport_ImportModule("linecache");
  cache = module ? PyObject_GetAttrString(module, "cache") : NULL;
  Py_XDECREF(module);
  if (cache && !PyDict_Check(cache)) Py_CLEAR(cache);
  return cache;
}

void execute_forget_sources(void) {
  PyObject *cache = source_cache();
  while (cache && sources.count) forget_oldest_source(cache);
  kept_forget();
  cells = 0;
}

/* Every line ends with a newline there, the last one too. */
static PyObject *split_lines(PyObject *source) {
  PyObject *lines = PyUnicode_Splitlines(source, 1);
  Py_ssize_t count = lines ? PyList_GET_SIZE(lines) : 0, len = PyUnicode_GET_LENGTH(source);
  if (!count || PyUnicode_READ_CHAR(source, len - 1) == '\n') return lines;
  PyObject *last = PyUnicode_FromFormat("%U\n", PyList_GET_ITEM(lines, count - 1));
  if (!last || PyList_SetItem(lines, count - 1, last) < 0) Py_CLEAR(lines);
  return lines;
}

int execute_keep_source(PyObject *name, PyObject *source) {
  PyObject *cache = source_cache();
  Py_ssize_t len = PyUnicode_GET_LENGTH(source);
  if (!cache) return -1;
  PyObject *lines = split_lines(source);
  PyObject *entry = lines ? Py_BuildValue("(nONO)", len, Py_None, lines, name) : NULL;
  int kept = entry ? PyDict_SetItem(cache, name, entry) : -1;
  Py_XDECREF(entry);
  if (kept == 0) count_source(cache, name, len);
  return kept;
}

/* Takes the last statement out of the module when it is an expression. */
static mod_ty split_value(mod_ty module, PyArena *arena) {
  asdl_stmt_seq *body = module->v.Module.body;
  Py_ssize_t count = asdl_seq_LEN(body);
  if (!count) return NULL;
  stmt_ty last = (stmt_ty)asdl_seq_GET(body, count - 1);
  if (last->kind != Expr_kind) return NULL;
  body->size = count - 1;
  return _PyAST_Expression(last->v.Expr.value, arena);
}

static int compile_parts(cell *c, const char *code, PyArena *arena) {
  PyCompilerFlags flags = { PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE | PyCF_ALLOW_TOP_LEVEL_AWAIT,
                            PY_MINOR_VERSION };
  mod_ty module = _PyParser_ASTFromString(code, c->name, Py_file_input, &flags, arena);
  if (!module) return -1;
  mod_ty value = split_value(module, arena);
  if (PyErr_Occurred()) return -1;
  if (!value || asdl_seq_LEN(module->v.Module.body)) {
    c->code.body = _PyAST_Compile(module, c->name, &flags, -1, arena);
    if (!c->code.body) return -1;
    flags.cf_flags |= c->code.body->co_flags & PyCF_MASK; /* from __future__ import … */
  }
  if (value) c->code.value = _PyAST_Compile(value, c->name, &flags, -1, arena);
  return value && !c->code.value ? -1 : 0;
}

static void cell_drop_code(cell *c) {
  Py_CLEAR(c->code.body);
  Py_CLEAR(c->code.value);
}

static int compile_text(cell *c, const char *code) {
  PyArena *arena = _PyArena_New();
  if (!arena) return -1;
  int compiled = compile_parts(c, code, arena);
  _PyArena_Free(arena);
  return compiled;
}

/* Code that compiles without a warning is kept. What fails is compiled once more, as it would be otherwise. */
static int compile_anew(cell *c, const char *code) {
  PyObject *filters = kept_refuse_warnings(c->source);
  if (!filters) return compile_text(c, code);
  int compiled = compile_text(c, code);
  kept_allow_warnings(filters);
  if (compiled == 0) {
    kept_add(c->source, &c->code);
    return 0;
  }
  PyErr_Clear();
  cell_drop_code(c);
  return compile_text(c, code);
}

static int compile_cell(cell *c) {
  Py_ssize_t len;
  const char *code = PyUnicode_AsUTF8AndSize(c->source, &len);
  if (!code) return -1;
  if (strlen(code) != (size_t)len) {
    PyErr_SetString(PyExc_SyntaxError, "source code string cannot contain null bytes");
    return -1;
  }
  return kept_find(c->source, code, c->name, &c->code) ? 0 : compile_anew(c, code);
}

static bool awaits(const PyCodeObject *code) { return code && code->co_flags & CO_COROUTINE; }

static PyObject *or_none(PyCodeObject *code) { return code ? (PyObject *)code : Py_None; }

static PyObject *run_part(PyCodeObject *code) {
  PyObject *names = user_names();
  return code ? PyEval_EvalCode((PyObject *)code, names, names) : Py_NewRef(Py_None);
}

/* The value of the cell: None when it has none. */
static PyObject *run_cell(const cell *c) {
  if (awaits(c->code.body) || awaits(c->code.value))
    return loop_run(or_none(c->code.body), or_none(c->code.value));
  if (loop_turn() < 0) return NULL;
  PyObject *result = run_part(c->code.body);
  if (result && c->code.value) {
    Py_DECREF(result);
    result = run_part(c->code.value);
  }
  if (result && loop_turn() < 0) Py_CLEAR(result);
  return result;
}

/* -1 with an exception; else the bits of TOO_LARGE. */
static int report_repr(PyObject *value, size_t max, reply *r) {
  PyObject *shown = PyObject_Repr(value);
  PyObject *bytes = shown ? PyUnicode_AsEncodedString(shown, "utf-8", "backslashreplace") : NULL;
  Py_XDECREF(shown);
  if (!bytes) return -1;
  const char *data = PyBytes_AS_STRING(bytes);
  size_t len = (size_t)PyBytes_GET_SIZE(bytes);
  bool cut = len > max;
  if (cut)
    for (len = max; len > 0 && (data[len] & 0xc0) == 0x80;) len--;
  reply_bytes(r, TALK_REPR, data, len);
  Py_DECREF(bytes);
  return cut ? TALK_REPR_CUT : 0;
}

/* The bits of TOO_LARGE. */
static int report_json(PyObject *value, size_t max, reply *r) {
  text t = { .limit = max };
  bool written = json_write(&t, value), left_out = t.failed;
  if (written) reply_bytes(r, TALK_JSON, t.data, t.len);
  text_free(&t);
  return left_out ? TALK_JSON_LEFT_OUT : 0;
}

/* `_`, where the user's own variable of that name hides it. It is there from the start, since a new name among the
 * builtins would invalidate what code knows of them. */
static int set_last_value(PyObject *value) {
  static PyObject *name;
  if (!name) name = PyUnicode_InternFromString("_");
  return name ? PyDict_SetItem(PyEval_GetBuiltins(), name, value) : -1;
}

int execute_forget_value(void) { return set_last_value(Py_None); }

typedef struct {
  field code, name, filter, input;
  uint32_t flags, value_max, display_max; /* display_max 0: no bundles are wanted */
} order;

static int report_value(PyObject *value, const order *o, reply *r) {
  reply_u32(r, TALK_STATUS, TALK_OK);
  if (Py_IsNone(value)) return 0;
  int too_large = report_repr(value, o->value_max, r);
  if (too_large < 0 || set_last_value(value) < 0) return -1;
  if (o->flags & TALK_WANT_JSON) too_large |= report_json(value, o->value_max, r);
  if (o->display_max) {
    int left_out = display_value(value, o->display_max, r);
    if (left_out < 0) return -1;
    too_large |= left_out;
  }
  if (too_large) reply_u32(r, TALK_TOO_LARGE, (uint32_t)too_large);
  return 0;
}

static order read_order(fields *request) {
  order o = { .value_max = VALUE_MAX };
  field f;
  while (fields_next(request, &f)) switch (f.tag) {
    case TALK_CODE: o.code = f; break;
    case TALK_NAME: o.name = f; break;
    case TALK_TRACE_FILTER: o.filter = f; break;
    case TALK_INPUT: o.input = f; break;
    case TALK_FLAGS: o.flags = field_u32(&f); break;
    case TALK_VALUE_MAX: o.value_max = field_u32(&f); break;
    case TALK_DISPLAY_MAX: o.display_max = field_u32(&f); break;
    default: break;
    }
  return o;
}

static int prepare(cell *c, const order *o) {
  cells++;
  c->name = o->name.data ? PyUnicode_DecodeUTF8(o->name.data, (Py_ssize_t)o->name.len, "replace")
                         : PyUnicode_FromFormat("<cell %u>", (unsigned)cells);
  c->source =
      c->name ? PyUnicode_DecodeUTF8(o->code.data ? o->code.data : "", (Py_ssize_t)o->code.len, NULL) : NULL;
  if (!c->source || !user_names()) return -1;
  if (o->flags & TALK_CALLBACKS_CHANGED && callbacks_refresh() < 0) return -1;
  if (o->display_max && display_prepare() < 0) return -1;
  if (streams_begin(o->input.data ? &o->input : NULL) < 0) return -1;
  return execute_keep_source(c->name, c->source) < 0 ? -1 : compile_cell(c);
}

/* Tracing ends before the value's repr is made: that is no part of the user's code. */
static PyObject *run_traced(const cell *c, const order *o) {
  if (!(o->flags & TALK_TRACE_ANY)) return run_cell(c);
  if (trace_begin(o->flags, o->filter.data, o->filter.len) < 0) return NULL;
  PyObject *value = run_cell(c);
  trace_end();
  return value;
}

void execute(fields *request, reply *r) {
  order o = read_order(request);
  cell c = { 0 };
  PyObject *value = prepare(&c, &o) < 0 ? NULL : run_traced(&c, &o);
  if (o.display_max && display_settle(value) < 0) Py_CLEAR(value);
  if (value && stop_settle() < 0) Py_CLEAR(value); /* its handlers are part of the cell */
  if (!value || report_value(value, &o, r) < 0) {
    r->len = 0;
    report_exception(r, c.name);
  }
  Py_XDECREF(value);
  cell_drop_code(&c);
  Py_XDECREF(c.source);
  Py_XDECREF(c.name);
  if (streams_end() < 0) PyErr_Clear(); /* too late: the cell has ended */
}
