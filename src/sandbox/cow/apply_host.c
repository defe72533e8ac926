/* apply_host.c - what applying asks the host for, each path beneath the directory and without symlinks. */
#include "sandbox/cow/cow.h"

#include "base/alloc.h"
#include "base/random.h"
#include "kernel/fs/host/host_call.h"
#include "kernel/fs/mem/mem_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16, ANY = INT_MAX };

/* ---- places ---- */

/* The directory that a path stands in, open, and the last name. */
typedef struct host_place {
  int dir;
  const char *name;
} host_place;

static k_ret place_open(int root, const char *path, host_place *out) {
  char dir[K_PATH_MAX] = ".";
  const char *slash = strrchr(path, '/');
  if (slash != NULL && (size_t)(slash - path) >= sizeof dir) return -K_ENAMETOOLONG;
  if (slash != NULL) {
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
  }
  k_ret fd = host_open(root, dir, O_RDONLY | O_DIRECTORY, 0, ANY);
  if (fd < 0) return fd;
  *out = (host_place){ (int)fd, slash != NULL ? slash + 1 : path };
  return 0;
}

static void place_close(host_place *p) { host_close(p->dir); }

static bool place_is_missing(k_ret r) { return r == -K_ENOENT || r == -K_ENOTDIR || r == -K_ELOOP; }

k_ret sb_host_look(int root, const char *path, cow_seen *out) {
  host_place p;
  struct statx st;
  k_ret r = place_open(root, path, &p);
  if (r < 0) return place_is_missing(r) ? -K_ENOENT : r;
  r = host_stat_at(p.dir, p.name, &st);
  place_close(&p);
  if (r >= 0) *out = cow_seen_from(&st);
  return r;
}

/* -K_ESTALE: not as expected; NULL: nothing is expected. */
static k_ret place_check(const host_place *p, const cow_seen *expected) {
  struct statx st;
  k_ret r = host_stat_at(p->dir, p->name, &st);
  if (expected == NULL) return r == -K_ENOENT ? 0 : r < 0 ? r : -K_ESTALE;
  if (r < 0) return r == -K_ENOENT ? -K_ESTALE : r;
  cow_seen now = cow_seen_from(&st);
  return cow_seen_same(&now, expected) ? 0 : -K_ESTALE;
}

/* ---- looking ---- */

static bool is_known(const mem_node *dir, const char *name) {
  k_name n = { name, strlen(name) };
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || mem_node_find(dir, n, mem_hash(n)) != NULL;
}

static bool lists_only(int fd, const mem_node *known) {
  _Alignas(struct dirent64) uint8_t piece[4096];
  int64_t pos = 0;
  for (;;) {
    k_ret n = host_list(fd, pos, piece, sizeof piece);
    if (n <= 0) return n == 0;
    for (size_t at = 0; at < (size_t)n;) {
      const struct dirent64 *d = (const void *)(piece + at);
      if (!is_known(known, d->d_name)) return false;
      pos = d->d_off;
      at += d->d_reclen;
    }
  }
}

bool sb_host_lists_only(int root, const char *path, const mem_node *known) {
  k_ret fd = host_open(root, path, O_RDONLY | O_DIRECTORY, 0, ANY);
  if (fd < 0) return false;
  bool only = lists_only((int)fd, known);
  host_close((int)fd);
  return only;
}

static bool same_bytes(int fd, const mem_node *n) {
  mem_reader r;
  uint8_t *pieces = mem_alloc((size_t)2 * PIECE);
  if (pieces == NULL) return false;
  bool same = mem_reader_begin(&r, n) >= 0;
  uint64_t at = 0;
  while (same) {
    k_ret a = host_pread(fd, pieces, PIECE, (int64_t)at), b = mem_reader_read(&r, pieces + PIECE, PIECE, at);
    same = a >= 0 && a == b && memcmp(pieces, pieces + PIECE, (size_t)(a > 0 ? a : 0)) == 0;
    if (a <= 0) break;
    at += (uint64_t)a;
  }
  mem_reader_end(&r);
  mem_free(pieces);
  return same;
}

static bool same_link(const host_place *p, const mem_node *n) {
  char target[PATH_MAX];
  k_ret len = host_readlink_at(p->dir, p->name, target, sizeof target);
  return len >= 0 && strlen(n->target) == (size_t)len && memcmp(target, n->target, (size_t)len) == 0;
}

static bool same_file(const host_place *p, const mem_node *n) {
  k_ret fd = host_open(p->dir, p->name, O_RDONLY, 0, ANY);
  if (fd < 0) return false;
  bool same = same_bytes((int)fd, n);
  host_close((int)fd);
  return same;
}

bool sb_host_is(int root, const char *path, const mem_node *n) {
  cow_seen now;
  host_place p;
  if (sb_host_look(root, path, &now) < 0 || (now.mode & K_S_IFMT) != (n->mode & K_S_IFMT)) return false;
  if (!sb_node_is(n, K_S_IFLNK) && (now.mode & 01777) != (n->mode & 01777)) return false;
  if (sb_node_is(n, K_S_IFDIR)) return true;
  if (place_open(root, path, &p) < 0) return false;
  bool same = sb_node_is(n, K_S_IFLNK) ? same_link(&p, n) : same_file(&p, n);
  place_close(&p);
  return same;
}

/* ---- files ---- */

static k_ret copy_bytes(int fd, const mem_reader *r) {
  uint8_t *piece = mem_alloc(PIECE);
  if (piece == NULL) return -K_ENOMEM;
  uint64_t at = 0;
  k_ret n;
  while ((n = mem_reader_read(r, piece, PIECE, at)) > 0) {
    k_ret done = 0;
    while (done >= 0 && n > 0) {
      done = host_pwrite(fd, piece, (size_t)n, (int64_t)at, false);
      if (done == 0) done = -K_EIO;
      if (done < 0) break;
      memmove(piece, piece + done, (size_t)(n - done));
      at += (uint64_t)done;
      n -= done;
    }
    if (done < 0) {
      n = done;
      break;
    }
  }
  mem_free(piece);
  return n;
}

/* The owner of the file that is replaced, or of the directory: only the privileged can, and others need not. */
static void keep_owner(const host_place *p, int fd) {
  struct statx st;
  if (host_stat_at(p->dir, p->name, &st) < 0 && host_stat(p->dir, &st) < 0) return;
  if (fchown(fd, st.stx_uid, st.stx_gid) != 0) return;
}

static k_ret fill_temp(const host_place *p, int fd, const mem_node *n) {
  mem_reader r;
  const struct timespec times[2] = {
    { .tv_nsec = UTIME_NOW }, { .tv_sec = n->mtime_ns / NS_PER_SEC, .tv_nsec = n->mtime_ns % NS_PER_SEC }
  };
  K_TRY(mem_reader_begin(&r, n));
  k_ret done = copy_bytes(fd, &r);
  mem_reader_end(&r);
  if (done < 0) return done;
  keep_owner(p, fd);
  K_TRY(host_chmod_open(fd, n->mode & 01777));
  if (times[1].tv_nsec >= 0) K_TRY(host_utimens(fd, times));
  return host_fsync(fd);
}

static k_ret write_temp(const host_place *p, const char *temp, const mem_node *n) {
  k_ret fd = host_open(p->dir, temp, O_WRONLY | O_CREAT | O_EXCL, 0600, ANY);
  if (fd < 0) return fd;
  k_ret r = fill_temp(p, (int)fd, n);
  host_close((int)fd);
  return r;
}

/* One more name of a file that was just put there. Hosts that refuse get a copy. */
static k_ret link_temp(int root, const char *first, const host_place *p, const char *temp) {
  host_place from;
  K_TRY(place_open(root, first, &from));
  k_ret r = host_link(from.dir, from.name, p->dir, temp);
  place_close(&from);
  return r;
}

static k_ret make_temp(int root, const host_place *p, const char *temp, const mem_node *n,
                       const char *same_as) {
  if (sb_node_is(n, K_S_IFLNK)) return host_symlink(n->target, p->dir, temp);
  if (same_as != NULL && link_temp(root, same_as, p, temp) >= 0) return 0;
  return write_temp(p, temp, n);
}

static k_ret put_at(int root, const host_place *p, const mem_node *n, const cow_seen *replaced,
                    const char *same_as, bool *done) {
  uint64_t random;
  char temp[32];
  if (random_bytes(&random, sizeof random, NULL) != CAY_OK) return -K_EIO;
  (void)snprintf(temp, sizeof temp, ".cay-%016llx", (unsigned long long)random);
  K_TRY(place_check(p, replaced));
  k_ret r = make_temp(root, p, temp, n, same_as);
  if (r >= 0) r = place_check(p, replaced);
  if (r >= 0) r = host_rename(p->dir, temp, p->dir, p->name, replaced == NULL ? RENAME_NOREPLACE : 0);
  *done = r >= 0;
  if (*done) return host_fsync(p->dir);
  (void)!host_unlink(p->dir, temp, false);
  return r == -K_EEXIST ? -K_ESTALE : r;
}

k_ret sb_host_put(int root, const char *path, const mem_node *n, const cow_seen *replaced,
                  const char *same_as, bool *done) {
  host_place p;
  *done = false;
  K_TRY(place_open(root, path, &p));
  k_ret r = put_at(root, &p, n, replaced, same_as, done);
  place_close(&p);
  return r;
}

/* ---- directories, modes, removing ---- */

k_ret sb_host_mkdir(int root, const char *path) {
  host_place p;
  K_TRY(place_open(root, path, &p));
  k_ret r = host_mkdir(p.dir, p.name, 0755);
  k_ret fd = r >= 0 ? host_open(p.dir, p.name, O_RDONLY | O_DIRECTORY, 0, ANY) : r;
  if (fd >= 0) {
    struct statx st;
    if (host_stat(p.dir, &st) >= 0 && fchown((int)fd, st.stx_uid, st.stx_gid) != 0) r = 0;
    host_close((int)fd);
  }
  place_close(&p);
  return r == -K_EEXIST ? 0 : r;
}

k_ret sb_host_chmod(int root, const char *path, uint32_t mode) {
  k_ret fd = host_open(root, path, O_PATH, 0, ANY);
  if (fd < 0) return place_is_missing(fd) ? -K_ESTALE : fd;
  k_ret r = host_chmod((int)fd, mode & 01777);
  host_close((int)fd);
  if (r != -K_EOPNOTSUPP) return r;
  fd = host_open(root, path, O_RDONLY, 0, ANY);
  if (fd < 0) return fd;
  r = host_chmod_open((int)fd, mode & 01777);
  host_close((int)fd);
  return r;
}

k_ret sb_host_remove(int root, const char *path, bool directory, const cow_seen *there) {
  host_place p;
  K_TRY(place_open(root, path, &p));
  k_ret r = there != NULL ? place_check(&p, there) : 0;
  if (r >= 0) r = host_unlink(p.dir, p.name, directory);
  place_close(&p);
  return r == -K_ENOTEMPTY || r == -K_ENOENT ? -K_ESTALE : r;
}
