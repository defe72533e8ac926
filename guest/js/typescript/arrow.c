/* Arrow functions: whether one begins shows behind its parameters alone. */
#include "parse.h"

static bool arrow_follows(const ts_token *t) { return t->kind == TS_OPERATOR && t->op == OP2('=', '>'); }

static void arrow_body(ts_parser *p, unsigned flags) {
  ts_next(p);
  if (ts_op(p, '{'))
    ts_body(p);
  else
    ts_assign(p, flags);
}

/* x => … */
static bool arrow_plain(ts_parser *p, unsigned flags) {
  ts_token next = ts_peek(p);
  if (!arrow_follows(&next) || ts_reserved(p)) return false;
  ts_next(p);
  arrow_body(p, flags);
  return true;
}

/* What the first two tokens behind the parenthesis rule out already. */
static bool arrow_possible(const ts_parser *p) {
  ts_token first = ts_peek(p);
  if (first.kind == TS_OPERATOR)
    return first.op == ')' || first.op == '{' || first.op == '[' || first.op == '@' ||
           first.op == OP3('.', '.', '.');
  if (first.kind != TS_NAME) return false;
  ts_token second = ts_scan(p->text, p->len, first.end);
  return second.kind == TS_OPERATOR && second.op < 128 && strchr(",)=:?", (int)second.op);
}

/* The end of the line must stand before the ')', when the return type has one. */
static void arrow_return_type(ts_parser *p, uint32_t close) {
  bool newline = false;
  ts_erase_annotation(p);
  for (uint32_t at = close; at < p->token.start && at < p->len; at++) newline |= p->text[at] == '\n';
  if (!newline || p->failed) return;
  ts_edit_blank(&p->edits, close, close + 1, 0);
  ts_edit_insert(&p->edits, p->token.start, ")");
}

/* Up to the '=>'. */
static bool arrow_head(ts_parser *p, bool *typed) {
  uint32_t less = p->token.start;
  bool generic = ts_op(p, '<'), moved = false;
  ts_erase_type_parameters(p);
  for (uint32_t at = less; generic && at < p->token.start && at < p->len; at++) moved |= p->text[at] == '\n';
  if (!ts_op(p, '(')) return false;
  if (moved) { /* the '(' stays on the line of `async` */
    ts_edit_insert(&p->edits, less, "(");
    ts_edit_blank(&p->edits, p->token.start, p->token.end, 0);
  }
  ts_parameters(p, NULL);
  if ((*typed = ts_op(p, ':'))) arrow_return_type(p, p->last_end - 1);
  return !p->failed && ts_op(p, OP2('=', '>')) && (*typed || !p->token.newline);
}

static bool arrow_try(ts_parser *p, unsigned flags, bool async) {
  uint32_t at = p->token.start;
  bool typed = false;
  if (p->not_arrow[at / 8] & 1u << at % 8) return false;
  ts_place begun = ts_mark(p);
  if (async) ts_next(p);
  if (arrow_head(p, &typed)) {
    arrow_body(p, flags);
    /* `a ? (b) : c => d` is a function only when another ':' follows. */
    if (!(flags & TS_TRUE_BRANCH) || !typed || ts_op(p, ':') || p->final) return true;
  }
  ts_back(p, &begun);
  p->not_arrow[at / 8] |= (uint8_t)(1u << at % 8);
  return false;
}

static bool arrow_async(ts_parser *p, unsigned flags) {
  ts_token next = ts_peek(p);
  if (next.newline) return false;
  if (next.kind == TS_OPERATOR && (next.op == '(' || next.op == '<')) return arrow_try(p, flags, true);
  if (next.kind != TS_NAME || ts_token_is(p, &next, "function")) return false;
  ts_token behind = ts_scan(p->text, p->len, next.end);
  if (!arrow_follows(&behind)) return false;
  ts_next(p);
  return arrow_plain(p, flags);
}

bool ts_arrow(ts_parser *p, unsigned flags) {
  flags &= TS_NO_IN | TS_TRUE_BRANCH;
  if (ts_op(p, '(')) return arrow_possible(p) && arrow_try(p, flags, false);
  if (ts_op(p, '<')) return arrow_try(p, flags, false);
  if (p->token.kind != TS_NAME) return false;
  return (ts_is(p, "async") && arrow_async(p, flags)) || arrow_plain(p, flags);
}
