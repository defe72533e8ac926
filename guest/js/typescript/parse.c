#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH_MAX = 400, STEPS_LEAST = 100000, STEPS_EACH = 64 };

/* ---- failing ---- */

static void parser_stop(ts_parser *p) {
  p->failed = true;
  p->where = p->token.start;
  p->token = (ts_token){ .kind = TS_END, .start = p->token.start, .end = p->token.start, .newline = true };
}

void ts_fail(ts_parser *p, const char *format, ...) {
  va_list arguments;
  if (p->failed) return;
  va_start(arguments, format);
  (void)vsnprintf(p->why, sizeof p->why, format, arguments);
  va_end(arguments);
  parser_stop(p);
}

void ts_fail_finally(ts_parser *p, const char *why) {
  ts_fail(p, "%s", why);
  p->final = true;
}

/* ---- tokens ---- */

void ts_next(ts_parser *p) {
  if (p->failed) return;
  if (++p->steps > p->steps_max) return ts_fail_finally(p, "the code is too complex");
  p->last_end = p->token.end;
  p->token = ts_peek(p);
}

/* The same place is asked for again and again. */
ts_token ts_peek(const ts_parser *p) {
  if (*p->ahead_at != p->token.end) {
    *p->ahead = ts_scan(p->text, p->len, p->token.end);
    *p->ahead_at = p->token.end;
  }
  return *p->ahead;
}

bool ts_accept(ts_parser *p, uint32_t op) {
  bool found = ts_op(p, op);
  if (found) ts_next(p);
  return found;
}

bool ts_accept_word(ts_parser *p, const char *word) {
  bool found = ts_is(p, word);
  if (found) ts_next(p);
  return found;
}

static void parser_surprise(ts_parser *p, const char *wanted) {
  if (ts_ended(p)) return ts_fail(p, "%s is expected, and the code ends", wanted);
  int len = ts_width(ts_here(p));
  ts_fail(p, "%s is expected, and not '%.*s'", wanted, len < 40 ? len : 40, p->text + p->token.start);
}

void ts_expect(ts_parser *p, uint32_t op) {
  if (ts_accept(p, op)) return;
  char wanted[8] = { '\'', (char)op, (char)(op >> 8), (char)(op >> 16) };
  wanted[strlen(wanted)] = '\'';
  parser_surprise(p, wanted);
}

void ts_expect_word(ts_parser *p, const char *word) {
  if (!ts_accept_word(p, word)) parser_surprise(p, word);
}

void ts_semicolon(ts_parser *p) {
  if (ts_accept(p, ';') || ts_op(p, '}') || p->token.newline || ts_ended(p)) return;
  parser_surprise(p, "';'");
}

bool ts_reserved(const ts_parser *p) {
  static const char *const words[] = {
    "if",      "in",      "do",      "for",      "var",      "new",      "try",        "else",
    "case",    "with",    "void",    "while",    "break",    "catch",    "throw",      "const",
    "class",   "super",   "switch",  "typeof",   "delete",   "return",   "export",     "import",
    "default", "extends", "finally", "continue", "debugger", "function", "instanceof", "enum",
  };
  for (size_t i = 0; p->token.word && i < sizeof words / sizeof *words; i++)
    if (ts_is(p, words[i])) return true;
  return false;
}

bool ts_enter(ts_parser *p) {
  if (p->depth == DEPTH_MAX) ts_fail_finally(p, "the code is nested too deeply");
  if (p->failed) return false;
  p->depth++;
  return true;
}

void ts_leave(ts_parser *p) { p->depth--; }

/* ---- attempts ---- */

ts_place ts_mark(const ts_parser *p) {
  return (ts_place){ p->token,      p->last_end,       p->edits.count,
                     p->uses.count, p->declared.count, p->bound ? p->bound->count : 0,
                     p->classes };
}

void ts_back(ts_parser *p, const ts_place *to) {
  if (p->final) return;
  p->failed = false;
  p->token = to->token;
  p->last_end = to->last_end;
  ts_edits_cut(&p->edits, to->edits);
  p->uses.count = to->uses;
  p->declared.count = to->declared;
  if (p->bound) p->bound->count = to->bound;
  p->classes = to->classes;
}

void ts_erase(ts_parser *p, const ts_place *since, uint32_t start, char mark) {
  if (p->failed) return;
  ts_edits_cut(&p->edits, since->edits);
  p->uses.count = since->uses;
  ts_edit_blank(&p->edits, start, p->last_end, mark);
}

/* ---- names ---- */

void ts_spans_add(ts_parser *p, ts_spans *s, ts_span span) {
  if (s->count == s->cap) {
    size_t cap = s->cap ? 2 * s->cap : 32;
    ts_span *items = realloc(s->items, cap * sizeof *items);
    if (!items) return ts_fail_finally(p, "out of memory");
    s->items = items;
    s->cap = cap;
  }
  s->items[s->count++] = span;
}

bool ts_span_same(const ts_parser *p, ts_span a, ts_span b) {
  return ts_width(a) == ts_width(b) && memcmp(p->text + a.start, p->text + b.start, a.end - a.start) == 0;
}

void ts_bind(ts_parser *p, ts_span name) {
  if (p->bound) ts_spans_add(p, p->bound, name);
}

bool ts_declare(ts_parser *p, ts_span name) {
  for (size_t i = p->block; i < p->declared.count; i++, p->steps++)
    if (ts_span_same(p, p->declared.items[i], name)) return false;
  ts_spans_add(p, &p->declared, name);
  return true;
}

/* ---- the whole ---- */

static void parser_free(ts_parser *p) {
  ts_edits_free(&p->edits);
  free(p->uses.items);
  free(p->declared.items);
  free(p->values.items);
  free(p->types.items);
  free(p->space_owners.items);
  free(p->space_names.items);
  free(p->imports);
  free(p->not_arrow);
}

static void parser_run(ts_parser *p) {
  ts_next(p);
  p->bound = &p->values;
  while (!ts_ended(p)) {
    ts_statements(p);
    if (ts_op(p, '}')) ts_fail(p, "'}' has no beginning");
  }
  if (!p->failed) ts_drop_imports(p);
}

static void parser_explain(const ts_parser *p, ts_result *out) {
  out->line = out->column = 1;
  for (uint32_t at = 0; at < p->where; at++) {
    if (p->text[at] == '\n')
      out->line++, out->column = 1;
    else if ((p->text[at] & 0xc0) != 0x80)
      out->column++;
  }
  (void)snprintf(out->message, sizeof out->message, "%s", p->why);
}

bool ts_transform(const char *text, size_t len, const ts_options *options, ts_result *out) {
  *out = (ts_result){ 0 };
  ts_token ahead;
  uint32_t ahead_at = UINT32_MAX;
  ts_parser p = { .text = text, .options = *options, .ahead = &ahead, .ahead_at = &ahead_at };
  const char *zero = len ? memchr(text, 0, len) : NULL;
  if (len > UINT32_MAX / 4) {
    ts_fail(&p, "the code is too large");
  } else if (zero) { /* edits are strings */
    p.token.start = (uint32_t)(zero - text);
    ts_fail(&p, "the code has a zero byte");
  } else {
    p.len = (uint32_t)len;
    p.steps_max = STEPS_LEAST + STEPS_EACH * (uint64_t)len;
    p.not_arrow = calloc(len / 8 + 1, 1);
    p.not_arrow ? parser_run(&p) : ts_fail(&p, "out of memory");
  }
  if (!p.failed) out->text = ts_edits_apply(&p.edits, text, p.len, &out->len);
  if (!p.failed && !out->text) ts_fail(&p, "out of memory");
  if (p.failed) parser_explain(&p, out);
  parser_free(&p);
  return out->text != NULL;
}
