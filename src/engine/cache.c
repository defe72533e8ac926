/* cache.c - the folder of compiled code.
 *
 * Entries hold machine code that will be run, so the folder must belong to this user and be writable by no other,
 * nor may another user be able to put something else in its place: the directories above are checked as ssh(1)
 * checks those above its keys. The folder is opened once. An entry is opened, checked and mapped by its
 * descriptor, so the checked bytes are those that run.
 *
 * Accidents (a full disk, a damaged file) are found by the checksum; another version of the compiler or another
 * processor by wasmtime. Either way the entry is deleted and made again. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 512 };

/* ---- the folder ---- */

static cay_status cache_make_folders(char *path, cay_error *err) {
  for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
    if (slash != NULL) *slash = '\0';
    int failed = mkdir(path, 0700) != 0 && errno != EEXIST ? errno : 0;
    if (failed != 0) return err_errno(err, failed, "cannot make the cache folder %s", path);
    if (slash == NULL) return CAY_OK;
    *slash = '/';
  }
}

static bool others_write(const struct stat *st) { return (st->st_mode & (S_IWGRP | S_IWOTH)) != 0; }

static cay_status check_folder(int fd, const char *path, cay_error *err) {
  struct stat st;
  if (fstat(fd, &st) != 0) return err_errno(err, errno, "cache folder %s", path);
  if (st.st_uid != geteuid())
    return err_set(err, CAY_DENIED,
                   "cache folder %s belongs to another user; compiled code is not taken from it", path);
  if (others_write(&st))
    return err_set(err, CAY_DENIED, "others can write to the cache folder %s; chmod 700 it", path);
  return CAY_OK;
}

/* A user who can rename in a directory above could put another folder in the place of this one. A directory such
 * as /tmp is fine: its sticky bit keeps users from each other's names. */
static cay_status check_parent(const char *path, const char *folder, cay_error *err) {
  struct stat st;
  if (lstat(path, &st) != 0) return err_errno(err, errno, "%s, above the cache folder %s", path, folder);
  if (st.st_uid != 0 && st.st_uid != geteuid())
    return err_set(err, CAY_DENIED, "%s, above the cache folder %s, belongs to another user", path, folder);
  if (others_write(&st) && (st.st_mode & S_ISVTX) == 0)
    return err_set(err, CAY_DENIED, "others can write to %s, above the cache folder %s; chmod go-w it", path,
                   folder);
  return CAY_OK;
}

/* Each directory above `real`, which has no symbolic links, and is changed. */
static cay_status check_parents(char *real, const char *folder, cay_error *err) {
  while (strcmp(real, "/") != 0) {
    char *slash = strrchr(real, '/');
    slash[slash == real] = '\0';
    S_TRY(check_parent(real, folder, err));
  }
  return CAY_OK;
}

static cay_status check_place(const char *path, cay_error *err) {
  char *real = realpath(path, NULL);
  if (real == NULL) return err_errno(err, errno, "cache folder %s", path);
  cay_status status = check_parents(real, path, err);
  free(real);
  return status;
}

static cay_status open_folder(char *path, int *out, cay_error *err) {
  S_TRY(cache_make_folders(path, err));
  S_TRY(check_place(path, err));
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOTDIR) return err_set(err, CAY_DENIED, "cache folder %s is not a folder", path);
  if (fd < 0) return err_errno(err, errno, "cache folder %s", path);
  cay_status status = check_folder(fd, path, err);
  if (status == CAY_OK)
    *out = fd;
  else
    (void)close(fd);
  return status;
}

cay_status eng_cache_open(const char *dir, int *out, cay_error *err) {
  if (dir[0] == '\0') return err_set(err, CAY_INVALID, "the cache folder has no name");
  char *path = mem_strdup(dir);
  if (path == NULL) return err_no_memory(err);
  cay_status status = open_folder(path, out, err);
  mem_free(path);
  return status;
}

cay_status eng_cache_check(const char *dir, cay_error *err) {
  int fd = -1;
  S_TRY(eng_cache_open(dir, &fd, err));
  (void)close(fd);
  return CAY_OK;
}

/* ---- entries ---- */

enum { NAME_CAP = 160, PATH_CAP = 64 + NAME_CAP };

static void entry_name(const eng_module *module, char out[static NAME_CAP]) {
  static const char *const stops[] = { "protect", "epoch", "fuel" };
  char hex[DIGEST_HEX];
  digest_hex(&module->key, hex);
  (void)snprintf(out, NAME_CAP, "%s-" WASMTIME_VERSION "-%s.cwasm", hex, stops[module->stop]);
}

static bool cache_is_ours(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !others_write(&st);
}

/* The mapped file is the checked one, whatever its name stands for by now. */
static bool map_entry(int fd, eng_module *module) {
  char path[PATH_CAP];
  struct artifact about;
  if (!cache_is_ours(fd) || eng_artifact_read_open(fd, true, &about) != CAY_OK) return false;
  if (!digest_equal(&about.source, &module->key) || about.stop != module->stop) return false;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  wasmtime_error_t *error =
      wasmtime_module_deserialize_file(module->engine->wasm[module->stop], path, &module->wasm);
  if (error != NULL) {
    wasmtime_error_delete(error);
    return false;
  }
  eng_module_learn(module, &about);
  return true;
}

bool eng_cache_load(eng_engine *engine, eng_module *module) {
  if (engine->cache_dir < 0) return false;
  char name[NAME_CAP];
  entry_name(module, name);
  int fd = openat(engine->cache_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  bool there = fd >= 0 || errno == ELOOP, loaded = fd >= 0 && map_entry(fd, module);
  if (fd >= 0) (void)close(fd);
  if (there && !loaded) (void)unlinkat(engine->cache_dir, name, 0);

  pthread_mutex_lock(&engine->mu);
  engine->stats.from_disk += loaded;
  engine->stats.rebuilt += there && !loaded;
  pthread_mutex_unlock(&engine->mu);
  return loaded;
}

struct folder {
  size_t count;
  uint64_t len;
  char oldest[256];
};

static struct folder look_at(DIR *d) {
  struct folder f = { 0 };
  struct timespec when = { 0 };
  rewinddir(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    struct stat st;
    if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
    f.len += (uint64_t)st.st_size;
    bool older = f.count++ == 0 || st.st_atim.tv_sec < when.tv_sec;
    if (!older) continue;
    when = st.st_atim;
    (void)snprintf(f.oldest, sizeof f.oldest, "%s", e->d_name);
  }
  return f;
}

/* The folder does not grow without end: when it is full, the entries unused for longest make room. */
static void cache_make_room(int dir, uint64_t len, uint64_t len_max) {
  int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
  if (d == NULL) {
    if (fd >= 0) (void)close(fd);
    return;
  }
  for (struct folder f = look_at(d); f.count >= ENTRIES_MAX || (f.count > 0 && f.len + len > len_max);) {
    if (unlinkat(dirfd(d), f.oldest, 0) != 0) break;
    f = look_at(d);
  }
  (void)closedir(d);
}

static void write_entry(eng_engine *engine, const eng_module *module, const wasm_byte_vec_t *code) {
  char name[NAME_CAP], path[PATH_CAP];
  struct artifact about = eng_module_about(module);
  if (code->size > engine->cache_len_max) return;
  entry_name(module, name);
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", engine->cache_dir, name);
  cache_make_room(engine->cache_dir, code->size, engine->cache_len_max);
  (void)eng_artifact_write(path, &about, code, NULL);
}

void eng_cache_store(eng_engine *engine, const eng_module *module) {
  if (engine->cache_dir < 0) return;
  wasm_byte_vec_t code;
  wasmtime_error_t *error = wasmtime_module_serialize(module->wasm, &code);
  if (error != NULL) {
    wasmtime_error_delete(error);
    return;
  }
  write_entry(engine, module, &code);
  wasm_byte_vec_delete(&code);
}
