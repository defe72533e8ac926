/* package.c - packages that are folders and modules, and what holds for all. */
#include "sandbox/package/package.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "sandbox/mapped.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *text, const char *end) {
  size_t len = strlen(text), tail = strlen(end);
  return len >= tail && strcmp(text + len - tail, end) == 0;
}

cay_status sb_package_check_name(const sb_package *p, const char *inside, cay_error *err) {
  static const char *const native[] = { ".so", ".pyd", ".dylib", ".dll", ".a" };
  const char *slash = strrchr(inside, '/'), *name = slash != NULL ? slash + 1 : inside;
  bool machine = strstr(name, ".so.") != NULL;
  for (size_t i = 0; i < COUNT_OF(native); i++) machine = machine || ends_with(name, native[i]);
  if (!machine) return CAY_OK;
  return err_set(err, CAY_UNSUPPORTED,
                 "%.80s has machine code (%s): only packages of pure Python can be installed", p->name,
                 TEXT_NAME(inside));
}

cay_status sb_package_add(sb_package *p, const char *inside, const char *to, cay_slice bytes, uint32_t mode,
                          cay_error *err) {
  S_TRY(sb_package_check_name(p, inside, err));
  p->bytes += bytes.len;
  if (bytes.len > PACKAGE_FILE_MAX)
    return err_set(err, CAY_LIMIT, "%.80s: %s is larger than %d bytes", p->name, TEXT_NAME(inside),
                   PACKAGE_FILE_MAX);
  if (++p->files > PACKAGE_FILES_MAX || p->bytes > PACKAGE_MAX)
    return err_set(err, CAY_LIMIT, "%.150s has more than %d files or %d bytes", p->name, PACKAGE_FILES_MAX,
                   PACKAGE_MAX);
  return p->each(p->ctx, to, bytes, mode, err);
}

static cay_status add_mapped(sb_package *p, const char *path, const char *inside, cay_error *err) {
  char to[4096];
  int len = snprintf(to, sizeof to, PACKAGE_PLACE "/%s", inside);
  if (len < 0 || (size_t)len >= sizeof to)
    return err_set(err, CAY_LIMIT, "%.80s: a path is too long", p->name);
  sb_mapped file;
  S_TRY(sb_map_file(path, &file, err));
  cay_status status = sb_package_add(p, inside, to, (cay_slice){ file.data, file.len }, 0644, err);
  sb_unmap(&file);
  return status;
}

/* ---- folders ---- */

static int by_name(const FTSENT **a, const FTSENT **b) { return strcmp((*a)->fts_name, (*b)->fts_name); }

static cay_status package_add_entry(sb_package *p, FTS *walk, FTSENT *entry, size_t top, cay_error *err) {
  switch (entry->fts_info) {
  case FTS_D:
    if (strcmp(entry->fts_name, "__pycache__") == 0) (void)fts_set(walk, entry, FTS_SKIP);
    return CAY_OK;
  case FTS_F: return add_mapped(p, entry->fts_accpath, entry->fts_path + top, err);
  case FTS_SL: {
    struct stat st;
    if (stat(entry->fts_accpath, &st) != 0 || !S_ISREG(st.st_mode)) return CAY_OK;
    return add_mapped(p, entry->fts_accpath, entry->fts_path + top, err);
  }
  case FTS_DNR:
  case FTS_ERR:
  case FTS_NS: return err_errno(err, entry->fts_errno, "%.150s", entry->fts_path);
  default: return CAY_OK;
  }
}

/* With an __init__.py it is a package and goes in under its name, else it holds packages. */
static cay_status read_folder(sb_package *p, cay_error *err) {
  char *root = mem_strdup(p->path), init[4096];
  if (root == NULL) return err_no_memory(err);
  size_t len = strlen(root);
  while (len > 1 && root[len - 1] == '/') root[--len] = '\0';
  (void)snprintf(init, sizeof init, "%s/__init__.py", root);
  struct stat st;
  const char *slash = strrchr(root, '/');
  bool package = stat(init, &st) == 0;
  size_t top = !package ? len + 1 : slash != NULL ? (size_t)(slash + 1 - root) : 0;
  FTS *walk = fts_open((char *[]){ root, NULL }, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
  cay_status status = walk != NULL ? CAY_OK : err_errno(err, errno, "%.150s", p->path);
  errno = 0;
  for (FTSENT *entry; status == CAY_OK && (entry = fts_read(walk)) != NULL; errno = 0)
    status = package_add_entry(p, walk, entry, top, err);
  if (status == CAY_OK && errno != 0) status = err_errno(err, errno, "%.150s", p->path);
  if (walk != NULL) (void)fts_close(walk);
  mem_free(root);
  return status;
}

cay_status sb_package_read(const char *path, sb_package_fn *each, void *ctx, cay_error *err) {
  const char *slash = strrchr(path, '/');
  sb_package p = {
    .path = path, .name = slash != NULL && slash[1] != '\0' ? slash + 1 : path, .each = each, .ctx = ctx
  };
  struct stat st;
  bool there = stat(path, &st) == 0;
  if (there && S_ISDIR(st.st_mode)) return read_folder(&p, err);
  if (there && S_ISREG(st.st_mode) && ends_with(path, ".whl")) return sb_wheel_read(&p, err);
  if (there && S_ISREG(st.st_mode) && ends_with(path, ".py")) return add_mapped(&p, path, p.name, err);
  return err_set(err, CAY_NOT_FOUND, "%.180s is no wheel, no folder and no module", path);
}
