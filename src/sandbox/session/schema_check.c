/* schema_check.c - whether a value fits a schema (sb_schema_fits). */
#include "sandbox/session/schema_inner.h"

#include "base/alloc.h"
#include "tool/run/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
  STEPS_MAX = 1000000, /* of one check: $ref and anyOf can multiply */
  MATCH_LIMIT = 100000,
};

typedef struct checker {
  const sb_schema *schema;
  place at;
  int depth;
  uint32_t steps;
  char *why;
  size_t cap;
  bool quiet; /* inside anyOf and its like: what fails there is not the reason */
  bool no_memory;
} checker;

static bool schema_check_fits(checker *c, yyjson_val *schema, yyjson_val *value);

static bool no(checker *c, const char *format, ...) PRINTF(2, 3);
static bool no(checker *c, const char *format, ...) {
  if (c->quiet) return false;
  va_list args;
  va_start(args, format);
  int n = snprintf(c->why, c->cap, "%s: ", c->at.len != 0 ? c->at.text : "arguments");
  if (n > 0 && (size_t)n < c->cap) vsnprintf(c->why + n, c->cap - (size_t)n, format, args);
  va_end(args);
  return false;
}

static bool is_integer(yyjson_val *v) {
  return yyjson_is_int(v) || (yyjson_is_real(v) && floor(yyjson_get_real(v)) == yyjson_get_real(v));
}

static bool has_type(yyjson_val *v, const char *name) {
  switch (name[0]) {
  case 'n': return name[2] == 'l' ? yyjson_is_null(v) : yyjson_is_num(v);
  case 'b': return yyjson_is_bool(v);
  case 'o': return yyjson_is_obj(v);
  case 'a': return yyjson_is_arr(v);
  case 's': return yyjson_is_str(v);
  default: return is_integer(v);
  }
}

static bool fits_type(checker *c, yyjson_val *types, yyjson_val *v) {
  if (yyjson_is_str(types))
    return has_type(v, yyjson_get_str(types)) ||
           no(c, "is %s and should be %s", yyjson_get_type_desc(v), yyjson_get_str(types));
  yyjson_val *one;
  yyjson_arr_iter it = yyjson_arr_iter_with(types);
  while ((one = yyjson_arr_iter_next(&it)) != NULL)
    if (has_type(v, yyjson_get_str(one))) return true;
  return no(c, "is %s, which is none of the types it may have", yyjson_get_type_desc(v));
}

/* As JSON Schema has it: 1 and 1.0 are equal. */
static bool equal(yyjson_val *a, yyjson_val *b) {
  if (yyjson_is_num(a) && yyjson_is_num(b) && (yyjson_is_real(a) || yyjson_is_real(b)))
    return yyjson_get_num(a) == yyjson_get_num(b);
  return yyjson_equals(a, b);
}

static bool fits_enum(checker *c, yyjson_val *list, yyjson_val *v) {
  yyjson_val *one;
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  while ((one = yyjson_arr_iter_next(&it)) != NULL)
    if (equal(one, v)) return true;
  return no(c, "is none of the values it may have");
}

static bool fits_number(checker *c, yyjson_val *schema, yyjson_val *v) {
  double x = yyjson_get_num(v);
  yyjson_val *limit;
  if ((limit = yyjson_obj_get(schema, "minimum")) != NULL && !(x >= yyjson_get_num(limit)))
    return no(c, "is less than %g", yyjson_get_num(limit));
  if ((limit = yyjson_obj_get(schema, "maximum")) != NULL && !(x <= yyjson_get_num(limit)))
    return no(c, "is more than %g", yyjson_get_num(limit));
  if ((limit = yyjson_obj_get(schema, "exclusiveMinimum")) != NULL && !(x > yyjson_get_num(limit)))
    return no(c, "is not more than %g", yyjson_get_num(limit));
  if ((limit = yyjson_obj_get(schema, "exclusiveMaximum")) != NULL && !(x < yyjson_get_num(limit)))
    return no(c, "is not less than %g", yyjson_get_num(limit));
  if ((limit = yyjson_obj_get(schema, "multipleOf")) != NULL) {
    double times = x / yyjson_get_num(limit);
    if (!(fabs(times - round(times)) <= 1e-9 * fmax(1, fabs(times))))
      return no(c, "is no multiple of %g", yyjson_get_num(limit));
  }
  return true;
}

static pcre2_code *schema_check_code_of(const checker *c, yyjson_val *text) {
  for (size_t i = 0; i < c->schema->pattern_count; i++)
    if (c->schema->patterns[i].text == text) return c->schema->patterns[i].code;
  return NULL;
}

/* A match that takes too much work is none. */
static bool matches(checker *c, yyjson_val *text, yyjson_val *v) {
  pcre2_code *code = schema_check_code_of(c, text);
  pcre2_general_context *memory = sb_schema_pattern_memory();
  pcre2_match_context *match = memory != NULL ? pcre2_match_context_create(memory) : NULL;
  pcre2_match_data *data = match != NULL && code != NULL ? pcre2_match_data_create(1, memory) : NULL;
  int found = -1;
  if (data != NULL) {
    pcre2_set_match_limit(match, MATCH_LIMIT);
    pcre2_set_heap_limit(match, 1024);
    found = pcre2_match(code, (PCRE2_SPTR)yyjson_get_str(v), yyjson_get_len(v), 0, PCRE2_NO_UTF_CHECK, data,
                        match);
  } else {
    c->no_memory = true;
  }
  pcre2_match_data_free(data);
  pcre2_match_context_free(match);
  pcre2_general_context_free(memory);
  return found >= 0;
}

static uint64_t characters(yyjson_val *v) {
  const char *text = yyjson_get_str(v);
  uint64_t count = 0;
  for (size_t i = 0; i < yyjson_get_len(v); i++) count += ((uint8_t)text[i] & 0xc0) != 0x80;
  return count;
}

static bool fits_text(checker *c, yyjson_val *schema, yyjson_val *v) {
  yyjson_val *limit;
  if ((limit = yyjson_obj_get(schema, "minLength")) != NULL && characters(v) < yyjson_get_uint(limit))
    return no(c, "has fewer than %llu characters", (unsigned long long)yyjson_get_uint(limit));
  if ((limit = yyjson_obj_get(schema, "maxLength")) != NULL && characters(v) > yyjson_get_uint(limit))
    return no(c, "has more than %llu characters", (unsigned long long)yyjson_get_uint(limit));
  if ((limit = yyjson_obj_get(schema, "pattern")) != NULL && !matches(c, limit, v))
    return no(c, "does not match %.100s", yyjson_get_str(limit));
  return true;
}

static bool count_fits(checker *c, yyjson_val *schema, const char *least, const char *most, size_t count,
                       const char *what) {
  yyjson_val *limit;
  if ((limit = yyjson_obj_get(schema, least)) != NULL && count < yyjson_get_uint(limit))
    return no(c, "has fewer than %llu %s", (unsigned long long)yyjson_get_uint(limit), what);
  if ((limit = yyjson_obj_get(schema, most)) != NULL && count > yyjson_get_uint(limit))
    return no(c, "has more than %llu %s", (unsigned long long)yyjson_get_uint(limit), what);
  return true;
}

/* Quadratic, so bounded by the steps of a check. */
static bool are_unique(checker *c, yyjson_val *list) {
  yyjson_val *a, *b;
  yyjson_arr_iter outer = yyjson_arr_iter_with(list);
  while ((a = yyjson_arr_iter_next(&outer)) != NULL) {
    yyjson_arr_iter inner = outer;
    while ((b = yyjson_arr_iter_next(&inner)) != NULL) {
      if (++c->steps > STEPS_MAX) return no(c, "is too large to be checked");
      if (equal(a, b)) return no(c, "has the same item twice");
    }
  }
  return true;
}

static bool fits_list(checker *c, yyjson_val *schema, yyjson_val *list) {
  yyjson_val *prefix = yyjson_obj_get(schema, "prefixItems"), *items = yyjson_obj_get(schema, "items"), *one;
  size_t index, count;
  if (!count_fits(c, schema, "minItems", "maxItems", yyjson_arr_size(list), "items")) return false;
  yyjson_arr_foreach(list, index, count, one) {
    yyjson_val *rule = yyjson_arr_get(prefix, index);
    if (rule == NULL) rule = items;
    if (rule == NULL) continue;
    size_t before = sb_step_into_index(&c->at, index);
    if (!schema_check_fits(c, rule, one)) return false;
    sb_step_out(&c->at, before);
  }
  return !yyjson_is_true(yyjson_obj_get(schema, "uniqueItems")) || are_unique(c, list);
}

static bool has_required(checker *c, yyjson_val *schema, yyjson_val *object) {
  yyjson_val *one;
  yyjson_arr_iter it = yyjson_arr_iter_with(yyjson_obj_get(schema, "required"));
  while ((one = yyjson_arr_iter_next(&it)) != NULL)
    if (yyjson_obj_getn(object, yyjson_get_str(one), yyjson_get_len(one)) == NULL)
      return no(c, "%.100s is missing", yyjson_get_str(one));
  return true;
}

/* *known: some rule was about it. */
static bool fits_patterns(checker *c, yyjson_val *rules, yyjson_val *key, yyjson_val *value, bool *known) {
  yyjson_val *text;
  yyjson_obj_iter it = yyjson_obj_iter_with(rules);
  while ((text = yyjson_obj_iter_next(&it)) != NULL) {
    if (!matches(c, text, key)) continue;
    *known = true;
    if (!schema_check_fits(c, yyjson_obj_iter_get_val(text), value)) return false;
  }
  return true;
}

static bool fits_member(checker *c, yyjson_val *schema, yyjson_val *key, yyjson_val *value) {
  yyjson_val *names = yyjson_obj_get(schema, "propertyNames"),
             *others = yyjson_obj_get(schema, "additionalProperties");
  yyjson_val *rule =
      yyjson_obj_getn(yyjson_obj_get(schema, "properties"), yyjson_get_str(key), yyjson_get_len(key));
  bool known = rule != NULL;
  if (names != NULL && !schema_check_fits(c, names, key)) return false;
  if (rule != NULL && !schema_check_fits(c, rule, value)) return false;
  if (!fits_patterns(c, yyjson_obj_get(schema, "patternProperties"), key, value, &known)) return false;
  if (known || others == NULL) return true;
  return yyjson_is_false(others) ? no(c, "is not expected") : schema_check_fits(c, others, value);
}

static bool fits_object(checker *c, yyjson_val *schema, yyjson_val *object) {
  yyjson_val *key, *value;
  size_t index, count;
  if (!count_fits(c, schema, "minProperties", "maxProperties", yyjson_obj_size(object), "members"))
    return false;
  if (!has_required(c, schema, object)) return false;
  yyjson_obj_foreach(object, index, count, key, value) {
    size_t before = sb_step_into(&c->at, yyjson_get_str(key));
    if (!fits_member(c, schema, key, value)) return false;
    sb_step_out(&c->at, before);
  }
  return true;
}

/* How many of the list it fits; stops at `enough`. */
static size_t count_fitting(checker *c, yyjson_val *list, yyjson_val *v, size_t enough) {
  size_t count = 0, before = c->at.len;
  bool quiet = c->quiet;
  int depth = c->depth;
  yyjson_val *one;
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  c->quiet = true;
  while (count < enough && (one = yyjson_arr_iter_next(&it)) != NULL) {
    count += schema_check_fits(c, one, v);
    sb_step_out(&c->at, before);
    c->depth = depth;
  }
  c->quiet = quiet;
  return count;
}

static bool fits_not(checker *c, yyjson_val *rule, yyjson_val *v) {
  bool quiet = c->quiet;
  size_t before = c->at.len;
  int depth = c->depth;
  c->quiet = true;
  bool does = schema_check_fits(c, rule, v);
  c->quiet = quiet;
  c->depth = depth;
  sb_step_out(&c->at, before);
  return !does || no(c, "is a value that is not allowed");
}

static bool fits_all(checker *c, yyjson_val *list, yyjson_val *v) {
  yyjson_val *one;
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  while ((one = yyjson_arr_iter_next(&it)) != NULL)
    if (!schema_check_fits(c, one, v)) return false;
  return true;
}

static bool fits_combined(checker *c, yyjson_val *schema, yyjson_val *v) {
  yyjson_val *rule;
  if ((rule = yyjson_obj_get(schema, "$ref")) != NULL &&
      !schema_check_fits(c, sb_schema_follow(c->schema, rule), v))
    return false;
  if ((rule = yyjson_obj_get(schema, "allOf")) != NULL && !fits_all(c, rule, v)) return false;
  if ((rule = yyjson_obj_get(schema, "anyOf")) != NULL && count_fitting(c, rule, v, 1) == 0)
    return no(c, "fits none of the alternatives");
  if ((rule = yyjson_obj_get(schema, "oneOf")) != NULL && count_fitting(c, rule, v, 2) != 1)
    return no(c, "does not fit exactly one of the alternatives");
  return (rule = yyjson_obj_get(schema, "not")) == NULL || fits_not(c, rule, v);
}

static bool schema_check_fits(checker *c, yyjson_val *schema, yyjson_val *v) {
  yyjson_val *rule;
  if (yyjson_is_bool(schema)) return yyjson_get_bool(schema) || no(c, "may not be there");
  if (++c->steps > STEPS_MAX || c->depth == SCHEMA_DEPTH_MAX)
    return no(c, "is too deep or too large to be checked");
  c->depth++;
  if ((rule = yyjson_obj_get(schema, "type")) != NULL && !fits_type(c, rule, v)) return false;
  if ((rule = yyjson_obj_get(schema, "enum")) != NULL && !fits_enum(c, rule, v)) return false;
  if ((rule = yyjson_obj_get(schema, "const")) != NULL && !equal(rule, v))
    return no(c, "is not the required value");
  if (yyjson_is_num(v) && !fits_number(c, schema, v)) return false;
  if (yyjson_is_str(v) && !fits_text(c, schema, v)) return false;
  if (yyjson_is_arr(v) && !fits_list(c, schema, v)) return false;
  if (yyjson_is_obj(v) && !fits_object(c, schema, v)) return false;
  if (!fits_combined(c, schema, v)) return false;
  c->depth--;
  return true;
}

enum sb_fit sb_schema_fits(const sb_schema *schema, cay_slice json, char *why, size_t cap) {
  checker c = { .schema = schema, .why = why, .cap = cap };
  yyjson_read_err error = { 0 };
  why[0] = '\0';
  yyjson_doc *doc = json.len == 0 ? NULL
                                  : yyjson_read_opts((char *)(uintptr_t)json.data, json.len,
                                                     YYJSON_READ_NOFLAG, &JSON_ALLOC, &error);
  if (doc == NULL) {
    if (error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) return SB_FIT_NO_MEMORY;
    (void)snprintf(why, cap, "arguments: not JSON: %s at byte %zu", error.msg != NULL ? error.msg : "nothing",
                   error.pos);
    return SB_MISFIT;
  }
  bool fine = yyjson_is_obj(yyjson_doc_get_root(doc)) || no(&c, "must be a JSON object");
  if (fine && schema != NULL)
    fine = schema_check_fits(&c, yyjson_doc_get_root(schema->doc), yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
  if (c.no_memory) return SB_FIT_NO_MEMORY;
  return fine ? SB_FIT : SB_MISFIT;
}
