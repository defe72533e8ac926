/* Statements. */
#include "parse.h"

static void statement_parentheses(ts_parser *p) {
  ts_expect(p, '(');
  ts_expression(p, 0);
  ts_expect(p, ')');
}

/* ---- variables ---- */

static void statement_variable(ts_parser *p, unsigned flags) {
  ts_pattern(p);
  if (ts_op(p, '!')) {
    ts_edit_blank(&p->edits, p->token.start, p->token.end, 0);
    ts_next(p);
  }
  ts_erase_annotation(p);
  if (ts_accept(p, '=')) ts_assign(p, flags);
}

void ts_variables(ts_parser *p, unsigned flags) {
  do statement_variable(p, flags);
  while (ts_accept(p, ','));
}

/* Moves behind var, let, const, using or await using, when they declare something. */
static bool statement_declares(ts_parser *p, bool *lexical) {
  ts_token next = ts_peek(p);
  bool name = next.kind == TS_NAME && !ts_token_is(p, &next, "in") && !ts_token_is(p, &next, "instanceof");
  bool pattern = next.kind == TS_OPERATOR && (next.op == '{' || next.op == '[');
  *lexical = !ts_is(p, "var");
  if (ts_is(p, "var") || (ts_is(p, "const") && !ts_token_is(p, &next, "enum")) ||
      (ts_is(p, "let") && (name || pattern))) {
    ts_next(p);
    return true;
  }
  if (ts_is(p, "using") && name && !next.newline && !ts_token_is(p, &next, "of")) {
    ts_next(p);
    return true;
  }
  if (!ts_is(p, "await") || !ts_token_is(p, &next, "using")) return false;
  ts_token third = ts_scan(p->text, p->len, next.end);
  if (third.kind != TS_NAME || third.newline) return false;
  ts_next(p);
  ts_next(p);
  return true;
}

static bool statement_variables(ts_parser *p) {
  bool lexical;
  if (!statement_declares(p, &lexical)) return false;
  ts_variables(p, 0);
  ts_semicolon(p);
  return true;
}

/* ---- blocks ---- */

void ts_statements(ts_parser *p) {
  while (!ts_op(p, '}') && !ts_ended(p)) ts_statement(p);
}

void ts_block(ts_parser *p) {
  size_t block = p->block;
  bool nested = p->nested;
  ts_spans *bound = p->bound;
  p->block = p->declared.count;
  p->nested = true;
  p->bound = NULL;
  ts_expect(p, '{');
  ts_statements(p);
  ts_expect(p, '}');
  p->declared.count = p->block;
  p->block = block;
  p->nested = nested;
  p->bound = bound;
}

/* ---- control ---- */

static void statement_body(ts_parser *p) {
  bool nested = p->nested;
  p->nested = true;
  ts_statement(p);
  p->nested = nested;
}

/* `else if` as a loop: long chains are no depth. */
static void statement_if(ts_parser *p) {
  do {
    ts_next(p);
    statement_parentheses(p);
    statement_body(p);
    if (!ts_accept_word(p, "else")) return;
  } while (ts_is(p, "if"));
  statement_body(p);
}

static void statement_for_head(ts_parser *p) {
  bool lexical;
  if (!ts_op(p, ';')) {
    if (statement_declares(p, &lexical))
      ts_variables(p, TS_NO_IN);
    else
      ts_expression(p, TS_NO_IN);
  }
  if (ts_accept_word(p, "of") || ts_accept_word(p, "in")) return ts_expression(p, 0);
  ts_expect(p, ';');
  if (!ts_op(p, ';')) ts_expression(p, 0);
  ts_expect(p, ';');
  if (!ts_op(p, ')')) ts_expression(p, 0);
}

static void statement_for(ts_parser *p) {
  ts_spans *bound = p->bound;
  p->bound = NULL;
  ts_next(p);
  ts_accept_word(p, "await");
  ts_expect(p, '(');
  statement_for_head(p);
  ts_expect(p, ')');
  statement_body(p);
  p->bound = bound;
}

static void statement_do(ts_parser *p) {
  ts_next(p);
  statement_body(p);
  ts_expect_word(p, "while");
  statement_parentheses(p);
  ts_accept(p, ';');
}

static void statement_while(ts_parser *p) {
  ts_next(p);
  statement_parentheses(p);
  statement_body(p);
}

static void statement_switch(ts_parser *p) {
  ts_next(p);
  statement_parentheses(p);
  ts_expect(p, '{');
  while (!ts_op(p, '}') && !ts_ended(p)) {
    if (ts_accept_word(p, "case")) {
      ts_expression(p, 0);
      ts_expect(p, ':');
    } else if (ts_is(p, "default")) {
      ts_next(p);
      ts_expect(p, ':');
    } else {
      statement_body(p);
    }
  }
  ts_expect(p, '}');
}

static void statement_try(ts_parser *p) {
  ts_next(p);
  ts_block(p);
  if (ts_accept_word(p, "catch")) {
    ts_spans *bound = p->bound;
    p->bound = NULL;
    if (ts_accept(p, '(')) {
      ts_pattern(p);
      ts_erase_annotation(p);
      ts_expect(p, ')');
    }
    p->bound = bound;
    ts_block(p);
  }
  if (ts_accept_word(p, "finally")) ts_block(p);
}

static void statement_jump(ts_parser *p) { /* break, continue */
  ts_next(p);
  if (p->token.kind == TS_NAME && !p->token.newline) ts_next(p);
  ts_semicolon(p);
}

static void statement_leave(ts_parser *p) { /* return, throw */
  ts_next(p);
  if (!p->token.newline && !ts_op(p, ';') && !ts_op(p, '}') && !ts_ended(p)) ts_expression(p, 0);
  ts_semicolon(p);
}

static void statement_debugger(ts_parser *p) {
  ts_next(p);
  ts_semicolon(p);
}

static const struct {
  const char *word;
  void (*read)(ts_parser *p);
} statements[] = {
  { "if", statement_if },      { "for", statement_for },       { "while", statement_while },
  { "do", statement_do },      { "return", statement_leave },  { "throw", statement_leave },
  { "break", statement_jump }, { "continue", statement_jump }, { "switch", statement_switch },
  { "try", statement_try },    { "with", statement_while },    { "debugger", statement_debugger },
};

static bool statement_control(ts_parser *p) {
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
    if (ts_is(p, statements[i].word)) {
      statements[i].read(p);
      return true;
    }
  return false;
}

/* ---- the others ---- */

static bool statement_label(ts_parser *p) {
  ts_token next = ts_peek(p);
  if (next.kind != TS_OPERATOR || next.op != ':') return false;
  ts_next(p);
  ts_next(p);
  statement_body(p);
  return true;
}

static void statement_expression(ts_parser *p) {
  ts_token begun = p->token;
  ts_token next = ts_peek(p);
  bool super = ts_token_is(p, &begun, "super") && next.kind == TS_OPERATOR && next.op == '(';
  ts_expression(p, 0);
  ts_semicolon(p);
  if (super) p->super_end = p->last_end;
}

/* What begins with a name. */
static bool statement_word(ts_parser *p) {
  return (p->token.word && (statement_variables(p) || statement_control(p) || ts_declaration(p))) ||
         statement_label(p);
}

void ts_statement(ts_parser *p) {
  if (!ts_enter(p)) return;
  if (ts_op(p, '{'))
    ts_block(p);
  else if (ts_accept(p, ';'))
    ;
  else if (!((p->token.kind == TS_NAME && statement_word(p)) || (ts_op(p, '@') && ts_declaration(p))))
    statement_expression(p);
  ts_leave(p);
}
