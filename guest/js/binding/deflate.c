/* Streams of zlib: deflate, gzip, and back. */
#include "native.h"

#include <string.h>
#include <zlib.h>

/* As Node numbers them. */
enum mode { DEFLATE = 1, INFLATE, GZIP, GUNZIP, DEFLATERAW, INFLATERAW, UNZIP };

typedef struct {
  z_stream z;
  enum mode mode;
  uint8_t *dictionary;
  size_t dictionary_len;
  bool ready;
  bool one_member; /* bytes behind the end of a gzip are not another one */
  enum { UNKNOWN, FIRST_BYTE, GZIP_MEMBERS, NO_MEMBERS } seen; /* of the head that tells gzip from deflate */
} stream;

static JSClassID stream_class;

static bool deflates(const stream *s) {
  return s->mode == DEFLATE || s->mode == GZIP || s->mode == DEFLATERAW;
}

static void stream_end(stream *s) {
  if (s->ready) deflates(s) ? deflateEnd(&s->z) : inflateEnd(&s->z);
  s->ready = false;
}

static void stream_finalize(JSRuntime *rt, JSValueConst value) {
  stream *s = JS_GetOpaque(value, stream_class);
  if (!s) return;
  stream_end(s);
  js_free_rt(rt, s->dictionary);
  js_free_rt(rt, s);
}

static int window_of(const stream *s, int bits) {
  if (s->mode == GZIP || s->mode == GUNZIP) return bits + 16;
  if (s->mode == UNZIP) return bits + 32;
  return s->mode == DEFLATERAW || s->mode == INFLATERAW ? -bits : bits;
}

static int give_dictionary(stream *s) {
  if (!s->dictionary) return Z_OK;
  if (deflates(s)) return deflateSetDictionary(&s->z, s->dictionary, (uInt)s->dictionary_len);
  return s->mode == INFLATERAW ? inflateSetDictionary(&s->z, s->dictionary, (uInt)s->dictionary_len) : Z_OK;
}

/* zlibStream(mode, window bits, level, memory level, strategy, dictionary, one member): a stream, or what zlib answered */
NATIVE(zlibStream) {
  size_t len;
  const uint8_t *dictionary = native_bytes(c, argv[5], &len);
  stream *s = js_mallocz(c, sizeof *s);
  if (!s) return JS_EXCEPTION;
  s->mode = (enum mode)native_int(c, argv[0]);
  s->one_member = JS_ToBool(c, argv[6]);
  s->seen = s->mode == GUNZIP ? GZIP_MEMBERS : s->mode == UNZIP ? UNKNOWN : NO_MEMBERS;
  if (dictionary && (s->dictionary = js_malloc(c, len ? len : 1))) {
    memcpy(s->dictionary, dictionary, len);
    s->dictionary_len = len;
  }
  int window = window_of(s, native_int(c, argv[1])), made;
  if (deflates(s))
    made = deflateInit2(&s->z, native_int(c, argv[2]), Z_DEFLATED, window, native_int(c, argv[3]),
                        native_int(c, argv[4]));
  else
    made = inflateInit2(&s->z, window);
  s->ready = made == Z_OK;
  if (s->ready) made = give_dictionary(s);
  JSValue object = made == Z_OK ? JS_NewObjectClass(c, (int)stream_class) : JS_NewInt32(c, made);
  if (JS_IsObject(object)) {
    JS_SetOpaque(object, s);
    return object;
  }
  stream_end(s);
  js_free(c, s->dictionary);
  js_free(c, s);
  return object;
}

/* Several members of gzip in a row are one text; zeros behind them are none. */
static bool next_member(const stream *s, int result) {
  return result == Z_STREAM_END && s->seen == GZIP_MEMBERS && !s->one_member && s->z.avail_in > 0 &&
         s->z.next_in[0] != 0;
}

/* The first two bytes say whether it is gzip; they may come one by one. */
static void look_at_head(stream *s) {
  const Bytef *at = s->z.next_in, *end = at + s->z.avail_in;
  if (s->seen == UNKNOWN && at < end) s->seen = *at++ == 0x1f ? FIRST_BYTE : NO_MEMBERS;
  if (s->seen == FIRST_BYTE && at < end) s->seen = *at == 0x8b ? GZIP_MEMBERS : NO_MEMBERS;
}

static int step(stream *s, int flush) {
  if (deflates(s)) return deflate(&s->z, flush);
  look_at_head(s);
  int result = inflate(&s->z, flush);
  if (result == Z_NEED_DICT && s->dictionary) {
    if (inflateSetDictionary(&s->z, s->dictionary, (uInt)s->dictionary_len) != Z_OK) return Z_NEED_DICT;
    result = inflate(&s->z, flush);
  }
  while (next_member(s, result) && s->z.avail_out > 0 && inflateReset(&s->z) == Z_OK)
    result = inflate(&s->z, flush);
  return result;
}

/* zlibWrite(stream, flush, in, offset, length, out, offset, length): [result, room left, input left, message] */
NATIVE(zlibWrite) {
  stream *s = JS_GetOpaque2(c, argv[0], stream_class);
  if (!s) return JS_EXCEPTION;
  native_flow f = native_flow_of(c, argv + 2);
  s->z.next_in = (Bytef *)f.in;
  s->z.avail_in = (uInt)f.in_len;
  s->z.next_out = f.out;
  s->z.avail_out = (uInt)f.out_len;
  s->z.msg = NULL;
  int result = s->ready ? step(s, native_int(c, argv[1])) : Z_STREAM_ERROR;
  f.out_len = s->z.avail_out;
  f.in_len = s->z.avail_in;
  JSValue list = native_flow_list(c, result, &f);
  if (s->z.msg) JS_SetPropertyUint32(c, list, 3, JS_NewString(c, s->z.msg));
  return list;
}

NATIVE(zlibAgain) {
  stream *s = JS_GetOpaque2(c, argv[0], stream_class);
  if (!s) return JS_EXCEPTION;
  int result = !s->ready ? Z_STREAM_ERROR : deflates(s) ? deflateReset(&s->z) : inflateReset(&s->z);
  return JS_NewInt32(c, result == Z_OK ? give_dictionary(s) : result);
}

NATIVE(zlibTune) {
  stream *s = JS_GetOpaque2(c, argv[0], stream_class);
  if (!s) return JS_EXCEPTION;
  return JS_NewInt32(c, s->ready && deflates(s)
                            ? deflateParams(&s->z, native_int(c, argv[1]), native_int(c, argv[2]))
                            : Z_OK);
}

NATIVE(zlibClose) {
  stream *s = JS_GetOpaque2(c, argv[0], stream_class);
  if (!s) return JS_EXCEPTION;
  stream_end(s);
  return JS_UNDEFINED;
}

/* crc32(bytes, start) */
NATIVE(checksum) {
  size_t len;
  const uint8_t *data = native_bytes(c, argv[0], &len);
  return JS_NewUint32(c, (uint32_t)crc32((uLong)native_integer(c, argv[1]), data, (uInt)len));
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(zlibStream, 7), FUNCTION(zlibWrite, 8), FUNCTION(zlibAgain, 1),
  FUNCTION(zlibTune, 3),   FUNCTION(zlibClose, 1), FUNCTION(checksum, 2),
};

void native_add_deflate(JSContext *c, JSValueConst into) {
  static const JSClassDef definition = { .class_name = "Deflate", .finalizer = stream_finalize };
  JSRuntime *rt = JS_GetRuntime(c);
  JS_NewClass(rt, JS_NewClassID(rt, &stream_class), &definition);
  ADD(into, functions);
}
