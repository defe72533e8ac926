/* wasm_scan.c - the sections of a module: imports, exports, memory, globals, and reasons why it cannot be
 * imaged (wasm_scan.h). */
#include "engine/wasm_scan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/wasm_read.h"

#include <stdio.h>
#include <string.h>

enum { GLOBALS_MAX = 64 }; /* mutable globals that an image may have; C programs have one to five */

typedef struct scan {
  const uint8_t *start;
  const eng_scan_visitor *visitor;
  eng_scan_info *info;
  wasm_reader code;              /* contents of the code section */
  uint32_t globals[GLOBALS_MAX]; /* indices of the mutable ones not exported so far */
  uint32_t
      begins[GLOBALS_MAX]; /* the values they begin with; 0 when that takes more than a constant to know */
  bool memory_exported, odd_global, odd_memory, imported_state, refused;
  bool shared_import, passive_elements;
} scan;

typedef struct limits {
  uint8_t flags;
  uint64_t min, max; /* max: UINT32_MAX when there is none */
} limits;

/* The limits of a memory or table. */
static limits read_limits(wasm_reader *r) {
  limits l = { .flags = read_byte(r), .max = UINT32_MAX };
  if (l.flags > 0x0f) read_fail(r);
  l.min = read_leb(r, 70);
  if (l.flags & 1) l.max = read_leb(r, 70);
  if (l.flags & 8) (void)read_u32(r); /* size of a page */
  return l;
}

static uint64_t clamp32(uint64_t n) { return n < UINT32_MAX ? n : UINT32_MAX; }

static void scan_table_type(scan *s, wasm_reader *r) {
  (void)read_type(r);
  limits l = read_limits(r);
  s->info->table_min += clamp32(l.min);
  s->info->table_max += clamp32(l.max);
}

enum { LIMITS_MAX = 1, LIMITS_SHARED = 2 };

static uint8_t scan_memory_type(scan *s, wasm_reader *r) {
  uint8_t flags = read_limits(r).flags;
  if (flags & ~LIMITS_MAX) s->odd_memory = true; /* shared, 64-bit, or with pages of another size */
  if (flags & LIMITS_SHARED) s->info->has_shared = true;
  return flags;
}

static bool scan_is_named(cay_slice name, const char *text) {
  return name.len == strlen(text) && memcmp(name.data, text, name.len) == 0;
}

static void scan_imported_memory(scan *s, const eng_scan_import *item, wasm_reader *r) {
  bool shared = scan_memory_type(s, r) == (LIMITS_MAX | LIMITS_SHARED);
  if (shared && scan_is_named(item->module, "env") && scan_is_named(item->name, "memory"))
    s->shared_import = true;
  else
    s->imported_state = true;
}

static void scan_import(scan *s, wasm_reader *r) {
  eng_scan_import item = { .module = read_name(r), .name = read_name(r) };
  uint8_t kind = read_byte(r);
  switch (kind) {
  case ENG_KIND_FUNC: (void)read_u32(r); break;
  case ENG_KIND_TABLE: scan_table_type(s, r); break;
  case ENG_KIND_MEMORY: scan_imported_memory(s, &item, r); break;
  case ENG_KIND_GLOBAL: (void)read_type(r), (void)read_byte(r); break;
  case ENG_KIND_TAG: (void)read_byte(r), (void)read_u32(r); break;
  default: read_fail(r);
  }
  if (r->bad) return;
  item.kind = (enum eng_kind)kind;
  s->info->imports++;
  s->info->count[kind]++;
  if (kind != ENG_KIND_FUNC && kind != ENG_KIND_MEMORY) s->imported_state = true;
  if (s->visitor != NULL && s->visitor->on_import != NULL)
    s->refused |= !s->visitor->on_import(s->visitor->ctx, &item);
}

static void scan_table(scan *s, wasm_reader *r) {
  s->info->count[ENG_KIND_TABLE]++;
  bool initial = r->at < r->end && *r->at == 0x40;
  if (initial) read_skip(r, 2);
  scan_table_type(s, r);
  if (initial) wasm_skip_constant(r);
}

static void scan_memory(scan *s, wasm_reader *r) {
  s->info->count[ENG_KIND_MEMORY]++;
  (void)scan_memory_type(s, r);
}

/* A constant of 32 bits; false when it takes more to know the value. */
static bool read_i32(wasm_reader *r, uint32_t *out) {
  enum { I32_CONST = 0x41, END = 0x0b };
  wasm_reader ahead = *r;
  bool constant = read_byte(&ahead) == I32_CONST;
  *out = (uint32_t)read_s32(&ahead);
  if (constant && read_byte(&ahead) == END && !ahead.bad) {
    *r = ahead;
    return true;
  }
  wasm_skip_constant(r);
  return false;
}

static void scan_global(scan *s, wasm_reader *r) {
  uint8_t type = read_type(r), mutability = read_byte(r);
  uint32_t value = 0, index = s->info->count[ENG_KIND_GLOBAL]++;
  if (!read_i32(r, &value)) value = 0;
  if (mutability == 0) return;
  if (s->info->mutable_globals < GLOBALS_MAX) {
    s->globals[s->info->mutable_globals] = index;
    s->begins[s->info->mutable_globals] = value;
  }
  s->info->mutable_globals++;
  if (type < 0x7b || type > 0x7f) s->odd_global = true; /* not a number or vector */
}

static void scan_global_export(scan *s, const eng_scan_export *item) {
  static const char name[] = "__stack_pointer";
  for (uint32_t i = 0; i < GLOBALS_MAX && i < s->info->mutable_globals; i++) {
    if (s->globals[i] != item->index) continue;
    s->globals[i] = UINT32_MAX;
    if (item->name.len == sizeof name - 1 && memcmp(item->name.data, name, sizeof name - 1) == 0)
      s->info->stack = s->begins[i];
  }
}

static void scan_export(scan *s, wasm_reader *r) {
  eng_scan_export item = { .name = read_name(r) };
  uint8_t kind = read_byte(r);
  item.index = read_u32(r);
  if (kind > ENG_KIND_TAG) read_fail(r);
  if (r->bad) return;
  item.kind = (enum eng_kind)kind;
  s->info->exports++;
  if (kind == ENG_KIND_MEMORY) s->memory_exported = true;
  if (kind == ENG_KIND_GLOBAL) scan_global_export(s, &item);
  if (s->visitor != NULL && s->visitor->on_export != NULL)
    s->refused |= !s->visitor->on_export(s->visitor->ctx, &item);
}

static void scan_element(scan *s, wasm_reader *r) {
  uint32_t flags = read_u32(r);
  if (flags > 7) read_fail(r);
  if ((flags & 3) == 1) s->info->has_passive = s->passive_elements = true;
  if ((flags & 1) == 0) { /* active: a table and an offset */
    if (flags & 2) (void)read_u32(r);
    wasm_skip_constant(r);
  }
  if (flags & 3) (void)(flags & 4 ? read_type(r) : read_byte(r));
  uint32_t count = read_u32(r);
  for (uint32_t i = 0; i < count && !r->bad; i++) {
    if (flags & 4)
      wasm_skip_constant(r);
    else
      (void)read_u32(r);
  }
}

static void cover(eng_scan_info *info, uint64_t start, uint64_t end) {
  if (info->data_end == 0 || start < info->data_start) info->data_start = start;
  if (end > info->data_end) info->data_end = end;
}

static void scan_data(scan *s, wasm_reader *r) {
  uint32_t flags = read_u32(r);
  if (flags > 2) read_fail(r);
  if (flags == 1) s->info->has_passive = true;
  if (flags == 2) (void)read_u32(r);
  uint32_t place = 0;
  bool active = flags != 1, known = active && read_i32(r, &place);
  uint32_t len = read_u32(r);
  read_skip(r, len);
  if (active && !r->bad) cover(s->info, known ? place : 0, known ? (uint64_t)place + len : UINT32_MAX);
}

static void scan_tag(scan *s, wasm_reader *r) {
  s->info->count[ENG_KIND_TAG]++;
  (void)read_byte(r);
  (void)read_u32(r);
}

static void scan_function(scan *s, wasm_reader *r) {
  s->info->count[ENG_KIND_FUNC]++;
  (void)read_u32(r);
}

static void each(scan *s, wasm_reader *r, void (*item)(scan *, wasm_reader *)) {
  uint32_t count = read_u32(r);
  if (count > read_left(r)) read_fail(r); /* every item takes a byte at least */
  for (uint32_t i = 0; i < count && !r->bad && !s->refused; i++) item(s, r);
}

static void scan_section(scan *s, uint8_t id, wasm_reader *r) {
  switch ((enum wasm_section)id) {
  case WASM_IMPORT: each(s, r, scan_import); break;
  case WASM_FUNCTION: each(s, r, scan_function); break;
  case WASM_TABLE: each(s, r, scan_table); break;
  case WASM_MEMORY: each(s, r, scan_memory); break;
  case WASM_GLOBAL: each(s, r, scan_global); break;
  case WASM_EXPORT: each(s, r, scan_export); break;
  case WASM_START: s->info->has_start = true; break;
  case WASM_ELEMENT: each(s, r, scan_element); break;
  case WASM_CODE: s->code = *r; break;
  case WASM_DATA: each(s, r, scan_data); break;
  case WASM_TAG: each(s, r, scan_tag); break;
  case WASM_CUSTOM:
  case WASM_TYPE:
  case WASM_DATA_COUNT: break;
  default: r->bad = true;
  }
}

static bool hidden_global(const scan *s) {
  for (uint32_t i = 0; i < s->info->mutable_globals; i++)
    if (s->globals[i] != UINT32_MAX) return true;
  return false;
}

/* The first reason why memory and globals are not the whole state; NULL if they are. With threads, the linker writes a
 * start function that copies passive data once, and marks in the memory that it was done. */
static const char *why_not_forkable(const scan *s) {
  const eng_scan_info *info = s->info;
  if (info->count[ENG_KIND_MEMORY] != 1) return "it has not exactly one memory";
  if (s->imported_state) return "it imports a memory, table, global or tag";
  if (s->odd_memory && !info->threads) return "its memory is shared, 64-bit or has pages of another size";
  if (!s->memory_exported) return "its memory is not exported";
  if (info->has_start && !info->threads) return "it has a start function, which would run again";
  if (s->odd_global) return "a mutable global holds a reference";
  if (info->has_passive && !info->threads) return "it has passive segments";
  if (info->changes_tables) return "its code changes tables, or has instructions unknown to this check";
  return NULL;
}

static const char *why_not_imageable(const scan *s) {
  if (s->info->mutable_globals > GLOBALS_MAX) return "it has more than 64 mutable globals";
  if (hidden_global(s)) return "a mutable global is not exported";
  return NULL;
}

static bool has_threads(const scan *s) {
  const eng_scan_info *info = s->info;
  return s->shared_import && info->count[ENG_KIND_MEMORY] == 1 && s->memory_exported &&
         !s->passive_elements && info->data_end == 0;
}

static cay_status check_header(const uint8_t *bytes, size_t len, cay_error *err) {
  static const uint8_t magic[4] = { 0, 'a', 's', 'm' };
  if (len < 8 || memcmp(bytes, magic, sizeof magic) != 0)
    return err_set(err, CAY_CORRUPT, "not a WebAssembly module: it does not begin with \\0asm");
  uint16_t version = (uint16_t)(bytes[4] | bytes[5] << 8), layer = (uint16_t)(bytes[6] | bytes[7] << 8);
  if (layer == 1) return err_set(err, CAY_UNSUPPORTED, "this is a component; only core modules can be run");
  if (version != 1 || layer != 0)
    return err_set(err, CAY_UNSUPPORTED, "WebAssembly version %u.%u is not known, only 1", version, layer);
  return CAY_OK;
}

static cay_status scan_all(scan *s, wasm_reader *r, cay_error *err) {
  while (read_left(r) > 0) {
    size_t offset = (size_t)(r->at - s->start);
    uint8_t id = read_byte(r);
    uint32_t len = read_u32(r);
    wasm_reader part = read_part(r, len);
    if (r->bad)
      return err_set(err, CAY_CORRUPT, "the module is cut short in the section at byte %zu", offset);
    scan_section(s, id, &part);
    if (s->refused) return CAY_INVALID;
    if (part.bad)
      return err_set(err, CAY_CORRUPT, "section %u at byte %zu of the module is malformed", id, offset);
  }
  return CAY_OK;
}

cay_status eng_scan(const void *bytes, size_t len, const eng_scan_visitor *visitor, eng_scan_info *out,
                    cay_error *err) {
  S_TRY(check_header(bytes, len, err));
  eng_scan_info info = { 0 };
  const uint8_t *start = bytes;
  scan s = { .start = start, .visitor = visitor, .info = &info };
  wasm_reader r = { .at = start + 8, .end = start + len };
  S_TRY(scan_all(&s, &r, err));

  if (info.count[ENG_KIND_TABLE] > 0 && s.code.at != NULL)
    info.changes_tables = wasm_code_changes_tables(s.code);
  if (!info.changes_tables) info.table_max = info.table_min;
  info.threads = has_threads(&s);
  /* Threads touch one memory through several instances, and data may stand below the stack: then all of it is there. */
  if (info.threads || (info.data_end > 0 && info.data_start < info.stack)) info.stack = 0;
  const char *reason = why_not_forkable(&s);
  info.forkable = reason == NULL;
  if (reason == NULL) reason = why_not_imageable(&s);
  info.imageable = reason == NULL;
  if (reason != NULL) (void)snprintf(info.why_not, sizeof info.why_not, "%s", reason);
  *out = info;
  return CAY_OK;
}

static wasm_reader find_code(const uint8_t *bytes, size_t len) {
  wasm_reader r = { .at = bytes + 8, .end = bytes + len };
  while (read_left(&r) > 0) {
    uint8_t id = read_byte(&r);
    wasm_reader part = read_part(&r, read_u32(&r));
    if (id == WASM_CODE) return part;
  }
  return (wasm_reader){ 0 };
}

cay_status eng_tame(const void *bytes, size_t len, uint8_t **out, cay_error *err) {
  uint8_t *copy = mem_alloc(len);
  if (copy == NULL) return err_no_memory(err);
  memcpy(copy, bytes, len);
  wasm_reader code = find_code(bytes, len);
  if (code.at != NULL && !wasm_code_tame(code, bytes, copy)) {
    mem_free(copy);
    return err_set(err, CAY_UNSUPPORTED, "the module has threads, and instructions unknown to this engine");
  }
  *out = copy;
  return CAY_OK;
}
