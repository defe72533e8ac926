/* Members of classes. */
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
  ts_place begun;
  ts_span key;
  char *decorators;
  bool is_static, get, set, accessor, computed;
  bool erased; /* abstract, declare: nothing of it is left */
  bool any_modifier;
} member;

/* ---- modifiers ---- */

static bool member_next_is_key(const ts_parser *p) {
  ts_token next = ts_peek(p);
  if (next.kind == TS_OPERATOR) return next.op == '[' || next.op == '*';
  return next.kind == TS_NAME || next.kind == TS_STRING || next.kind == TS_NUMBER || next.kind == TS_PRIVATE;
}

static bool member_erased_modifier(ts_parser *p, member *m) {
  static const char *const words[] = { "public",   "private",  "protected", "readonly",
                                       "override", "abstract", "declare" };
  ts_token next = ts_peek(p);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!ts_is(p, words[i]) || next.newline) continue;
    m->erased |= i >= 5;
    /* What begins with '[' or '*' now must not go on with what stands before it. */
    ts_edit_blank(&p->edits, p->token.start, p->token.end, m->any_modifier ? 0 : ';');
    ts_next(p);
    return true;
  }
  return false;
}

static bool member_modifier(ts_parser *p, member *m) {
  if (p->token.kind != TS_NAME || !member_next_is_key(p)) return false;
  ts_token next = ts_peek(p);
  bool *flag = ts_is(p, "static") ? &m->is_static
               : ts_is(p, "get")  ? &m->get
               : ts_is(p, "set")  ? &m->set
                                  : NULL;
  bool found = member_erased_modifier(p, m);
  if (!found && ts_is(p, "accessor") && !next.newline) {
    ts_edit_blank(&p->edits, p->token.start, p->token.end, 0);
    found = m->accessor = true;
    ts_next(p);
  } else if (!found && (flag || (ts_is(p, "async") && !next.newline))) {
    if (flag) *flag = true;
    found = true;
    ts_next(p);
  }
  m->any_modifier |= found;
  return found;
}

/* ---- names ---- */

static void member_key(ts_parser *p, member *m) {
  m->key = ts_here(p);
  m->computed = ts_op(p, '[');
  if (m->computed) {
    ts_next(p);
    ts_assign(p, 0);
    ts_expect(p, ']');
    m->key.end = p->last_end;
  } else if (p->token.kind == TS_NAME || p->token.kind == TS_STRING || p->token.kind == TS_NUMBER ||
             p->token.kind == TS_PRIVATE) {
    ts_next(p);
  } else {
    ts_fail(p, "the name of a member is expected");
  }
  if (ts_op(p, '?') || ts_op(p, '!')) {
    ts_edit_blank(&p->edits, p->token.start, p->token.end, 0);
    ts_next(p);
  }
}

static bool member_is(const ts_parser *p, const member *m, const char *name) {
  size_t len = strlen(name);
  return m->key.end - m->key.start == len && memcmp(p->text + m->key.start, name, len) == 0;
}

/* [$1.m([DECORATORS],KIND,STATIC,NAME,[PARAMETERS])] in the place of the name. */
static void member_put_key(ts_parser *p, const ts_class *c, const member *m, const char *kind,
                           const char *parameters) {
  if (p->failed) return;
  if (p->text[m->key.start] == '#') return ts_fail(p, "a private member cannot be decorated");
  char head[64];
  (void)snprintf(head, sizeof head, "],\"%s\",%s,[", kind, m->is_static ? "true" : "false");
  const char *decorators = m->decorators ? m->decorators : "", *more = parameters ? parameters : "";
  if (m->computed) {
    ts_edit_insert(&p->edits, m->key.start + 1, "$%u.m([%s%s%s],", c->number, decorators, head, more);
    ts_edit_insert(&p->edits, m->key.end - 1, ")");
  } else {
    const char *quote = strchr("\"'", p->text[m->key.start]) ? "" : "\"";
    ts_edit_replace(&p->edits, m->key.start, m->key.end, "[$%u.m([%s%s%s],%s%.*s%s)]", c->number, decorators,
                    head, more, quote, TS_TEXT(p, m->key), quote);
  }
}

/* ---- methods ---- */

/* x; and this.x = x for each parameter that is a property; behind super(). */
static void constructor_put(ts_parser *p, const ts_class *c, const ts_spans *properties, uint32_t open) {
  bool behind = c->extends && p->super_end;
  for (size_t i = 0; i < properties->count; i++)
    ts_edit_insert(&p->edits, c->body, "%.*s;", TS_TEXT(p, properties->items[i]));
  for (size_t i = 0; i < properties->count; i++)
    ts_edit_insert(&p->edits, behind ? p->super_end : open, "%sthis.%.*s=%.*s;", behind && i == 0 ? ";" : "",
                   TS_TEXT(p, properties->items[i]), TS_TEXT(p, properties->items[i]));
}

static void member_constructor(ts_parser *p, ts_class *c, const member *m, const ts_parameters_found *found) {
  uint32_t outer = p->super_end, open = p->token.end;
  p->super_end = 0;
  ts_body(p);
  constructor_put(p, c, &found->properties, open);
  p->super_end = outer;
  if (m->decorators) return ts_fail(p, "a constructor cannot be decorated");
  if (!found->decorators) return;
  c->legacy = true;
  ts_edit_insert(&p->edits, m->begun.token.start, "static{$%u.p([%s])}", c->number, found->decorators);
}

static void member_method(ts_parser *p, ts_class *c, member *m) {
  ts_parameters_found found = { 0 };
  bool constructor = !m->is_static && !m->get && !m->set && member_is(p, m, "constructor");
  bool body = ts_signature(p, &found);
  if (!body) {
    ts_semicolon(p);
    m->erased = true;
  } else if (constructor) {
    member_constructor(p, c, m, &found);
  } else {
    ts_body(p);
    if (m->decorators || found.decorators) {
      c->decorated++;
      c->extras |= !m->is_static;
      c->legacy |= found.decorators != NULL;
      member_put_key(p, c, m, m->get ? "getter" : m->set ? "setter" : "method", found.decorators);
    }
  }
  free(found.properties.items);
  free(found.decorators);
}

/* ---- fields ---- */

/* accessor x = 1: a private field, and a getter and a setter for it. */
static void member_accessor(ts_parser *p, ts_class *c, const member *m, uint32_t end) {
  const char *prefix = m->is_static ? "static " : "", *decorators = m->decorators ? m->decorators : "";
  if (p->failed) return;
  if (m->computed || !strchr("_$abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", p->text[m->key.start]))
    return ts_fail(p, "the name of an accessor must be an identifier");
  ts_edit_insert(&p->edits, m->key.start, "#$%u_", c->number);
  if (m->decorators)
    ts_edit_insert(&p->edits, end, ";%sget [$%u.m([%s],\"accessor\",%s,[],\"%.*s\")]", prefix, c->number,
                   decorators, m->is_static ? "true" : "false", TS_TEXT(p, m->key));
  else
    ts_edit_insert(&p->edits, end, ";%sget %.*s", prefix, TS_TEXT(p, m->key));
  ts_edit_insert(&p->edits, end, "(){return this.#$%u_%.*s}%sset %.*s(v){this.#$%u_%.*s=v}", c->number,
                 TS_TEXT(p, m->key), prefix, TS_TEXT(p, m->key), c->number, TS_TEXT(p, m->key));
}

/* The value goes through the decorators. `index` is their place among those of the class. */
static void member_value(ts_parser *p, const ts_class *c, const member *m, unsigned index) {
  bool decorated = m->decorators;
  if (ts_op(p, '=')) {
    ts_next(p);
    if (decorated) ts_edit_insert(&p->edits, p->last_end, "$%u.i(%u,this,", c->number, index);
    ts_assign(p, 0);
    if (decorated) ts_edit_insert(&p->edits, p->last_end, ")");
  } else if (decorated) {
    ts_edit_insert(&p->edits, m->key.end, "=$%u.i(%u,this);", c->number, index);
  }
}

static void member_field(ts_parser *p, ts_class *c, member *m) {
  bool typed = ts_op(p, ':');
  ts_erase_annotation(p);
  if (typed && !ts_op(p, '=') && !m->decorators && !p->failed)
    p->edits.items[p->edits.count - 1].mark = ';'; /* `get: T` is no beginning of a getter */
  ts_enum *outer = p->member_of;
  p->member_of = NULL;
  member_value(p, c, m, c->decorated);
  p->member_of = outer;
  uint32_t end = p->last_end;
  if (m->accessor) member_accessor(p, c, m, end);
  if (m->decorators && !m->accessor) member_put_key(p, c, m, "field", NULL);
  c->decorated += m->decorators != NULL;
  ts_semicolon(p);
}

/* ---- the whole ---- */

/* [key: T]: U; is a type. */
static bool member_is_index(const ts_parser *p) {
  ts_token next = ts_peek(p);
  if (!ts_op(p, '[') || next.kind != TS_NAME) return false;
  ts_token third = ts_scan(p->text, p->len, next.end);
  return third.kind == TS_OPERATOR && third.op == ':';
}

static void member_index(ts_parser *p, member *m) {
  ts_next(p);
  ts_next(p);
  ts_next(p);
  ts_type(p);
  ts_expect(p, ']');
  if (ts_accept(p, ':')) ts_type(p);
  ts_semicolon(p);
  m->erased = true;
}

static bool member_static_block(ts_parser *p) {
  ts_token next = ts_peek(p);
  if (!ts_is(p, "static") || next.kind != TS_OPERATOR || next.op != '{') return false;
  ts_next(p);
  ts_body(p);
  return true;
}

static void member_read(ts_parser *p, ts_class *c, member *m) {
  while (member_modifier(p, m)) continue;
  ts_accept(p, '*');
  if (member_is_index(p)) return member_index(p, m);
  member_key(p, m);
  if (ts_op(p, '(') || ts_op(p, '<'))
    member_method(p, c, m);
  else
    member_field(p, c, m);
}

void ts_member(ts_parser *p, ts_class *c) {
  if (ts_accept(p, ';') || !ts_enter(p)) return;
  member m = { .begun = ts_mark(p) };
  ts_class before = *c;
  m.decorators = ts_decorators_take(p);
  if (m.decorators) m.any_modifier = true;
  if (!member_static_block(p)) member_read(p, c, &m);
  if (m.erased) {
    *c = before;
    ts_erase(p, &m.begun, m.begun.token.start, ';');
  }
  free(m.decorators);
  ts_leave(p);
}
