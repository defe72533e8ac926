/* What the system knows of files and of file systems. */
#define _GNU_SOURCE
#include "native.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

enum { FIELDS = 18 };

/* In the order of Node's binding. The system does not say when a file was born. */
static void fields_of(const struct stat *s, int64_t out[FIELDS]) {
  const int64_t fields[FIELDS] = {
    (int64_t)s->st_dev,  (int64_t)s->st_mode,   (int64_t)s->st_nlink,   (int64_t)s->st_uid,
    (int64_t)s->st_gid,  (int64_t)s->st_rdev,   (int64_t)s->st_blksize, (int64_t)s->st_ino,
    (int64_t)s->st_size, (int64_t)s->st_blocks, s->st_atim.tv_sec,      s->st_atim.tv_nsec,
    s->st_mtim.tv_sec,   s->st_mtim.tv_nsec,    s->st_ctim.tv_sec,      s->st_ctim.tv_nsec,
    s->st_ctim.tv_sec,   s->st_ctim.tv_nsec,
  };
  memcpy(out, fields, sizeof fields);
}

/* Into a Float64Array or a BigInt64Array of 18. */
static bool put_fields(JSContext *c, JSValueConst into, const struct stat *s) {
  int64_t fields[FIELDS];
  size_t len;
  uint8_t *data = native_bytes(c, into, &len);
  if (!data || len < sizeof fields) return false;
  fields_of(s, fields);
  if (JS_GetTypedArrayType(into) == JS_TYPED_ARRAY_BIG_INT64) {
    memcpy(data, fields, sizeof fields);
    return true;
  }
  for (size_t i = 0; i < FIELDS; i++) {
    double number = (double)fields[i];
    memcpy(data + i * sizeof number, &number, sizeof number);
  }
  return true;
}

static JSValue answer(JSContext *c, int result, const struct stat *s, JSValueConst into) {
  if (result < 0) return native_result(c, -1);
  return put_fields(c, into, s) ? JS_NewInt32(c, 0) : JS_ThrowTypeError(c, "18 fields are needed");
}

/* stat(path, into, follow) */
NATIVE(stat_) {
  struct stat s;
  char *path = native_path(c, argv[0]);
  if (!path) return JS_EXCEPTION;
  int result = JS_ToBool(c, argv[2]) ? stat(path, &s) : lstat(path, &s);
  JSValue value = answer(c, result, &s, argv[1]);
  js_free(c, path);
  return value;
}

NATIVE(fstat_) {
  struct stat s;
  return answer(c, fstat(native_int(c, argv[0]), &s), &s, argv[1]);
}

/* The mode, or -errno. */
NATIVE(modeOf) {
  struct stat s;
  char *path = native_path(c, argv[0]);
  if (!path) return JS_EXCEPTION;
  int result = stat(path, &s);
  JSValue value = native_result(c, result < 0 ? -1 : (int64_t)s.st_mode);
  js_free(c, path);
  return value;
}

NATIVE(modeOfDescriptor) {
  struct stat s;
  return native_result(c, fstat(native_int(c, argv[0]), &s) < 0 ? -1 : (int64_t)s.st_mode);
}

/* [type, bsize, blocks, bfree, bavail, files, ffree], or -errno */
NATIVE(statfs_) {
  struct statfs s;
  char *path = native_path(c, argv[0]);
  if (!path) return JS_EXCEPTION;
  int result = statfs(path, &s);
  JSValue value = native_result(c, result);
  js_free(c, path);
  if (result < 0) return value;
  const double fields[] = { (double)s.f_type,   (double)s.f_bsize, (double)s.f_blocks, (double)s.f_bfree,
                            (double)s.f_bavail, (double)s.f_files, (double)s.f_ffree };
  value = JS_NewArray(c);
  for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++)
    JS_SetPropertyUint32(c, value, i, JS_NewFloat64(c, fields[i]));
  return value;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("stat", 3, stat_), JS_CFUNC_DEF("fstat", 2, fstat_),   FUNCTION(modeOf, 1),
  FUNCTION(modeOfDescriptor, 1),  JS_CFUNC_DEF("statfs", 1, statfs_),
};

void native_add_stat(JSContext *c, JSValueConst into) { ADD(into, functions); }
