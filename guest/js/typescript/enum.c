/* Enums: a function that fills an object, on the same lines. */
#include "parse.h"

#include <stdlib.h>

struct ts_enum {
  ts_span name, before; /* the member before, as it is written */
  ts_spans members;     /* without quotes */
  uint64_t texts;       /* which of the first 64 are strings */
  bool uses_text;       /* the value that is read names one of those */
};

static bool enum_is_text(const ts_enum *e, size_t index) { return index < 64 && e->texts >> index & 1; }

/* A member in the value of another is one of the object. */
bool ts_enum_use(ts_parser *p, bool shorthand) {
  ts_enum *e = p->member_of;
  ts_span name = ts_here(p);
  for (size_t i = 0; i < e->members.count; i++, p->steps++) {
    if (!ts_span_same(p, e->members.items[i], name)) continue;
    if (shorthand)
      ts_edit_insert(&p->edits, name.end, ":%.*s.%.*s", TS_TEXT(p, e->name), TS_TEXT(p, name));
    else
      ts_edit_insert(&p->edits, name.start, "%.*s.", TS_TEXT(p, e->name));
    e->uses_text |= enum_is_text(e, i);
    return true;
  }
  return false;
}

/* Whether it is a string: it ends as a literal does, or joins one with something. */
static bool enum_value(ts_parser *p, ts_enum *e) {
  bool text = p->token.kind == TS_STRING || p->token.kind == TS_TEMPLATE || p->token.kind == TS_TEMPLATE_PART;
  uint32_t start = p->token.start;
  ts_enum *outer = p->member_of;
  p->member_of = e;
  e->uses_text = false;
  ts_assign(p, 0);
  p->member_of = outer;
  char last = p->last_end > start ? p->text[p->last_end - 1] : 0;
  bool joins = text && last != ')' && memchr(p->text + start, '+', p->last_end - start);
  return e->uses_text || joins || (last && strchr("\"'`", last));
}

/* A key as an index, for "%s%.*s%s": of a name its text. */
#define ENUM_KEY(p, key) enum_quote(p, key), TS_TEXT(p, key), enum_quote(p, key)

static const char *enum_quote(const ts_parser *p, ts_span key) {
  return strchr("\"'", p->text[key.start]) ? "" : "\"";
}

/* E[E["A"] = …] = "A", so that names are found by numbers; E["A"] = … of a string. The value stays where it is. */
static void enum_put_value(ts_parser *p, const ts_enum *e, ts_span key, bool text) {
  if (!text) ts_edit_insert(&p->edits, key.start, "%.*s[", TS_TEXT(p, e->name));
  ts_edit_replace(&p->edits, key.start, key.end, "%.*s[%s%.*s%s]", TS_TEXT(p, e->name), ENUM_KEY(p, key));
  if (!text) ts_edit_insert(&p->edits, p->last_end, "]=%s%.*s%s", ENUM_KEY(p, key));
}

/* One more than the member before. */
static void enum_put_next(ts_parser *p, const ts_enum *e, ts_span key) {
  size_t count = e->members.count;
  ts_edit_insert(&p->edits, key.start, "%.*s[", TS_TEXT(p, e->name));
  ts_edit_replace(&p->edits, key.start, key.end, "%.*s[%s%.*s%s]", TS_TEXT(p, e->name), ENUM_KEY(p, key));
  if (count == 0)
    ts_edit_insert(&p->edits, key.end, "=0]=%s%.*s%s", ENUM_KEY(p, key));
  else if (!enum_is_text(e, count - 1))
    ts_edit_insert(&p->edits, key.end, "=%.*s[%s%.*s%s]+1]=%s%.*s%s", TS_TEXT(p, e->name),
                   ENUM_KEY(p, e->before), ENUM_KEY(p, key));
  else
    ts_fail(p, "the member '%.*s' needs a value: the one before it is a string", TS_TEXT(p, key));
}

static void enum_member(ts_parser *p, ts_enum *e) {
  ts_span key = ts_here(p), name = key;
  if (p->token.kind == TS_STRING)
    name.start++, name.end--;
  else if (p->token.kind != TS_NAME)
    return ts_fail(p, "the name of a member is expected");
  ts_next(p);
  if (ts_accept(p, '=')) {
    bool text = enum_value(p, e);
    enum_put_value(p, e, key, text);
    if (text && e->members.count < 64) e->texts |= (uint64_t)1 << e->members.count;
  } else {
    enum_put_next(p, e, key);
  }
  e->before = key;
  ts_spans_add(p, &e->members, name);
}

static void enum_members(ts_parser *p, ts_enum *e) {
  while (!ts_op(p, '}') && !ts_ended(p)) {
    enum_member(p, e);
    if (!ts_op(p, ',')) break;
    ts_edit_replace(&p->edits, p->token.start, p->token.end, ";");
    ts_next(p);
  }
}

void ts_enum_declaration(ts_parser *p, uint32_t start, bool exported) {
  ts_enum e = { 0 };
  ts_accept_word(p, "const");
  ts_expect_word(p, "enum");
  e.name = ts_here(p);
  if (p->token.kind != TS_NAME) ts_fail(p, "the name of the enum is expected");
  ts_next(p);
  ts_expect(p, '{');
  if (p->failed) return;
  ts_open_object(p, (ts_span){ start, p->last_end }, e.name, exported);
  enum_members(p, &e);
  ts_close_object(p, e.name, exported);
  free(e.members.items);
}
