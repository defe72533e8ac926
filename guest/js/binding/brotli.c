/* Streams of Brotli, both ways. */
#include "native.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <string.h>

typedef struct {
  BrotliEncoderState *encoder; /* one of the two, */
  BrotliDecoderState *decoder; /* none when it is closed */
  BrotliEncoderPreparedDictionary *prepared;
  uint8_t *dictionary;
  size_t dictionary_len;
} brotli;

static JSClassID brotli_class;

static void brotli_end(brotli *s) {
  if (s->encoder) BrotliEncoderDestroyInstance(s->encoder);
  if (s->decoder) BrotliDecoderDestroyInstance(s->decoder);
  if (s->prepared) BrotliEncoderDestroyPreparedDictionary(s->prepared);
  s->encoder = NULL;
  s->decoder = NULL;
  s->prepared = NULL;
}

static void brotli_finalize(JSRuntime *rt, JSValueConst value) {
  brotli *s = JS_GetOpaque(value, brotli_class);
  if (!s) return;
  brotli_end(s);
  js_free_rt(rt, s->dictionary);
  js_free_rt(rt, s);
}

static bool brotli_take_dictionary(JSContext *c, brotli *s, JSValueConst value) {
  size_t len;
  const uint8_t *dictionary = native_bytes(c, value, &len);
  if (!dictionary) return true;
  if (!(s->dictionary = js_malloc(c, len ? len : 1))) return false;
  memcpy(s->dictionary, dictionary, len);
  s->dictionary_len = len;
  if (s->decoder)
    return BrotliDecoderAttachDictionary(s->decoder, BROTLI_SHARED_DICTIONARY_RAW, len, s->dictionary);
  s->prepared = BrotliEncoderPrepareDictionary(BROTLI_SHARED_DICTIONARY_RAW, len, s->dictionary,
                                               BROTLI_MAX_QUALITY, NULL, NULL, NULL);
  return s->prepared && BrotliEncoderAttachPreparedDictionary(s->encoder, s->prepared);
}

/* brotliStream(does it compress, dictionary): a stream, or undefined when it cannot be made */
NATIVE(brotliStream) {
  brotli *s = js_mallocz(c, sizeof *s);
  if (!s) return JS_EXCEPTION;
  if (JS_ToBool(c, argv[0]))
    s->encoder = BrotliEncoderCreateInstance(NULL, NULL, NULL);
  else
    s->decoder = BrotliDecoderCreateInstance(NULL, NULL, NULL);
  bool made = (s->encoder || s->decoder) && brotli_take_dictionary(c, s, argv[1]);
  JSValue object = made ? JS_NewObjectClass(c, (int)brotli_class) : JS_UNDEFINED;
  if (JS_IsObject(object)) {
    JS_SetOpaque(object, s);
    return object;
  }
  brotli_end(s);
  js_free(c, s->dictionary);
  js_free(c, s);
  return object;
}

/* brotliTune(stream, parameter, number): is it one, and does it allow that number? */
NATIVE(brotliTune) {
  brotli *s = JS_GetOpaque2(c, argv[0], brotli_class);
  if (!s) return JS_EXCEPTION;
  int name = native_int(c, argv[1]);
  uint32_t value = (uint32_t)native_integer(c, argv[2]);
  if (s->encoder)
    return JS_NewBool(c, BrotliEncoderSetParameter(s->encoder, (BrotliEncoderParameter)name, value));
  return JS_NewBool(c,
                    s->decoder && BrotliDecoderSetParameter(s->decoder, (BrotliDecoderParameter)name, value));
}

/* brotliWrite(stream, operation, in, offset, length, out, offset, length): [result, room left, input left, code, text]. Of a compressor
 * the result is truth, of the other BROTLI_DECODER_RESULT_*, and code and text are those of its error. */
NATIVE(brotliWrite) {
  brotli *s = JS_GetOpaque2(c, argv[0], brotli_class);
  if (!s) return JS_EXCEPTION;
  native_flow f = native_flow_of(c, argv + 2);
  int result = 0;
  if (s->encoder)
    result = BrotliEncoderCompressStream(s->encoder, (BrotliEncoderOperation)native_int(c, argv[1]),
                                         &f.in_len, &f.in, &f.out_len, &f.out, NULL);
  else if (s->decoder)
    result = (int)BrotliDecoderDecompressStream(s->decoder, &f.in_len, &f.in, &f.out_len, &f.out, NULL);
  JSValue list = native_flow_list(c, result, &f);
  if (!s->decoder || result != BROTLI_DECODER_RESULT_ERROR) return list;
  BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(s->decoder);
  JS_SetPropertyUint32(c, list, 3, JS_NewInt32(c, (int)code));
  JS_SetPropertyUint32(c, list, 4, JS_NewString(c, BrotliDecoderErrorString(code)));
  return list;
}

NATIVE(brotliClose) {
  brotli *s = JS_GetOpaque2(c, argv[0], brotli_class);
  if (!s) return JS_EXCEPTION;
  brotli_end(s);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(brotliStream, 2),
  FUNCTION(brotliTune, 3),
  FUNCTION(brotliWrite, 8),
  FUNCTION(brotliClose, 1),
};

void native_add_brotli(JSContext *c, JSValueConst into) {
  static const JSClassDef definition = { .class_name = "Brotli", .finalizer = brotli_finalize };
  JSRuntime *rt = JS_GetRuntime(c);
  JS_NewClass(rt, JS_NewClassID(rt, &brotli_class), &definition);
  ADD(into, functions);
}
