/* path.c - workspace paths: cleaned as text, and resolved through symbolic links of the sandbox (path.h). */
#include "workspace/path.h"

#include "base/text.h"

#include <string.h>

enum { SHOWN_CAP = 200 };

static cay_status path_too_long(cay_ws_error *err, const char *shown) {
  cay_status status = ws_fail(err, CAY_WS_EXECUTION_FAILED, CAY_INVALID, shown,
                              "ENAMETOOLONG: %s: longer than a path can be", WS_PATH_NAME(shown));
  if (err != NULL) err->cause.os_errno = 36;
  return status;
}

/* ---- by text ---- */

/* Paths of Windows, which would be plain names here: a caller who writes them means a place outside. */
static bool path_is_foreign(const char *text, size_t len) {
  bool letter = len >= 2 && text[1] == ':' && ((text[0] | 32) >= 'a' && (text[0] | 32) <= 'z');
  return text[0] == '\\' || (letter && (len == 2 || text[2] == '\\' || text[2] == '/'));
}

static const char *path_refusal(const char *text, size_t len) {
  if (len == 0) return "an empty path";
  if (memchr(text, 0, len) != NULL) return "a NUL byte in a path";
  if (text[0] == '/') return "an absolute path";
  if (path_is_foreign(text, len)) return "an absolute path of another system";
  return NULL;
}

/* Takes the last name off; false: there is none. */
static bool path_pop(char *text, size_t *len) {
  if (*len == 0) return false;
  while (*len > 0 && text[*len - 1] != '/') (*len)--;
  if (*len > 0) (*len)--;
  text[*len] = '\0';
  return true;
}

static bool path_push(char *text, size_t *len, const char *name, size_t name_len) {
  size_t slash = *len > 0;
  if (name_len > WS_NAME_MAX || *len + slash + name_len >= WS_PATH_MAX - sizeof WS_ROOT) return false;
  if (slash) text[(*len)++] = '/';
  memcpy(text + *len, name, name_len);
  *len += name_len;
  text[*len] = '\0';
  return true;
}

/* The subject of a failure: its beginning, or with its NUL bytes made visible. */
static void path_show(cay_slice path, char shown[static SHOWN_CAP]) {
  size_t len = path.len < SHOWN_CAP ? path.len : SHOWN_CAP - 1;
  if (memchr(path.data, 0, path.len) != NULL) {
    (void)text_name(shown, SHOWN_CAP, path.data, path.len);
    return;
  }
  memcpy(shown, path.data, len);
  shown[len] = '\0';
}

cay_status ws_path_clean(cay_slice path, ws_path *out, cay_ws_error *err) {
  const char *at = path.data, *end = at + path.len;
  char shown[SHOWN_CAP] = "";
  if (path.len > 0) path_show(path, shown);
  const char *refusal = path_refusal(at, path.len);
  if (refusal != NULL) return ws_traversal(err, shown, refusal);
  size_t len = 0;
  out->text[0] = '\0';
  while (at < end) {
    const char *slash = memchr(at, '/', (size_t)(end - at));
    size_t name_len = (size_t)((slash != NULL ? slash : end) - at);
    if (name_len == 2 && memcmp(at, "..", 2) == 0) {
      if (!path_pop(out->text, &len)) return ws_traversal(err, shown, "it leads out of the workspace");
    } else if (name_len > 0 && !(name_len == 1 && at[0] == '.')) {
      if (!path_push(out->text, &len, at, name_len)) return path_too_long(err, shown);
    }
    at += name_len + (slash != NULL);
  }
  if (len == 0) memcpy(out->text, ".", 2);
  return CAY_OK;
}

/* ---- through links ---- */

typedef struct path_walk {
  cay_sandbox *box;
  const char *path; /* as the caller wrote it, for messages */
  char done[WS_PATH_MAX];
  size_t done_len;        /* below the root */
  char left[WS_PATH_MAX]; /* names that are still to be looked at */
  unsigned links;
} path_walk;

static bool path_walk_place(const path_walk *w, char out[static WS_PATH_MAX]) {
  size_t root = sizeof WS_ROOT - 1;
  memcpy(out, WS_ROOT, root + 1);
  if (w->done_len == 0) return true;
  if (root + 1 + w->done_len >= WS_PATH_MAX) return false;
  out[root] = '/';
  memcpy(out + root + 1, w->done, w->done_len + 1);
  return true;
}

/* The target of a link, in front of the names that are left. */
static cay_status path_walk_follow(path_walk *w, const char *place, const char *rest, cay_ws_error *err) {
  cay_buf target = { 0 };
  cay_error cause;
  if (++w->links > WS_LINKS_MAX)
    return ws_fail(err, CAY_WS_EXECUTION_FAILED, CAY_INVALID, w->path, "ELOOP: %s: too many symbolic links",
                   TEXT_NAME(w->path));
  if (cay_file_readlink(w->box, place, &target, &cause) != CAY_OK)
    return ws_fail_from(err, CAY_WS_EXECUTION_FAILED, w->path, &cause);
  const char *to = target.data;
  size_t root = sizeof WS_ROOT - 1, to_len = target.len, rest_len = strlen(rest);
  cay_status status = CAY_OK;
  (void)path_pop(w->done, &w->done_len);
  if (to_len > 0 && to[0] == '/') {
    bool inside = to_len >= root && memcmp(to, WS_ROOT, root) == 0 && (to_len == root || to[root] == '/');
    if (!inside) status = ws_traversal(err, w->path, "a symbolic link leads out of the workspace");
    w->done_len = 0, w->done[0] = '\0';
    if (inside) to += root, to_len -= root;
  }
  char joined[WS_PATH_MAX];
  if (status == CAY_OK && to_len + 1 + rest_len >= sizeof joined) status = path_too_long(err, w->path);
  if (status == CAY_OK) {
    memcpy(joined, to, to_len);
    joined[to_len] = '/';
    memcpy(joined + to_len + 1, rest, rest_len + 1);
    memcpy(w->left, joined, to_len + 1 + rest_len + 1);
  }
  cay_buf_free(&target);
  return status;
}

/* One name: on to the next, or into the target of a link. */
static cay_status path_walk_step(path_walk *w, bool last, cay_ws_error *err) {
  char name[WS_NAME_MAX + 1], place[WS_PATH_MAX];
  size_t len = strcspn(w->left, "/");
  if (len > WS_NAME_MAX) return path_too_long(err, w->path);
  memcpy(name, w->left, len);
  name[len] = '\0';
  char *rest = w->left + len;
  rest += strspn(rest, "/");
  if (strcmp(name, "..") == 0) {
    if (!path_pop(w->done, &w->done_len))
      return ws_traversal(err, w->path, "a symbolic link leads out of the workspace");
  } else if (len > 0 && strcmp(name, ".") != 0) {
    cay_stat stat;
    if (!path_push(w->done, &w->done_len, name, len) || !path_walk_place(w, place))
      return path_too_long(err, w->path);
    bool follow = (rest[0] != '\0' || last) && cay_file_lstat(w->box, place, &stat, NULL) == CAY_OK &&
                  stat.kind == CAY_LINK;
    if (follow) return path_walk_follow(w, place, rest, err);
  }
  memmove(w->left, rest, strlen(rest) + 1);
  return CAY_OK;
}

cay_status ws_path_resolve(cay_sandbox *box, const char *path, bool last, ws_path *out, cay_ws_error *err) {
  ws_path clean;
  path_walk w = { .box = box, .path = path };
  S_TRY(ws_path_clean((cay_slice){ path, strlen(path) }, &clean, err));
  memcpy(w.left, clean.text, strlen(clean.text) + 1);
  while (w.left[0] != '\0') S_TRY(path_walk_step(&w, last, err));
  return path_walk_place(&w, out->text) ? CAY_OK : path_too_long(err, path);
}
