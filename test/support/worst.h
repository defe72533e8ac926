/* worst.h - modules that cost the compiler as much as one section of theirs can.
 *
 * Each function makes a valid program (it exports `memory` and `_start`) with `count` items of one kind beside the
 * few that every program has. */
#pragma once

#include "module.h"

/* Sections by id; every one but the custom section is a count and items. */
enum { W_NAMES, W_TYPE, W_IMPORT, W_FUNCTION, W_TABLE, W_MEMORY, W_GLOBAL, W_EXPORT, W_ELEMENT = 9 };
enum { W_CODE = 10, W_DATA, W_DATA_COUNT, W_TAG, W_SECTIONS };

typedef struct parts {
  buf s[W_SECTIONS];
  uint32_t n[W_SECTIONS];
  const char *start; /* the body of _start; NULL: empty */
  size_t start_len;
  bool shared; /* the memory is one that threads share, and imported */
} parts;

#define PUT(p, id, bytes) (put_bytes(&(p)->s[id], bytes, sizeof(bytes) - 1))

/* Type 0 is that of functions without parameters and results. */
static inline parts parts_begin(void) {
  parts p = { 0 };
  for (int i = 0; i < W_SECTIONS; i++) p.s[i] = BUF_INIT(BUF_UNLIMITED);
  put_type(&p.s[W_TYPE], 0, 0);
  p.n[W_TYPE] = 1;
  return p;
}

static inline void parts_function(parts *p, uint32_t type, const char *body, size_t len) {
  put_leb(&p->s[W_FUNCTION], type);
  put_leb(&p->s[W_CODE], (uint32_t)len);
  put_bytes(&p->s[W_CODE], body, len);
  p->n[W_FUNCTION]++, p->n[W_CODE]++;
}

static inline void parts_export(parts *p, const char *name, int kind, uint32_t index) {
  put_leb(&p->s[W_EXPORT], (uint32_t)strlen(name));
  put_bytes(&p->s[W_EXPORT], name, strlen(name));
  put_byte(&p->s[W_EXPORT], kind);
  put_leb(&p->s[W_EXPORT], index);
  p->n[W_EXPORT]++;
}

/* _start is the last function: with its own body, if the module has no other. */
static inline buf parts_end_with(parts *p, uint32_t imported) {
  static const uint8_t order[] = { W_TYPE,   W_IMPORT,  W_FUNCTION,   W_TABLE, W_MEMORY, W_TAG,  W_GLOBAL,
                                   W_EXPORT, W_ELEMENT, W_DATA_COUNT, W_CODE,  W_DATA,   W_NAMES };
  parts_function(p, 0, p->start != NULL ? p->start : "\0\x0b", p->start != NULL ? p->start_len : 2);
  parts_export(p, "_start", 0, imported + p->n[W_FUNCTION] - 1);
  parts_export(p, "memory", 2, 0);
  if (!p->shared && p->n[W_MEMORY]++ == 0 && p->s[W_MEMORY].len == 0) PUT(p, W_MEMORY, "\0\1");
  buf m = BUF_INIT(BUF_UNLIMITED);
  put_bytes(&m, "\0asm\1\0\0\0", 8);
  for (size_t i = 0; i < sizeof order; i++) {
    buf section = BUF_INIT(BUF_UNLIMITED);
    buf *items = &p->s[order[i]];
    if (items->len == 0 && p->n[order[i]] == 0) continue;
    if (order[i] != W_NAMES) put_leb(&section, p->n[order[i]]);
    put_bytes(&section, (const char *)items->data, items->len);
    put_section(&m, order[i], &section);
    buf_free(items);
  }
  return m;
}

static inline buf parts_end(parts *p) { return parts_end_with(p, p->n[W_IMPORT]); }

/* Different from all others of the same number of values for each `n`. */
static inline void put_values(buf *b, uint32_t count, uint32_t n) {
  static const char values[] = "\x7f\x7e\x7d\x7c\x7b\x70\x6f";
  put_leb(b, count);
  for (uint32_t i = 0; i < count; i++, n /= 7) put_byte(b, values[n % 7]);
}

static inline void parts_type(parts *p, uint32_t params, uint32_t results, uint32_t n) {
  put_byte(&p->s[W_TYPE], 0x60);
  put_values(&p->s[W_TYPE], params, n);
  put_values(&p->s[W_TYPE], results, 0);
  p->n[W_TYPE]++;
}

/* ---- types ---- */

static inline buf worst_types(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) parts_type(&p, 8, 0, i);
  return parts_end(&p);
}

static inline buf worst_same_types(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) parts_type(&p, 0, 0, i);
  return parts_end(&p);
}

static inline buf worst_wide_types(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) parts_type(&p, 1000, 1000, i);
  return parts_end(&p);
}

/* ---- imports ---- */

static inline buf worst_imports(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_IMPORT, "\1m\1f\0\0");
  p.n[W_IMPORT] = count;
  return parts_end(&p);
}

static inline buf worst_wide_imports(uint32_t count) {
  parts p = parts_begin();
  parts_type(&p, 1000, 1000, 0);
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_IMPORT, "\1m\1f\0\1");
  p.n[W_IMPORT] = count;
  return parts_end(&p);
}

static inline buf worst_imported_globals(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_IMPORT, "\0\0\3\x7f\0");
  p.n[W_IMPORT] = count;
  return parts_end_with(&p, 0);
}

/* ---- functions ---- */

static inline buf worst_functions(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) parts_function(&p, 0, "\0\x0b", 2);
  return parts_end(&p);
}

static inline void put_table(parts *p, uint32_t len) {
  PUT(p, W_TABLE, "\x70\0");
  put_leb(&p->s[W_TABLE], len);
  p->n[W_TABLE]++;
}

static inline void put_elements(parts *p, uint32_t count) {
  PUT(p, W_ELEMENT, "\0\x41\0\x0b");
  put_leb(&p->s[W_ELEMENT], count);
  for (uint32_t i = 0; i < count; i++) put_leb(&p->s[W_ELEMENT], i);
  p->n[W_ELEMENT]++;
}

/* Each needs a trampoline as well. */
static inline buf worst_functions_in_table(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) parts_function(&p, 0, "\0\x0b", 2);
  put_table(&p, count);
  put_elements(&p, count);
  return parts_end(&p);
}

static inline buf worst_wide_functions_in_table(uint32_t count) {
  parts p = parts_begin();
  parts_type(&p, 1000, 1000, 0);
  for (uint32_t i = 0; i < count; i++) parts_function(&p, 1, "\0\0\x0b", 3);
  put_table(&p, count);
  put_elements(&p, count);
  return parts_end(&p);
}

static inline buf worst_local_runs(uint32_t count) {
  parts p = parts_begin();
  buf body = BUF_INIT(BUF_UNLIMITED);
  for (uint32_t at = 0; at < count; at += 50000) {
    uint32_t runs = count - at < 50000 ? count - at : 50000;
    put_leb(&body, runs);
    for (uint32_t i = 0; i < runs; i++) put_byte(&body, 1), put_byte(&body, i % 2 ? 0x7f : 0x7e);
    put_byte(&body, 0x0b);
    parts_function(&p, 0, (const char *)body.data, body.len);
    buf_clear(&body);
  }
  buf_free(&body);
  return parts_end(&p);
}

static inline buf worst_empty_local_runs(uint32_t count) {
  parts p = parts_begin();
  buf body = BUF_INIT(BUF_UNLIMITED);
  put_leb(&body, count);
  for (uint32_t i = 0; i < count; i++) put_byte(&body, 0), put_byte(&body, 0x7f);
  put_byte(&body, 0x0b);
  parts_function(&p, 0, (const char *)body.data, body.len);
  buf_free(&body);
  return parts_end(&p);
}

/* ---- tables and elements ---- */

static inline buf worst_tables(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) put_table(&p, 1000000);
  return parts_end(&p);
}

/* One element at the end of the table that is laid out in advance. */
static inline buf worst_far_elements(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) {
    put_table(&p, 1000000);
    PUT(&p, W_ELEMENT, "\2");
    put_leb(&p.s[W_ELEMENT], i);
    PUT(&p, W_ELEMENT, "\x41\xbf\x84\x3d\x0b\0\1\0");
    p.n[W_ELEMENT]++;
  }
  return parts_end(&p);
}

static inline buf worst_elements(uint32_t count) {
  parts p = parts_begin();
  put_table(&p, 1);
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_ELEMENT, "\0\x41\0\x0b\1\0");
  p.n[W_ELEMENT] = count;
  return parts_end(&p);
}

static inline buf worst_passive_elements(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_ELEMENT, "\1\0\1\0");
  p.n[W_ELEMENT] = count;
  return parts_end(&p);
}

static inline buf worst_items(uint32_t count) {
  parts p = parts_begin();
  PUT(&p, W_ELEMENT, "\1\0");
  put_leb(&p.s[W_ELEMENT], count);
  for (uint32_t i = 0; i < count; i++) put_byte(&p.s[W_ELEMENT], 0);
  p.n[W_ELEMENT] = 1;
  return parts_end(&p);
}

static inline buf worst_expression_items(uint32_t count) {
  parts p = parts_begin();
  PUT(&p, W_ELEMENT, "\5\x70");
  put_leb(&p.s[W_ELEMENT], count);
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_ELEMENT, "\xd0\x70\x0b");
  p.n[W_ELEMENT] = 1;
  return parts_end(&p);
}

/* ---- globals, tags, exports ---- */

static inline buf worst_globals(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_GLOBAL, "\x7f\1\x41\0\x0b");
  p.n[W_GLOBAL] = count;
  return parts_end(&p);
}

static inline buf worst_reference_globals(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_GLOBAL, "\x70\1\xd2\0\x0b");
  p.n[W_GLOBAL] = count;
  return parts_end(&p);
}

/* One global, whose value is a sum of so many. */
static inline buf worst_expressions(uint32_t count) {
  parts p = parts_begin();
  PUT(&p, W_GLOBAL, "\x7f\1\x41\0");
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_GLOBAL, "\x41\1\x6a");
  PUT(&p, W_GLOBAL, "\x0b");
  p.n[W_GLOBAL] = 1;
  return parts_end(&p);
}

static inline buf worst_global_sums(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_GLOBAL, "\x7f\1\x41\0\x41\1\x6a\x0b");
  p.n[W_GLOBAL] = count;
  return parts_end(&p);
}

static inline buf worst_tags(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_TAG, "\0\0");
  p.n[W_TAG] = count;
  return parts_end(&p);
}

static inline buf worst_wide_tags(uint32_t count) {
  parts p = parts_begin();
  parts_type(&p, 1000, 0, 0);
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_TAG, "\0\1");
  p.n[W_TAG] = count;
  return parts_end(&p);
}

static inline void put_exports(parts *p, uint32_t count, int kind) {
  char name[16];
  for (uint32_t i = 0; i < count; i++) {
    (void)snprintf(name, sizeof name, "%x", i);
    parts_export(p, name, kind, 0);
  }
}

static inline buf worst_exports(uint32_t count) {
  parts p = parts_begin();
  parts_function(&p, 0, "\0\x0b", 2);
  put_exports(&p, count, 0);
  return parts_end(&p);
}

static inline buf worst_wide_exports(uint32_t count) {
  parts p = parts_begin();
  parts_type(&p, 1000, 1000, 0);
  parts_function(&p, 1, "\0\0\x0b", 3);
  put_exports(&p, count, 0);
  return parts_end(&p);
}

static inline buf worst_memory_exports(uint32_t count) {
  parts p = parts_begin();
  put_exports(&p, count, 2);
  return parts_end(&p);
}

/* ---- data and names ---- */

static inline buf worst_data(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_DATA, "\0\x41\0\x0b\1x");
  p.n[W_DATA] = count;
  return parts_end(&p);
}

static inline buf worst_passive_data(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_DATA, "\1\1x");
  p.n[W_DATA] = count;
  return parts_end(&p);
}

static inline buf worst_dynamic_elements(uint32_t count) {
  parts p = parts_begin();
  put_table(&p, 1);
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_ELEMENT, "\0\x41\0\x41\0\x6a\x0b\1\0");
  p.n[W_ELEMENT] = count;
  return parts_end(&p);
}

static inline buf worst_dynamic_data(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_DATA, "\0\x41\0\x41\0\x6a\x0b\1x");
  p.n[W_DATA] = count;
  return parts_end(&p);
}

static inline buf worst_initial_tables(uint32_t count) {
  parts p = parts_begin();
  for (uint32_t i = 0; i < count; i++) PUT(&p, W_TABLE, "\x40\0\x70\0\x80\x80\x80\1\xd2\0\x0b");
  p.n[W_TABLE] = count;
  return parts_end(&p);
}

/* Two bytes, as far from each other as the memory that is laid out in advance. */
static inline buf worst_far_data(uint32_t count) {
  parts p = parts_begin();
  (void)count;
  PUT(&p, W_MEMORY, "\0\x80\2");
  PUT(&p, W_DATA, "\0\x41\0\x0b\1x\0\x41");
  PUT(&p, W_DATA, "\xfe\xff\xff\7\x0b\1x");
  p.n[W_DATA] = 2;
  return parts_end(&p);
}

static inline buf worst_names(uint32_t count) {
  parts p = parts_begin();
  buf names = BUF_INIT(BUF_UNLIMITED);
  put_leb(&names, count);
  for (uint32_t i = 0; i < count; i++) put_leb(&names, i), put_bytes(&names, "\1n", 2);
  PUT(&p, W_NAMES, "\4name\1");
  put_part(&p.s[W_NAMES], &names);
  buf_free(&names);
  return parts_end(&p);
}

/* ---- code: one function each ---- */

static inline buf worst_code(const char *before, size_t before_len, const char *again, size_t again_len,
                             uint32_t times, const char *after, size_t after_len, uint32_t after_times) {
  parts p = parts_begin();
  buf body = BUF_INIT(BUF_UNLIMITED);
  parts_type(&p, 1000, 1000, 0);
  put_bytes(&body, before, before_len);
  for (uint32_t i = 0; i < times; i++) put_bytes(&body, again, again_len);
  for (uint32_t i = 0; i < after_times; i++) put_bytes(&body, after, after_len);
  put_byte(&body, 0x0b);
  parts_function(&p, 0, (const char *)body.data, body.len);
  buf_free(&body);
  return parts_end(&p);
}
#define BYTES(text) text, sizeof(text) - 1

/* On a memory that threads share: `again` so many times in one function. */
static inline buf worst_shared_code(const char *again, size_t again_len, uint32_t times) {
  parts p = parts_begin();
  buf body = BUF_INIT(BUF_UNLIMITED);
  p.shared = true;
  PUT(&p, W_IMPORT, "\3env\6memory\2\3\1\2");
  p.n[W_IMPORT] = 1;
  put_byte(&body, 0);
  for (uint32_t i = 0; i < times; i++) put_bytes(&body, again, again_len);
  put_byte(&body, 0x0b);
  parts_function(&p, 0, (const char *)body.data, body.len);
  buf_free(&body);
  return parts_end_with(&p, 0);
}

static inline buf worst_atomic_additions(uint32_t count) {
  return worst_shared_code(BYTES("\x41\0\x41\1\xfe\x1e\2\0\x1a"), count);
}

/* A loop each, on processors that have no instruction for it. */
static inline buf worst_atomic_unions(uint32_t count) {
  return worst_shared_code(BYTES("\x41\0\x41\1\xfe\x33\2\0\x1a"), count);
}

static inline buf worst_atomic_exchanges(uint32_t count) {
  return worst_shared_code(BYTES("\x41\0\x41\1\x41\1\xfe\x4a\0\0\x1a"), count);
}

static inline buf worst_atomic_stores(uint32_t count) {
  return worst_shared_code(BYTES("\x41\0\x41\1\xfe\x17\2\0"), count);
}

static inline buf worst_notifications(uint32_t count) {
  return worst_shared_code(BYTES("\x41\0\x41\1\xfe\0\2\0\x1a"), count);
}

/* These are rewritten before they are compiled. */
static inline buf worst_atomic_waits(uint32_t count) {
  return worst_shared_code(BYTES("\2\x40\x41\0\x41\0\x42\0\xfe\1\2\0\x1a\x0b"), count);
}

/* Conversions of a float to an integer and back, each with its checks and none like another. */
static inline buf worst_conversions(uint32_t count) {
  return worst_code(BYTES("\1\1\x7d\x20\0"), BYTES("\xa8\xb2"), count, BYTES("\x1a"), 1);
}

static inline buf worst_calls(uint32_t count) {
  return worst_code(BYTES("\0"), BYTES("\x10\0"), count, BYTES(""), 0);
}

static inline buf worst_indirect_calls(uint32_t count) {
  parts p = parts_begin();
  buf body = BUF_INIT(BUF_UNLIMITED);
  put_byte(&body, 0);
  for (uint32_t i = 0; i < count; i++) put_bytes(&body, "\x41\0\x11\0\0", 5);
  put_byte(&body, 0x0b);
  put_table(&p, 1);
  parts_function(&p, 0, (const char *)body.data, body.len);
  buf_free(&body);
  return parts_end(&p);
}

static inline buf worst_nested_loops(uint32_t count) {
  return worst_code(BYTES("\1\1\x7f"), BYTES("\x03\x40\x20\0\x0d\0"), count, BYTES("\x0b"), count);
}

static inline buf worst_loops(uint32_t count) {
  return worst_code(BYTES("\0"), BYTES("\x03\x40\x0b"), count, BYTES(""), 0);
}

/* Branches, and then fifty thousand locals that they might have changed. */
static inline buf worst_branches(uint32_t count) {
  return worst_code(BYTES("\1\xd0\x86\3\x7f"), BYTES("\x02\x40\x20\0\x0d\0\x20\0\x21\1\x0b"), count,
                    BYTES("\x20\xcf\x86\3\x1a"), 1000);
}

static inline buf worst_live_values(uint32_t count) {
  return worst_code(BYTES("\1\1\x7f"), BYTES("\x20\0\x28\2\0"), count, BYTES("\x20\0\x20\0\x36\2\0\x1a"),
                    count);
}
