/* schema.c - reading a schema (sb_schema_new, _free, _text). */
#include "sandbox/session/schema_inner.h"

#include "base/alloc.h"
#include "base/text.h"
#include "tool/run/json.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, PATTERNS_MAX = 256 };

static void *pattern_alloc(size_t len, void *ctx) { return (void)ctx, mem_alloc(len); }
static void pattern_free(void *ptr, void *ctx) { (void)ctx, mem_free(ptr); }

pcre2_general_context *sb_schema_pattern_memory(void) {
  return pcre2_general_context_create(pattern_alloc, pattern_free, NULL);
}

/* ---- where one is ---- */

size_t sb_step_into(place *p, const char *name) {
  size_t before = p->len;
  int n = snprintf(p->text + p->len, sizeof p->text - p->len, "/%s", name);
  if (n > 0) p->len += (size_t)n < sizeof p->text - p->len ? (size_t)n : sizeof p->text - p->len - 1;
  return before;
}

size_t sb_step_into_index(place *p, size_t index) {
  char text[24];
  (void)snprintf(text, sizeof text, "%zu", index);
  return sb_step_into(p, text);
}

void sb_step_out(place *p, size_t before) {
  p->len = before;
  p->text[before] = '\0';
}

yyjson_val *sb_schema_follow(const sb_schema *s, yyjson_val *ref) {
  const char *text = yyjson_get_str(ref);
  if (text == NULL || text[0] != '#') return NULL;
  return text[1] == '\0' ? yyjson_doc_get_root(s->doc) : yyjson_doc_ptr_get(s->doc, text + 1);
}

/* ---- known keywords ---- */

enum shape {
  ANY_VALUE,
  TEXT,
  NUMBER,
  COUNT,
  TRUTH,
  SCHEMA,
  SCHEMA_LIST,
  SCHEMA_MAP,
  TEXT_LIST,
  LIST,
  TYPES,
  PATTERN,
  PATTERN_MAP,
  REF
};

static const struct keyword {
  const char *name;
  enum shape shape;
} keywords[] = {
  { "type", TYPES },
  { "enum", LIST },
  { "const", ANY_VALUE },
  { "properties", SCHEMA_MAP },
  { "required", TEXT_LIST },
  { "additionalProperties", SCHEMA },
  { "patternProperties", PATTERN_MAP },
  { "propertyNames", SCHEMA },
  { "minProperties", COUNT },
  { "maxProperties", COUNT },
  { "items", SCHEMA },
  { "prefixItems", SCHEMA_LIST },
  { "minItems", COUNT },
  { "maxItems", COUNT },
  { "uniqueItems", TRUTH },
  { "minimum", NUMBER },
  { "maximum", NUMBER },
  { "exclusiveMinimum", NUMBER },
  { "exclusiveMaximum", NUMBER },
  { "multipleOf", NUMBER },
  { "minLength", COUNT },
  { "maxLength", COUNT },
  { "pattern", PATTERN },
  { "anyOf", SCHEMA_LIST },
  { "oneOf", SCHEMA_LIST },
  { "allOf", SCHEMA_LIST },
  { "not", SCHEMA },
  { "$ref", REF },
  { "$defs", SCHEMA_MAP },
  { "definitions", SCHEMA_MAP },
  /* annotations */
  { "title", ANY_VALUE },
  { "description", ANY_VALUE },
  { "default", ANY_VALUE },
  { "examples", ANY_VALUE },
  { "format", ANY_VALUE },
  { "$schema", ANY_VALUE },
  { "$id", ANY_VALUE },
  { "$comment", ANY_VALUE },
  { "deprecated", ANY_VALUE },
  { "readOnly", ANY_VALUE },
  { "writeOnly", ANY_VALUE },
};

typedef struct reader {
  sb_schema *schema;
  place at;
  int depth;
  cay_error *err;
} reader;

static cay_status read_schema(reader *r, yyjson_val *value);

static cay_status schema_wrong(const reader *r, const char *what) {
  return err_set(r->err, CAY_INVALID, "%s: %s", TEXT_NAME(r->at.len != 0 ? r->at.text : "/"), what);
}

static bool is_type_name(yyjson_val *v) {
  static const char *const names[] = { "null", "boolean", "object", "array", "number", "string", "integer" };
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (yyjson_equals_str(v, names[i])) return true;
  return false;
}

static cay_status read_types(reader *r, yyjson_val *v) {
  if (yyjson_is_str(v)) return is_type_name(v) ? CAY_OK : schema_wrong(r, "no such type");
  if (!yyjson_is_arr(v) || yyjson_arr_size(v) == 0)
    return schema_wrong(r, "wants the name of a type, or several");
  yyjson_val *one;
  yyjson_arr_iter it = yyjson_arr_iter_with(v);
  while ((one = yyjson_arr_iter_next(&it)) != NULL)
    if (!is_type_name(one)) return schema_wrong(r, "no such type");
  return CAY_OK;
}

static cay_status read_pattern(reader *r, yyjson_val *v) {
  sb_schema *s = r->schema;
  if (!yyjson_is_str(v)) return schema_wrong(r, "wants a regular expression");
  if (s->pattern_count == PATTERNS_MAX) return schema_wrong(r, "too many patterns");
  pattern *more = mem_realloc_array(s->patterns, s->pattern_count + 1, sizeof *more);
  if (more == NULL) return err_no_memory(r->err);
  s->patterns = more;
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_general_context *memory = sb_schema_pattern_memory();
  pcre2_compile_context *compile = memory != NULL ? pcre2_compile_context_create(memory) : NULL;
  pcre2_code *code = NULL;
  if (compile != NULL)
    code = pcre2_compile((PCRE2_SPTR)yyjson_get_str(v), yyjson_get_len(v),
                         PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &offset, compile);
  pcre2_compile_context_free(compile);
  pcre2_general_context_free(memory);
  if (compile == NULL || (code == NULL && error == PCRE2_ERROR_HEAP_FAILED)) return err_no_memory(r->err);
  if (code == NULL) return schema_wrong(r, "not a regular expression that is understood");
  s->patterns[s->pattern_count++] = (pattern){ v, code };
  return CAY_OK;
}

static cay_status read_list(reader *r, yyjson_val *list) {
  size_t index, count;
  yyjson_val *one;
  if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0) return schema_wrong(r, "wants a list of schemas");
  yyjson_arr_foreach(list, index, count, one) {
    size_t before = sb_step_into_index(&r->at, index);
    S_TRY(read_schema(r, one));
    sb_step_out(&r->at, before);
  }
  return CAY_OK;
}

static cay_status schema_read_map(reader *r, yyjson_val *map, bool names_are_patterns) {
  size_t index, count;
  yyjson_val *key, *one;
  if (!yyjson_is_obj(map)) return schema_wrong(r, "wants an object of schemas");
  yyjson_obj_foreach(map, index, count, key, one) {
    size_t before = sb_step_into(&r->at, yyjson_get_str(key));
    if (names_are_patterns) S_TRY(read_pattern(r, key));
    S_TRY(read_schema(r, one));
    sb_step_out(&r->at, before);
  }
  return CAY_OK;
}

static cay_status schema_read_texts(reader *r, yyjson_val *list) {
  size_t index, count;
  yyjson_val *one;
  if (!yyjson_is_arr(list)) return schema_wrong(r, "wants a list of names");
  yyjson_arr_foreach(list, index, count, one) {
    if (!yyjson_is_str(one)) return schema_wrong(r, "wants a list of names");
  }
  return CAY_OK;
}

static cay_status read_keyword(reader *r, enum shape shape, yyjson_val *v) {
  switch (shape) {
  case ANY_VALUE: return CAY_OK;
  case TEXT: return yyjson_is_str(v) ? CAY_OK : schema_wrong(r, "wants a text");
  case NUMBER: return yyjson_is_num(v) ? CAY_OK : schema_wrong(r, "wants a number");
  case COUNT: return yyjson_is_uint(v) ? CAY_OK : schema_wrong(r, "wants a count");
  case TRUTH: return yyjson_is_bool(v) ? CAY_OK : schema_wrong(r, "wants true or false");
  case SCHEMA: return read_schema(r, v);
  case SCHEMA_LIST: return read_list(r, v);
  case SCHEMA_MAP: return schema_read_map(r, v, false);
  case PATTERN_MAP: return schema_read_map(r, v, true);
  case TEXT_LIST: return schema_read_texts(r, v);
  case LIST: return yyjson_is_arr(v) ? CAY_OK : schema_wrong(r, "wants a list");
  case TYPES: return read_types(r, v);
  case PATTERN: return read_pattern(r, v);
  case REF:
    return sb_schema_follow(r->schema, v) != NULL ? CAY_OK
                                                  : schema_wrong(r, "leads nowhere within the schema");
  }
  return CAY_OK;
}

static const struct keyword *find_keyword(const char *name) {
  for (size_t i = 0; i < COUNT_OF(keywords); i++)
    if (strcmp(keywords[i].name, name) == 0) return &keywords[i];
  return NULL;
}

static cay_status read_schema(reader *r, yyjson_val *value) {
  size_t index, count;
  yyjson_val *key, *one;
  if (yyjson_is_bool(value)) return CAY_OK;
  if (!yyjson_is_obj(value)) return schema_wrong(r, "wants a schema: an object, true or false");
  if (r->depth++ == SCHEMA_DEPTH_MAX) return schema_wrong(r, "nested too deeply");
  yyjson_obj_foreach(value, index, count, key, one) {
    const struct keyword *k = find_keyword(yyjson_get_str(key));
    size_t before = sb_step_into(&r->at, yyjson_get_str(key));
    if (k == NULL) return schema_wrong(r, "this keyword is not understood");
    S_TRY(read_keyword(r, k->shape, one));
    sb_step_out(&r->at, before);
  }
  r->depth--;
  return CAY_OK;
}

cay_status sb_schema_new(const char *text, sb_schema **out, cay_error *err) {
  size_t len = strlen(text);
  if (len > TEXT_MAX) return err_set(err, CAY_INVALID, "longer than %d bytes", TEXT_MAX);
  OWNED(sb_schema_free) sb_schema *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  yyjson_read_err why;
  s->doc = yyjson_read_opts((char *)(uintptr_t)text, len, YYJSON_READ_NOFLAG, &JSON_ALLOC, &why);
  if (s->doc == NULL)
    return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
               ? err_no_memory(err)
               : err_set(err, CAY_INVALID, "not JSON: %s at byte %zu", why.msg, why.pos);
  s->text = yyjson_write_opts(s->doc, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, NULL, NULL);
  if (s->text == NULL) return err_no_memory(err);
  reader r = { .schema = s, .err = err };
  S_TRY(read_schema(&r, yyjson_doc_get_root(s->doc)));
  *out = MOVE(s);
  return CAY_OK;
}

void sb_schema_free(sb_schema *s) {
  if (s == NULL) return;
  for (size_t i = 0; i < s->pattern_count; i++) pcre2_code_free(s->patterns[i].code);
  mem_free(s->patterns);
  yyjson_doc_free(s->doc);
  mem_free(s->text);
  mem_free(s);
}

const char *sb_schema_text(const sb_schema *schema) { return schema->text; }
