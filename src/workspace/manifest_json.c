/* manifest_json.c - manifests as JSON: entries, env, limits, network. A member that is not known is refused, since a
 * misspelled one would be left out in silence. */
#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "workspace/manifest.h"

#include <stdio.h>
#include <string.h>

struct cay_ws_document {
  yyjson_doc *json; /* owns all texts */
  cay_ws_manifest manifest;
  cay_ws_entry *entries;
  cay_limits limits;
  char **env; /* NULL ended; the texts are ours */
  char *network;
  mem_freed *contents; /* decoded */
};

/* A place in the document, for messages. */
typedef struct json_at {
  const char *base; /* "entries[3]" or "limits" */
  cay_ws_error *err;
} json_at;

static cay_status json_refuse(const json_at *at, const char *name, const char *why) {
  return ws_fail(at->err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "%s%s%.80s: %s", at->base,
                 at->base[0] != '\0' && name[0] != '\0' ? "." : "", name, why);
}

static cay_status json_check_members(yyjson_val *object, const char *const *known, const json_at *at) {
  size_t index, max;
  yyjson_val *key, *value;
  yyjson_obj_foreach(object, index, max, key, value) {
    const char *name = yyjson_get_str(key);
    size_t i = 0;
    while (known[i] != NULL && strcmp(known[i], name) != 0) i++;
    if (known[i] == NULL || strlen(name) != yyjson_get_len(key))
      return json_refuse(at, TEXT_NAME_LEN(name, yyjson_get_len(key)), "no such member");
    if (yyjson_obj_get(object, name) != value) return json_refuse(at, name, "given twice");
  }
  return CAY_OK;
}

static yyjson_val *json_member(yyjson_val *object, const char *name) {
  yyjson_val *value = yyjson_obj_get(object, name);
  return yyjson_is_null(value) ? NULL : value;
}

static cay_status json_text(yyjson_val *object, const char *name, bool needed, const char **out,
                            const json_at *at) {
  yyjson_val *value = json_member(object, name);
  if (value == NULL) return needed ? json_refuse(at, name, "missing") : CAY_OK;
  if (!yyjson_is_str(value)) return json_refuse(at, name, "not a text");
  if (strlen(yyjson_get_str(value)) != yyjson_get_len(value)) {
    if (strcmp(name, "path") != 0) return json_refuse(at, name, "a NUL byte");
    return ws_traversal(at->err, yyjson_get_str(value), "a NUL byte in a path");
  }
  *out = yyjson_get_str(value);
  return CAY_OK;
}

static cay_status json_number(yyjson_val *object, const char *name, uint64_t max, uint64_t *out,
                              const json_at *at) {
  yyjson_val *value = json_member(object, name);
  if (value == NULL) return CAY_OK;
  if (!yyjson_is_uint(value) || yyjson_get_uint(value) > max)
    return json_refuse(at, name, "not a whole number in its range");
  *out = yyjson_get_uint(value);
  return CAY_OK;
}

/* ---- content ---- */

/* Memory that lives as long as the document. */
static uint8_t *document_room(cay_ws_document *d, size_t len) {
  mem_freed *block = mem_alloc(sizeof *block + len);
  if (block == NULL) return NULL;
  block->next = d->contents;
  d->contents = block;
  return (uint8_t *)(block + 1);
}

static cay_status content_base64(cay_ws_document *d, yyjson_val *value, cay_slice *out, const json_at *at) {
  cay_buf bytes = { 0 };
  cay_status status = base64_decode_new(yyjson_get_str(value), yyjson_get_len(value), &bytes);
  uint8_t *copy = status == CAY_OK ? document_room(d, bytes.len + 1) : NULL;
  if (copy != NULL && bytes.len > 0) memcpy(copy, bytes.data, bytes.len);
  *out = (cay_slice){ copy, bytes.len };
  cay_buf_free(&bytes);
  if (status == CAY_INVALID) return json_refuse(at, "contentBase64", "not base64");
  return copy != NULL ? CAY_OK : ws_no_memory(at->err);
}

static cay_status content_bytes(cay_ws_document *d, yyjson_val *value, cay_slice *out, const json_at *at) {
  size_t index, max;
  yyjson_val *byte;
  uint8_t *bytes = document_room(d, yyjson_arr_size(value) + 1);
  if (bytes == NULL) return ws_no_memory(at->err);
  yyjson_arr_foreach(value, index, max, byte) {
    if (!yyjson_is_uint(byte) || yyjson_get_uint(byte) > 255)
      return json_refuse(at, "content", "an array holds the bytes as numbers from 0 to 255");
    bytes[index] = (uint8_t)yyjson_get_uint(byte);
  }
  *out = (cay_slice){ bytes, yyjson_arr_size(value) };
  return CAY_OK;
}

static cay_status json_content(cay_ws_document *d, yyjson_val *object, cay_slice *out, const json_at *at) {
  yyjson_val *plain = json_member(object, "content"), *coded = json_member(object, "contentBase64");
  if ((plain != NULL) == (coded != NULL))
    return json_refuse(at, "content", "one of content and contentBase64 is needed");
  if (coded != NULL)
    return yyjson_is_str(coded) ? content_base64(d, coded, out, at)
                                : json_refuse(at, "contentBase64", "not a text");
  if (yyjson_is_arr(plain)) return content_bytes(d, plain, out, at);
  if (!yyjson_is_str(plain)) return json_refuse(at, "content", "neither a text nor an array of bytes");
  *out = (cay_slice){ yyjson_get_str(plain), yyjson_get_len(plain) };
  return CAY_OK;
}

/* "0755" as a text is octal, as a person writes it; a number is the value itself. */
static cay_status json_mode(yyjson_val *object, uint32_t *out, const json_at *at) {
  yyjson_val *value = json_member(object, "mode");
  uint64_t number = 0;
  if (!yyjson_is_str(value)) {
    S_TRY(json_number(object, "mode", 07777, &number, at));
    *out = (uint32_t)number;
    return CAY_OK;
  }
  const char *text = yyjson_get_str(value);
  if (text[0] == '\0' || strlen(text) > 5 || strspn(text, "01234567") != yyjson_get_len(value))
    return json_refuse(at, "mode", "not an octal number");
  for (; *text != '\0'; text++) number = number * 8 + (uint64_t)(*text - '0');
  if (number > 07777) return json_refuse(at, "mode", "only permission bits (at most 7777)");
  *out = (uint32_t)number;
  return CAY_OK;
}

/* ---- the parts of a manifest ---- */

static cay_status json_file(cay_ws_document *d, yyjson_val *value, cay_ws_entry *e, const json_at *at) {
  static const char *const known[] = { "type", "path", "content", "contentBase64", "mode", NULL };
  S_TRY(json_check_members(value, known, at));
  S_TRY(json_content(d, value, &e->content, at));
  return json_mode(value, &e->mode, at);
}

static cay_status json_git(yyjson_val *value, cay_ws_entry *e, const json_at *at) {
  static const char *const known[] = { "type", "url", "branch", "path", "depth", "commit", NULL };
  uint64_t depth = 0;
  S_TRY(json_check_members(value, known, at));
  S_TRY(json_text(value, "url", true, &e->url, at));
  S_TRY(json_text(value, "branch", false, &e->branch, at));
  S_TRY(json_text(value, "commit", false, &e->commit, at));
  S_TRY(json_number(value, "depth", INT32_MAX, &depth, at));
  e->depth = (uint32_t)depth;
  return CAY_OK;
}

static cay_status json_entry(cay_ws_document *d, yyjson_val *value, cay_ws_entry *e, const json_at *at) {
  static const char *const directory[] = { "type", "path", NULL };
  const char *type = "";
  if (!yyjson_is_obj(value)) return json_refuse(at, "", "not an object");
  S_TRY(json_text(value, "type", true, &type, at));
  S_TRY(json_text(value, "path", true, &e->path, at));
  if (strcmp(type, "file") == 0) return e->kind = CAY_WS_FILE, json_file(d, value, e, at);
  if (strcmp(type, "git_repo") == 0) return e->kind = CAY_WS_GIT_REPO, json_git(value, e, at);
  if (strcmp(type, "directory") != 0)
    return json_refuse(at, "type", "only file, directory and git_repo are known");
  e->kind = CAY_WS_DIRECTORY;
  return json_check_members(value, directory, at);
}

static cay_status json_entries(cay_ws_document *d, yyjson_val *list, cay_ws_error *err) {
  size_t index, max;
  yyjson_val *value;
  json_at top = { "", err };
  if (list == NULL) return CAY_OK;
  if (!yyjson_is_arr(list)) return json_refuse(&top, "entries", "not an array");
  if (yyjson_arr_size(list) > WS_ENTRIES_MAX) return json_refuse(&top, "entries", "too many");
  d->entries = mem_zalloc_array(yyjson_arr_size(list) + 1, sizeof *d->entries);
  if (d->entries == NULL) return ws_no_memory(err);
  yyjson_arr_foreach(list, index, max, value) {
    char place[40];
    (void)snprintf(place, sizeof place, "entries[%zu]", index);
    d->entries[index].size = sizeof *d->entries;
    S_TRY(json_entry(d, value, &d->entries[index], &(json_at){ place, err }));
  }
  d->manifest.entries = d->entries;
  d->manifest.entry_count = yyjson_arr_size(list);
  return CAY_OK;
}

static cay_status json_env(cay_ws_document *d, yyjson_val *object, cay_ws_error *err) {
  size_t index, max;
  yyjson_val *key, *value;
  json_at at = { "env", err };
  if (object == NULL) return CAY_OK;
  if (!yyjson_is_obj(object) || yyjson_obj_size(object) > WS_ENV_MAX)
    return json_refuse(&at, "", "not an object of texts, or too many");
  d->env = mem_zalloc_array(yyjson_obj_size(object) + 1, sizeof *d->env);
  if (d->env == NULL) return ws_no_memory(err);
  yyjson_obj_foreach(object, index, max, key, value) {
    const char *name = yyjson_get_str(key), *text = yyjson_get_str(value);
    bool fits = text != NULL && name[0] != '\0' && strlen(name) == yyjson_get_len(key) &&
                strlen(text) == yyjson_get_len(value) && strchr(name, '=') == NULL;
    if (!fits) return json_refuse(&at, TEXT_NAME(name), "not a name with a text");
    size_t len = strlen(name) + strlen(text) + 2;
    if ((d->env[index] = mem_alloc(len)) == NULL) return ws_no_memory(err);
    (void)snprintf(d->env[index], len, "%s=%s", name, text);
  }
  d->manifest.env = (const char *const *)d->env;
  return CAY_OK;
}

static cay_status json_limits(cay_ws_document *d, yyjson_val *object, cay_ws_error *err) {
  static const char *const known[] = { "memory", "disk",      "fuel",  "timeoutMs",    "processes", "files",
                                       "code",   "openFiles", "cpuMs", "backgroundMs", NULL };
  json_at at = { "limits", err };
  uint64_t wall = 0, background = 0, processes = 0, files = 0, open_files = 0;
  if (object == NULL) return CAY_OK;
  if (!yyjson_is_obj(object)) return json_refuse(&at, "", "not an object");
  S_TRY(json_check_members(object, known, &at));
  d->limits = CAY_INIT(cay_limits);
  S_TRY(json_number(object, "memory", INT64_MAX, &d->limits.memory, &at));
  S_TRY(json_number(object, "disk", INT64_MAX, &d->limits.disk, &at));
  S_TRY(json_number(object, "fuel", INT64_MAX, &d->limits.fuel, &at));
  S_TRY(json_number(object, "code", INT64_MAX, &d->limits.code, &at));
  S_TRY(json_number(object, "cpuMs", UINT64_MAX, &d->limits.cpu_ms, &at));
  S_TRY(json_number(object, "backgroundMs", UINT32_MAX, &background, &at));
  S_TRY(json_number(object, "timeoutMs", UINT32_MAX, &wall, &at));
  S_TRY(json_number(object, "processes", UINT32_MAX, &processes, &at));
  S_TRY(json_number(object, "files", UINT32_MAX, &files, &at));
  S_TRY(json_number(object, "openFiles", UINT32_MAX, &open_files, &at));
  d->limits.wall_ms = (uint32_t)wall;
  d->limits.background_ms = (uint32_t)background;
  d->limits.processes = (uint32_t)processes;
  d->limits.files = (uint32_t)files;
  d->limits.open_files = (uint32_t)open_files;
  d->manifest.limits = &d->limits;
  return CAY_OK;
}

static cay_status json_network(cay_ws_document *d, yyjson_val *value, cay_ws_error *err) {
  json_at top = { "", err };
  size_t len;
  if (value == NULL) return CAY_OK;
  if (!yyjson_is_obj(value)) return json_refuse(&top, "network", "not an object");
  d->network = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, &len, NULL);
  if (d->network == NULL) return ws_no_memory(err);
  d->manifest.network = (cay_slice){ d->network, len };
  return CAY_OK;
}

static cay_status document_read(cay_ws_document *d, cay_slice json, cay_ws_error *err) {
  static const char *const known[] = { "entries", "env", "limits", "network", NULL };
  json_at top = { "", err };
  yyjson_read_err where = { 0 };
  if (json.len > WS_JSON_MAX) return json_refuse(&top, "manifest", "longer than 256 MiB");
  d->json = yyjson_read_opts((char *)(uintptr_t)json.data, json.len, 0, &JSON_ALLOC, &where);
  if (d->json == NULL && where.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) return ws_no_memory(err);
  if (d->json == NULL)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "no JSON: %s at byte %zu", where.msg,
                   where.pos);
  yyjson_val *root = yyjson_doc_get_root(d->json);
  if (!yyjson_is_obj(root)) return json_refuse(&top, "manifest", "not an object");
  S_TRY(json_check_members(root, known, &top));
  S_TRY(json_entries(d, json_member(root, "entries"), err));
  S_TRY(json_env(d, json_member(root, "env"), err));
  S_TRY(json_limits(d, json_member(root, "limits"), err));
  return json_network(d, json_member(root, "network"), err);
}

cay_status cay_ws_manifest_parse(cay_slice json, cay_ws_document **out, cay_ws_error *err) {
  cay_ws_document *d = mem_zalloc(sizeof *d);
  if (d == NULL) return ws_no_memory(err);
  d->manifest.size = sizeof d->manifest;
  cay_status status = document_read(d, json, err);
  if (status == CAY_OK)
    *out = d;
  else
    cay_ws_manifest_free(d);
  return status;
}

const cay_ws_manifest *cay_ws_manifest_get(const cay_ws_document *document) { return &document->manifest; }

void cay_ws_manifest_free(cay_ws_document *d) {
  if (d == NULL) return;
  for (size_t i = 0; d->env != NULL && d->env[i] != NULL; i++) mem_free(d->env[i]);
  mem_free((void *)d->env);
  mem_free(d->entries);
  mem_free(d->network);
  mem_freed_free(d->contents);
  yyjson_doc_free(d->json);
  mem_free(d);
}
