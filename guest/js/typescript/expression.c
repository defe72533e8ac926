/* Expressions. Types are found without precedence: operands and operators follow each other. */
#include "parse.h"

static void expression_unary(ts_parser *p);

/* ---- type arguments ---- */

static bool expression_is_binary(const ts_parser *p) {
  static const uint32_t operators[] = {
    '<',
    '>',
    '+',
    '-',
    '*',
    '/',
    '%',
    '&',
    '|',
    '^',
    OP2('&', '&'),
    OP2('|', '|'),
    OP2('?', '?'),
    OP2('=', '='),
    OP3('=', '=', '='),
    OP2('!', '='),
    OP3('!', '=', '='),
    OP2('<', '='),
    OP2('<', '<'),
    OP2('*', '*'),
  };
  if (p->token.kind == TS_NAME)
    return ts_is(p, "instanceof") || ts_is(p, "in") ||
           (!p->token.newline && (ts_is(p, "as") || ts_is(p, "satisfies")));
  if (p->token.kind != TS_OPERATOR) return false;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (p->token.op == operators[i]) return true;
  return false;
}

bool ts_begins_expression(const ts_parser *p) {
  if (p->token.kind != TS_OPERATOR) return p->token.kind != TS_END && p->token.kind != TS_BAD;
  uint32_t op = p->token.op;
  return op == OP2('+', '+') || op == OP2('-', '-') || op == OP2('/', '=') ||
         (op < 128 && strchr("([{+-!~/@<", (int)op));
}

/* As TypeScript decides: what follows must not make a comparison of it. */
static bool expression_follows_arguments(const ts_parser *p) {
  if (ts_op(p, '(') || p->token.kind == TS_TEMPLATE || p->token.kind == TS_TEMPLATE_PART) return true;
  if (ts_op(p, '<') || ts_op(p, '>') || ts_op(p, '+') || ts_op(p, '-')) return false;
  return p->token.newline || expression_is_binary(p) || !ts_begins_expression(p);
}

static bool expression_type_arguments(ts_parser *p) {
  ts_place begun = ts_mark(p);
  ts_type_arguments(p);
  if (!p->failed && expression_follows_arguments(p)) {
    ts_erase(p, &begun, begun.token.start, 0);
    return true;
  }
  ts_back(p, &begun);
  return false;
}

/* ---- what follows an operand ---- */

static void expression_arguments(ts_parser *p) {
  bool decorator = p->decorator;
  p->decorator = false;
  ts_next(p);
  while (!ts_op(p, ')') && !ts_ended(p)) {
    ts_accept(p, OP3('.', '.', '.'));
    ts_assign(p, 0);
    if (!ts_accept(p, ',')) break;
  }
  ts_expect(p, ')');
  p->decorator = decorator;
}

static void expression_member(ts_parser *p) {
  ts_next(p);
  if (p->token.kind != TS_NAME && p->token.kind != TS_PRIVATE) return ts_fail(p, "a name is expected");
  ts_next(p);
}

static void expression_index(ts_parser *p) {
  ts_next(p);
  ts_expression(p, 0);
  ts_expect(p, ']');
}

static void expression_optional(ts_parser *p) {
  ts_next(p);
  if (p->token.kind == TS_NAME || p->token.kind == TS_PRIVATE) ts_next(p);
}

static bool expression_postfix(ts_parser *p) {
  bool less = ts_op(p, '<') || ts_op(p, OP2('<', '<'));
  if (ts_op(p, '.'))
    expression_member(p);
  else if (ts_op(p, OP2('?', '.')))
    expression_optional(p);
  else if (ts_op(p, '['))
    return p->decorator ? false : (expression_index(p), true);
  else if (ts_op(p, '('))
    expression_arguments(p);
  else if (p->token.kind == TS_TEMPLATE || p->token.kind == TS_TEMPLATE_PART)
    ts_primary(p);
  else if (ts_op(p, '!') && !p->token.newline) {
    ts_edit_blank(&p->edits, p->token.start, p->token.end, 0);
    ts_next(p);
  } else
    return less && expression_type_arguments(p);
  return true;
}

static void expression_postfixes(ts_parser *p) {
  while (!p->failed && expression_postfix(p)) continue;
  if (!p->token.newline && (ts_op(p, OP2('+', '+')) || ts_op(p, OP2('-', '-')))) ts_next(p);
}

void ts_left_hand(ts_parser *p) {
  ts_accept_word(p, "new");
  ts_primary(p);
  while (!p->failed && expression_postfix(p)) continue;
}

/* ---- prefixes ---- */

/* <T>x. With a line's end in it, parentheses keep `return` and `throw` with their operand. */
static void expression_assertion(ts_parser *p) {
  ts_place begun = ts_mark(p);
  ts_next(p);
  ts_type(p);
  ts_expect(p, '>');
  bool newline = p->token.newline;
  for (uint32_t at = begun.token.start; at < p->last_end; at++) newline |= p->text[at] == '\n';
  ts_erase(p, &begun, begun.token.start, newline ? '(' : 0);
  if (ts_enter(p)) {
    expression_unary(p);
    ts_leave(p);
  }
  if (newline) ts_edit_insert(&p->edits, p->last_end, ")");
}

static bool expression_is_prefix(const ts_parser *p) {
  uint32_t op = p->token.op;
  if (p->token.kind == TS_OPERATOR)
    return op == OP2('+', '+') || op == OP2('-', '-') || op == '+' || op == '-' || op == '!' || op == '~';
  return ts_is(p, "typeof") || ts_is(p, "void") || ts_is(p, "delete") || ts_is(p, "new");
}

/* The operator, and not a variable of that name. */
static bool expression_is_await(ts_parser *p) {
  if (!ts_is(p, "await")) return false;
  ts_place begun = ts_mark(p);
  ts_next(p);
  bool is = ts_begins_expression(p) && !expression_is_binary(p);
  is |= ts_op(p, '/') || ts_op(p, '+') || ts_op(p, '-');
  ts_back(p, &begun);
  return is;
}

static void expression_unary(ts_parser *p) {
  while (expression_is_prefix(p) || expression_is_await(p)) {
    bool is_new = ts_is(p, "new");
    ts_next(p);
    if (!is_new || !ts_op(p, '.')) continue;
    expression_member(p); /* new.target */
    expression_postfixes(p);
    return;
  }
  if (ts_op(p, '<')) return expression_assertion(p);
  ts_primary(p);
  expression_postfixes(p);
}

/* ---- operators ---- */

/* x as T, x satisfies T. What follows on the next line must not become a call of x. */
static void expression_cast(ts_parser *p) {
  ts_place begun = ts_mark(p);
  ts_next(p);
  ts_type(p);
  ts_erase(p, &begun, begun.token.start, 0);
  bool joins =
      ts_op(p, '(') || ts_op(p, '[') || p->token.kind == TS_TEMPLATE || p->token.kind == TS_TEMPLATE_PART;
  if (p->token.newline && joins) ts_edit_insert(&p->edits, p->last_end, ";");
}

static bool expression_is_shift(ts_parser *p) {
  if (!ts_op(p, '>')) return true;
  ts_token wider = ts_scan_greater(p->text, p->len, p->token);
  p->token = wider;
  return wider.op != OP3('>', '>', '=') && wider.op != OP4('>', '>', '>', '=');
}

/* Operands, with operators between them. */
static void expression_binary(ts_parser *p, unsigned flags) {
  for (;;) {
    expression_unary(p);
    while (!p->failed && !p->token.newline && (ts_is(p, "as") || ts_is(p, "satisfies"))) expression_cast(p);
    if (p->failed || !expression_is_binary(p) || (flags & TS_NO_IN && ts_is(p, "in"))) return;
    if (!expression_is_shift(p)) return;
    ts_next(p);
  }
}

static bool expression_assigns(const ts_parser *p) {
  static const uint32_t operators[] = {
    '=',
    OP2('+', '='),
    OP2('-', '='),
    OP2('*', '='),
    OP2('/', '='),
    OP2('%', '='),
    OP2('&', '='),
    OP2('|', '='),
    OP2('^', '='),
    OP3('*', '*', '='),
    OP3('<', '<', '='),
    OP3('&', '&', '='),
    OP3('|', '|', '='),
    OP3('?', '?', '='),
    OP3('>', '>', '='),
    OP4('>', '>', '>', '='),
  };
  if (p->token.kind != TS_OPERATOR) return false;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (p->token.op == operators[i]) return true;
  return false;
}

static bool expression_yield(ts_parser *p, unsigned flags) {
  if (!ts_is(p, "yield")) return false;
  ts_token next = ts_peek(p);
  if (next.kind == TS_OPERATOR && (next.op == OP2('=', '>') || next.op == '=' || next.op == '.'))
    return false;
  ts_next(p);
  if (!p->token.newline &&
      (ts_accept(p, '*') || (ts_begins_expression(p) && !ts_is(p, "in") && !ts_is(p, "of"))))
    ts_assign(p, flags & TS_NO_IN);
  return true;
}

void ts_assign(ts_parser *p, unsigned flags) {
  if (!ts_enter(p)) return;
  for (;;) {
    if (expression_yield(p, flags) || ts_arrow(p, flags)) break;
    expression_binary(p, flags);
    if (ts_accept(p, '?')) {
      ts_assign(p, TS_TRUE_BRANCH);
      ts_expect(p, ':');
    } else if (expression_assigns(p)) {
      ts_next(p);
    } else {
      break;
    }
  }
  ts_leave(p);
}

void ts_expression(ts_parser *p, unsigned flags) {
  do ts_assign(p, flags);
  while (ts_accept(p, ','));
}
