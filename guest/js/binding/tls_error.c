/* Errors of OpenSSL as Node has them. */
#include "tls.h"

#include <ctype.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>

/* "certificate verify failed" of the SSL library: ERR_SSL_CERTIFICATE_VERIFY_FAILED; of others: ERR_OSSL_… */
static void error_code(unsigned long error, const char *reason, char *out, size_t cap) {
  size_t len = (size_t)snprintf(out, cap, "%s", ERR_GET_LIB(error) == ERR_LIB_SSL ? "ERR_SSL_" : "ERR_OSSL_");
  for (; *reason && len + 1 < cap; reason++)
    out[len++] = *reason == ' ' ? '_' : (char)toupper((unsigned char)*reason);
  out[len] = 0;
}

static void error_put(JSContext *c, JSValueConst error, const char *name, const char *text) {
  if (text) JS_DefinePropertyValueStr(c, error, name, JS_NewString(c, text), JS_PROP_C_W_E);
}

JSValue tls_error(JSContext *c, const char *otherwise) {
  char text[256], code[128];
  unsigned long number = ERR_peek_last_error();
  const char *reason = ERR_reason_error_string(number);
  JSValue error = JS_NewError(c);
  if (number) ERR_error_string_n(number, text, sizeof text);
  JS_DefinePropertyValueStr(c, error, "message", JS_NewString(c, number ? text : otherwise),
                            JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
  if (number) error_put(c, error, "library", ERR_lib_error_string(number));
  if (reason) {
    error_code(number, reason, code, sizeof code);
    error_put(c, error, "reason", reason);
    error_put(c, error, "code", code);
  }
  ERR_clear_error();
  return error;
}

JSValue tls_throw(JSContext *c, const char *otherwise) { return JS_Throw(c, tls_error(c, otherwise)); }

#define RESULT(name) { X509_V_ERR_##name, #name }

static const struct {
  int number;
  const char *name;
} results[] = {
  RESULT(UNABLE_TO_GET_ISSUER_CERT),
  RESULT(UNABLE_TO_GET_CRL),
  RESULT(UNABLE_TO_DECRYPT_CERT_SIGNATURE),
  RESULT(UNABLE_TO_DECRYPT_CRL_SIGNATURE),
  RESULT(UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY),
  RESULT(CERT_SIGNATURE_FAILURE),
  RESULT(CRL_SIGNATURE_FAILURE),
  RESULT(CERT_NOT_YET_VALID),
  RESULT(CERT_HAS_EXPIRED),
  RESULT(CRL_NOT_YET_VALID),
  RESULT(CRL_HAS_EXPIRED),
  RESULT(ERROR_IN_CERT_NOT_BEFORE_FIELD),
  RESULT(ERROR_IN_CERT_NOT_AFTER_FIELD),
  RESULT(ERROR_IN_CRL_LAST_UPDATE_FIELD),
  RESULT(ERROR_IN_CRL_NEXT_UPDATE_FIELD),
  RESULT(OUT_OF_MEM),
  RESULT(DEPTH_ZERO_SELF_SIGNED_CERT),
  RESULT(SELF_SIGNED_CERT_IN_CHAIN),
  RESULT(UNABLE_TO_GET_ISSUER_CERT_LOCALLY),
  RESULT(UNABLE_TO_VERIFY_LEAF_SIGNATURE),
  RESULT(CERT_CHAIN_TOO_LONG),
  RESULT(CERT_REVOKED),
  RESULT(INVALID_CA),
  RESULT(PATH_LENGTH_EXCEEDED),
  RESULT(INVALID_PURPOSE),
  RESULT(CERT_UNTRUSTED),
  RESULT(CERT_REJECTED),
  RESULT(HOSTNAME_MISMATCH),
};

const char *tls_verify_code(long result) {
  for (size_t i = 0; i < sizeof results / sizeof *results; i++)
    if (results[i].number == result) return results[i].name;
  return "UNSPECIFIED";
}
