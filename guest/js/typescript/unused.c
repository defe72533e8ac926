/* Imports that nothing uses, and exports of types: they are gone at the end. */
#include "parse.h"

#include <stdlib.h>

/* ---- names as a set ---- */

typedef struct {
  const ts_parser *p;
  const ts_span *items;
  uint32_t *slots; /* an index and one, 0: free */
  size_t cap;
} name_set;

static size_t name_slot(const name_set *s, ts_span name) {
  uint32_t hash = 2166136261u;
  for (uint32_t at = name.start; at < name.end; at++)
    hash = (hash ^ (unsigned char)s->p->text[at]) * 16777619u;
  size_t slot = hash & (s->cap - 1);
  while (s->slots[slot] && !ts_span_same(s->p, s->items[s->slots[slot] - 1], name))
    slot = (slot + 1) & (s->cap - 1);
  return slot;
}

static bool name_set_make(name_set *s, const ts_parser *p, const ts_spans *names) {
  *s = (name_set){ .p = p, .items = names->items, .cap = 16 };
  while (s->cap < 2 * names->count) s->cap *= 2;
  s->slots = calloc(s->cap, sizeof *s->slots);
  for (size_t i = 0; s->slots && i < names->count; i++)
    s->slots[name_slot(s, names->items[i])] = (uint32_t)i + 1;
  return s->slots != NULL;
}

static bool name_set_has(const name_set *s, ts_span name) { return s->slots[name_slot(s, name)] != 0; }

/* ---- what goes ---- */

typedef struct {
  name_set uses, values, types;
} name_sets;

static bool import_goes(const name_sets *sets, const ts_import *i) {
  if (i->type) return true;
  if (i->kept) return false;
  if (i->whole.end) return !name_set_has(&sets->uses, i->local);
  return name_set_has(&sets->types, i->local) && !name_set_has(&sets->values, i->local); /* an export */
}

/* The imports of one statement, or one name of an export. Returns how many. */
static size_t imports_drop(ts_parser *p, const name_sets *sets, size_t first) {
  const ts_import *items = p->imports + first;
  size_t count = 1, gone = 0;
  while (first + count < p->import_count && items->whole.end &&
         items[count].whole.start == items->whole.start)
    count++;
  for (size_t i = 0; i < count; i++) gone += import_goes(sets, &items[i]);
  if (gone == count && items->whole.end) {
    ts_edit_blank(&p->edits, items->whole.start, items->whole.end, ';');
    return count;
  }
  for (size_t i = 0; i < count; i++)
    if (import_goes(sets, &items[i])) ts_edit_blank(&p->edits, items[i].part.start, items[i].part.end, 0);
  return count;
}

void ts_drop_imports(ts_parser *p) {
  name_sets sets = { 0 };
  if (!p->import_count) return;
  bool made = name_set_make(&sets.uses, p, &p->uses) && name_set_make(&sets.values, p, &p->values) &&
              name_set_make(&sets.types, p, &p->types);
  if (!made) ts_fail_finally(p, "out of memory");
  for (size_t i = 0; made && i < p->import_count;) i += imports_drop(p, &sets, i);
  free(sets.uses.slots);
  free(sets.values.slots);
  free(sets.types.slots);
}
