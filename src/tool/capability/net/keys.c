/* keys.c - configured values that may be secrets: read, looked up, hidden in answers (keys.h). */
#include "tool/capability/net/keys.h"

#include "base/error.h"

#include <string.h>

static cay_status keys_read_value(const reach_place *p, yyjson_val *value, reach_value *out) {
  static const char *const known[] = { "secret", "prefix", NULL };
  out->text = reach_text_of(value);
  if (out->text != NULL) return CAY_OK;
  if (!yyjson_is_obj(value)) return reach_wrong(p, "must be a text or {\"secret\": name}");
  S_TRY(reach_object(p, value, known));
  S_TRY(reach_text(p, value, "secret", &out->secret));
  S_TRY(reach_text(p, value, "prefix", &out->prefix));
  if (out->secret == NULL || !tool_secret_is_name(out->secret))
    return reach_wrong(p, "`secret` must be the name of one");
  return CAY_OK;
}

cay_status reach_values_read(const reach_place *p, yyjson_val *object, reach_values *out) {
  S_TRY(reach_object(p, object, NULL));
  if (yyjson_obj_size(object) + out->count > REACH_VALUES_MAX) return reach_wrong(p, "has too many members");
  yyjson_obj_iter it = yyjson_obj_iter_with(object);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
    reach_value *value = &out->list[out->count];
    value->name = reach_text_of(key);
    if (value->name == NULL || value->name[0] == '\0') return reach_wrong(p, "has a member without a name");
    reach_place at = reach_below(p, value->name);
    S_TRY(keys_read_value(&at, yyjson_obj_iter_get_val(key), value));
    out->count++;
  }
  return CAY_OK;
}

void reach_keys_wipe(reach_keys *keys) {
  for (size_t i = 0; i < keys->count; i++) tool_secret_wipe(&keys->list[i]);
  keys->count = 0;
}

static cay_status keys_append(buf *out, const char *text, size_t len, cay_error *err) {
  cay_status status = buf_append(out, text, len);
  return status == CAY_OK ? status : err_set(err, status, "the value does not fit");
}

cay_status reach_value_get(const tool_secrets *secrets, const reach_value *value, reach_keys *keys, buf *out,
                           cay_error *err) {
  if (value->text != NULL) return keys_append(out, value->text, strlen(value->text), err);
  if (keys->count == COUNT_OF(keys->list)) return err_set(err, CAY_LIMIT, "too many secrets");
  buf *key = &keys->list[keys->count];
  *key = BUF_INIT(TOOL_SECRET_MAX);
  keys->count++;
  cay_status status = tool_secret_get(secrets, value->secret, key, err);
  if (status != CAY_OK) return err_prefix(err, status, "secret %.60s", value->secret);
  if (value->prefix != NULL) S_TRY(keys_append(out, value->prefix, strlen(value->prefix), err));
  return keys_append(out, buf_text(key), key->len, err);
}

void reach_hide(const reach_keys *keys, char *text, size_t len) {
  for (size_t i = 0; i < keys->count; i++) {
    const buf *key = &keys->list[i];
    if (key->len < REACH_HIDE_MIN) continue;
    char *end = text + len;
    for (char *at = text; (at = memmem(at, (size_t)(end - at), key->data, key->len)) != NULL;)
      memset(at, '*', key->len), at += key->len;
  }
}

void reach_hide_all(const reach_keys *keys, yyjson_doc *doc) {
  if (keys->count == 0) return;
  /* The values of a document that was read stand one behind the other, its root first (yyjson.h). */
  yyjson_val *value = yyjson_doc_get_root(doc);
  for (size_t left = yyjson_doc_get_val_count(doc); left > 0; left--, value++)
    if (yyjson_is_str(value) || yyjson_is_raw(value))
      reach_hide(keys, (char *)(uintptr_t)unsafe_yyjson_get_str(value), unsafe_yyjson_get_len(value));
}
