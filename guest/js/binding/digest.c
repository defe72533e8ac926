/* Digests, message authentication and keys from passwords, by OpenSSL. Randomness comes from the system alone. */
#include "native.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <string.h>

/* ---- digests ---- */

static JSClassID digest_class, mac_class;

static void digest_finalize(JSRuntime *rt, JSValueConst value) {
  (void)rt;
  EVP_MD_CTX_free(JS_GetOpaque(value, digest_class));
}

static void mac_finalize(JSRuntime *rt, JSValueConst value) {
  (void)rt;
  EVP_MAC_CTX_free(JS_GetOpaque(value, mac_class));
}

/* Room for a result of `len` bytes, which may be none. NULL with an exception. */
static uint8_t *result_new(JSContext *c, size_t len) { return js_malloc(c, len ? len : 1); }

/* The result as a buffer that owns it; undefined when it was not made. `data` is of result_new. */
static JSValue result_give(JSContext *c, uint8_t *data, size_t len, bool made) {
  if (!data) return JS_EXCEPTION;
  if (made) return native_buffer(c, data, len);
  js_free(c, data);
  return JS_UNDEFINED;
}

/* An object that owns `context`. */
static JSValue wrap(JSContext *c, JSClassID class, void *context) {
  JSValue object = JS_NewObjectClass(c, (int)class);
  if (!JS_IsException(object)) JS_SetOpaque(object, context);
  return object;
}

/* The context of a digest, which may have failed to begin; as an object. */
static JSValue digest_object(JSContext *c, EVP_MD_CTX *context, bool begun) {
  if (begun) return wrap(c, digest_class, context);
  EVP_MD_CTX_free(context);
  return JS_UNDEFINED;
}

static JSValue digest_new(JSContext *c, const char *name) {
  EVP_MD *md = EVP_MD_fetch(NULL, name, NULL);
  EVP_MD_CTX *context = md ? EVP_MD_CTX_new() : NULL;
  bool begun = context && EVP_DigestInit_ex(context, md, NULL);
  EVP_MD_free(md);
  return digest_object(c, context, begun);
}

/* digestNew(name): undefined if there is no such digest */
NATIVE(digestNew) { return native_by_name(c, argv[0], digest_new); }

NATIVE(digestCopy) {
  EVP_MD_CTX *from = JS_GetOpaque2(c, argv[0], digest_class), *to = from ? EVP_MD_CTX_new() : NULL;
  if (!from) return JS_EXCEPTION;
  return digest_object(c, to, to && EVP_MD_CTX_copy_ex(to, from));
}

NATIVE(digestUpdate) {
  size_t len;
  EVP_MD_CTX *context = JS_GetOpaque2(c, argv[0], digest_class);
  const uint8_t *data = native_bytes(c, argv[1], &len);
  if (!context) return JS_EXCEPTION;
  return JS_NewBool(c, EVP_DigestUpdate(context, data, len));
}

/* digestFinal(digest, length): the length is for those that may have any; undefined if it cannot have it */
NATIVE(digestFinal) {
  EVP_MD_CTX *context = JS_GetOpaque2(c, argv[0], digest_class);
  if (!context) return JS_EXCEPTION;
  const EVP_MD *md = EVP_MD_CTX_get0_md(context);
  size_t size = (size_t)EVP_MD_get_size(md);
  bool any = EVP_MD_get_flags(md) & EVP_MD_FLAG_XOF;
  size_t want = JS_IsUndefined(argv[1]) ? size : (size_t)native_integer(c, argv[1]);
  if (want != size && !any) return JS_UNDEFINED;
  uint8_t *data = result_new(c, want);
  if (!data) return JS_EXCEPTION;
  if (!want) return result_give(c, data, 0, true);
  return result_give(c, data, want,
                     any ? EVP_DigestFinalXOF(context, data, want) : EVP_DigestFinal_ex(context, data, NULL));
}

static void add_name(EVP_MD *md, void *list) {
  char **names = list;
  for (size_t i = 0; i < 63; i++)
    if (!names[i]) {
      names[i] = (char *)(uintptr_t)EVP_MD_get0_name(md);
      return;
    }
}

NATIVE(digestNames) {
  char *names[64] = { 0 };
  EVP_MD_do_all_provided(NULL, add_name, names);
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; names[i]; i++) JS_SetPropertyUint32(c, list, i, JS_NewString(c, names[i]));
  return list;
}

/* ---- HMAC ---- */

/* hmacNew(digest, key) */
NATIVE(hmacNew) {
  size_t len;
  const char *name = JS_ToCString(c, argv[0]);
  const uint8_t *key = native_bytes(c, argv[1], &len);
  if (!name) return JS_EXCEPTION;
  EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
  OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string("digest", (char *)(uintptr_t)name, 0),
                          OSSL_PARAM_construct_end() };
  bool begun = context && EVP_MAC_init(context, key ? key : (const uint8_t *)"", len, params);
  EVP_MAC_free(mac);
  JS_FreeCString(c, name);
  if (begun) return wrap(c, mac_class, context);
  EVP_MAC_CTX_free(context);
  return JS_UNDEFINED;
}

NATIVE(hmacUpdate) {
  size_t len;
  EVP_MAC_CTX *context = JS_GetOpaque2(c, argv[0], mac_class);
  const uint8_t *data = native_bytes(c, argv[1], &len);
  if (!context) return JS_EXCEPTION;
  return JS_NewBool(c, !len || EVP_MAC_update(context, data, len));
}

NATIVE(hmacFinal) {
  EVP_MAC_CTX *context = JS_GetOpaque2(c, argv[0], mac_class);
  if (!context) return JS_EXCEPTION;
  size_t len = EVP_MAC_CTX_get_mac_size(context);
  uint8_t *data = result_new(c, len);
  return data ? result_give(c, data, len, EVP_MAC_final(context, data, &len, len)) : JS_EXCEPTION;
}

/* ---- keys from passwords ---- */

/* pbkdf2(password, salt, iterations, length, digest) */
NATIVE(pbkdf2) {
  size_t password_len, salt_len, len = (size_t)native_integer(c, argv[3]);
  const uint8_t *password = native_bytes(c, argv[0], &password_len),
                *salt = native_bytes(c, argv[1], &salt_len);
  const char *name = JS_ToCString(c, argv[4]);
  EVP_MD *md = name ? EVP_MD_fetch(NULL, name, NULL) : NULL;
  uint8_t *data = result_new(c, len);
  bool made = md && data &&
              (!len || PKCS5_PBKDF2_HMAC(password ? (const char *)password : "", (int)password_len, salt,
                                         (int)salt_len, native_int(c, argv[2]), md, (int)len, data));
  EVP_MD_free(md);
  JS_FreeCString(c, name);
  return result_give(c, data, len, made);
}

/* scrypt(password, salt, N, r, p, memory, length) */
NATIVE(scrypt) {
  size_t password_len, salt_len, len = (size_t)native_integer(c, argv[6]);
  const uint8_t *password = native_bytes(c, argv[0], &password_len),
                *salt = native_bytes(c, argv[1], &salt_len);
  uint64_t n[4];
  for (size_t i = 0; i < 4; i++) n[i] = (uint64_t)native_integer(c, argv[2 + i]);
  uint8_t *data = result_new(c, len);
  bool made = data && EVP_PBE_scrypt(password ? (const char *)password : "", password_len, salt, salt_len,
                                     n[0], n[1], n[2], n[3], len ? data : NULL, len ? len : 1);
  return result_give(c, data, len, made);
}

/* hkdf(digest, key, salt, info, length) */
NATIVE(hkdf) {
  size_t lens[3], len = (size_t)native_integer(c, argv[4]);
  uint8_t *parts[3], *data = result_new(c, len);
  const char *name = JS_ToCString(c, argv[0]);
  for (size_t i = 0; i < 3; i++) parts[i] = native_bytes(c, argv[1 + i], &lens[i]);
  OSSL_PARAM params[] = {
    OSSL_PARAM_construct_utf8_string("digest", (char *)(uintptr_t)name, 0),
    OSSL_PARAM_construct_octet_string("key", parts[0] ? parts[0] : (uint8_t *)"", lens[0]),
    OSSL_PARAM_construct_octet_string("salt", parts[1] ? parts[1] : (uint8_t *)"", lens[1]),
    OSSL_PARAM_construct_octet_string("info", parts[2] ? parts[2] : (uint8_t *)"", lens[2]),
    OSSL_PARAM_construct_end(),
  };
  EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
  EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
  bool made = name && data && context && (!len || EVP_KDF_derive(context, data, len, params) > 0);
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  JS_FreeCString(c, name);
  return result_give(c, data, len, made);
}

/* Of the same length; how long it takes says nothing about where they differ. */
NATIVE(equalBytes) {
  size_t a_len, b_len;
  const uint8_t *a = native_bytes(c, argv[0], &a_len), *b = native_bytes(c, argv[1], &b_len);
  return JS_NewBool(c, a_len == b_len && (!a_len || CRYPTO_memcmp(a, b, a_len) == 0));
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(digestNew, 1),   FUNCTION(digestCopy, 1), FUNCTION(digestUpdate, 2), FUNCTION(digestFinal, 2),
  FUNCTION(digestNames, 0), FUNCTION(hmacNew, 2),    FUNCTION(hmacUpdate, 2),   FUNCTION(hmacFinal, 1),
  FUNCTION(pbkdf2, 5),      FUNCTION(scrypt, 7),     FUNCTION(hkdf, 5),         FUNCTION(equalBytes, 2),
};

void native_add_digest(JSContext *c, JSValueConst into) {
  static const JSClassDef digest = { .class_name = "Digest", .finalizer = digest_finalize };
  static const JSClassDef mac = { .class_name = "Mac", .finalizer = mac_finalize };
  JSRuntime *rt = JS_GetRuntime(c);
  JS_NewClass(rt, JS_NewClassID(rt, &digest_class), &digest);
  JS_NewClass(rt, JS_NewClassID(rt, &mac_class), &mac);
  ADD(into, functions);
}
