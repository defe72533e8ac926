/* folder_file.c - contents of a store as files: written beside their place, synced, renamed. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "workspace/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_CAP = 96 };

/* "contents/ab/cdef…" */
static void file_path(const digest *name, char out[static NAME_CAP]) {
  char hex[DIGEST_HEX];
  digest_hex(name, hex);
  (void)snprintf(out, NAME_CAP, "contents/%.2s/%s", hex, hex + 2);
}

static cay_status dir_sync(int dir, const char *path, cay_error *err) {
  int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
  if (fd >= 0) (void)close(fd);
  return failed == 0 ? CAY_OK : err_errno(err, failed, "cannot sync %s", path);
}

/* Makes a folder that lasts. */
static cay_status dir_make(int dir, const char *path, const char *parent, cay_error *err) {
  if (mkdirat(dir, path, 0700) == 0) return dir_sync(dir, parent, err);
  return errno == EEXIST ? CAY_OK : err_errno(err, errno, "cannot make the folder %s", path);
}

static cay_status dirs_make_parents(const char *path, cay_error *err) {
  char *copy = mem_strdup(path);
  if (copy == NULL) return err_no_memory(err);
  for (char *at = strchr(copy + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
    *at = '\0';
    (void)mkdir(copy, 0777); /* the last one says whether it can be used */
    *at = '/';
  }
  int failed = mkdir(copy, 0700) == 0 || errno == EEXIST ? 0 : errno;
  mem_free(copy);
  return failed == 0 ? CAY_OK : err_errno(err, failed, "cannot make the folder");
}

cay_status ws_file_dirs(ws_folder *f, const char *path, cay_error *err) {
  static const char *const names[] = { "contents", "tmp", "locks" };
  if (path[0] == '\0') return err_set(err, CAY_INVALID, "no name of a folder");
  S_TRY(dirs_make_parents(path, err));
  f->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (f->dir < 0) return err_errno(err, errno, "cannot open the folder");
  for (size_t i = 0; i < COUNT_OF(names); i++) S_TRY(dir_make(f->dir, names[i], ".", err));
  return CAY_OK;
}

/* ---- writing ---- */

static bool chunk_is_zero(const uint8_t *at, size_t len) {
  return len == WS_CHUNK && at[0] == 0 && memcmp(at, at + 1, len - 1) == 0;
}

static cay_status fd_write(int fd, const uint8_t *at, size_t len, cay_error *err) {
  if (chunk_is_zero(at, len)) /* stays a hole */
    return lseek(fd, (off_t)len, SEEK_CUR) >= 0 ? CAY_OK : err_errno(err, errno, "cannot write a content");
  while (len > 0) {
    if (mem_fault_here()) return err_errno(err, EIO, "cannot write a content");
    ssize_t wrote = write(fd, at, len);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return err_errno(err, wrote < 0 ? errno : EIO, "cannot write a content");
    at += wrote;
    len -= (size_t)wrote;
  }
  return CAY_OK;
}

static cay_status fd_fill(int fd, const digest *name, uint64_t len, ws_source_fn *source, void *ctx,
                          uint8_t *chunk, cay_error *err) {
  digest_state state;
  uint64_t total = 0;
  size_t got = 0;
  digest_begin(&state);
  do {
    S_TRY(source(ctx, chunk, WS_CHUNK, &got, err));
    digest_add(&state, chunk, got);
    S_TRY(fd_write(fd, chunk, got, err));
    total += got;
  } while (got > 0 && total <= len);
  digest have = digest_end(&state);
  if (total != len || !digest_equal(&have, name))
    return err_set(err, CAY_CORRUPT, "a content changed while it was kept");
  if (ftruncate(fd, (off_t)len) != 0 || fsync(fd) != 0) return err_errno(err, errno, "cannot sync a content");
  return CAY_OK;
}

static cay_status file_name_it(ws_folder *f, const char *tmp, const digest *name, cay_error *err) {
  char path[NAME_CAP], folder[NAME_CAP];
  file_path(name, path);
  memcpy(folder, path, sizeof "contents/ab" - 1);
  folder[sizeof "contents/ab" - 1] = '\0';
  S_TRY(dir_make(f->dir, folder, "contents", err));
  if (mem_fault_here() || renameat(f->dir, tmp, f->dir, path) != 0)
    return err_errno(err, errno, "cannot rename a content");
  return dir_sync(f->dir, folder, err);
}

cay_status ws_file_put(ws_folder *f, const digest *name, uint64_t len, ws_source_fn *source, void *ctx,
                       cay_error *err) {
  char tmp[NAME_CAP];
  uint64_t number;
  uint8_t *chunk = mem_alloc(WS_CHUNK);
  if (chunk == NULL) return err_no_memory(err);
  cay_status status = random_bytes(&number, sizeof number, err);
  (void)snprintf(tmp, sizeof tmp, "tmp/%016llx", (unsigned long long)number);
  int fd = status == CAY_OK ? openat(f->dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (status == CAY_OK && fd < 0) status = err_errno(err, errno, "cannot make a file");
  if (status == CAY_OK) status = fd_fill(fd, name, len, source, ctx, chunk, err);
  if (fd >= 0 && close(fd) != 0 && status == CAY_OK) status = err_errno(err, errno, "cannot write a content");
  if (status == CAY_OK) status = file_name_it(f, tmp, name, err);
  if (status != CAY_OK && fd >= 0) (void)unlinkat(f->dir, tmp, 0);
  mem_free(chunk);
  return status;
}

/* ---- reading ---- */

bool ws_file_is_there(ws_folder *f, const digest *name, uint64_t len) {
  char path[NAME_CAP];
  struct stat st;
  file_path(name, path);
  return fstatat(f->dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
         (uint64_t)st.st_size == len;
}

static cay_status fd_read_all(int fd, const digest *name, ws_sink_fn *sink, void *ctx, uint8_t *chunk,
                              cay_error *err) {
  digest_state state;
  ssize_t got;
  digest_begin(&state);
  while ((got = read(fd, chunk, WS_CHUNK)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return err_errno(err, errno, "cannot read a content");
    digest_add(&state, chunk, (size_t)got);
    S_TRY(sink(ctx, (cay_slice){ chunk, (size_t)got }, err));
  }
  digest have = digest_end(&state);
  if (digest_equal(&have, name)) return CAY_OK;
  char hex[DIGEST_HEX];
  digest_hex(name, hex);
  return err_set(err, CAY_CORRUPT, "the content %s is damaged", hex);
}

cay_status ws_file_get(ws_folder *f, const digest *name, ws_sink_fn *sink, void *ctx, cay_error *err) {
  char path[NAME_CAP];
  uint8_t *chunk = mem_alloc(WS_CHUNK);
  if (chunk == NULL) return err_no_memory(err);
  file_path(name, path);
  int fd = openat(f->dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  cay_status status = CAY_OK;
  if (fd < 0 && errno == ENOENT)
    status = err_set(err, CAY_CORRUPT, "the content %s is missing", path + sizeof "contents" - 1);
  else if (fd < 0)
    status = err_errno(err, errno, "cannot open %s", path);
  if (status == CAY_OK) status = fd_read_all(fd, name, sink, ctx, chunk, err);
  if (fd >= 0) (void)close(fd);
  mem_free(chunk);
  return status;
}

/* ---- removing, and all of them ---- */

void ws_file_remove(ws_folder *f, const digest *name) {
  char path[NAME_CAP];
  file_path(name, path);
  (void)unlinkat(f->dir, path, 0);
}

typedef void dir_fn(void *ctx, const char *path);

static cay_status dir_each(ws_folder *f, const char *path, dir_fn *each, void *ctx, cay_error *err) {
  int fd = openat(f->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  char name[512];
  if (dir == NULL) {
    int failed = errno;
    if (fd >= 0) (void)close(fd);
    return err_errno(err, failed, "cannot read the folder %s", path);
  }
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    (void)snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    each(ctx, name);
  }
  (void)closedir(dir);
  return CAY_OK;
}

static void tmp_remove(void *ctx, const char *path) { (void)unlinkat(((ws_folder *)ctx)->dir, path, 0); }

void ws_file_clear_tmp(ws_folder *f) {
  IGNORED(dir_each(f, "tmp", tmp_remove, f, NULL)); /* fsck reports what stays */
}

typedef struct file_lister {
  ws_folder *f;
  ws_file_fn *each;
  void *ctx;
  cay_status status;
  cay_error *err;
} file_lister;

static void lister_file(void *ctx, const char *path) {
  file_lister *l = ctx;
  char hex[DIGEST_HEX + 1];
  digest name;
  const char *at = path + sizeof "contents/" - 1;
  bool fits = strncmp(path, "contents/", 9) == 0 && strlen(at) == DIGEST_HEX && at[2] == '/';
  if (fits) (void)snprintf(hex, sizeof hex, "%.2s%s", at, at + 3);
  l->each(l->ctx, path, fits && digest_parse(hex, &name) ? &name : NULL);
}

static void lister_folder(void *ctx, const char *path) {
  file_lister *l = ctx;
  struct stat st;
  bool folder = fstatat(l->f->dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
  if (!folder)
    l->each(l->ctx, path, NULL);
  else if (l->status == CAY_OK)
    l->status = dir_each(l->f, path, lister_file, l, l->err);
}

cay_status ws_file_each(ws_folder *f, ws_file_fn *each, void *ctx, cay_error *err) {
  file_lister l = { f, each, ctx, CAY_OK, err };
  S_TRY(dir_each(f, "contents", lister_folder, &l, err));
  S_TRY(l.status);
  return dir_each(f, "tmp", lister_folder, &l, err);
}
