/* Namespaces: functions that fill an object, on the same lines. What a namespace exports stays a variable of the
 * function, and becomes a property of the object, too. */
#include "parse.h"

#include <stdlib.h>

/* ---- the object: also that of an enum ---- */

void ts_open_object(ts_parser *p, ts_span head, ts_span name, bool exported) {
  const char *word = p->nested ? "let" : "var";
  const char *export = exported && !p->space.end && !p->options.cell ? "export " : "";
  if (ts_declare(p, name))
    ts_edit_replace(&p->edits, head.start, head.end, "%s%s %.*s;(function(%.*s){", export, word,
                    TS_TEXT(p, name), TS_TEXT(p, name));
  else
    ts_edit_replace(&p->edits, head.start, head.end, ";(function(%.*s){", TS_TEXT(p, name));
  ts_bind(p, name);
}

static void space_note(ts_parser *p, ts_span name) {
  ts_spans_add(p, &p->space_owners, p->space);
  ts_spans_add(p, &p->space_names, name);
}

/* In a namespace that exports it, it is a property of that. */
static void object_close(ts_parser *p, uint32_t start, uint32_t end, ts_span name, bool exported) {
  if (p->failed) return;
  if (exported && p->space.end) space_note(p, name);
  if (exported && p->space.end)
    ts_edit_replace(&p->edits, start, end, "})(%.*s=%.*s.%.*s||(%.*s.%.*s={}));", TS_TEXT(p, name),
                    TS_TEXT(p, p->space), TS_TEXT(p, name), TS_TEXT(p, p->space), TS_TEXT(p, name));
  else
    ts_edit_replace(&p->edits, start, end, "})(%.*s||(%.*s={}));", TS_TEXT(p, name), TS_TEXT(p, name));
}

void ts_close_object(ts_parser *p, ts_span name, bool exported) {
  uint32_t at = p->token.start;
  ts_expect(p, '}');
  object_close(p, at, p->last_end, name, exported);
}

/* ---- exports ---- */

static void space_put(ts_parser *p, ts_span name, bool changes) {
  space_note(p, name);
  if (changes)
    ts_edit_insert(
        &p->edits, p->last_end,
        ";Object.defineProperty(%.*s,\"%.*s\",{get:()=>%.*s,set:($)=>{%.*s=$},enumerable:true,configurable:"
        "true});",
        TS_TEXT(p, p->space), TS_TEXT(p, name), TS_TEXT(p, name), TS_TEXT(p, name));
  else
    ts_edit_insert(&p->edits, p->last_end, ";%.*s.%.*s=%.*s;", TS_TEXT(p, p->space), TS_TEXT(p, name),
                   TS_TEXT(p, name));
}

void ts_space_export(ts_parser *p, uint32_t start) {
  ts_spans *bound = p->bound, names = { 0 };
  bool changes = ts_is(p, "let") || ts_is(p, "var");
  ts_edit_blank(&p->edits, start, p->last_end, 0);
  p->bound = &names;
  ts_statement(p);
  p->bound = bound;
  for (size_t i = 0; i < names.count && !p->failed; i++) space_put(p, names.items[i], changes);
  free(names.items);
}

/* ---- the body ---- */

/* What an earlier part of the same namespace has exported is there by name, unless this one hides it. */
static bool space_resume(ts_parser *p) {
  unsigned count = 0;
  uint32_t at = p->last_end;
  for (size_t i = 0; i < p->space_owners.count; i++, p->steps++) {
    if (!ts_span_same(p, p->space_owners.items[i], p->space)) continue;
    ts_edit_insert(&p->edits, at, "%s%.*s", count++ ? "," : "const{", TS_TEXT(p, p->space_names.items[i]));
  }
  if (count) ts_edit_insert(&p->edits, at, "}=%.*s;{", TS_TEXT(p, p->space));
  return count != 0;
}

/* The last statement, which began there, was erased. */
static bool space_left_nothing(const ts_parser *p, uint32_t start) {
  const ts_edit *last = p->edits.count ? &p->edits.items[p->edits.count - 1] : NULL;
  return last && !last->text && last->mark == ';' && last->start == start && last->end == p->last_end;
}

/* False: there are types alone in it. */
static bool space_body(ts_parser *p) {
  bool code = false, resumed = space_resume(p);
  while (!ts_op(p, '}') && !ts_ended(p)) {
    uint32_t start = p->token.start;
    ts_statement(p);
    code |= !space_left_nothing(p, start);
  }
  if (resumed) ts_edit_insert(&p->edits, p->token.start, "}");
  return code;
}

static bool space_level(ts_parser *p, uint32_t start, bool exported);

/* What the braces or the dot of a name open. */
static bool space_inner(ts_parser *p, bool dotted) {
  if (!dotted) return space_body(p);
  uint32_t dot = p->token.start;
  ts_next(p);
  return space_level(p, dot, true);
}

static bool space_level(ts_parser *p, uint32_t start, bool exported) {
  ts_span name = ts_here(p), space = p->space;
  size_t block = p->block;
  bool nested = p->nested;
  ts_spans *bound = p->bound;
  if (p->token.kind != TS_NAME) ts_fail(p, "the name of the namespace is expected");
  if (!ts_enter(p)) return true;
  ts_next(p);
  bool dotted = ts_op(p, '.');
  if (!dotted) ts_expect(p, '{');
  ts_open_object(p, (ts_span){ start, p->last_end }, name, exported);
  p->block = p->declared.count, p->nested = true, p->bound = NULL, p->space = name;
  bool code = space_inner(p, dotted);
  p->declared.count = p->block;
  p->block = block, p->nested = nested, p->bound = bound, p->space = space;
  if (dotted)
    object_close(p, p->last_end, p->last_end, name, exported);
  else
    ts_close_object(p, name, exported);
  ts_leave(p);
  return code;
}

void ts_namespace(ts_parser *p, uint32_t start, bool exported) {
  ts_place begun = ts_mark(p);
  size_t owners = p->space_owners.count;
  ts_next(p);
  if (space_level(p, start, exported)) return;
  p->declared.count = begun.declared;
  if (p->bound) p->bound->count = begun.bound;
  p->space_owners.count = p->space_names.count = owners;
  ts_erase(p, &begun, start, ';');
}
