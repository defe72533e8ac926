#include "native.h"

#include <errno.h>
#include <math.h>
#include <string.h>

int64_t native_integer(JSContext *c, JSValueConst value) {
  double number = 0;
  if (JS_IsBigInt(value)) {
    int64_t big = 0;
    JS_ToBigInt64(c, &big, value);
    return big;
  }
  if (!JS_IsNumber(value) && !JS_IsBool(value)) return 0;
  JS_ToFloat64(c, &number, value);
  return isfinite(number) && fabs(number) < 9007199254740992.0 ? (int64_t)number : 0;
}

JSValue native_result(JSContext *c, int64_t result) { return JS_NewInt64(c, result < 0 ? -errno : result); }

static uint8_t *buffer_bytes(JSContext *c, JSValueConst buffer, size_t *len) {
  uint8_t *data = JS_GetArrayBuffer(c, len, buffer);
  if (data) return data;
  JS_FreeValue(c, JS_GetException(c));
  *len = 0;
  return NULL;
}

static size_t view_number(JSContext *c, JSValueConst view, const char *name) {
  JSValue value = JS_GetPropertyStr(c, view, name);
  if (JS_IsException(value)) value = JS_GetException(c);
  int64_t number = native_integer(c, value);
  JS_FreeValue(c, value);
  return number < 0 ? 0 : (size_t)number;
}

/* Of a typed array the engine says where it lies; a DataView has to be asked. */
uint8_t *native_bytes(JSContext *c, JSValueConst value, size_t *len) {
  size_t offset = 0, whole = 0, width;
  *len = 0;
  if (!JS_IsObject(value)) return NULL;
  if (JS_IsArrayBuffer(value)) return buffer_bytes(c, value, len);
  JSValue buffer;
  if (JS_GetTypedArrayType(value) >= 0) {
    buffer = JS_GetTypedArrayBuffer(c, value, &offset, len, &width);
  } else {
    buffer = JS_GetPropertyStr(c, value, "buffer");
    if (JS_IsUndefined(buffer)) return buffer_bytes(c, value, len); /* a SharedArrayBuffer, or nothing */
    offset = view_number(c, value, "byteOffset");
    *len = view_number(c, value, "byteLength");
  }
  if (JS_IsException(buffer)) buffer = JS_GetException(c);
  uint8_t *data = JS_IsObject(buffer) ? buffer_bytes(c, buffer, &whole) : NULL;
  JS_FreeValue(c, buffer);
  if (data && offset <= whole && *len <= whole - offset) return data + offset;
  *len = 0;
  return NULL;
}

static size_t flow_within(JSContext *c, JSValueConst value, size_t max) {
  int64_t number = native_integer(c, value);
  return number < 0 ? 0 : (uint64_t)number > max ? max : (size_t)number;
}

native_flow native_flow_of(JSContext *c, JSValueConst *argv) {
  native_flow f;
  size_t in_len, out_len;
  uint8_t *in = native_bytes(c, argv[0], &in_len), *out = native_bytes(c, argv[3], &out_len);
  size_t in_at = flow_within(c, argv[1], in_len), out_at = flow_within(c, argv[4], out_len);
  f.in = in ? in + in_at : in;
  f.in_len = flow_within(c, argv[2], in_len - in_at);
  f.out = out ? out + out_at : out;
  f.out_len = flow_within(c, argv[5], out_len - out_at);
  return f;
}

JSValue native_flow_list(JSContext *c, int result, const native_flow *f) {
  const int64_t numbers[] = { result, (int64_t)f->out_len, (int64_t)f->in_len };
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < 3; i++) JS_SetPropertyUint32(c, list, i, JS_NewInt64(c, numbers[i]));
  return list;
}

JSValue native_by_name(JSContext *c, JSValueConst name, JSValue (*find)(JSContext *c, const char *name)) {
  const char *text = JS_ToCString(c, name);
  JSValue found = text ? find(c, text) : JS_EXCEPTION;
  JS_FreeCString(c, text);
  return found;
}

char *native_path(JSContext *c, JSValueConst value) {
  size_t len;
  const char *text = NULL;
  const uint8_t *bytes = JS_IsObject(value) ? native_bytes(c, value, &len) : NULL;
  if (!bytes && !(text = JS_ToCStringLen(c, &len, value))) return NULL;
  const void *from = bytes ? (const void *)bytes : text;
  char *path = memchr(from, 0, len) ? NULL : js_malloc(c, len + 1);
  if (path) {
    memcpy(path, from, len);
    path[len] = 0;
  } else if (!JS_HasException(c)) {
    JS_ThrowTypeError(c, "a path has a zero in it");
  }
  if (text) JS_FreeCString(c, text);
  return path;
}

uint32_t native_length(JSContext *c, JSValueConst array) {
  int64_t len = 0;
  if (JS_GetLength(c, array, &len) < 0) JS_FreeValue(c, JS_GetException(c));
  return len < 0 || len > INT32_MAX ? 0 : (uint32_t)len;
}

char **native_strings(JSContext *c, JSValueConst array) {
  uint32_t count = native_length(c, array);
  char **strings = js_mallocz(c, (count + 1) * sizeof *strings);
  for (uint32_t i = 0; strings && i < count; i++) {
    JSValue value = JS_GetPropertyUint32(c, array, i);
    strings[i] = native_path(c, value);
    JS_FreeValue(c, value);
    if (strings[i]) continue;
    native_free_strings(c, strings);
    return NULL;
  }
  return strings;
}

void native_free_strings(JSContext *c, char **strings) {
  for (char **s = strings; s && *s; s++) js_free(c, *s);
  js_free(c, strings);
}

static void *resize_buffer(JSRuntime *rt, void *opaque, void *data, size_t len) {
  (void)opaque;
  if (len) return js_realloc_rt(rt, data, len);
  js_free_rt(rt, data);
  return NULL;
}

JSValue native_buffer(JSContext *c, uint8_t *data, size_t len) {
  return JS_NewArrayBuffer(c, data, len, 0, resize_buffer, NULL, false);
}
