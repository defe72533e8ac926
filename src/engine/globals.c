/* globals.c - the mutable globals of an instance as values: read, written, copied, compared. */
#include "base/error.h"
#include "base/text.h"
#include "engine/image_inner.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records of globals are written as they are");
_Static_assert(sizeof(wasmtime_v128) == sizeof(((struct global_record *)0)->value), "the largest value fits");

/* Only these five can be in an image: a module with another mutable global is not imageable. */
static wasmtime_valkind_t globals_kind_of(const struct export *e) {
  switch (e->type[0]) {
  case 'i': return WASMTIME_I32;
  case 'I': return WASMTIME_I64;
  case 'f': return WASMTIME_F32;
  case 'F': return WASMTIME_F64;
  default: return WASMTIME_V128;
  }
}

static size_t globals_size_of(wasmtime_valkind_t kind) {
  if (kind == WASMTIME_V128) return sizeof(wasmtime_v128);
  return kind == WASMTIME_I32 || kind == WASMTIME_F32 ? sizeof(int32_t) : sizeof(int64_t);
}

/* The next exported mutable global at or after `n`; NULL: no more. */
static const struct export *next_global(const eng_module *m, size_t *n) {
  for (; *n < m->export_count; (*n)++) {
    const struct export *e = &m->exports[*n];
    if (e->kind == ENG_KIND_GLOBAL && e->is_mutable) return &m->exports[(*n)++];
  }
  return NULL;
}

size_t eng_globals_count(const eng_module *m) {
  size_t count = 0;
  for (size_t n = 0; next_global(m, &n) != NULL;) count++;
  return count;
}

static bool globals_find(eng_instance *i, const struct export *e, wasmtime_global_t *out) {
  wasmtime_extern_t item;
  if (!wasmtime_instance_export_get(i->cx, &i->wasm, e->name, e->len, &item)) return false;
  *out = item.of.global;
  return true;
}

void eng_globals_read(eng_instance *i, wasmtime_val_t *values) {
  const struct export *e;
  for (size_t n = 0; (e = next_global(i->module, &n)) != NULL; values++) {
    wasmtime_global_t global;
    if (globals_find(i, e, &global)) wasmtime_global_get(i->cx, &global, values);
  }
}

void eng_globals_write(eng_instance *i, const wasmtime_val_t *values) {
  const struct export *e;
  for (size_t n = 0; (e = next_global(i->module, &n)) != NULL; values++) {
    wasmtime_global_t global;
    wasmtime_error_t *error =
        globals_find(i, e, &global) ? wasmtime_global_set(i->cx, &global, values) : NULL;
    if (error != NULL) wasmtime_error_delete(error);
  }
}

void eng_globals_copy(eng_instance *to, eng_instance *from) {
  const struct export *e;
  for (size_t n = 0; (e = next_global(from->module, &n)) != NULL;) {
    wasmtime_global_t source, target;
    wasmtime_val_t value;
    if (!globals_find(from, e, &source) || !globals_find(to, e, &target)) continue;
    wasmtime_global_get(from->cx, &source, &value);
    wasmtime_error_t *error = wasmtime_global_set(to->cx, &target, &value);
    if (error != NULL) wasmtime_error_delete(error);
  }
}

bool eng_globals_equal(eng_instance *i, const wasmtime_val_t *values) {
  const struct export *e;
  for (size_t n = 0; (e = next_global(i->module, &n)) != NULL; values++) {
    wasmtime_global_t global;
    wasmtime_val_t now;
    if (!globals_find(i, e, &global)) continue;
    wasmtime_global_get(i->cx, &global, &now);
    if (memcmp(&now.of, &values->of, globals_size_of(globals_kind_of(e))) != 0) return false;
  }
  return true;
}

uint32_t eng_globals_stack(const eng_module *m, const wasmtime_val_t *values) {
  const struct export *e;
  for (size_t n = 0; (e = next_global(m, &n)) != NULL; values++)
    if (strcmp(e->name, "__stack_pointer") == 0 && e->type[0] == 'i') return (uint32_t)values->of.i32;
  return 0;
}

/* ---- in files ---- */

static void globals_describe(const struct export *e, struct global_record *out) {
  *out = (struct global_record){ .kind = globals_kind_of(e), .name_len = (uint32_t)e->len };
  memcpy(out->name, e->name, e->len < sizeof out->name ? e->len : sizeof out->name);
}

void eng_globals_encode(const eng_module *m, const wasmtime_val_t *values, struct global_record *out) {
  const struct export *e;
  for (size_t n = 0; (e = next_global(m, &n)) != NULL; values++, out++) {
    globals_describe(e, out);
    memcpy(out->value, &values->of, globals_size_of(globals_kind_of(e)));
  }
}

cay_status eng_globals_decode(const eng_module *m, const struct global_record *records, size_t count,
                              wasmtime_val_t *values, cay_error *err) {
  const struct export *e;
  const struct global_record *end = records + count;
  for (size_t n = 0; (e = next_global(m, &n)) != NULL; values++, records++) {
    struct global_record want;
    globals_describe(e, &want);
    if (records == end || records->kind != want.kind || records->name_len != want.name_len ||
        memcmp(records->name, want.name, sizeof want.name) != 0)
      return err_set(err, CAY_CORRUPT, "the image has no global %s of the module's type", TEXT_NAME(e->name));
    memset(values, 0, sizeof *values);
    values->kind = (wasmtime_valkind_t)want.kind;
    memcpy(&values->of, records->value, globals_size_of(values->kind));
  }
  if (records != end) return err_set(err, CAY_CORRUPT, "the image has globals that the module has not");
  return CAY_OK;
}
