/* Classes. A class with decorators is made by a function of the runtime (lib/decorate.js):
 *
 *   let C;C=globalThis[Symbol.for("cay.decorate")](LEGACY,[DECORATORS],$1=>class{static{C=$1.apply(this,"C")} … })
 *
 * Members that are decorated have a computed name, which hands the decorators over. */
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- decorators ---- */

static void decorator_one(ts_parser *p) {
  bool decorator = p->decorator;
  p->decorator = true;
  ts_left_hand(p);
  p->decorator = decorator;
}

/* The texts of all, with the lines between them. */
static char *decorators_join(ts_parser *p, char *all, unsigned lines, size_t since, uint32_t start) {
  char *one = p->failed ? NULL : ts_edits_take(&p->edits, since, p->text, start, p->last_end), *both = NULL;
  if (one && asprintf(&both, "%s%s%.*s%s", all ? all : "", all ? "," : "", (int)(lines < 64 ? lines : 64),
                      "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
                      "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
                      one) < 0)
    both = NULL;
  free(one);
  free(all);
  if (!both && !p->failed) ts_fail_finally(p, "out of memory");
  return both;
}

char *ts_decorators_take(ts_parser *p) {
  uint32_t first = p->token.start, end = first;
  char *all = NULL;
  while (ts_op(p, '@') && !p->failed) {
    unsigned lines = 0;
    for (uint32_t at = end; at < p->token.start; at++) lines += p->text[at] == '\n';
    ts_next(p);
    size_t since = p->edits.count;
    uint32_t start = p->token.start;
    decorator_one(p);
    all = decorators_join(p, all, lines, since, start);
    end = p->last_end;
  }
  if (all) ts_edit_move(&p->edits, first, end);
  return all;
}

/* ---- the class ---- */

static void class_heritage(ts_parser *p) {
  ts_next(p);
  ts_left_hand(p);
  ts_place begun = ts_mark(p);
  if (!ts_op(p, '<')) return;
  ts_type_arguments(p);
  ts_erase(p, &begun, begun.token.start, 0);
}

static void class_implements(ts_parser *p) {
  ts_place begun = ts_mark(p);
  ts_next(p);
  do ts_type(p);
  while (ts_accept(p, ','));
  ts_erase(p, &begun, begun.token.start, 0);
}

static void class_head(ts_parser *p, ts_class *c) {
  c->start = p->token.start;
  c->number = ++p->classes;
  ts_expect_word(p, "class");
  if (p->token.kind == TS_NAME && !ts_is(p, "extends") && !ts_is(p, "implements")) {
    c->name = ts_here(p);
    ts_next(p);
  }
  ts_erase_type_parameters(p);
  if ((c->extends = ts_is(p, "extends"))) class_heritage(p);
  if (ts_is(p, "implements")) class_implements(p);
}

void ts_class_rest(ts_parser *p, ts_class *c) {
  ts_span space = p->space;
  ts_spans *bound = p->bound;
  bool decorator = p->decorator;
  class_head(p, c);
  ts_expect(p, '{');
  c->body = p->last_end;
  p->space = (ts_span){ 0 };
  p->bound = NULL;
  p->decorator = false;
  while (!ts_op(p, '}') && !ts_ended(p)) ts_member(p, c);
  ts_expect(p, '}');
  p->space = space;
  p->bound = bound;
  p->decorator = decorator;
}

/* ---- decorated ---- */

static const char *class_legacy(const ts_parser *p, const ts_class *c) {
  return p->options.legacy || c->legacy ? "true" : "false";
}

/* `assigned`: the name that the class has from its beginning on. */
static void class_wrap(ts_parser *p, const ts_class *c, const char *before, const char *decorators,
                       bool assigned) {
  const char *quote = c->name.end ? "\"" : "", *undefined = c->name.end ? "" : "undefined";
  if (p->failed) return;
  ts_edit_insert(&p->edits, c->start, "%sglobalThis[Symbol.for(\"cay.decorate\")](%s,[%s],$%u=>", before,
                 class_legacy(p, c), decorators ? decorators : "", c->number);
  if (assigned) ts_edit_blank(&p->edits, c->name.start, c->name.end, 0);
  ts_edit_insert(&p->edits, c->body, "static{%.*s%s$%u.apply(this,%s%.*s%s%s)}",
                 assigned ? ts_width(c->name) : 0, p->text + c->name.start, assigned ? "=" : "", c->number,
                 quote, TS_TEXT(p, c->name), quote, undefined);
  if (c->extras) ts_edit_insert(&p->edits, c->body, "#$%u=$%u.init(this);", c->number, c->number);
  ts_edit_insert(&p->edits, p->last_end, ")");
}

static bool class_is_decorated(const ts_class *c, const char *decorators) {
  return decorators || c->decorated || c->legacy;
}

void ts_class_expression(ts_parser *p) {
  char *decorators = ts_decorators_take(p);
  ts_class c = { 0 };
  ts_class_rest(p, &c);
  if (class_is_decorated(&c, decorators)) class_wrap(p, &c, "", decorators, false);
  free(decorators);
}

typedef struct {
  uint32_t start, end; /* of `export default`; start == end: not there */
  bool exported, is_default;
} class_export;

/* Decorators may stand before `export`, too. */
static void class_export_behind(ts_parser *p, class_export *e) {
  if (!ts_is(p, "export")) return;
  *e = (class_export){ p->token.start, p->token.end, true, false };
  ts_next(p);
  if ((e->is_default = ts_accept_word(p, "default"))) e->end = p->last_end;
  ts_edit_blank(&p->edits, e->start, e->end, 0);
}

/* let C;C=…; and export statements that fit. */
static void class_wrap_declaration(ts_parser *p, const ts_class *c, const class_export *e,
                                   const char *decorators) {
  char *before;
  const char *export =
      e->exported && !p->options.cell ? e->is_default ? c->name.end ? "" : "export default " : "export " : "";
  if (!c->name.end) return class_wrap(p, c, export, decorators, false);
  if (asprintf(&before, "%slet %.*s;%.*s=", export, TS_TEXT(p, c->name), TS_TEXT(p, c->name)) < 0)
    return ts_fail_finally(p, "out of memory");
  class_wrap(p, c, before, decorators, true);
  free(before);
  ts_edit_insert(&p->edits, p->last_end, ";");
  if (e->is_default && !p->options.cell)
    ts_edit_insert(&p->edits, p->last_end, "export{%.*s as default};", TS_TEXT(p, c->name));
}

void ts_class_declaration(ts_parser *p, ts_span *name, uint32_t default_start) {
  class_export e = { 0 };
  bool after_default = default_start != TS_NOWHERE;
  uint32_t words = p->last_end;
  char *decorators = ts_decorators_take(p);
  if (decorators) class_export_behind(p, &e);
  if (ts_is(p, "abstract")) {
    ts_edit_blank(&p->edits, p->token.start, p->token.end, 0);
    ts_next(p);
  }
  ts_class c = { 0 };
  ts_class_rest(p, &c);
  bool decorated = class_is_decorated(&c, decorators);
  if (decorated && after_default && c.name.end) {
    if (!p->options.cell) ts_edit_blank(&p->edits, default_start, words, 0);
    e = (class_export){ default_start, words, true, true };
  }
  if (decorated) class_wrap_declaration(p, &c, &e, decorators);
  free(decorators);
  if (p->failed || !c.name.end) return;
  *name = c.name;
  (void)ts_declare(p, c.name);
}
