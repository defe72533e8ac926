/* wasm_weight.c - the weight of a module, section by section. Code is weighed by wasm_weight_code.c.
 *
 * The compiler makes code of its own for many items that are a few bytes long: a trampoline for each type and for
 * each function that is called from outside, a start-up function for values of globals, elements and data that it
 * cannot lay out in advance. Others cost memory alone. README.md has the figures behind these weights. */
#include "engine/wasm_weight.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/wasm_weight_inner.h"

enum {
  TYPE_WEIGHT = 256,    /* a trampoline */
  VALUE_WEIGHT = 16,    /* a parameter or result of a type, an import or an export */
  IMPORT_WEIGHT = 32,   /* of no function */
  EXPORT_WEIGHT = 32,   /* with its entry in the table of names */
  GLOBAL_WEIGHT = 64,   /* with what computes it */
  CONSTANT_WEIGHT = 12, /* an instruction of a constant expression */
  TAG_WEIGHT = 8,
  SEGMENT_WEIGHT = 512, /* with what copies it */
  ITEM_WEIGHT = 64,     /* an element */
  REACH_SHARE = 2,      /* so many elements of a table that is laid out in advance weigh one unit */
  DATA_SHARE = 16,      /* so many bytes of memory that is laid out in advance weigh one unit */
};

/* More the compiler does not lay out in advance. */
enum { REACH_MAX = 1000000, DATA_MAX = 16 << 20 };

enum { ARITY_MAX = 4096 }; /* the compiler takes 1,000; products do not overflow */

/* ---- types ---- */

static bool reserve(scales *s, arities *a, const wasm_reader *r, uint32_t more) {
  uint64_t want = (uint64_t)a->count + more;
  if (more > read_left(r) || want > UINT32_MAX) return false; /* every item takes a byte at least */
  if (want <= a->room) return true;
  arity *grown = mem_realloc(a->list, (size_t)want * sizeof *grown);
  s->no_memory = grown == NULL;
  if (grown == NULL) return false;
  a->list = grown;
  a->room = (uint32_t)want;
  return true;
}

static uint16_t count_types(wasm_reader *r) {
  uint32_t count = read_u32(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) (void)read_type(r);
  return count < ARITY_MAX ? (uint16_t)count : ARITY_MAX;
}

static uint64_t weigh_values(arity a) { return VALUE_WEIGHT * ((uint64_t)a.params + a.results); }

static void weigh_type(scales *s, wasm_reader *r) {
  enum { FUNCTION_TYPE = 0x60 };
  if (read_byte(r) != FUNCTION_TYPE) read_fail(r);
  arity a = { .params = count_types(r) };
  a.results = count_types(r);
  s->types.list[s->types.count++] = a;
  s->weight.module += TYPE_WEIGHT + weigh_values(a);
}

/* ---- functions, imports, exports, tags ---- */

static void read_function(scales *s, wasm_reader *r) {
  uint32_t type = read_u32(r);
  s->functions.list[s->functions.count++] = arity_at(&s->types, type);
}

static void weigh_imported_function(scales *s, wasm_reader *r) {
  read_function(s, r);
  s->weight.module += WEIGHT_OF_FUNCTION + weigh_values(s->functions.list[s->imported++]);
}

/* The minimum. */
static uint64_t wasm_weight_read_limits(wasm_reader *r) {
  uint8_t flags = read_byte(r);
  uint64_t min = read_leb(r, 70);
  if (flags & 1) (void)read_leb(r, 70);
  if (flags & 8) (void)read_u32(r);
  return min;
}

static void weigh_import(scales *s, wasm_reader *r) {
  enum { FUNCTION, TABLE, MEMORY, GLOBAL, TAG };
  (void)read_name(r);
  (void)read_name(r);
  s->weight.module += IMPORT_WEIGHT;
  switch (read_byte(r)) {
  case FUNCTION: weigh_imported_function(s, r); break;
  case TABLE: (void)read_type(r), (void)wasm_weight_read_limits(r); break;
  case MEMORY: (void)wasm_weight_read_limits(r); break;
  case GLOBAL: (void)read_type(r), (void)read_byte(r); break;
  case TAG: (void)read_byte(r), (void)read_u32(r); break;
  default: read_fail(r);
  }
}

static void weigh_export(scales *s, wasm_reader *r) {
  enum { FUNCTION };
  (void)read_name(r);
  uint8_t kind = read_byte(r);
  uint32_t index = read_u32(r);
  s->weight.module += EXPORT_WEIGHT;
  if (kind == FUNCTION) s->weight.module += weigh_values(arity_at(&s->functions, index));
}

static void weigh_tag(scales *s, wasm_reader *r) {
  (void)read_byte(r);
  (void)read_u32(r);
  s->weight.module += TAG_WEIGHT;
}

/* ---- constants, globals, tables ---- */

static void weigh_constant(scales *s, wasm_reader *r) {
  enum { END = 0x0b };
  for (uint8_t op = 0; op != END && !r->bad; s->weight.module += CONSTANT_WEIGHT)
    (void)wasm_skip_instruction(r, &op);
}

static void weigh_global(scales *s, wasm_reader *r) {
  (void)read_type(r);
  (void)read_byte(r);
  s->weight.module += GLOBAL_WEIGHT;
  weigh_constant(s, r);
}

static void weigh_table(scales *s, wasm_reader *r) {
  enum { WITH_VALUE = 0x40 };
  bool value = r->at < r->end && *r->at == WITH_VALUE;
  if (value) read_skip(r, 2);
  (void)read_type(r);
  (void)wasm_weight_read_limits(r);
  if (value) weigh_constant(s, r);
}

/* ---- segments ---- */

/* Where an active segment begins; UINT64_MAX when that takes more than a constant to know. */
static uint64_t weigh_place(scales *s, wasm_reader *r) {
  enum { I32_CONST = 0x41, END = 0x0b };
  wasm_reader ahead = *r;
  bool constant = read_byte(&ahead) == I32_CONST;
  uint32_t place = (uint32_t)read_s32(&ahead);
  constant = constant && read_byte(&ahead) == END && !ahead.bad;
  weigh_constant(s, r);
  return constant ? place : UINT64_MAX;
}

/* What the segments of one table make the compiler lay out is as long as the farthest of them reaches. */
static void reach_element(scales *s, uint32_t table, uint64_t place, uint32_t count) {
  if (table >= TABLES_MAX || place > REACH_MAX || place + count > REACH_MAX) return;
  uint32_t end = (uint32_t)place + count, *reach = &s->reach[table];
  if (end <= *reach) return;
  s->weight.module += (end - *reach + REACH_SHARE - 1) / REACH_SHARE;
  *reach = end;
}

static void reach_data(scales *s, uint64_t place, uint32_t len) {
  if (place > DATA_MAX || place + len <= s->data_end) return;
  uint64_t end = place + len < DATA_MAX ? place + len : DATA_MAX;
  s->weight.module += (end - s->data_end) / DATA_SHARE;
  s->data_end = end;
}

static void weigh_items(scales *s, wasm_reader *r, uint32_t count, bool expressions) {
  s->weight.module += ITEM_WEIGHT * (uint64_t)count;
  for (uint32_t i = 0; i < count && !r->bad; i++) {
    if (expressions)
      weigh_constant(s, r);
    else
      (void)read_u32(r);
  }
}

static void weigh_element(scales *s, wasm_reader *r) {
  enum { NOT_ACTIVE = 1, HAS_TABLE = 2, EXPRESSIONS = 4, FLAGS_MAX = 7 };
  uint32_t flags = read_u32(r), table = 0;
  uint64_t place = UINT64_MAX;
  if (flags > FLAGS_MAX) read_fail(r);
  if ((flags & NOT_ACTIVE) == 0) {
    if (flags & HAS_TABLE) table = read_u32(r);
    place = weigh_place(s, r);
  }
  if (flags & (NOT_ACTIVE | HAS_TABLE)) (void)(flags & EXPRESSIONS ? read_type(r) : read_byte(r));
  uint32_t count = read_u32(r);
  s->weight.module += SEGMENT_WEIGHT;
  reach_element(s, table, place, count);
  weigh_items(s, r, count, flags & EXPRESSIONS);
}

static void weigh_data(scales *s, wasm_reader *r) {
  enum { PASSIVE = 1, HAS_MEMORY = 2 };
  uint32_t flags = read_u32(r);
  if (flags > HAS_MEMORY) read_fail(r);
  if (flags == HAS_MEMORY) (void)read_u32(r);
  uint64_t place = flags == PASSIVE ? UINT64_MAX : weigh_place(s, r);
  uint32_t len = read_u32(r);
  read_skip(r, len);
  s->weight.module += SEGMENT_WEIGHT;
  if (!r->bad) reach_data(s, place, len);
}

/* ---- sections ---- */

static void wasm_weight_each(scales *s, wasm_reader *r, arities *made,
                             void (*item)(scales *, wasm_reader *)) {
  uint32_t count = read_u32(r);
  if (count > read_left(r) || (made != NULL && !reserve(s, made, r, count))) read_fail(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) item(s, r);
}

static void weigh_section(scales *s, uint8_t id, wasm_reader *r) {
  switch (id) {
  case WASM_TYPE: wasm_weight_each(s, r, &s->types, weigh_type); break;
  case WASM_IMPORT: wasm_weight_each(s, r, &s->functions, weigh_import); break;
  case WASM_FUNCTION: wasm_weight_each(s, r, &s->functions, read_function); break;
  case WASM_TABLE: wasm_weight_each(s, r, NULL, weigh_table); break;
  case WASM_GLOBAL: wasm_weight_each(s, r, NULL, weigh_global); break;
  case WASM_EXPORT: wasm_weight_each(s, r, NULL, weigh_export); break;
  case WASM_ELEMENT: wasm_weight_each(s, r, NULL, weigh_element); break;
  case WASM_CODE: wasm_weigh_code(s, r); break;
  case WASM_DATA: wasm_weight_each(s, r, NULL, weigh_data); break;
  case WASM_TAG: wasm_weight_each(s, r, NULL, weigh_tag); break;
  default: break; /* one memory, one start function; custom sections are names, which weigh their length */
  }
}

static void weigh_all(scales *s, wasm_reader *r) {
  while (read_left(r) > 0 && !r->bad) {
    uint8_t id = read_byte(r);
    uint32_t len = read_u32(r);
    wasm_reader part = read_part(r, len);
    weigh_section(s, id, &part);
    if (part.bad) read_fail(r);
  }
}

cay_status eng_weigh(const void *bytes, size_t len, eng_weight *out, cay_error *err) {
  enum { HEADER = 8 };
  scales s = { .weight.module = len };
  wasm_reader r = { .at = bytes, .end = (const uint8_t *)bytes + len };
  read_skip(&r, HEADER);
  weigh_all(&s, &r);
  mem_free(s.types.list);
  mem_free(s.functions.list);
  mem_free(s.frames.list);
  if (s.no_memory) return err_no_memory(err);
  if (r.bad) return err_set(err, CAY_CORRUPT, "the module is malformed");
  *out = s.weight;
  return CAY_OK;
}
