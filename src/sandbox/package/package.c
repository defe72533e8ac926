/* package.c - packages that are folders and modules, and what holds for all. */
#include "sandbox/package/package.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "sandbox/mapped.h"

#include <ctype.h>
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
  static const char *const native[] = { ".so", ".pyd", ".dylib", ".dll", ".a", ".node" };
  const char *slash = strrchr(inside, '/'), *name = slash != NULL ? slash + 1 : inside;
  bool machine = strstr(name, ".so.") != NULL;
  for (size_t i = 0; i < COUNT_OF(native); i++) machine = machine || ends_with(name, native[i]);
  machine = machine || (p->javascript && strcmp(name, "binding.gyp") == 0);
  if (!machine) return CAY_OK;
  return err_set(err, CAY_UNSUPPORTED,
                 "%.80s has machine code (%s): only packages of pure %s can be installed", p->name,
                 TEXT_NAME(inside), p->javascript ? "JavaScript" : "Python");
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

bool sb_package_leads_out(const char *name) {
  if (name[0] == '/' || strchr(name, '\\') != NULL) return true;
  for (const char *part = name; part != NULL; part = strchr(part, '/')) {
    if (*part == '/') part++;
    size_t len = strcspn(part, "/");
    if (len == 0 || (len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
      return true;
  }
  return false;
}

bool sb_package_is_made_of(const char *text, const char *more) {
  if (*text == '\0') return false;
  for (; *text != '\0'; text++)
    if (!isalnum((unsigned char)*text) && strchr(more, *text) == NULL) return false;
  return true;
}

static cay_status package_add_file(sb_package *p, const char *inside, cay_slice bytes, uint32_t mode,
                                   cay_error *err) {
  (void)mode;
  char to[4096];
  int len = snprintf(to, sizeof to, "%s/%s", p->place, inside);
  if (len < 0 || (size_t)len >= sizeof to)
    return err_set(err, CAY_LIMIT, "%.80s: a path is too long", p->name);
  return sb_package_add(p, inside, to, bytes, 0644, err);
}

static cay_status package_map_file(sb_package *p, const char *path, const char *inside, uint32_t mode,
                                   sb_package_file_fn *each, cay_error *err) {
  sb_mapped file;
  S_TRY(sb_map_file(path, &file, err));
  cay_status status = each(p, inside, (cay_slice){ file.data, file.len }, mode, err);
  sb_unmap(&file);
  return status;
}

/* ---- folders ---- */

static int by_name(const FTSENT **a, const FTSENT **b) { return strcmp((*a)->fts_name, (*b)->fts_name); }

static bool package_leaves_out(const sb_package *p, const char *folder) {
  if (!p->javascript) return strcmp(folder, "__pycache__") == 0;
  return strcmp(folder, ".git") == 0 || strcmp(folder, ".bin") == 0 || strcmp(folder, ".cache") == 0;
}

/* A link to a file is that file. One to a folder may lead in circles; npm makes none, others do. */
static cay_status package_add_link(sb_package *p, const FTSENT *entry, size_t top, sb_package_file_fn *file,
                                   cay_error *err) {
  struct stat st;
  if (stat(entry->fts_accpath, &st) != 0) return CAY_OK;
  const char *inside = entry->fts_path + top;
  if (S_ISREG(st.st_mode)) return package_map_file(p, entry->fts_accpath, inside, st.st_mode, file, err);
  if (!p->javascript || !S_ISDIR(st.st_mode)) return CAY_OK;
  return err_set(err, CAY_UNSUPPORTED, "%.80s: %s is a link to a folder; folders as npm makes them have none",
                 p->name, TEXT_NAME(inside));
}

static cay_status package_add_entry(sb_package *p, FTS *walk, FTSENT *entry, size_t top,
                                    sb_package_file_fn *file, cay_error *err) {
  switch (entry->fts_info) {
  case FTS_D:
    if (package_leaves_out(p, entry->fts_name)) (void)fts_set(walk, entry, FTS_SKIP);
    return CAY_OK;
  case FTS_F:
    return package_map_file(p, entry->fts_accpath, entry->fts_path + top, entry->fts_statp->st_mode, file,
                            err);
  case FTS_SL: return package_add_link(p, entry, top, file, err);
  case FTS_DNR:
  case FTS_ERR:
  case FTS_NS: return err_errno(err, entry->fts_errno, "%.150s", entry->fts_path);
  default: return CAY_OK;
  }
}

cay_status sb_package_walk(sb_package *p, const char *root, size_t top, sb_package_file_fn *file,
                           cay_error *err) {
  FTS *walk = fts_open((char *[]){ (char *)root, NULL }, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
  cay_status status = walk != NULL ? CAY_OK : err_errno(err, errno, "%.150s", p->path);
  errno = 0;
  for (FTSENT *entry; status == CAY_OK && (entry = fts_read(walk)) != NULL; errno = 0)
    status = package_add_entry(p, walk, entry, top, file, err);
  if (status == CAY_OK && errno != 0) status = err_errno(err, errno, "%.150s", p->path);
  if (walk != NULL) (void)fts_close(walk);
  return status;
}

static bool package_has(const char *folder, const char *name) {
  char path[4096];
  struct stat st;
  int len = snprintf(path, sizeof path, "%s/%s", folder, name);
  return len > 0 && (size_t)len < sizeof path && stat(path, &st) == 0;
}

/* With an __init__.py it is a package and goes in under its name, else it holds packages. */
static cay_status read_folder(sb_package *p, cay_error *err) {
  char *root = mem_strdup(p->path);
  if (root == NULL) return err_no_memory(err);
  size_t len = strlen(root);
  while (len > 1 && root[len - 1] == '/') root[--len] = '\0';
  const char *slash = strrchr(root, '/');
  size_t top = !package_has(root, "__init__.py") ? len + 1 : slash != NULL ? (size_t)(slash + 1 - root) : 0;
  cay_status status = sb_package_walk(p, root, top, package_add_file, err);
  mem_free(root);
  return status;
}

static bool package_is_archive(const char *path) {
  return ends_with(path, ".tgz") || ends_with(path, ".tar.gz");
}

cay_status sb_package_read(const char *path, sb_package_fn *each, void *ctx, cay_error *err) {
  const char *slash = strrchr(path, '/');
  sb_package p = { .path = path,
                   .name = slash != NULL && slash[1] != '\0' ? slash + 1 : path,
                   .place = PACKAGE_PLACE,
                   .each = each,
                   .ctx = ctx };
  struct stat st;
  bool there = stat(path, &st) == 0;
  if (there && S_ISDIR(st.st_mode) && !package_has(path, "__init__.py") && sb_npm_is_folder(path))
    return sb_npm_read_folder(&p, err);
  if (there && S_ISDIR(st.st_mode)) return read_folder(&p, err);
  if (there && S_ISREG(st.st_mode) && package_is_archive(path)) return sb_npm_read_archive(&p, err);
  if (there && S_ISREG(st.st_mode) && ends_with(path, ".whl")) return sb_wheel_read(&p, err);
  if (there && S_ISREG(st.st_mode) && ends_with(path, ".py"))
    return package_map_file(&p, path, p.name, 0644, package_add_file, err);
  return err_set(err, CAY_NOT_FOUND, "%.160s is no wheel, no archive of npm, no folder and no module", path);
}
