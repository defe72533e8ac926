/* Types: read to their end, and nothing else. */
#include "parse.h"

enum { ALLOW_CONDITIONAL = 0, NO_CONDITIONAL = 1 };

static void type_read(ts_parser *p, int conditional);

/* A '<<' that opens two lists of types. */
static void type_split_less(ts_parser *p) {
  if (!ts_op(p, OP2('<', '<'))) return;
  p->token.op = '<';
  p->token.end = p->token.start + 1;
}

static void type_names(ts_parser *p) {
  do {
    if (p->token.kind != TS_NAME && p->token.kind != TS_PRIVATE) return ts_fail(p, "a type is expected");
    ts_next(p);
  } while (ts_accept(p, '.'));
  type_split_less(p);
  if (ts_op(p, '<') && !p->token.newline) ts_type_arguments(p);
}

/* ---- objects, tuples ---- */

/* [key: T], [K in T as U] or a computed name. */
static void type_bracket(ts_parser *p) {
  ts_next(p);
  ts_token next = ts_peek(p);
  bool index = p->token.kind == TS_NAME && next.kind == TS_OPERATOR && next.op == ':';
  if (index || (p->token.kind == TS_NAME && ts_token_is(p, &next, "in"))) {
    ts_next(p);
    ts_next(p);
    ts_type(p);
    if (ts_accept_word(p, "as")) ts_type(p);
  } else {
    ts_assign(p, 0);
  }
  ts_expect(p, ']');
}

static void type_member_part(ts_parser *p) {
  type_split_less(p);
  if (p->token.kind == TS_NAME || p->token.kind == TS_STRING || p->token.kind == TS_NUMBER ||
      p->token.kind == TS_PRIVATE || ts_op(p, ';') || ts_op(p, ',') || ts_op(p, '?') || ts_op(p, '+') ||
      ts_op(p, '-'))
    ts_next(p);
  else if (ts_op(p, '['))
    type_bracket(p);
  else if (ts_op(p, '<'))
    ts_type_parameters(p);
  else if (ts_op(p, '('))
    ts_parameters(p, NULL);
  else if (ts_accept(p, ':'))
    ts_return_type(p);
  else
    ts_fail(p, "a member of a type is expected");
}

static void type_object(ts_parser *p) {
  ts_next(p);
  while (!ts_op(p, '}') && !ts_ended(p)) type_member_part(p);
  ts_expect(p, '}');
}

/* [A, b?: B, ...C[]] */
static void type_tuple(ts_parser *p) {
  ts_next(p);
  while (!ts_op(p, ']') && !ts_ended(p)) {
    ts_accept(p, OP3('.', '.', '.'));
    ts_type(p);
    ts_accept(p, '?');
    if (ts_accept(p, ':')) ts_type(p);
    ts_accept(p, '?');
    if (!ts_accept(p, ',')) break;
  }
  ts_expect(p, ']');
}

static void type_template(ts_parser *p) {
  while (p->token.kind == TS_TEMPLATE_PART) {
    ts_next(p);
    ts_type(p);
    if (!ts_op(p, '}')) return ts_fail(p, "'}' is expected");
    p->token = ts_scan_template(p->text, p->len, p->token);
  }
  if (p->token.kind != TS_TEMPLATE) return ts_fail(p, "the template has no end");
  ts_next(p);
}

/* ---- functions ---- */

/* Behind the pattern that begins at the current token. */
static void type_skip_pattern(ts_parser *p) {
  int open = 0;
  do {
    if (ts_op(p, '{') || ts_op(p, '[')) open++;
    if (ts_op(p, '}') || ts_op(p, ']')) open--;
    ts_next(p);
  } while (open > 0 && !ts_ended(p));
}

/* Whether the '(' begins the parameters of a function, and no type in parentheses. */
static bool type_is_function(ts_parser *p) {
  ts_place begun = ts_mark(p);
  ts_next(p);
  bool is = ts_op(p, ')') || ts_op(p, OP3('.', '.', '.'));
  if (!is && (p->token.kind == TS_NAME || ts_op(p, '{') || ts_op(p, '['))) {
    type_skip_pattern(p);
    is = ts_op(p, ':') || ts_op(p, ',') || ts_op(p, '?') || ts_op(p, '=');
    if (ts_accept(p, ')')) is = ts_op(p, OP2('=', '>'));
  }
  ts_back(p, &begun);
  return is;
}

static void type_function(ts_parser *p) {
  if (ts_op(p, '<')) ts_type_parameters(p);
  ts_parameters(p, NULL);
  ts_expect(p, OP2('=', '>'));
  ts_return_type(p);
}

static bool type_constructor(ts_parser *p) {
  ts_token next = ts_peek(p);
  if (ts_is(p, "abstract") && ts_token_is(p, &next, "new")) ts_next(p);
  if (!ts_accept_word(p, "new")) return false;
  type_function(p);
  return true;
}

/* ---- operands ---- */

static void type_import(ts_parser *p) {
  ts_next(p);
  ts_expect(p, '(');
  ts_type(p);
  if (ts_accept(p, ',') && ts_op(p, '{')) type_object(p);
  ts_accept(p, ',');
  ts_expect(p, ')');
  type_split_less(p);
  if (ts_accept(p, '.'))
    type_names(p);
  else if (ts_op(p, '<') && !p->token.newline)
    ts_type_arguments(p);
}

static void type_name(ts_parser *p) {
  if (ts_is(p, "typeof")) ts_next(p);
  if (ts_is(p, "import"))
    type_import(p);
  else
    type_names(p);
}

static void type_parenthesised(ts_parser *p) {
  ts_next(p);
  ts_type(p);
  ts_expect(p, ')');
}

static void type_primary(ts_parser *p) {
  type_split_less(p);
  switch (p->token.kind) {
  case TS_STRING:
  case TS_NUMBER: ts_next(p); return;
  case TS_TEMPLATE:
  case TS_TEMPLATE_PART: type_template(p); return;
  case TS_NAME: type_constructor(p) ? (void)0 : type_name(p); return;
  default: break;
  }
  if (ts_op(p, '<') || (ts_op(p, '(') && type_is_function(p)))
    type_function(p);
  else if (ts_op(p, '('))
    type_parenthesised(p);
  else if (ts_op(p, '['))
    type_tuple(p);
  else if (ts_op(p, '{'))
    type_object(p);
  else if (ts_accept(p, '-') && p->token.kind == TS_NUMBER)
    ts_next(p);
  else
    ts_fail(p, "a type is expected");
}

static bool type_begins(const ts_parser *p, const ts_token *t) {
  if (t->newline && t->kind == TS_NAME) return false;
  if (ts_token_is(p, t, "extends") || ts_token_is(p, t, "is") || ts_token_is(p, t, "in")) return false;
  return t->kind != TS_END && (t->kind != TS_OPERATOR || strchr("({[<-", (char)t->op));
}

/* The `extends` of `infer X extends T` is that of a conditional type when a '?' follows. */
static void type_infer(ts_parser *p, int conditional) {
  ts_next(p);
  if (!ts_is(p, "extends")) return;
  ts_place before = ts_mark(p);
  ts_next(p);
  type_read(p, NO_CONDITIONAL);
  if (conditional == ALLOW_CONDITIONAL && ts_op(p, '?')) ts_back(p, &before);
}

static void type_operand(ts_parser *p, int conditional) {
  for (;;) {
    ts_token next = ts_peek(p);
    if (ts_is(p, "infer") && next.kind == TS_NAME && !next.newline) {
      ts_next(p);
      type_infer(p, conditional);
      return;
    }
    bool prefix = ts_is(p, "keyof") || ts_is(p, "unique") || ts_is(p, "readonly");
    if (!prefix || !type_begins(p, &next)) break;
    ts_next(p);
  }
  type_primary(p);
  while (ts_op(p, '[') && !p->token.newline) {
    ts_next(p);
    if (!ts_op(p, ']')) ts_type(p);
    ts_expect(p, ']');
  }
}

static void type_read(ts_parser *p, int conditional) {
  if (!ts_enter(p)) return;
  if (!ts_accept(p, '|')) ts_accept(p, '&');
  do type_operand(p, conditional);
  while (ts_accept(p, '|') || ts_accept(p, '&'));
  if (conditional == ALLOW_CONDITIONAL && ts_is(p, "extends") && !p->token.newline) {
    ts_next(p);
    type_read(p, NO_CONDITIONAL);
    ts_expect(p, '?');
    ts_type(p);
    ts_expect(p, ':');
    ts_type(p);
  }
  ts_leave(p);
}

void ts_type(ts_parser *p) { type_read(p, ALLOW_CONDITIONAL); }

void ts_return_type(ts_parser *p) {
  ts_token next = ts_peek(p);
  bool named = next.kind == TS_NAME && !next.newline;
  if (ts_is(p, "asserts") && named && !ts_token_is(p, &next, "is") && !ts_token_is(p, &next, "extends")) {
    ts_next(p);
    next = ts_peek(p);
    if (!ts_token_is(p, &next, "is") || next.newline) return ts_next(p);
  }
  if (p->token.kind == TS_NAME && ts_token_is(p, &next, "is") && !next.newline) {
    ts_next(p);
    ts_next(p);
  }
  ts_type(p);
}

/* ---- lists ---- */

void ts_type_arguments(ts_parser *p) {
  type_split_less(p);
  ts_expect(p, '<');
  while (!ts_op(p, '>') && !ts_ended(p)) {
    ts_type(p);
    if (!ts_accept(p, ',')) break;
  }
  ts_expect(p, '>');
}

static void type_parameter(ts_parser *p) {
  ts_token next = ts_peek(p);
  while ((ts_is(p, "const") || ts_is(p, "in") || ts_is(p, "out")) && next.kind == TS_NAME &&
         !ts_token_is(p, &next, "extends")) {
    ts_next(p);
    next = ts_peek(p);
  }
  if (p->token.kind != TS_NAME) return ts_fail(p, "the name of a type is expected");
  ts_next(p);
  if (ts_accept_word(p, "extends")) ts_type(p);
  if (ts_accept(p, '=')) ts_type(p);
}

void ts_type_parameters(ts_parser *p) {
  ts_expect(p, '<');
  while (!ts_op(p, '>') && !ts_ended(p)) {
    type_parameter(p);
    if (!ts_accept(p, ',')) break;
  }
  ts_expect(p, '>');
}

void ts_erase_annotation(ts_parser *p) {
  ts_place begun = ts_mark(p);
  if (!ts_accept(p, ':')) return;
  ts_return_type(p);
  ts_erase(p, &begun, begun.token.start, 0);
}

void ts_erase_type_parameters(ts_parser *p) {
  ts_place begun = ts_mark(p);
  if (!ts_op(p, '<')) return;
  ts_type_parameters(p);
  ts_erase(p, &begun, begun.token.start, 0);
}
