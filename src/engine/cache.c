/* Entries hold machine code that will be run, so the folder must be writable by this user alone. What happens
 * by accident, a full disk or a damaged file, is found by the checksum; another version of the compiler, or
 * another processor, by wasmtime. Either way the entry is thrown away and made again. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 512 };

/* ---- the folder ---- */

static cay_status make_folders(char *path, cay_error *err) {
  for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
    if (slash != NULL) *slash = '\0';
    int failed = mkdir(path, 0700) != 0 && errno != EEXIST ? errno : 0;
    if (failed != 0) return err_errno(err, failed, "cannot make the cache folder %s", path);
    if (slash == NULL) return CAY_OK;
    *slash = '/';
  }
}

static cay_status check_folder(const char *path, cay_error *err) {
  struct stat st;
  if (stat(path, &st) != 0) return err_errno(err, errno, "cache folder %s", path);
  if (!S_ISDIR(st.st_mode)) return err_set(err, CAY_DENIED, "cache folder %s is not a folder", path);
  if (st.st_uid != geteuid())
    return err_set(err, CAY_DENIED,
                   "cache folder %s belongs to another user; compiled code is not taken from it", path);
  if (st.st_mode & (S_IWGRP | S_IWOTH))
    return err_set(err, CAY_DENIED, "others can write to the cache folder %s; chmod 700 it", path);
  return CAY_OK;
}

cay_status eng_cache_open(const char *dir, char **out, cay_error *err) {
  if (dir[0] == '\0') return err_set(err, CAY_INVALID, "the cache folder has no name");
  char *path = mem_strdup(dir);
  if (path == NULL) return err_no_memory(err);
  cay_status status = make_folders(path, err);
  if (status == CAY_OK) status = check_folder(path, err);
  if (status != CAY_OK) {
    mem_free(path);
    return status;
  }
  *out = path;
  return CAY_OK;
}

/* ---- entries ---- */

static char *entry_path(const eng_engine *engine, const eng_module *module) {
  static const char *const stops[] = { "protect", "epoch", "fuel" };
  char hex[DIGEST_HEX];
  digest_hex(&module->key, hex);
  size_t cap = strlen(engine->cache_dir) + sizeof hex + 64;
  char *path = mem_alloc(cap);
  if (path != NULL)
    (void)snprintf(path, cap, "%s/%s-" WASMTIME_VERSION "-%s.cwasm", engine->cache_dir, hex,
                   stops[module->stop]);
  return path;
}

static bool is_ours(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
         (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool map_entry(const char *path, eng_module *module) {
  struct artifact about;
  if (!is_ours(path) || eng_artifact_read(path, true, &about, NULL) != CAY_OK) return false;
  if (!digest_equal(&about.source, &module->key) || about.stop != module->stop) return false;
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
  if (engine->cache_dir == NULL) return false;
  char *path = entry_path(engine, module);
  if (path == NULL) return false;
  bool there = access(path, F_OK) == 0, loaded = there && map_entry(path, module);
  if (there && !loaded) (void)unlink(path);
  mem_free(path);

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
static void make_room(const char *dir, uint64_t len, uint64_t len_max) {
  DIR *d = opendir(dir);
  if (d == NULL) return;
  for (struct folder f = look_at(d); f.count >= ENTRIES_MAX || (f.count > 0 && f.len + len > len_max);) {
    if (unlinkat(dirfd(d), f.oldest, 0) != 0) break;
    f = look_at(d);
  }
  (void)closedir(d);
}

void eng_cache_store(eng_engine *engine, const eng_module *module) {
  if (engine->cache_dir == NULL) return;
  wasm_byte_vec_t code;
  wasmtime_error_t *error = wasmtime_module_serialize(module->wasm, &code);
  if (error != NULL) {
    wasmtime_error_delete(error);
    return;
  }
  struct artifact about = eng_module_about(module);
  char *path = entry_path(engine, module);
  if (path != NULL && code.size <= engine->cache_len_max) {
    make_room(engine->cache_dir, code.size, engine->cache_len_max);
    (void)eng_artifact_write(path, &about, &code, NULL);
  }
  mem_free(path);
  wasm_byte_vec_delete(&code);
}
