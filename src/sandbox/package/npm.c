/* npm.c - packages of JavaScript: an archive as `npm pack` makes it, a folder with a package.json, or a folder node_modules.
 *
 * They go where require and import find them from every folder. Their commands (`bin` of package.json) become scripts; nothing of them is
 * run here, scripts of installation neither. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "sandbox/mapped.h"
#include "sandbox/package/package.h"
#include "sandbox/tar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { NPM_NAME_MAX = 214, NPM_MANIFEST_MAX = 1 << 20, NPM_ARCHIVE_MAX = 256 << 20 };

static cay_status npm_corrupt(const sb_package *p, cay_error *err, const char *why) {
  return err_set(err, CAY_CORRUPT, "%.120s is no package of npm: %s", p->name, why);
}

/* ---- names ---- */

/* NAME or @SCOPE/NAME: where it ends, or NULL. */
static const char *npm_name_end(const char *text) {
  const char *at = text + (*text == '@');
  for (int parts = *text == '@' ? 2 : 1; parts > 0; parts--) {
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-");
    if (len == 0 || *at == '.') return NULL;
    at += len;
    if (parts == 2 && *at++ != '/') return NULL;
  }
  return at - text <= NPM_NAME_MAX ? at : NULL;
}

static bool npm_is_name(const char *text) {
  const char *end = npm_name_end(text);
  return end != NULL && *end == '\0';
}

/* ---- package.json ---- */

static yyjson_doc *npm_parse(cay_slice manifest) {
  if (manifest.len > NPM_MANIFEST_MAX) return NULL;
  const char *text = manifest.data;
  size_t len = manifest.len;
  if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, len -= 3;
  return yyjson_read_opts((char *)text, len, 0, &JSON_ALLOC, NULL);
}

static const char *npm_text(yyjson_val *value) {
  const char *text = yyjson_get_str(value);
  return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

/* The name that it goes in under. */
static cay_status npm_read_name(const sb_package *p, cay_slice manifest, char out[NPM_NAME_MAX + 1],
                                cay_error *err) {
  yyjson_doc *doc = npm_parse(manifest);
  if (doc == NULL) return npm_corrupt(p, err, "its package.json is no JSON");
  const char *name = npm_text(yyjson_obj_get(yyjson_doc_get_root(doc), "name"));
  bool good = name != NULL && npm_is_name(name);
  if (good) (void)snprintf(out, NPM_NAME_MAX + 1, "%s", name);
  yyjson_doc_free(doc);
  return good ? CAY_OK : npm_corrupt(p, err, "its package.json gives it no name that npm allows");
}

/* A command that runs `file` of the package `name`. */
static cay_status npm_add_command(sb_package *p, const char *name, const char *command, const char *file,
                                  cay_error *err) {
  while (file[0] == '.' && file[1] == '/') file += 2;
  const char *last = strrchr(command, '/'); /* without its scope, as npm does */
  if (last != NULL) command = last + 1;
  if (!sb_package_is_made_of(command, "._-+") || command[0] == '.' || sb_package_leads_out(file) ||
      strchr(file, '\'') != NULL)
    return err_set(err, CAY_CORRUPT, "%.80s: a command that cannot be: %s", p->name, TEXT_NAME(command));
  char to[512], text[4096];
  (void)snprintf(to, sizeof to, PACKAGE_SCRIPTS "/%.200s", command);
  int len =
      snprintf(text, sizeof text, "#!/bin/sh\nexec node '" PACKAGE_NODE_PLACE "/%s/%s' \"$@\"\n", name, file);
  if (len < 0 || (size_t)len >= sizeof text) return npm_corrupt(p, err, "a command's name is too long");
  return sb_package_add(p, command, to, (cay_slice){ text, (size_t)len }, 0755, err);
}

/* `bin` of package.json: a path, or an object of them by name. */
static cay_status npm_add_bin(sb_package *p, const char *name, yyjson_val *bin, cay_error *err) {
  const char *only = npm_text(bin);
  if (only != NULL) return npm_add_command(p, name, name, only, err);
  size_t index, count;
  yyjson_val *key, *value;
  if (!yyjson_is_obj(bin)) return CAY_OK;
  yyjson_obj_foreach(bin, index, count, key, value) {
    const char *command = npm_text(key), *file = npm_text(value);
    if (command != NULL && file != NULL) S_TRY(npm_add_command(p, name, command, file, err));
  }
  return CAY_OK;
}

static cay_status npm_add_commands(sb_package *p, const char *name, cay_slice manifest, cay_error *err) {
  yyjson_doc *doc = npm_parse(manifest);
  if (doc == NULL) return CAY_OK; /* a test's, perhaps; Node says so if it reads it */
  yyjson_val *root = yyjson_doc_get_root(doc);
  cay_status status = CAY_OK;
  if (yyjson_is_true(yyjson_obj_get(root, "gypfile")))
    status = err_set(
        err, CAY_UNSUPPORTED,
        "%.80s has machine code (it is built by node-gyp): only packages of pure JavaScript can be installed",
        p->name);
  if (status == CAY_OK) status = npm_add_bin(p, name, yyjson_obj_get(root, "bin"), err);
  yyjson_doc_free(doc);
  return status;
}

/* ---- a file ---- */

static bool npm_is_program(cay_slice bytes) { return bytes.len > 4 && memcmp(bytes.data, "\177ELF", 4) == 0; }

/* The package whose own package.json `path` of the sandbox is; not of one that another package has inside. */
static bool npm_manifest_of(const char *path, char name[NPM_NAME_MAX + 1]) {
  const char *at = path + sizeof PACKAGE_NODE_PLACE, *end = npm_name_end(at);
  if (end == NULL || strcmp(end, "/package.json") != 0) return false;
  (void)snprintf(name, NPM_NAME_MAX + 1, "%.*s", (int)(end - at), at);
  return true;
}

static cay_status npm_add_file(sb_package *p, const char *inside, cay_slice bytes, uint32_t mode,
                               cay_error *err) {
  char to[4096], name[NPM_NAME_MAX + 1];
  int len = snprintf(to, sizeof to, "%s/%s", p->place, inside);
  if (len < 0 || (size_t)len >= sizeof to)
    return err_set(err, CAY_LIMIT, "%.80s: a path is too long", p->name);
  if (npm_is_program(bytes))
    return err_set(err, CAY_UNSUPPORTED,
                   "%.80s has machine code (%s): only packages of pure JavaScript can be installed", p->name,
                   TEXT_NAME(inside));
  S_TRY(sb_package_add(p, inside, to, bytes, (mode & 0111) != 0 ? 0755 : 0644, err));
  return npm_manifest_of(to, name) ? npm_add_commands(p, name, bytes, err) : CAY_OK;
}

/* ---- archives ---- */

static cay_status npm_unpack(const sb_package *p, buf *out, cay_error *err) {
  gzFile in = gzopen(p->path, "rb");
  if (in == NULL) return err_errno(err, errno, "%.150s", p->path);
  char chunk[1 << 14];
  int got = 0;
  cay_status status = CAY_OK;
  while (status == CAY_OK && (got = gzread(in, chunk, sizeof chunk)) > 0)
    status = buf_append(out, chunk, (size_t)got);
  if (gzclose(in) != Z_OK || got < 0) status = status == CAY_OK ? CAY_CORRUPT : status;
  if (status == CAY_CORRUPT) return npm_corrupt(p, err, "the archive is damaged");
  if (status == CAY_LIMIT)
    return err_set(err, CAY_LIMIT, "%.120s is larger than %d bytes", p->name, NPM_ARCHIVE_MAX);
  return status == CAY_OK ? CAY_OK : err_no_memory(err);
}

/* Without the first folder, which has any name. NULL: it lies in none. */
static const char *npm_inside(const sb_tar_entry *entry) {
  const char *slash = entry->type == '0' ? strchr(entry->name, '/') : NULL;
  return slash != NULL ? slash + 1 : NULL;
}

static cay_status npm_find_name(const sb_package *p, cay_slice archive, char name[NPM_NAME_MAX + 1],
                                cay_error *err) {
  sb_tar_entry entry;
  cay_status status;
  for (size_t at = 0; (status = sb_tar_next(archive, &at, &entry, err)) == CAY_OK;) {
    const char *inside = npm_inside(&entry);
    if (inside != NULL && strcmp(inside, "package.json") == 0) return npm_read_name(p, entry.data, name, err);
  }
  return status == CAY_NOT_FOUND ? npm_corrupt(p, err, "it has no package.json") : status;
}

static cay_status npm_add_entry(sb_package *p, const sb_tar_entry *entry, cay_error *err) {
  const char *inside = npm_inside(entry);
  if (inside == NULL) return CAY_OK;
  if (sb_package_leads_out(inside))
    return err_set(err, CAY_INVALID, "%.80s: %s leads out of the package", p->name, TEXT_NAME(entry->name));
  return npm_add_file(p, inside, entry->data, entry->mode, err);
}

static cay_status npm_add_entries(sb_package *p, cay_slice archive, cay_error *err) {
  char name[NPM_NAME_MAX + 1], place[NPM_NAME_MAX + 32];
  sb_tar_entry entry;
  S_TRY(npm_find_name(p, archive, name, err));
  (void)snprintf(place, sizeof place, PACKAGE_NODE_PLACE "/%s", name);
  p->place = place;
  cay_status status = CAY_OK;
  for (size_t at = 0; status == CAY_OK && (status = sb_tar_next(archive, &at, &entry, err)) == CAY_OK;)
    status = npm_add_entry(p, &entry, err);
  p->place = NULL;
  return status == CAY_NOT_FOUND ? CAY_OK : status;
}

cay_status sb_npm_read_archive(sb_package *p, cay_error *err) {
  buf archive = BUF_INIT(NPM_ARCHIVE_MAX);
  p->javascript = true;
  cay_status status = npm_unpack(p, &archive, err);
  if (status == CAY_OK) status = npm_add_entries(p, (cay_slice){ archive.data, archive.len }, err);
  buf_free(&archive);
  return status;
}

/* ---- folders ---- */

static bool npm_is_node_modules(const char *path, size_t len) {
  static const char NAME[] = "node_modules";
  size_t tail = sizeof NAME - 1;
  return len >= tail && memcmp(path + len - tail, NAME, tail) == 0 &&
         (len == tail || path[len - tail - 1] == '/');
}

static size_t npm_folder_len(const char *path) {
  size_t len = strlen(path);
  while (len > 1 && path[len - 1] == '/') len--;
  return len;
}

static bool npm_manifest_path(const char *folder, char out[4096]) {
  int len = snprintf(out, 4096, "%s/package.json", folder);
  return len > 0 && len < 4096;
}

bool sb_npm_is_folder(const char *path) {
  char manifest[4096];
  struct stat st;
  if (npm_is_node_modules(path, npm_folder_len(path))) return true;
  return npm_manifest_path(path, manifest) && stat(manifest, &st) == 0 && S_ISREG(st.st_mode);
}

static cay_status npm_name_of_folder(const sb_package *p, char name[NPM_NAME_MAX + 1], cay_error *err) {
  char path[4096];
  sb_mapped manifest;
  if (!npm_manifest_path(p->path, path)) return err_set(err, CAY_LIMIT, "%.80s: a path is too long", p->name);
  S_TRY(sb_map_file(path, &manifest, err));
  cay_status status = npm_read_name(p, (cay_slice){ manifest.data, manifest.len }, name, err);
  sb_unmap(&manifest);
  return status;
}

cay_status sb_npm_read_folder(sb_package *p, cay_error *err) {
  char name[NPM_NAME_MAX + 1], place[NPM_NAME_MAX + 32] = PACKAGE_NODE_PLACE;
  size_t len = npm_folder_len(p->path);
  p->javascript = true;
  if (!npm_is_node_modules(p->path, len)) {
    S_TRY(npm_name_of_folder(p, name, err));
    (void)snprintf(place, sizeof place, PACKAGE_NODE_PLACE "/%s", name);
  }
  char *root = mem_strndup(p->path, len);
  if (root == NULL) return err_no_memory(err);
  p->place = place;
  cay_status status = sb_package_walk(p, root, len + 1, npm_add_file, err);
  p->place = NULL;
  mem_free(root);
  return status;
}
