/* Declarations, of which some leave nothing. */
#include "parse.h"

/* ---- types ---- */

static bool declaration_names_type(const ts_parser *p) {
  ts_token next = ts_peek(p);
  return next.kind == TS_NAME && !next.newline && (ts_is(p, "type") || ts_is(p, "interface"));
}

static void declaration_type_name(ts_parser *p) {
  if (!p->nested) ts_spans_add(p, &p->types, ts_here(p));
  ts_next(p);
}

static void declaration_alias(ts_parser *p) {
  ts_next(p);
  declaration_type_name(p);
  if (ts_op(p, '<')) ts_type_parameters(p);
  ts_expect(p, '=');
  ts_type(p);
  ts_semicolon(p);
}

static void declaration_interface(ts_parser *p) {
  ts_next(p);
  declaration_type_name(p);
  if (ts_op(p, '<')) ts_type_parameters(p);
  if (ts_accept_word(p, "extends")) {
    do ts_type(p);
    while (ts_accept(p, ','));
  }
  if (!ts_op(p, '{')) return ts_fail(p, "the members of the interface are expected");
  ts_type(p);
}

/* `declare` stands before a declaration, all of which is erased. */
static bool declaration_is_ambient(const ts_parser *p) {
  static const char *const words[] = { "var",       "let",    "const",  "function", "class",
                                       "abstract",  "enum",   "async",  "type",     "interface",
                                       "namespace", "module", "global", "import" };
  ts_token next = ts_peek(p);
  if (!ts_is(p, "declare") || next.newline) return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (ts_token_is(p, &next, words[i])) return true;
  return false;
}

/* declare module 'x'; declare global { … } */
static bool declaration_of_module(ts_parser *p) {
  ts_token next = ts_peek(p);
  bool named = ts_is(p, "module") && next.kind == TS_STRING;
  if (!named && !(ts_is(p, "global") && next.kind == TS_OPERATOR && next.op == '{')) return false;
  ts_next(p);
  if (named) ts_next(p);
  if (ts_op(p, '{'))
    ts_block(p);
  else
    ts_semicolon(p);
  return true;
}

static void declaration_ambient(ts_parser *p) {
  size_t values = p->values.count, imports = p->import_count;
  ts_next(p);
  if (!declaration_of_module(p)) ts_statement(p);
  p->values.count = values;
  p->import_count = imports;
}

bool ts_type_declaration(ts_parser *p) {
  ts_place begun = ts_mark(p);
  ts_token next = ts_peek(p);
  bool global = ts_is(p, "global") && next.kind == TS_OPERATOR && next.op == '{';
  if (declaration_names_type(p))
    ts_is(p, "type") ? declaration_alias(p) : declaration_interface(p);
  else if (declaration_is_ambient(p) || (ts_is(p, "module") && next.kind == TS_STRING && !next.newline) ||
           global)
    declaration_is_ambient(p) ? declaration_ambient(p) : (void)declaration_of_module(p);
  else
    return false;
  p->declared.count = begun.declared;
  ts_erase(p, &begun, begun.token.start, ';');
  return true;
}

/* ---- the others ---- */

static bool declaration_is_space(const ts_parser *p) {
  ts_token next = ts_peek(p);
  return (ts_is(p, "namespace") || ts_is(p, "module")) && next.kind == TS_NAME && !next.newline;
}

static bool declaration_of_code(ts_parser *p) {
  ts_place begun = ts_mark(p);
  ts_token next = ts_peek(p);
  ts_span name = { 0 };
  if (ts_is(p, "function") || (ts_is(p, "async") && ts_token_is(p, &next, "function") && !next.newline))
    ts_function_declaration(p, &begun, &name);
  else if (ts_op(p, '@') || ts_is(p, "class") || (ts_is(p, "abstract") && ts_token_is(p, &next, "class")))
    ts_class_declaration(p, &name, TS_NOWHERE);
  else if (ts_is(p, "enum") || (ts_is(p, "const") && ts_token_is(p, &next, "enum")))
    ts_enum_declaration(p, begun.token.start, false);
  else if (declaration_is_space(p))
    ts_namespace(p, begun.token.start, false);
  else
    return false;
  if (name.end) ts_bind(p, name);
  return true;
}

bool ts_declaration(ts_parser *p) {
  ts_token next = ts_peek(p);
  bool call = next.kind == TS_OPERATOR && (next.op == '(' || next.op == '.');
  if (ts_is(p, "import") && !call)
    ts_import_statement(p);
  else if (ts_is(p, "export"))
    ts_export_statement(p);
  else
    return declaration_of_code(p) || ts_type_declaration(p);
  return true;
}
