/* Files and names: each function is one call of the system, or nearly. */
#define _GNU_SOURCE
#include "native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A call with one or two paths. */
#define WITH_PATH(call)                                                                                      \
  char *path = native_path(c, argv[0]);                                                                      \
  if (!path) return JS_EXCEPTION;                                                                            \
  int64_t result = (call);                                                                                   \
  JSValue value = native_result(c, result);                                                                  \
  js_free(c, path);                                                                                          \
  return value
#define WITH_PATHS(call)                                                                                     \
  char *path = native_path(c, argv[0]), *other = path ? native_path(c, argv[1]) : NULL;                      \
  if (!other) return js_free(c, path), JS_EXCEPTION;                                                         \
  int64_t result = (call);                                                                                   \
  JSValue value = native_result(c, result);                                                                  \
  js_free(c, path);                                                                                          \
  js_free(c, other);                                                                                         \
  return value

static mode_t mode(JSContext *c, JSValueConst value) { return (mode_t)native_int(c, value); }
static uid_t id(JSContext *c, JSValueConst value) { return (uid_t)native_integer(c, value); }

NATIVE(open_) { WITH_PATH(open(path, native_int(c, argv[1]) | O_CLOEXEC, mode(c, argv[2]))); }
NATIVE(access_) { WITH_PATH(access(path, native_int(c, argv[1]))); }
NATIVE(mkdir_) { WITH_PATH(mkdir(path, mode(c, argv[1]))); }
NATIVE(rmdir_) { WITH_PATH(rmdir(path)); }
NATIVE(unlink_) { WITH_PATH(unlink(path)); }
NATIVE(chmod_) { WITH_PATH(chmod(path, mode(c, argv[1]))); }
NATIVE(chown_) { WITH_PATH(chown(path, id(c, argv[1]), id(c, argv[2]))); }
NATIVE(lchown_) { WITH_PATH(lchown(path, id(c, argv[1]), id(c, argv[2]))); }
NATIVE(chdir_) { WITH_PATH(chdir(path)); }
NATIVE(truncate_) { WITH_PATH(truncate(path, native_integer(c, argv[1]))); }
NATIVE(rename_) { WITH_PATHS(rename(path, other)); }
NATIVE(link_) { WITH_PATHS(link(path, other)); }
NATIVE(symlink_) { WITH_PATHS(symlink(path, other)); }

NATIVE(close_) { return native_result(c, close(native_int(c, argv[0]))); }
NATIVE(fchmod_) { return native_result(c, fchmod(native_int(c, argv[0]), mode(c, argv[1]))); }
NATIVE(fchown_) { return native_result(c, fchown(native_int(c, argv[0]), id(c, argv[1]), id(c, argv[2]))); }
NATIVE(ftruncate_) { return native_result(c, ftruncate(native_int(c, argv[0]), native_integer(c, argv[1]))); }
NATIVE(fsync_) { return native_result(c, fsync(native_int(c, argv[0]))); }
NATIVE(fdatasync_) { return native_result(c, fdatasync(native_int(c, argv[0]))); }
NATIVE(isatty_) { return JS_NewBool(c, isatty(native_int(c, argv[0]))); }
NATIVE(umask_) { return native_result(c, umask(mode(c, argv[0]))); }

NATIVE(setBlocking) {
  int fd = native_int(c, argv[0]), flags = fcntl(fd, F_GETFL);
  if (flags < 0) return native_result(c, -1);
  flags = JS_ToBool(c, argv[1]) ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  return native_result(c, fcntl(fd, F_SETFL, flags));
}

/* ---- bytes ---- */

typedef struct {
  uint8_t *data;
  size_t len;
  int64_t position; /* below 0: where the file is */
} span;

/* (fd, bytes, offset, length, position) */
static span span_of(JSContext *c, JSValueConst *argv) {
  size_t whole;
  uint8_t *data = native_bytes(c, argv[1], &whole);
  int64_t offset = native_integer(c, argv[2]), len = native_integer(c, argv[3]);
  if (offset < 0 || (size_t)offset > whole) offset = (int64_t)whole;
  if (len < 0 || (size_t)len > whole - (size_t)offset) len = (int64_t)(whole - (size_t)offset);
  bool here = !JS_IsNumber(argv[4]) && !JS_IsBigInt(argv[4]);
  return (span){ data ? data + offset : data, (size_t)len, here ? -1 : native_integer(c, argv[4]) };
}

NATIVE(read_) {
  span s = span_of(c, argv);
  int fd = native_int(c, argv[0]);
  return native_result(c, s.position < 0 ? read(fd, s.data, s.len) : pread(fd, s.data, s.len, s.position));
}

NATIVE(write_) {
  span s = span_of(c, argv);
  int fd = native_int(c, argv[0]);
  return native_result(c, s.position < 0 ? write(fd, s.data, s.len) : pwrite(fd, s.data, s.len, s.position));
}

/* All that is left of a file: an ArrayBuffer, or -errno. */
NATIVE(readAll) {
  int fd = native_int(c, argv[0]);
  struct stat st;
  size_t len = 0, cap = fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size + 1 : 16384;
  uint8_t *data = js_malloc(c, cap);
  while (data) {
    ssize_t got = read(fd, data + len, cap - len);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      JSValue failed = native_result(c, -1);
      js_free(c, data);
      return failed;
    }
    if (got == 0) return native_buffer(c, data, len);
    len += (size_t)got;
    if (len < cap) continue;
    cap *= 2;
    uint8_t *grown = js_realloc(c, data, cap);
    if (!grown) js_free(c, data);
    data = grown;
  }
  return JS_EXCEPTION;
}

/* ---- names ---- */

static JSValue new_bytes(JSContext *c, const char *text, size_t len) {
  return JS_NewArrayBufferCopy(c, (const uint8_t *)text, len);
}

/* The answer is a path: as bytes, for it need not be UTF-8. */
NATIVE(readlink_) {
  char target[PATH_MAX], *path = native_path(c, argv[0]);
  if (!path) return JS_EXCEPTION;
  ssize_t len = readlink(path, target, sizeof target);
  JSValue value = len < 0 ? native_result(c, -1) : new_bytes(c, target, (size_t)len);
  js_free(c, path);
  return value;
}

NATIVE(realpath_) {
  char real[PATH_MAX], *path = native_path(c, argv[0]);
  if (!path) return JS_EXCEPTION;
  JSValue value = realpath(path, real) ? new_bytes(c, real, strlen(real)) : native_result(c, -1);
  js_free(c, path);
  return value;
}

NATIVE(mkdtemp_) {
  char *path = native_path(c, argv[0]);
  if (!path) return JS_EXCEPTION;
  JSValue value = mkdtemp(path) ? new_bytes(c, path, strlen(path)) : native_result(c, -1);
  js_free(c, path);
  return value;
}

NATIVE(getcwd_) {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) ? JS_NewString(c, path) : native_result(c, -1);
}

/* UV_DIRENT_* of a name's type. */
static int kind_of(unsigned char type) {
  switch (type) {
  case DT_REG: return 1;
  case DT_DIR: return 2;
  case DT_LNK: return 3;
  case DT_FIFO: return 4;
  case DT_SOCK: return 5;
  case DT_CHR: return 6;
  case DT_BLK: return 7;
  default: return 0;
  }
}

/* [name as bytes, kind, …], sorted by nothing. */
NATIVE(readdir_) {
  char *path = native_path(c, argv[0]);
  if (!path) return JS_EXCEPTION;
  DIR *dir = opendir(path);
  JSValue list = dir ? JS_NewArray(c) : native_result(c, -1);
  js_free(c, path);
  uint32_t count = 0;
  for (struct dirent *e; dir && (e = readdir(dir));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    JS_SetPropertyUint32(c, list, count++, new_bytes(c, e->d_name, strlen(e->d_name)));
    JS_SetPropertyUint32(c, list, count++, JS_NewInt32(c, kind_of(e->d_type)));
  }
  if (dir) closedir(dir);
  return list;
}

/* ---- times ---- */

static struct timespec seconds(JSContext *c, JSValueConst value) {
  double time = 0;
  JS_ToFloat64(c, &time, value);
  double whole = floor(time);
  return (struct timespec){ (time_t)whole, (long)((time - whole) * 1e9) };
}

/* (path, atime, mtime, follow) */
NATIVE(utimes) {
  struct timespec times[] = { seconds(c, argv[1]), seconds(c, argv[2]) };
  int flags = JS_ToBool(c, argv[3]) ? 0 : AT_SYMLINK_NOFOLLOW;
  WITH_PATH(utimensat(AT_FDCWD, path, times, flags));
}

NATIVE(futimes) {
  struct timespec times[] = { seconds(c, argv[1]), seconds(c, argv[2]) };
  return native_result(c, futimens(native_int(c, argv[0]), times));
}

#define CALL(name, count) JS_CFUNC_DEF(#name, count, name##_)

static const JSCFunctionListEntry functions[] = {
  CALL(open, 3),       CALL(access, 2),      CALL(mkdir, 2),   CALL(rmdir, 1),           CALL(unlink, 1),
  CALL(chmod, 2),      CALL(chown, 3),       CALL(lchown, 3),  CALL(chdir, 1),           CALL(truncate, 2),
  CALL(rename, 2),     CALL(link, 2),        CALL(symlink, 2), CALL(close, 1),           CALL(fchmod, 2),
  CALL(fchown, 3),     CALL(ftruncate, 2),   CALL(fsync, 1),   CALL(fdatasync, 1),       CALL(isatty, 1),
  CALL(umask, 1),      CALL(read, 5),        CALL(write, 5),   CALL(readlink, 1),        CALL(realpath, 1),
  CALL(mkdtemp, 1),    CALL(getcwd, 0),      CALL(readdir, 1), FUNCTION(setBlocking, 2), FUNCTION(readAll, 1),
  FUNCTION(utimes, 4), FUNCTION(futimes, 3),
};

void native_add_files(JSContext *c, JSValueConst into) { ADD(into, functions); }
