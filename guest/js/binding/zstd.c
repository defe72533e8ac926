/* Streams of Zstandard, both ways. */
#include "native.h"

#include <zstd.h>
#include <zstd_errors.h>

typedef struct {
  ZSTD_CCtx *packer;   /* one of the two, */
  ZSTD_DCtx *unpacker; /* none when it is closed */
} zstd;

static JSClassID zstd_class;

static void zstd_end(zstd *s) {
  ZSTD_freeCCtx(s->packer);
  ZSTD_freeDCtx(s->unpacker);
  *s = (zstd){ 0 };
}

static void zstd_finalize(JSRuntime *rt, JSValueConst value) {
  zstd *s = JS_GetOpaque(value, zstd_class);
  if (!s) return;
  zstd_end(s);
  js_free_rt(rt, s);
}

/* The number of zstd's errors, 0: none. */
static int zstd_code(size_t result) { return ZSTD_isError(result) ? (int)ZSTD_getErrorCode(result) : 0; }

static int zstd_prepare(JSContext *c, zstd *s, JSValueConst size, JSValueConst dictionary) {
  size_t len, result = 0;
  const uint8_t *bytes = native_bytes(c, dictionary, &len);
  if (s->packer && JS_IsNumber(size))
    result = ZSTD_CCtx_setPledgedSrcSize(s->packer, (unsigned long long)native_integer(c, size));
  if (!ZSTD_isError(result) && bytes)
    result = s->packer ? ZSTD_CCtx_loadDictionary(s->packer, bytes, len)
                       : ZSTD_DCtx_loadDictionary(s->unpacker, bytes, len);
  return zstd_code(result);
}

/* zstdStream(does it compress, how much will come or undefined, dictionary): a stream, or undefined */
NATIVE(zstdStream) {
  zstd *s = js_mallocz(c, sizeof *s);
  if (!s) return JS_EXCEPTION;
  if (JS_ToBool(c, argv[0]))
    s->packer = ZSTD_createCCtx();
  else
    s->unpacker = ZSTD_createDCtx();
  bool made = (s->packer || s->unpacker) && zstd_prepare(c, s, argv[1], argv[2]) == 0;
  JSValue object = made ? JS_NewObjectClass(c, (int)zstd_class) : JS_UNDEFINED;
  if (JS_IsObject(object)) {
    JS_SetOpaque(object, s);
    return object;
  }
  zstd_end(s);
  js_free(c, s);
  return object;
}

/* zstdTune(stream, parameter, number): the number of its error, 0: none */
NATIVE(zstdTune) {
  zstd *s = JS_GetOpaque2(c, argv[0], zstd_class);
  if (!s) return JS_EXCEPTION;
  int name = native_int(c, argv[1]), value = (int)native_integer(c, argv[2]);
  if (s->packer)
    return JS_NewInt32(c, zstd_code(ZSTD_CCtx_setParameter(s->packer, (ZSTD_cParameter)name, value)));
  if (s->unpacker)
    return JS_NewInt32(c, zstd_code(ZSTD_DCtx_setParameter(s->unpacker, (ZSTD_dParameter)name, value)));
  return JS_NewInt32(c, ZSTD_error_init_missing);
}

/* zstdWrite(stream, operation, in, offset, length, out, offset, length): [bytes still to come or 0, room left, input left, code, text]; code
 * and text of an error. */
NATIVE(zstdWrite) {
  zstd *s = JS_GetOpaque2(c, argv[0], zstd_class);
  if (!s) return JS_EXCEPTION;
  native_flow f = native_flow_of(c, argv + 2);
  ZSTD_inBuffer in = { f.in, f.in_len, 0 };
  ZSTD_outBuffer out = { f.out, f.out_len, 0 };
  size_t left = 0;
  if (s->packer)
    left = ZSTD_compressStream2(s->packer, &out, &in, (ZSTD_EndDirective)native_int(c, argv[1]));
  else if (s->unpacker)
    left = ZSTD_decompressStream(s->unpacker, &out, &in);
  f.in_len -= in.pos;
  f.out_len -= out.pos;
  int code = zstd_code(left);
  JSValue list = native_flow_list(c, code ? 0 : left > INT32_MAX ? INT32_MAX : (int)left, &f);
  if (!code) return list;
  JS_SetPropertyUint32(c, list, 3, JS_NewInt32(c, code));
  JS_SetPropertyUint32(c, list, 4, JS_NewString(c, ZSTD_getErrorString((ZSTD_ErrorCode)code)));
  return list;
}

NATIVE(zstdClose) {
  zstd *s = JS_GetOpaque2(c, argv[0], zstd_class);
  if (!s) return JS_EXCEPTION;
  zstd_end(s);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(zstdStream, 3),
  FUNCTION(zstdTune, 3),
  FUNCTION(zstdWrite, 8),
  FUNCTION(zstdClose, 1),
};

void native_add_zstd(JSContext *c, JSValueConst into) {
  static const JSClassDef definition = { .class_name = "Zstd", .finalizer = zstd_finalize };
  JSRuntime *rt = JS_GetRuntime(c);
  JS_NewClass(rt, JS_NewClassID(rt, &zstd_class), &definition);
  ADD(into, functions);
}
