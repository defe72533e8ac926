/* Functions: parameters, patterns, bodies. */
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- patterns ---- */

static void pattern_element(ts_parser *p) {
  ts_accept(p, OP3('.', '.', '.'));
  ts_pattern(p);
  if (ts_accept(p, '=')) ts_assign(p, 0);
}

static void pattern_array(ts_parser *p) {
  ts_next(p);
  while (!ts_op(p, ']') && !ts_ended(p)) {
    if (ts_accept(p, ',')) continue;
    pattern_element(p);
    if (!ts_op(p, ']')) ts_expect(p, ',');
  }
  ts_expect(p, ']');
}

static void pattern_property(ts_parser *p) {
  ts_token next = ts_peek(p);
  bool keyed = next.kind == TS_OPERATOR && next.op == ':';
  if (ts_accept(p, '[')) {
    ts_assign(p, 0);
    ts_expect(p, ']');
    ts_expect(p, ':');
  } else if (keyed &&
             (p->token.kind == TS_NAME || p->token.kind == TS_STRING || p->token.kind == TS_NUMBER)) {
    ts_next(p);
    ts_next(p);
  }
  pattern_element(p);
}

static void pattern_object(ts_parser *p) {
  ts_next(p);
  while (!ts_op(p, '}') && !ts_ended(p)) {
    pattern_property(p);
    if (!ts_accept(p, ',')) break;
  }
  ts_expect(p, '}');
}

void ts_pattern(ts_parser *p) {
  if (!ts_enter(p)) return;
  if (ts_op(p, '{'))
    pattern_object(p);
  else if (ts_op(p, '['))
    pattern_array(p);
  else if (p->token.kind != TS_NAME || ts_reserved(p))
    ts_fail(p, "the name of a variable is expected");
  else {
    ts_bind(p, ts_here(p));
    ts_next(p);
  }
  ts_leave(p);
}

/* ---- parameters ---- */

/* public and the like make a property of the parameter. */
static bool parameter_modifiers(ts_parser *p) {
  static const char *const words[] = { "public", "private", "protected", "readonly", "override" };
  bool found = false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    ts_token next = ts_peek(p);
    if (!ts_is(p, words[i]) ||
        (next.kind != TS_NAME && !(next.kind == TS_OPERATOR && strchr("{[", (int)next.op))))
      continue;
    ts_edit_blank(&p->edits, p->token.start, p->token.end, 0);
    ts_next(p);
    found = true;
    i = SIZE_MAX; /* in any order */
  }
  return found;
}

/* `this: T` is no parameter: its comma goes with it. */
static bool parameter_this(ts_parser *p) {
  if (!ts_is(p, "this")) return false;
  ts_place begun = ts_mark(p);
  ts_next(p);
  if (ts_accept(p, ':')) ts_type(p);
  ts_accept(p, ',');
  ts_erase(p, &begun, begun.token.start, 0);
  return true;
}

static void parameter_decorators(ts_parser *p, ts_parameters_found *found, unsigned index) {
  char *given = ts_decorators_take(p), *all = NULL;
  if (!given) return;
  if (!found) {
    ts_fail(p, "a parameter is decorated, and this is no method of a class");
  } else if (asprintf(&all, "%s[%u,[%s]],", found->decorators ? found->decorators : "", index, given) < 0) {
    ts_fail_finally(p, "out of memory");
  } else {
    free(found->decorators);
    found->decorators = all;
  }
  free(given);
}

static void parameter(ts_parser *p, ts_parameters_found *found, unsigned index) {
  parameter_decorators(p, found, index);
  if (parameter_modifiers(p) && found) ts_spans_add(p, &found->properties, ts_here(p));
  ts_accept(p, OP3('.', '.', '.'));
  ts_pattern(p);
  if (ts_op(p, '?')) {
    ts_edit_blank(&p->edits, p->token.start, p->token.end, 0);
    ts_next(p);
  }
  ts_erase_annotation(p);
  if (ts_accept(p, '=')) ts_assign(p, 0);
}

void ts_parameters(ts_parser *p, ts_parameters_found *found) {
  ts_spans *bound = p->bound;
  unsigned index = 0;
  p->bound = NULL;
  ts_expect(p, '(');
  while (!ts_op(p, ')') && !ts_ended(p)) {
    if (parameter_this(p)) continue;
    parameter(p, found, index++);
    if (!ts_accept(p, ',')) break;
  }
  ts_expect(p, ')');
  p->bound = bound;
}

/* ---- the whole ---- */

bool ts_signature(ts_parser *p, ts_parameters_found *found) {
  ts_erase_type_parameters(p);
  ts_parameters(p, found);
  ts_erase_annotation(p);
  return ts_op(p, '{');
}

void ts_body(ts_parser *p) {
  ts_span space = p->space;
  p->space = (ts_span){ 0 };
  ts_block(p);
  p->space = space;
}

void ts_function(ts_parser *p, ts_span *name) {
  ts_expect_word(p, "function");
  ts_accept(p, '*');
  if (p->token.kind == TS_NAME) {
    if (name) *name = ts_here(p);
    ts_next(p);
  }
  if (ts_signature(p, NULL))
    ts_body(p);
  else
    ts_fail(p, "a function needs a body");
}

/* A function without a body declares an overload, and is erased. */
void ts_function_declaration(ts_parser *p, const ts_place *start, ts_span *name) {
  ts_accept_word(p, "async");
  ts_expect_word(p, "function");
  ts_accept(p, '*');
  if (p->token.kind == TS_NAME) {
    *name = ts_here(p);
    ts_next(p);
  }
  if (ts_signature(p, NULL)) {
    if (name->end) (void)ts_declare(p, *name);
    ts_body(p);
    return;
  }
  ts_semicolon(p);
  ts_erase(p, start, start->token.start, ';');
  *name = (ts_span){ 0 };
}
