/* import and export. */
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what an import declares ---- */

/* The statement that is read: its names, for import() in a cell. */
typedef struct {
  ts_span whole, default_name, space_name;
  char *named;  /* "a: b, c" */
  size_t first; /* of p->imports */
  bool types;
} import_read;

static void import_add(ts_parser *p, const import_read *r, ts_span local, ts_span part, bool type) {
  if (p->import_count == p->import_cap) {
    size_t cap = p->import_cap ? 2 * p->import_cap : 16;
    ts_import *items = realloc(p->imports, cap * sizeof *items);
    if (!items) return ts_fail_finally(p, "out of memory");
    p->imports = items;
    p->import_cap = cap;
  }
  p->imports[p->import_count++] =
      (ts_import){ .local = local, .part = part, .type = type, .whole = r->whole };
  if (!type) ts_bind(p, local);
}

static void import_name(ts_parser *p, import_read *r, ts_span imported, ts_span local) {
  char *all;
  if (!p->options.cell) return;
  if (asprintf(&all, "%s%.*s:%.*s,", r->named ? r->named : "", TS_TEXT(p, imported), TS_TEXT(p, local)) < 0)
    return ts_fail_finally(p, "out of memory");
  free(r->named);
  r->named = all;
}

/* `type`, and no name of that kind. */
static bool import_is_type(const ts_parser *p) {
  ts_token next = ts_peek(p);
  if (!ts_is(p, "type") || (next.kind != TS_NAME && next.kind != TS_STRING)) return false;
  if (!ts_token_is(p, &next, "as")) return true;
  ts_token third = ts_scan(p->text, p->len, next.end); /* type as, type as as x; but: type as x */
  if (third.kind != TS_NAME) return true;
  ts_token fourth = ts_scan(p->text, p->len, third.end);
  return ts_token_is(p, &third, "as") && fourth.kind == TS_NAME;
}

/* a, a as b, type a, "a" as b: of import and export alike. */
typedef struct {
  ts_span name, alias;
  bool type;
} specifier;

static specifier module_specifier(ts_parser *p) {
  specifier s = { .type = import_is_type(p) };
  if (s.type) ts_next(p);
  s.name = s.alias = ts_here(p);
  if (p->token.kind != TS_NAME && p->token.kind != TS_STRING) ts_fail(p, "a name is expected");
  ts_next(p);
  if (ts_accept_word(p, "as")) {
    s.alias = ts_here(p);
    ts_next(p);
  }
  return s;
}

static void import_named(ts_parser *p, import_read *r) {
  ts_next(p);
  while (!ts_op(p, '}') && !ts_ended(p)) {
    uint32_t start = p->token.start;
    specifier s = module_specifier(p);
    bool more = ts_accept(p, ',');
    import_add(p, r, s.alias, (ts_span){ start, p->last_end }, s.type || r->types);
    if (!s.type) import_name(p, r, s.name, s.alias);
    if (!more) break;
  }
  ts_expect(p, '}');
}

static void import_clause(ts_parser *p, import_read *r) {
  uint32_t start = p->token.start, comma = start;
  if (p->token.kind == TS_NAME) {
    r->default_name = ts_here(p);
    ts_next(p);
    comma = p->token.start;
    bool more = ts_accept(p, ',');
    import_add(p, r, r->default_name, (ts_span){ start, p->last_end }, r->types);
    if (!more) return;
  }
  if (ts_op(p, '{')) return import_named(p, r);
  ts_expect(p, '*');
  ts_expect_word(p, "as");
  r->space_name = ts_here(p);
  ts_next(p);
  import_add(p, r, r->space_name, (ts_span){ comma, p->last_end }, r->types);
}

/* The module and its attributes: `from` to the semicolon. */
static ts_span module_source(ts_parser *p, ts_span *attributes) {
  ts_span source = ts_here(p);
  if (p->token.kind != TS_STRING) ts_fail(p, "the name of the module is expected");
  ts_next(p);
  *attributes = (ts_span){ 0 };
  if (ts_is(p, "with") || (ts_is(p, "assert") && !p->token.newline)) {
    ts_next(p);
    attributes->start = p->token.start;
    ts_assign(p, 0);
    attributes->end = p->last_end;
  }
  ts_semicolon(p);
  return source;
}

/* ---- import() instead, in a cell ---- */

static void import_call(ts_parser *p, const import_read *r, ts_span source, ts_span attributes) {
  const char *with = attributes.end ? ",{with:" : "", *close = attributes.end ? "}" : "";
  char *call, *space = NULL, *named = NULL;
  if (p->failed) return;
  if (asprintf(&call, "await import(%.*s%s%.*s%s)", TS_TEXT(p, source), with, TS_TEXT(p, attributes), close) <
      0)
    return ts_fail_finally(p, "out of memory");
  bool has_space = r->space_name.end, has_names = r->named || r->default_name.end;
  bool made = asprintf(&space, "const %.*s=%s;", TS_TEXT(p, r->space_name), call) >= 0;
  const char *colon = r->default_name.end ? "default:" : "", *comma = r->default_name.end ? "," : "";
  made &= asprintf(&named, "const{%s%.*s%s%s}=%s;", colon, TS_TEXT(p, r->default_name), comma,
                   r->named ? r->named : "", call) >= 0;
  if (made && (has_space || has_names))
    ts_edit_replace(&p->edits, r->whole.start, p->last_end, "%s%s", has_space ? space : "",
                    has_names ? named : "");
  else
    ts_edit_replace(&p->edits, r->whole.start, p->last_end, "%s;", call);
  free(call);
  free(space);
  free(named);
}

/* ---- import ---- */

/* import a = require('x'), import a = b.c: a constant. */
static bool import_alias(ts_parser *p, import_read *r) {
  ts_token next = ts_peek(p);
  if (p->token.kind != TS_NAME || next.kind != TS_OPERATOR || next.op != '=') return false;
  ts_span name = ts_here(p);
  uint32_t words = p->last_end;
  ts_next(p);
  ts_next(p);
  ts_left_hand(p);
  ts_semicolon(p);
  r->whole.end = p->last_end;
  if (!p->failed) ts_edit_replace(&p->edits, r->whole.start, words, "const");
  import_add(p, r, name, r->whole, r->types);
  return true;
}

static bool import_of_types(const ts_parser *p) {
  ts_token next = ts_peek(p);
  if (!ts_is(p, "type") || (next.kind == TS_OPERATOR && next.op != '{' && next.op != '*')) return false;
  ts_token third = ts_scan(p->text, p->len, next.end);
  return !(ts_token_is(p, &next, "from") && third.kind == TS_STRING);
}

static void import_end(ts_parser *p, import_read *r, const ts_place *begun, ts_span source,
                       ts_span attributes) {
  r->whole.end = p->last_end;
  for (size_t i = r->first; i < p->import_count; i++) p->imports[i].whole = r->whole;
  bool all_types = p->import_count > r->first;
  for (size_t i = r->first; i < p->import_count; i++) all_types &= p->imports[i].type;
  if (!r->types && !all_types && !p->options.cell) return;
  if (p->options.cell || r->types || all_types) p->import_count = r->first;
  if (r->types || all_types)
    ts_erase(p, begun, r->whole.start, ';');
  else
    import_call(p, r, source, attributes);
}

void ts_import_statement(ts_parser *p) {
  import_read r = { .whole = { p->token.start, 0 }, .first = p->import_count };
  ts_place begun = ts_mark(p);
  ts_span attributes;
  ts_next(p);
  if ((r.types = import_of_types(p))) ts_next(p);
  if (import_alias(p, &r)) {
    if (!r.types) return;
    p->import_count = r.first;
    return ts_erase(p, &begun, r.whole.start, ';');
  }
  if (p->token.kind != TS_STRING) {
    import_clause(p, &r);
    ts_expect_word(p, "from");
  }
  ts_span source = module_source(p, &attributes);
  import_end(p, &r, &begun, source, attributes);
  free(r.named);
}

/* ---- export ---- */

static bool export_list_is_of_types(const ts_parser *p) {
  ts_token next = ts_peek(p);
  return ts_is(p, "type") && next.kind == TS_OPERATOR && (next.op == '{' || next.op == '*');
}

/* Names of this module: one that is a type goes, which shows at the end. */
static void export_names(ts_parser *p, size_t *first) {
  *first = p->import_count;
  ts_expect(p, '{');
  while (!ts_op(p, '}') && !ts_ended(p)) {
    uint32_t start = p->token.start;
    specifier s = module_specifier(p);
    bool more = ts_accept(p, ',');
    ts_spans *bound = p->bound;
    p->bound = NULL;
    import_add(p, &(import_read){ 0 }, s.name, (ts_span){ start, p->last_end }, s.type);
    p->bound = bound;
    if (!more) break;
  }
  ts_expect(p, '}');
}

static void export_list(ts_parser *p, const ts_place *begun, bool types) {
  ts_span attributes;
  size_t first = p->import_count;
  if (ts_accept(p, '*')) {
    if (ts_accept_word(p, "as")) ts_next(p);
    if (!ts_is(p, "from")) ts_fail(p, "'from' is expected");
  } else {
    export_names(p, &first);
  }
  bool from = ts_accept_word(p, "from");
  if (from)
    module_source(p, &attributes);
  else
    ts_semicolon(p);
  if (types || p->options.cell) {
    p->import_count = first;
    ts_erase(p, begun, begun->token.start, ';');
    return;
  }
  for (size_t i = first; i < p->import_count; i++) {
    p->imports[i].kept = from; /* another module's name goes by `type` alone */
    if (!from && !p->imports[i].type) ts_spans_add(p, &p->uses, p->imports[i].local);
  }
}

/* The value of a cell, or what a module exports. */
static void export_value(ts_parser *p, uint32_t start) {
  if (p->options.cell) ts_edit_replace(&p->edits, start, p->last_end, ";0,");
  ts_assign(p, 0);
  ts_semicolon(p);
}

static void export_default(ts_parser *p, const ts_place *begun) {
  uint32_t start = begun->token.start;
  ts_span name = { 0 };
  ts_next(p);
  ts_token next = ts_peek(p);
  bool async = ts_is(p, "async") && ts_token_is(p, &next, "function") && !next.newline;
  bool star = next.kind == TS_OPERATOR && next.op == '*';
  bool abstract = ts_is(p, "abstract") && ts_token_is(p, &next, "class");
  bool named = next.kind == TS_NAME || star;
  if (ts_is(p, "interface") && next.kind == TS_NAME && !next.newline) {
    (void)ts_type_declaration(p);
    ts_erase(p, begun, start, ';');
  } else if (async || (ts_is(p, "function") && (named || !p->options.cell))) {
    uint32_t words = p->last_end;
    ts_function_declaration(p, begun, &name);
    if (p->options.cell && name.end) ts_edit_blank(&p->edits, start, words, 0);
  } else if (ts_op(p, '@') || abstract || (ts_is(p, "class") && (next.kind == TS_NAME || !p->options.cell))) {
    if (p->options.cell) ts_edit_blank(&p->edits, start, p->last_end, 0);
    ts_class_declaration(p, &name, start);
  } else {
    export_value(p, start);
  }
}

/* export = x; export as namespace x; */
static bool export_other(ts_parser *p, const ts_place *begun) {
  if (ts_accept(p, '=')) {
    ts_edit_replace(&p->edits, begun->token.start, p->last_end, "module.exports =");
    ts_assign(p, 0);
    ts_semicolon(p);
    return true;
  }
  ts_token next = ts_peek(p);
  if (!ts_is(p, "as") || !ts_token_is(p, &next, "namespace")) return false;
  ts_next(p);
  ts_next(p);
  ts_next(p);
  ts_semicolon(p);
  ts_erase(p, begun, begun->token.start, ';');
  return true;
}

static void export_import(ts_parser *p, uint32_t start) {
  size_t first = p->import_count;
  uint32_t words = p->last_end;
  ts_import_statement(p);
  if (p->import_count > first && !p->failed) ts_spans_add(p, &p->uses, p->imports[first].local);
  if (p->options.cell) ts_edit_blank(&p->edits, start, words, 0);
}

static void export_declaration(ts_parser *p, const ts_place *begun) {
  uint32_t start = begun->token.start, words = p->last_end;
  ts_token next = ts_peek(p);
  bool space = (ts_is(p, "namespace") || ts_is(p, "module")) && next.kind == TS_NAME && !next.newline;
  if (ts_type_declaration(p)) return ts_erase(p, begun, start, ';');
  if (ts_is(p, "enum") || (ts_is(p, "const") && ts_token_is(p, &next, "enum")))
    return ts_enum_declaration(p, start, true);
  if (space) return ts_namespace(p, start, true);
  if (p->space.end) return ts_space_export(p, start);
  if (ts_is(p, "import")) return export_import(p, start);
  if (ts_is(p, "function") || ts_is(p, "async")) {
    ts_span name = { 0 };
    ts_function_declaration(p, begun, &name);
    if (!name.end) return;
    ts_bind(p, name);
  } else {
    if (ts_is(p, "export")) return ts_fail(p, "a declaration is expected");
    ts_statement(p);
  }
  if (p->options.cell) ts_edit_blank(&p->edits, start, words, 0);
}

void ts_export_statement(ts_parser *p) {
  ts_place begun = ts_mark(p);
  ts_next(p);
  bool types = export_list_is_of_types(p);
  if (types) ts_next(p);
  if (ts_op(p, '{') || ts_op(p, '*'))
    export_list(p, &begun, types);
  else if (ts_is(p, "default"))
    export_default(p, &begun);
  else if (!export_other(p, &begun))
    export_declaration(p, &begun);
}
