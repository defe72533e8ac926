/* manifest.c - the checks of a manifest: entries, git references, paths, environment (manifest.h). */
#include "workspace/manifest.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

cay_ws_entry ws_manifest_entry(const cay_ws_manifest *manifest, size_t index) {
  cay_ws_entry e = { 0 };
  size_t stride = manifest->entries->size;
  memcpy(&e, (const char *)manifest->entries + index * stride, stride < sizeof e ? stride : sizeof e);
  return e;
}

static cay_status entry_refuse(cay_ws_error *err, const char *why) {
  return ws_fail(err, CAY_WS_PROVISION_FAILED, CAY_INVALID, NULL, "%s", why);
}

static bool entry_is_commit(const char *text) {
  return strlen(text) == 40 && strspn(text, "0123456789abcdef") == 40;
}

/* A name of a branch or tag that no part of git takes for an option or an expression. */
static bool entry_is_ref(const char *text) {
  size_t len = strlen(text);
  if (len == 0 || len > WS_NAME_MAX || text[0] == '-' || text[0] == '/' || text[len - 1] == '/') return false;
  if (strstr(text, "..") != NULL || strstr(text, "@{") != NULL || strstr(text, "//") != NULL) return false;
  return strpbrk(text, " ~^:?*[\\\x7f") == NULL && strcspn(text, "\001\002\003\t\n\r\033") == len;
}

static cay_status entry_check_git(const cay_ws_entry *e, cay_ws_error *err) {
  static const char *const schemes[] = { "https://", "http://", "file:///" };
  bool known = false;
  if (e->url == NULL) return entry_refuse(err, "a git_repo needs a url");
  for (size_t i = 0; i < COUNT_OF(schemes); i++)
    known |= strncmp(e->url, schemes[i], strlen(schemes[i])) == 0;
  if (!known) return entry_refuse(err, "url: only https://, http:// and file:// are possible");
  if (strpbrk(e->url, "\r\n\t ") != NULL || strlen(e->url) > 2048)
    return entry_refuse(err, "url: blanks, or too long");
  if (e->branch != NULL && !entry_is_ref(e->branch))
    return entry_refuse(err, "branch: no name of a branch or tag");
  if (e->commit != NULL && !entry_is_commit(e->commit))
    return entry_refuse(err, "commit: 40 hexadecimal digits in small letters are needed");
  return CAY_OK;
}

static cay_status entry_check(const cay_ws_entry *e, cay_ws_error *err) {
  if (e->mode > 07777) return entry_refuse(err, "mode: only permission bits (at most 07777)");
  switch (e->kind) {
  case CAY_WS_FILE:
    return e->content.data != NULL || e->content.len == 0 ? CAY_OK
                                                          : entry_refuse(err, "a file needs content");
  case CAY_WS_DIRECTORY: return CAY_OK;
  case CAY_WS_GIT_REPO: return entry_check_git(e, err);
  }
  return entry_refuse(err, "no such kind of entry");
}

static cay_status manifest_check_paths(const cay_ws_manifest *m, cay_ws_error *err) {
  ws_path clean;
  for (size_t i = 0; i < m->entry_count; i++) {
    cay_ws_entry e = ws_manifest_entry(m, i);
    const char *path = e.path != NULL ? e.path : "";
    cay_status status = ws_path_clean((cay_slice){ path, strlen(path) }, &clean, err);
    if (status == CAY_OK && e.kind == CAY_WS_FILE && strcmp(clean.text, ".") == 0)
      status = entry_refuse(err, "the workspace itself is a directory");
    if (status != CAY_OK) return ws_fail_entry(err, status, i, path);
  }
  return CAY_OK;
}

static cay_status manifest_check_env(const char *const *env, cay_ws_error *err) {
  for (size_t i = 0; env != NULL && env[i] != NULL; i++)
    if (strchr(env[i], '=') == NULL || env[i][0] == '=' || i >= WS_ENV_MAX)
      return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "env: %s: not NAME=value, or too many",
                     TEXT_NAME(env[i]));
  return CAY_OK;
}

cay_status ws_manifest_check(const cay_ws_manifest *m, cay_ws_error *err) {
  if (m->entry_count > 0 && (m->entries == NULL || m->entries->size < offsetof(cay_ws_entry, content)))
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "entries: not made with CAY_INIT");
  if (m->entry_count > WS_ENTRIES_MAX)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_LIMIT, NULL, "entries: %zu; at most %d", m->entry_count,
                   WS_ENTRIES_MAX);
  S_TRY(manifest_check_paths(m, err));
  for (size_t i = 0; i < m->entry_count; i++) {
    cay_ws_entry e = ws_manifest_entry(m, i);
    cay_status status = entry_check(&e, err);
    if (status != CAY_OK) return ws_fail_entry(err, status, i, e.path);
  }
  return manifest_check_env(m->env, err);
}
