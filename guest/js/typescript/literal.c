/* Operands: names, literals, and what stands in brackets. */
#include "parse.h"

void ts_use(ts_parser *p, bool shorthand) {
  if (p->member_of && ts_enum_use(p, shorthand)) return;
  ts_spans_add(p, &p->uses, ts_here(p));
}

static void literal_template(ts_parser *p) {
  while (p->token.kind == TS_TEMPLATE_PART) {
    ts_next(p);
    ts_expression(p, 0);
    if (!ts_op(p, '}')) return ts_fail(p, "'}' is expected");
    p->token = ts_scan_template(p->text, p->len, p->token);
  }
  if (p->token.kind != TS_TEMPLATE) return ts_fail(p, "the template has no end");
  ts_next(p);
}

static void literal_array(ts_parser *p) {
  ts_next(p);
  while (!ts_op(p, ']') && !ts_ended(p)) {
    if (ts_accept(p, ',')) continue;
    ts_accept(p, OP3('.', '.', '.'));
    ts_assign(p, 0);
    if (!ts_op(p, ']')) ts_expect(p, ',');
  }
  ts_expect(p, ']');
}

/* ---- objects ---- */

/* get, set and async, when a name follows. */
static void literal_modifiers(ts_parser *p) {
  while (ts_is(p, "get") || ts_is(p, "set") || ts_is(p, "async")) {
    ts_token next = ts_peek(p);
    if (next.kind == TS_END || (next.kind == TS_OPERATOR && next.op != '[' && next.op != '*')) break;
    ts_next(p);
  }
  ts_accept(p, '*');
}

static void literal_key(ts_parser *p, bool *shorthand) {
  ts_token next = ts_peek(p);
  *shorthand = p->token.kind == TS_NAME && next.kind == TS_OPERATOR &&
               (next.op == ',' || next.op == '}' || next.op == '=');
  if (*shorthand) ts_use(p, true);
  if (ts_accept(p, '[')) {
    ts_assign(p, 0);
    ts_expect(p, ']');
  } else if (p->token.kind == TS_NAME || p->token.kind == TS_STRING || p->token.kind == TS_NUMBER) {
    ts_next(p);
  } else {
    ts_fail(p, "the name of a property is expected");
  }
}

static void literal_property(ts_parser *p) {
  bool shorthand;
  if (ts_accept(p, OP3('.', '.', '.'))) return ts_assign(p, 0);
  literal_modifiers(p);
  literal_key(p, &shorthand);
  if (shorthand) {
    if (ts_accept(p, '=')) ts_assign(p, 0); /* the default of a pattern */
  } else if (ts_accept(p, ':')) {
    ts_assign(p, 0);
  } else if (ts_signature(p, NULL)) {
    ts_body(p);
  } else {
    ts_fail(p, "a method needs a body");
  }
}

static void literal_object(ts_parser *p) {
  ts_next(p);
  while (!ts_op(p, '}') && !ts_ended(p)) {
    literal_property(p);
    if (!ts_accept(p, ',')) break;
  }
  ts_expect(p, '}');
}

/* ---- operands ---- */

static void literal_name(ts_parser *p) {
  ts_token next = ts_peek(p);
  if (ts_is(p, "function") || (ts_is(p, "async") && ts_token_is(p, &next, "function") && !next.newline)) {
    ts_accept_word(p, "async");
    ts_function(p, NULL);
  } else if (ts_is(p, "class")) {
    ts_class_expression(p);
  } else if (ts_reserved(p) && !ts_is(p, "import") && !ts_is(p, "super")) {
    ts_fail(p, "an expression is expected, and not '%.*s'", TS_TEXT(p, ts_here(p)));
  } else {
    ts_use(p, false);
    ts_next(p);
  }
}

static void literal_parentheses(ts_parser *p) {
  bool decorator = p->decorator;
  p->decorator = false;
  ts_next(p);
  ts_expression(p, 0);
  ts_expect(p, ')');
  p->decorator = decorator;
}

static void literal_bracket(ts_parser *p) {
  switch (p->token.kind == TS_OPERATOR ? p->token.op : 0) {
  case '(': literal_parentheses(p); return;
  case '[': literal_array(p); return;
  case '{': literal_object(p); return;
  case '@': ts_class_expression(p); return;
  case '/':
  case OP2('/', '='):
    p->token = ts_scan_regexp(p->text, p->len, p->token);
    if (p->token.kind == TS_BAD) return ts_fail(p, "the regular expression has no end");
    ts_next(p);
    return;
  default: ts_fail(p, "an expression is expected");
  }
}

void ts_primary(ts_parser *p) {
  switch (p->token.kind) {
  case TS_NAME: literal_name(p); return;
  case TS_PRIVATE:
  case TS_NUMBER:
  case TS_STRING: ts_next(p); return;
  case TS_TEMPLATE:
  case TS_TEMPLATE_PART: literal_template(p); return;
  case TS_BAD: ts_fail(p, "this is no token"); return;
  default: literal_bracket(p);
  }
}
