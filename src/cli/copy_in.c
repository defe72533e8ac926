/* copy_in.c - `cay run --in`: files of this machine copied into a sandbox. */
#include "cli/copy.h"

#include "base/text.h"
#include "cli/path.h"
#include "cli/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, DEPTH_MAX = 200 };

typedef struct import {
  cay_sandbox *box;
  char *chunk;
} import;

static bool host_failed(const char *path) {
  say("--in: on this machine: %s: %s", path, strerror(errno));
  return false;
}

static bool guest_failed(const cay_error *err) {
  say("--in: in the sandbox: %s", err->message);
  if (err->status == CAY_LIMIT || err->os_errno == ENOSPC) say_hint("--disk 1G gives it more room");
  return false;
}

/* As much of `fd` as fills the chunk; short only at the end. */
static ssize_t read_chunk(int fd, char *chunk) {
  size_t len = 0;
  while (len < CHUNK) {
    ssize_t n = read(fd, chunk + len, CHUNK - len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    len += (size_t)n;
  }
  return (ssize_t)len;
}

static bool import_bytes(import *in, int fd, const char *host, const char *guest, mode_t mode) {
  cay_error err = { 0 };
  uint64_t offset = 0;
  for (;;) {
    ssize_t n = read_chunk(fd, in->chunk);
    if (n < 0) return host_failed(host);
    cay_slice bytes = { .data = in->chunk, .len = (size_t)n };
    cay_status s = CAY_OK;
    if (offset == 0)
      s = cay_file_write(in->box, guest, bytes, mode & 0777, &err);
    else if (n > 0)
      s = cay_file_write_at(in->box, guest, offset, bytes, &err);
    if (s != CAY_OK) return guest_failed(&err);
    if (n < CHUNK) return true;
    offset += (uint64_t)n;
  }
}

static bool import_file(import *in, int dir, const char *name, const char *host, const char *guest) {
  int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return host_failed(host);
  struct stat st;
  bool done = fstat(fd, &st) == 0 ? import_bytes(in, fd, host, guest, S_ISREG(st.st_mode) ? st.st_mode : 0644)
                                  : host_failed(host);
  (void)close(fd);
  return done;
}

static bool import_link(import *in, int dir, const char *name, const char *host, const char *guest) {
  char target[4096];
  ssize_t len = readlinkat(dir, name, target, sizeof target - 1);
  if (len < 0) return host_failed(host);
  target[len] = '\0';
  cay_error err = { 0 };
  if (cay_file_symlink(in->box, target, guest, &err) == CAY_OK) return true;
  return err.status == CAY_EXISTS || err.os_errno == EEXIST ? true : guest_failed(&err);
}

static bool import_tree(import *in, int fd, const char *host, const char *guest, unsigned depth);

static bool import_entry(import *in, int dir, const char *name, const char *host, const char *guest,
                         unsigned depth) {
  struct stat st;
  if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return host_failed(host);
  if (S_ISREG(st.st_mode)) return import_file(in, dir, name, host, guest);
  if (S_ISLNK(st.st_mode)) return import_link(in, dir, name, host, guest);
  if (!S_ISDIR(st.st_mode)) {
    say("--in: left out %s: neither a file, a directory nor a link", TEXT_NAME(host));
    return true;
  }
  int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return fd < 0 ? host_failed(host) : import_tree(in, fd, host, guest, depth);
}

static bool import_named(import *in, int dir, const char *name, const char *host, const char *guest,
                         unsigned depth) {
  char *host_child = path_join(host, name), *guest_child = path_join(guest, name);
  bool done = host_child != NULL && guest_child != NULL &&
              import_entry(in, dir, name, host_child, guest_child, depth);
  if (host_child == NULL || guest_child == NULL) say("--in: out of memory");
  free(host_child);
  free(guest_child);
  return done;
}

static bool import_all(import *in, DIR *stream, const char *host, const char *guest, unsigned depth) {
  for (struct dirent *entry; (errno = 0, entry = readdir(stream)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (!import_named(in, dirfd(stream), entry->d_name, host, guest, depth + 1)) return false;
  }
  return errno == 0 ? true : host_failed(host);
}

/* Takes `fd`. The directory's own permissions come last: it must be writable meanwhile. */
static bool import_tree(import *in, int fd, const char *host, const char *guest, unsigned depth) {
  struct stat st;
  cay_error err = { 0 };
  DIR *stream = depth < DEPTH_MAX && fstat(fd, &st) == 0 ? fdopendir(fd) : NULL;
  if (stream == NULL) {
    if (depth >= DEPTH_MAX) errno = ELOOP;
    (void)host_failed(host);
    (void)close(fd);
    return false;
  }
  bool done = cay_file_mkdir(in->box, guest, true, &err) == CAY_OK
                  ? import_all(in, stream, host, guest, depth)
                  : guest_failed(&err);
  (void)closedir(stream);
  if (done && (st.st_mode & 0777) != 0755 &&
      cay_file_chmod(in->box, guest, st.st_mode & 0777, &err) != CAY_OK)
    return guest_failed(&err);
  return done;
}

/* Where the copy goes; NULL: no memory. */
static char *copy_in_target_of(const request_pair *pair, const char *cwd) {
  char *target = path_join(cwd, pair->to != NULL ? pair->to : ".");
  if (target == NULL || (pair->to != NULL && !path_is_inside(pair->to))) return target;
  char *name = path_name(pair->from);
  char *inside = name != NULL ? path_join(target, name) : NULL;
  free(name);
  free(target);
  return inside;
}

static bool import_top(import *in, const char *host, const char *guest) {
  int fd = open(host, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) {
    if (fd >= 0) (void)close(fd);
    return host_failed(host);
  }
  if (S_ISDIR(st.st_mode)) return import_tree(in, fd, host, guest, 0);
  bool done = import_bytes(in, fd, host, guest, S_ISREG(st.st_mode) ? st.st_mode : 0644);
  (void)close(fd);
  return done;
}

bool copy_in(cay_sandbox *box, const request_pair *pair, const char *cwd) {
import in = {.box = box, .chunk = malloc(CHUNK) };
  char *guest = copy_in_target_of(pair, cwd);
  bool done = false;
  if (in.chunk == NULL || guest == NULL)
    say("--in: out of memory");
  else
    done = import_top(&in, pair->from, guest);
  free(guest);
  free(in.chunk);
  return done;
}
