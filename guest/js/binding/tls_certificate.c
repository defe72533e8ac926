/* Certificates as objects. */
#include "tls.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

JSValue tls_text(JSContext *c, BIO *bio) {
  char *data = NULL;
  long len = bio ? BIO_get_mem_data(bio, &data) : 0;
  JSValue text = JS_NewStringLen(c, len > 0 ? data : "", len > 0 ? (size_t)len : 0);
  BIO_free(bio);
  return text;
}

static void put(JSContext *c, JSValueConst into, const char *name, JSValue value) {
  JS_DefinePropertyValueStr(c, into, name, value, JS_PROP_C_W_E);
}

/* A name that is there twice becomes a list. */
static void name_add(JSContext *c, JSValueConst into, const char *key, JSValue value) {
  JSValue old = JS_GetPropertyStr(c, into, key);
  if (JS_IsUndefined(old)) {
    put(c, into, key, value);
  } else if (JS_IsArray(old)) {
    JS_SetPropertyUint32(c, old, native_length(c, old), value);
  } else {
    JSValue list = JS_NewArray(c);
    JS_SetPropertyUint32(c, list, 0, JS_DupValue(c, old));
    JS_SetPropertyUint32(c, list, 1, value);
    put(c, into, key, list);
  }
  JS_FreeValue(c, old);
}

/* {CN: …, O: …} */
static JSValue name_value(JSContext *c, const X509_NAME *name) {
  JSValue all = JS_NewObjectProto(c, JS_NULL);
  for (int i = 0; i < X509_NAME_entry_count(name); i++) {
    const X509_NAME_ENTRY *entry = X509_NAME_get_entry(name, i);
    const ASN1_OBJECT *kind = X509_NAME_ENTRY_get_object(entry);
    int nid = OBJ_obj2nid(kind);
    char dotted[80];
    OBJ_obj2txt(dotted, sizeof dotted, kind, 1);
    unsigned char *text = NULL;
    int len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    if (len >= 0)
      name_add(c, all, nid == NID_undef ? dotted : OBJ_nid2sn(nid),
               JS_NewStringLen(c, (char *)text, (size_t)len));
    OPENSSL_free(text);
  }
  return all;
}

/* A name in a list that is separated by ", ": one that could be taken for several is a JSON string, as in Node. */
static void alternative_text(BIO *bio, const char *kind, const ASN1_STRING *value) {
  const unsigned char *data = ASN1_STRING_get0_data(value);
  int len = ASN1_STRING_length(value);
  bool is_plain = true;
  for (int i = 0; i < len; i++)
    is_plain = is_plain && data[i] >= ' ' && data[i] != '"' && data[i] != '\\' && data[i] != ',' &&
               data[i] != '\'' && data[i] < 0x7f;
  BIO_printf(bio, "%s:", kind);
  if (is_plain) {
    BIO_write(bio, data, len);
    return;
  }
  BIO_puts(bio, "\"");
  for (int i = 0; i < len; i++) {
    if (data[i] >= ' ' && data[i] < 0x7f && data[i] != '"' && data[i] != '\\')
      BIO_write(bio, data + i, 1);
    else
      BIO_printf(bio, "\\u%04x", data[i]);
  }
  BIO_puts(bio, "\"");
}

static void alternative_address(BIO *bio, const ASN1_OCTET_STRING *address) {
  const unsigned char *b = ASN1_STRING_get0_data(address);
  int len = ASN1_STRING_length(address);
  BIO_puts(bio, "IP Address:");
  if (len == 4) BIO_printf(bio, "%d.%d.%d.%d", b[0], b[1], b[2], b[3]);
  for (int i = 0; len == 16 && i < 16; i += 2) BIO_printf(bio, "%s%X", i ? ":" : "", b[i] << 8 | b[i + 1]);
}

static JSValue alternatives_value(JSContext *c, X509 *certificate) {
  GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  BIO *bio = names ? BIO_new(BIO_s_mem()) : NULL;
  for (int i = 0, some = 0; bio && i < sk_GENERAL_NAME_num(names); i++) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_DNS && name->type != GEN_URI && name->type != GEN_EMAIL && name->type != GEN_IPADD)
      continue;
    if (some++) BIO_puts(bio, ", ");
    if (name->type == GEN_DNS) alternative_text(bio, "DNS", name->d.dNSName);
    if (name->type == GEN_URI) alternative_text(bio, "URI", name->d.uniformResourceIdentifier);
    if (name->type == GEN_EMAIL) alternative_text(bio, "email", name->d.rfc822Name);
    if (name->type == GEN_IPADD) alternative_address(bio, name->d.iPAddress);
  }
  GENERAL_NAMES_free(names);
  return bio ? tls_text(c, bio) : JS_UNDEFINED;
}

static JSValue time_value(JSContext *c, const ASN1_TIME *time) {
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio) ASN1_TIME_print(bio, time);
  return tls_text(c, bio);
}

static JSValue fingerprint_value(JSContext *c, X509 *certificate, const EVP_MD *md) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned len = 0;
  char text[3 * EVP_MAX_MD_SIZE + 1] = "";
  if (!X509_digest(certificate, md, digest, &len)) return JS_UNDEFINED;
  for (unsigned i = 0; i < len; i++) snprintf(text + 3 * i, 4, "%02X%s", digest[i], i + 1 < len ? ":" : "");
  return JS_NewString(c, text);
}

static JSValue serial_value(JSContext *c, X509 *certificate) {
  BIGNUM *number = ASN1_INTEGER_to_BN(X509_get_serialNumber(certificate), NULL);
  char *text = number ? BN_bn2hex(number) : NULL;
  JSValue value = JS_NewString(c, text ? text : "");
  OPENSSL_free(text);
  BN_free(number);
  return value;
}

/* What i2d_… makes: a Uint8Array over bytes of its own. */
static JSValue bytes_value(JSContext *c, unsigned char *data, int len) {
  JSValue buffer = JS_NewArrayBufferCopy(c, data, len > 0 ? (size_t)len : 0);
  OPENSSL_free(data);
  return buffer;
}

static void put_key(JSContext *c, JSValueConst into, X509 *certificate) {
  EVP_PKEY *key = X509_get0_pubkey(certificate);
  char group[64];
  size_t group_len;
  unsigned char *der = NULL;
  if (!key) return;
  BIGNUM *n = NULL, *e = NULL;
  if (EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n) &&
      EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e)) {
    char *modulus = BN_bn2hex(n), exponent[32];
    snprintf(exponent, sizeof exponent, "0x%lx", (unsigned long)BN_get_word(e));
    put(c, into, "modulus", JS_NewString(c, modulus ? modulus : ""));
    put(c, into, "exponent", JS_NewString(c, exponent));
    OPENSSL_free(modulus);
  } else if (EVP_PKEY_get_group_name(key, group, sizeof group, &group_len)) {
    const char *nist = EC_curve_nid2nist(OBJ_txt2nid(group));
    put(c, into, "asn1Curve", JS_NewString(c, group));
    if (nist) put(c, into, "nistCurve", JS_NewString(c, nist));
  }
  BN_free(n);
  BN_free(e);
  put(c, into, "bits", JS_NewInt32(c, EVP_PKEY_get_bits(key)));
  bool curve = EVP_PKEY_get_base_id(key) == EVP_PKEY_EC;
  int len = curve ? (int)EVP_PKEY_get1_encoded_public_key(key, &der) : i2d_PUBKEY(key, &der);
  put(c, into, "pubkey", bytes_value(c, der, len));
}

/* ---- X509Certificate ---- */

enum {
  ONE_LINE_EACH = ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT |
                  XN_FLAG_SEP_MULTILINE | XN_FLAG_FN_SN
};

static JSValue name_lines(JSContext *c, const X509_NAME *name) {
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio) X509_NAME_print_ex(bio, name, 0, ONE_LINE_EACH);
  return tls_text(c, bio);
}

/* "OCSP - URI:http://…" in lines; undefined: the certificate says nothing of it */
static JSValue access_value(JSContext *c, X509 *certificate) {
  AUTHORITY_INFO_ACCESS *all = X509_get_ext_d2i(certificate, NID_info_access, NULL, NULL);
  BIO *bio = all ? BIO_new(BIO_s_mem()) : NULL;
  for (int i = 0, some = 0; bio && i < sk_ACCESS_DESCRIPTION_num(all); i++) {
    const ACCESS_DESCRIPTION *each = sk_ACCESS_DESCRIPTION_value(all, i);
    char method[80];
    if (each->location->type != GEN_URI) continue;
    OBJ_obj2txt(method, sizeof method, each->method, 0);
    BIO_printf(bio, "%s%s - ", some++ ? "\n" : "", method);
    alternative_text(bio, "URI", each->location->d.uniformResourceIdentifier);
  }
  AUTHORITY_INFO_ACCESS_free(all);
  return bio ? tls_text(c, bio) : JS_UNDEFINED;
}

static JSValue usage_value(JSContext *c, X509 *certificate) {
  EXTENDED_KEY_USAGE *all = X509_get_ext_d2i(certificate, NID_ext_key_usage, NULL, NULL);
  JSValue list = all ? JS_NewArray(c) : JS_UNDEFINED;
  for (int i = 0; all && i < sk_ASN1_OBJECT_num(all); i++) {
    char dotted[80];
    OBJ_obj2txt(dotted, sizeof dotted, sk_ASN1_OBJECT_value(all, i), 1);
    JS_SetPropertyUint32(c, list, (uint32_t)i, JS_NewString(c, dotted));
  }
  EXTENDED_KEY_USAGE_free(all);
  return list;
}

static JSValue pem_value(JSContext *c, X509 *certificate) {
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio) PEM_write_bio_X509(bio, certificate);
  return tls_text(c, bio);
}

static X509 *certificate_of(JSContext *c, JSValueConst bytes) {
  size_t len;
  const uint8_t *data = native_bytes(c, bytes, &len);
  BIO *bio = data && len <= INT32_MAX ? BIO_new_mem_buf(data, (int)len) : NULL;
  X509 *found = bio ? PEM_read_bio_X509_AUX(bio, NULL, NULL, (void *)(uintptr_t)"") : NULL;
  if (bio && !found) {
    ERR_clear_error();
    (void)BIO_reset(bio);
    found = d2i_X509_bio(bio, NULL);
  }
  BIO_free(bio);
  return found;
}

/* x509(bytes): what tls_certificate says, and more for an X509Certificate */
NATIVE(x509) {
  ERR_clear_error();
  X509 *certificate = certificate_of(c, argv[0]);
  char oid[80] = "";
  if (!certificate) return tls_throw(c, "the certificate cannot be read");
  JSValue all = tls_certificate(c, certificate);
  int kind = X509_get_signature_nid(certificate);
  if (kind != NID_undef) OBJ_obj2txt(oid, sizeof oid, OBJ_nid2obj(kind), 1);
  put(c, all, "subjectLines", name_lines(c, X509_get_subject_name(certificate)));
  put(c, all, "issuerLines", name_lines(c, X509_get_issuer_name(certificate)));
  put(c, all, "keyUsage", usage_value(c, certificate));
  put(c, all, "signatureAlgorithm", kind == NID_undef ? JS_UNDEFINED : JS_NewString(c, OBJ_nid2ln(kind)));
  put(c, all, "signatureAlgorithmOid", JS_NewString(c, oid));
  put(c, all, "pem", pem_value(c, certificate));
  X509_free(certificate);
  return all;
}

/* x509Check(bytes, 0: host, 1: email, 2: address, text, flags): the name that fits, or undefined */
NATIVE(x509Check) {
  X509 *certificate = certificate_of(c, argv[0]);
  size_t len;
  const char *text = JS_ToCStringLen(c, &len, argv[2]);
  unsigned flags = (unsigned)native_int(c, argv[3]);
  char *peer = NULL;
  int found = 0;
  if (certificate && text) switch (native_int(c, argv[1])) {
    case 0: found = X509_check_host(certificate, text, len, flags, &peer); break;
    case 1: found = X509_check_email(certificate, text, len, flags); break;
    default: found = X509_check_ip_asc(certificate, text, flags);
    }
  JSValue value = found == 1 ? JS_NewString(c, peer ? peer : text) : JS_UNDEFINED;
  OPENSSL_free(peer);
  X509_free(certificate);
  JS_FreeCString(c, text);
  ERR_clear_error();
  return value;
}

/* x509Issued(bytes, bytes of the issuer) */
NATIVE(x509Issued) {
  X509 *certificate = certificate_of(c, argv[0]), *issuer = certificate_of(c, argv[1]);
  bool issued = certificate && issuer && X509_check_issued(issuer, certificate) == X509_V_OK;
  X509_free(certificate);
  X509_free(issuer);
  ERR_clear_error();
  return JS_NewBool(c, issued);
}

static const JSCFunctionListEntry functions[] = { FUNCTION(x509, 1), FUNCTION(x509Check, 4),
                                                  FUNCTION(x509Issued, 2) };

void tls_add_certificate(JSContext *c, JSValueConst into) { ADD(into, functions); }

JSValue tls_certificate(JSContext *c, X509 *certificate) {
  JSValue all = JS_NewObject(c), names = alternatives_value(c, certificate);
  unsigned char *der = NULL;
  put(c, all, "subject", name_value(c, X509_get_subject_name(certificate)));
  put(c, all, "issuer", name_value(c, X509_get_issuer_name(certificate)));
  if (JS_IsString(names)) put(c, all, "subjectaltname", names);
  JSValue access = access_value(c, certificate);
  if (JS_IsString(access)) put(c, all, "infoAccess", access);
  put(c, all, "ca", JS_NewBool(c, X509_check_ca(certificate) == 1));
  put_key(c, all, certificate);
  put(c, all, "valid_from", time_value(c, X509_get0_notBefore(certificate)));
  put(c, all, "valid_to", time_value(c, X509_get0_notAfter(certificate)));
  put(c, all, "fingerprint", fingerprint_value(c, certificate, EVP_sha1()));
  put(c, all, "fingerprint256", fingerprint_value(c, certificate, EVP_sha256()));
  put(c, all, "fingerprint512", fingerprint_value(c, certificate, EVP_sha512()));
  put(c, all, "serialNumber", serial_value(c, certificate));
  int len = i2d_X509(certificate, &der);
  put(c, all, "raw", bytes_value(c, der, len));
  return all;
}
