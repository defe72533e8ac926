/* Errors of OpenSSL as Node has them. */
#include "tls.h"

#include <ctype.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>

/* The library of an error in its code, as Node has it: some have no name. */
static const char *library_name(unsigned long error) {
  switch (ERR_GET_LIB(error)) {
  case ERR_LIB_BN: return "BN_";
  case ERR_LIB_RSA: return "RSA_";
  case ERR_LIB_DH: return "DH_";
  case ERR_LIB_EVP: return "EVP_";
  case ERR_LIB_BUF: return "BUF_";
  case ERR_LIB_OBJ: return "OBJ_";
  case ERR_LIB_PEM: return "PEM_";
  case ERR_LIB_DSA: return "DSA_";
  case ERR_LIB_X509: return "X509_";
  case ERR_LIB_ASN1: return "ASN1_";
  case ERR_LIB_CRYPTO: return "CRYPTO_";
  case ERR_LIB_EC: return "EC_";
  case ERR_LIB_BIO: return "BIO_";
  case ERR_LIB_PKCS7: return "PKCS7_";
  case ERR_LIB_X509V3: return "X509V3_";
  case ERR_LIB_PKCS12: return "PKCS12_";
  case ERR_LIB_RAND: return "RAND_";
  default: return "";
  }
}

/* "certificate verify failed": ERR_SSL_CERTIFICATE_VERIFY_FAILED; "no start line" of what reads PEM: ERR_OSSL_PEM_NO_START_LINE */
static void error_code(unsigned long error, bool of_ssl, const char *reason, char *out, size_t cap) {
  bool is_ssl = of_ssl || ERR_GET_LIB(error) == ERR_LIB_SSL;
  size_t len =
      (size_t)snprintf(out, cap, "ERR_%s%s", is_ssl ? "SSL_" : "OSSL_", is_ssl ? "" : library_name(error));
  for (; *reason && len + 1 < cap; reason++)
    out[len++] = *reason == ' ' ? '_' : (char)toupper((unsigned char)*reason);
  out[len] = 0;
}

static void error_put(JSContext *c, JSValueConst error, const char *name, const char *text) {
  if (text) JS_DefinePropertyValueStr(c, error, name, JS_NewString(c, text), JS_PROP_C_W_E);
}

static JSValue make_error(JSContext *c, unsigned long number, bool of_ssl, const char *otherwise) {
  char text[256], code[128];
  const char *reason = ERR_reason_error_string(number);
  JSValue error = JS_NewError(c);
  if (number) ERR_error_string_n(number, text, sizeof text);
  JS_DefinePropertyValueStr(c, error, "message", JS_NewString(c, number ? text : otherwise),
                            JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
  if (number) error_put(c, error, "library", ERR_lib_error_string(number));
  if (reason) {
    error_code(number, of_ssl, reason, code, sizeof code);
    error_put(c, error, "reason", reason);
    error_put(c, error, "code", code);
  }
  ERR_clear_error();
  return error;
}

JSValue tls_error(JSContext *c, const char *otherwise) {
  return make_error(c, ERR_peek_last_error(), false, otherwise);
}

JSValue tls_throw(JSContext *c, const char *otherwise) { return JS_Throw(c, tls_error(c, otherwise)); }

JSValue tls_throw_ssl(JSContext *c, const char *otherwise) {
  return JS_Throw(c, make_error(c, ERR_peek_error(), true, otherwise));
}

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
