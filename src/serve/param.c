/* param.c - members of params, as a method wants them. */
#include "base/alloc.h"
#include "base/base64.h"
#include "serve/server.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool param_wrong(call *c, const char *name, const char *what) {
  fail(c, RPC_INVALID_PARAMS, "%s: %s", name, what);
  return false;
}

bool param_text_len(call *c, const char *name, bool required, const char **out, size_t *len) {
  yyjson_val *value = yyjson_obj_get(c->params, name);
  if (value == NULL || (yyjson_is_null(value) && !required))
    return !required || param_wrong(c, name, "is required");
  if (!yyjson_is_str(value)) return param_wrong(c, name, "must be a string");
  *out = yyjson_get_str(value);
  *len = yyjson_get_len(value);
  return true;
}

bool param_text(call *c, const char *name, bool required, const char **out) {
  const char *text = NULL;
  size_t len = 0;
  if (!param_text_len(c, name, required, &text, &len)) return false;
  if (text == NULL) return true;
  if (strlen(text) != len) return param_wrong(c, name, "must not contain a NUL character");
  *out = text;
  return true;
}

static bool too_long(call *c, const char *name) {
  fail(c, RPC_SANDBOX_ERROR, "ENAMETOOLONG: %s: the path is longer than 4096 bytes", name);
  return false;
}

static bool copy_file(call *c, const char *name, const char *data, size_t len,
                      char out[static SERVE_PATH_MAX]) {
  if (len == 0) {
    fail(c, RPC_SANDBOX_ERROR, "ENOENT: %s: the path is empty", name);
    return false;
  }
  if (len >= SERVE_PATH_MAX) return too_long(c, name);
  memcpy(out, data, len);
  out[len] = '\0';
  return true;
}

/* Bytes that JSON cannot carry as text. */
static bool file_from_base64(call *c, const char *name, const char *text, size_t len,
                             char out[static SERVE_PATH_MAX]) {
  cay_buf bytes = { 0 };
  cay_status status = base64_decode_new(text, len, &bytes);
  if (status == CAY_NO_MEMORY) {
    fail_memory(c);
    return false;
  }
  if (status != CAY_OK) return param_wrong(c, name, "is not base64");
  bool fine = memchr(bytes.data, '\0', bytes.len) == NULL
                  ? copy_file(c, name, bytes.data, bytes.len, out)
                  : param_wrong(c, name, "must not contain a NUL character");
  mem_free(bytes.data);
  return fine;
}

bool param_file(call *c, const char *name, bool required, char out[static SERVE_PATH_MAX]) {
  char other[64];
  const char *text = NULL;
  size_t len = 0;
  (void)snprintf(other, sizeof other, "%sBase64", name);
  out[0] = '\0';
  if (!param_text_len(c, other, false, &text, &len)) return false;
  if (text != NULL) return file_from_base64(c, other, text, len, out);
  if (!param_text(c, name, required, &text)) return false;
  return text == NULL || copy_file(c, name, text, strlen(text), out);
}

bool param_path(call *c, const char *name, char out[static SERVE_PATH_MAX]) {
  static const char HOME[] = "/home/agent/";
  enum { HOME_LEN = sizeof HOME - 1 };
  if (!param_file(c, name, true, out)) return false;
  if (out[0] == '/') return true;
  size_t len = strlen(out);
  if (len + HOME_LEN >= SERVE_PATH_MAX) return too_long(c, name);
  memmove(out + HOME_LEN, out, len + 1);
  memcpy(out, HOME, HOME_LEN);
  return true;
}

bool param_number(call *c, const char *name, uint64_t min, uint64_t max, uint64_t *out) {
  yyjson_val *value = yyjson_obj_get(c->params, name);
  if (value == NULL || yyjson_is_null(value)) return true;
  uint64_t n;
  if (yyjson_is_uint(value)) {
    n = yyjson_get_uint(value);
  } else if (yyjson_is_real(value) && yyjson_get_real(value) >= 0 && yyjson_get_real(value) < 9e15 &&
             floor(yyjson_get_real(value)) == yyjson_get_real(value)) {
    n = (uint64_t)yyjson_get_real(value); /* some clients write 30000.0 */
  } else {
    return param_wrong(c, name, "must be a whole number that is not negative");
  }
  if (n < min || n > max) {
    fail(c, RPC_INVALID_PARAMS, "%s: must be from %llu to %llu", name, (unsigned long long)min,
         (unsigned long long)max);
    return false;
  }
  *out = n;
  return true;
}

bool param_bool(call *c, const char *name, bool *out) {
  yyjson_val *value = yyjson_obj_get(c->params, name);
  if (value == NULL || yyjson_is_null(value)) return true;
  if (!yyjson_is_bool(value)) return param_wrong(c, name, "must be true or false");
  *out = yyjson_get_bool(value);
  return true;
}

static bool env_entry(call *c, const char *name, yyjson_val *key, yyjson_val *value, char **out) {
  const char *k = yyjson_get_str(key), *v = yyjson_get_str(value);
  size_t klen = yyjson_get_len(key), vlen = yyjson_get_len(value);
  if (v == NULL) return param_wrong(c, name, "values must be strings");
  if (klen == 0 || strlen(k) != klen || strlen(v) != vlen || strchr(k, '=') != NULL)
    return param_wrong(c, name, "a name is empty or has '=', or something contains a NUL character");
  char *entry = mem_alloc(klen + vlen + 2);
  if (entry == NULL) {
    fail_memory(c);
    return false;
  }
  memcpy(entry, k, klen);
  entry[klen] = '=';
  memcpy(entry + klen + 1, v, vlen + 1);
  *out = entry;
  return true;
}

bool param_env(call *c, const char *name, char ***out) {
  yyjson_val *object = yyjson_obj_get(c->params, name);
  if (object == NULL || yyjson_is_null(object)) return true;
  if (!yyjson_is_obj(object)) return param_wrong(c, name, "must be an object of strings");
  char **env = mem_zalloc_array(yyjson_obj_size(object) + 1, sizeof *env);
  if (env == NULL) {
    fail_memory(c);
    return false;
  }
  yyjson_obj_iter it = yyjson_obj_iter_with(object);
  size_t count = 0;
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL; count++) {
    if (!env_entry(c, name, key, yyjson_obj_iter_get_val(key), &env[count])) {
      param_env_free(env);
      return false;
    }
  }
  *out = env;
  return true;
}

bool param_texts(call *c, const char *name, const char ***out) {
  yyjson_val *array = yyjson_obj_get(c->params, name);
  if (array == NULL || yyjson_is_null(array)) return true;
  if (!yyjson_is_arr(array)) return param_wrong(c, name, "must be an array of strings");
  const char **texts = mem_zalloc_array(yyjson_arr_size(array) + 1, sizeof *texts);
  if (texts == NULL) {
    fail_memory(c);
    return false;
  }
  yyjson_arr_iter it = yyjson_arr_iter_with(array);
  size_t count = 0;
  for (yyjson_val *one; (one = yyjson_arr_iter_next(&it)) != NULL; count++) {
    texts[count] = yyjson_get_str(one);
    if (texts[count] != NULL && strlen(texts[count]) == yyjson_get_len(one)) continue;
    mem_free(texts);
    return param_wrong(c, name, "must be an array of strings without NUL");
  }
  *out = texts;
  return true;
}

void param_env_free(char **env) {
  if (env == NULL) return;
  for (char **e = env; *e != NULL; e++) mem_free(*e);
  mem_free(env);
}
