/* What connections share: certificates, keys, trusted authorities, versions and ciphers. */
#define OPENSSL_SUPPRESS_DEPRECATED /* of RAND_METHOD, see below */
#include "tls_connection.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static JSClassID context_class;

static void context_finalize(JSRuntime *rt, JSValueConst value) {
  (void)rt;
  SSL_CTX_free(JS_GetOpaque(value, context_class));
}

SSL_CTX *tls_context(JSContext *c, JSValueConst object) { return JS_GetOpaque2(c, object, context_class); }

static int accept_any(int ok, X509_STORE_CTX *store) {
  (void)ok, (void)store;
  return 1; /* lib/ asks for the result afterwards, and decides */
}

/* tlsContext(lowest version, highest version); 0: whatever there is */
NATIVE(tlsContext) {
  SSL_CTX *context = SSL_CTX_new(TLS_method());
  JSValue object = context ? JS_NewObjectClass(c, (int)context_class) : tls_throw(c, "no memory for TLS");
  if (JS_IsException(object)) return SSL_CTX_free(context), object;
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context,
                      SSL_OP_NO_SSLv3 | SSL_OP_ALLOW_CLIENT_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_min_proto_version(context, native_int(c, argv[0]));
  SSL_CTX_set_max_proto_version(context, native_int(c, argv[1]));
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, accept_any);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_BOTH | SSL_SESS_CACHE_NO_INTERNAL |
                                              SSL_SESS_CACHE_NO_AUTO_CLEAR);
  JS_SetOpaque(object, context);
  return object;
}

/* ---- texts and bytes of certificates and keys ---- */

static BIO *bio_of(JSContext *c, JSValueConst value) {
  size_t len;
  const uint8_t *data = native_bytes(c, value, &len);
  return data && len <= INT32_MAX ? BIO_new_mem_buf(data, (int)len) : NULL;
}

/* The answer of a pass phrase that is asked for is never the terminal's. */
static int give_password(char *out, int cap, int for_writing, void *password) {
  (void)for_writing;
  size_t len = password ? strlen(password) : 0;
  if (len > (size_t)cap) return -1;
  if (!len) return 0; /* which does not fit */
  memcpy(out, password, len);
  return (int)len;
}

/* The first certificate of a text, or one in DER. */
static X509 *certificate_read(BIO *bio) {
  X509 *found = PEM_read_bio_X509_AUX(bio, NULL, give_password, NULL);
  if (found) return found;
  ERR_clear_error();
  (void)BIO_reset(bio);
  return d2i_X509_bio(bio, NULL);
}

/* setCert: the certificate, and those between it and its root. */
NATIVE(tlsSetCertificate) {
  SSL_CTX *context = tls_context(c, argv[0]);
  BIO *bio = context ? bio_of(c, argv[1]) : NULL;
  if (!context) return JS_EXCEPTION;
  X509 *own = bio ? certificate_read(bio) : NULL, *next;
  bool done = own && SSL_CTX_use_certificate(context, own) && SSL_CTX_clear_chain_certs(context);
  X509_free(own);
  while (done && (next = PEM_read_bio_X509(bio, NULL, give_password, NULL)))
    if (!SSL_CTX_add0_chain_cert(context, next)) X509_free(next), done = false;
  BIO_free(bio);
  if (!done) return tls_throw(c, "the certificate cannot be read");
  ERR_clear_error(); /* the end of the text */
  return JS_UNDEFINED;
}

/* tlsSetKey(context, text, pass phrase or undefined) */
NATIVE(tlsSetKey) {
  SSL_CTX *context = tls_context(c, argv[0]);
  const char *password = JS_IsString(argv[2]) ? JS_ToCString(c, argv[2]) : NULL;
  BIO *bio = context ? bio_of(c, argv[1]) : NULL;
  EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, give_password, (void *)(uintptr_t)password) : NULL;
  bool done = key && SSL_CTX_use_PrivateKey(context, key);
  EVP_PKEY_free(key);
  BIO_free(bio);
  JS_FreeCString(c, password);
  if (!context) return JS_EXCEPTION;
  return done ? JS_UNDEFINED : tls_throw(c, "the key cannot be read");
}

static X509_STORE *authorities; /* those that connections trust that name none: contexts share them */
static int shared_mark = -1;    /* of such a store, though others may be trusted by now */

static void share(X509_STORE *store) {
  if (shared_mark < 0)
    shared_mark = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_X509_STORE, 0, NULL, NULL, NULL, NULL);
  X509_STORE_set_ex_data(store, shared_mark, store);
  X509_STORE_free(authorities);
  authorities = store;
}

/* The context's authorities, to be added to: a copy of those that it shares with others. NULL: no memory */
static X509_STORE *own_store(SSL_CTX *context) {
  X509_STORE *store = SSL_CTX_get_cert_store(context);
  if (shared_mark < 0 || !X509_STORE_get_ex_data(store, shared_mark)) return store;
  X509_STORE *copy = X509_STORE_new();
  STACK_OF(X509_OBJECT) *objects = copy ? X509_STORE_get1_objects(store) : NULL;
  for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
    X509 *each = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
    if (each) X509_STORE_add_cert(copy, each);
  }
  sk_X509_OBJECT_pop_free(objects, X509_OBJECT_free);
  if (copy) SSL_CTX_set_cert_store(context, copy);
  return copy;
}

/* All certificates of a text are trusted, and told to clients that are asked for theirs. A text may have none. */
NATIVE(tlsTrust) {
  SSL_CTX *context = tls_context(c, argv[0]);
  BIO *bio = context ? bio_of(c, argv[1]) : NULL;
  X509_STORE *store = context ? own_store(context) : NULL;
  if (!context) return JS_EXCEPTION;
  int count = 0;
  for (X509 *each;
       bio && store &&
       (each = count ? PEM_read_bio_X509_AUX(bio, NULL, give_password, NULL) : certificate_read(bio));
       count++) {
    X509_STORE_add_cert(store, each);
    SSL_CTX_add_client_CA(context, each);
    X509_free(each);
  }
  BIO_free(bio);
  ERR_clear_error();
  return store ? JS_UNDEFINED : JS_ThrowOutOfMemory(c);
}

/* tlsSetAuthorities([bytes, …]): all of these, and no others, from now on. The error has `index`. */
NATIVE(tlsSetAuthorities) {
  X509_STORE *store = X509_STORE_new();
  uint32_t count = (uint32_t)native_length(c, argv[0]);
  for (uint32_t i = 0; store && i < count; i++) {
    JSValue text = JS_GetPropertyUint32(c, argv[0], i);
    BIO *bio = bio_of(c, text);
    X509 *each = bio ? PEM_read_bio_X509_AUX(bio, NULL, give_password, NULL) : NULL;
    JS_FreeValue(c, text);
    BIO_free(bio);
    if (!each) {
      X509_STORE_free(store);
      return tls_throw(c, "the certificate cannot be read");
    }
    X509_STORE_add_cert(store, each);
    X509_free(each);
  }
  if (!store) return JS_ThrowOutOfMemory(c);
  ERR_clear_error();
  share(store);
  return JS_UNDEFINED;
}

/* tlsSetDiffieHellman(context, PEM): how many bits the parameters have; undefined: they are none */
NATIVE(tlsSetDiffieHellman) {
  enum { BITS_MIN = 1024 };
  SSL_CTX *context = tls_context(c, argv[0]);
  BIO *bio = context ? bio_of(c, argv[1]) : NULL;
  if (!context) return JS_EXCEPTION;
  EVP_PKEY *parameters = bio ? PEM_read_bio_Parameters(bio, NULL) : NULL;
  BIO_free(bio);
  ERR_clear_error();
  int bits = parameters ? EVP_PKEY_get_bits(parameters) : 0;
  if (!parameters || !EVP_PKEY_is_a(parameters, "DH")) return EVP_PKEY_free(parameters), JS_UNDEFINED;
  if (bits < BITS_MIN) {
    EVP_PKEY_free(parameters);
    return JS_NewInt32(c, bits);
  }
  SSL_CTX_set_options(context, SSL_OP_SINGLE_DH_USE);
  if (SSL_CTX_set0_tmp_dh_pkey(context, parameters)) return JS_NewInt32(c, bits);
  EVP_PKEY_free(parameters);
  return tls_throw(c, "the parameters cannot be used");
}

/* ---- tickets of sessions ---- */

typedef struct {
  uint8_t name[16], mac[16], cipher[16];
} ticket_keys;

static int ticket_index = -1;

static void ticket_keys_free(void *parent, void *keys, CRYPTO_EX_DATA *data, int index, long number,
                             void *more) {
  (void)parent, (void)data, (void)index, (void)number, (void)more;
  OPENSSL_clear_free(keys, sizeof(ticket_keys));
}

/* Those of a context; they are drawn when they are first wanted, so that copies of a program have others. NULL: no memory, no randomness */
static ticket_keys *ticket_keys_of(SSL_CTX *context) {
  if (ticket_index < 0) ticket_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, ticket_keys_free);
  ticket_keys *keys = SSL_CTX_get_ex_data(context, ticket_index);
  if (keys) return keys;
  keys = OPENSSL_malloc(sizeof *keys);
  if (keys && RAND_bytes((unsigned char *)keys, sizeof *keys) == 1 &&
      SSL_CTX_set_ex_data(context, ticket_index, keys))
    return keys;
  OPENSSL_free(keys);
  return NULL;
}

int tls_on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                  int encrypts) {
  enum { FAILED = -1, UNKNOWN = 0, DONE = 1 };
  const tls_connection *t = SSL_get_app_data(ssl);
  ticket_keys *keys = t ? ticket_keys_of(t->context) : NULL;
  if (!keys) return FAILED;
  OSSL_PARAM params[] = {
    OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, keys->mac, sizeof keys->mac),
    OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){ "SHA256" }, 0),
    OSSL_PARAM_construct_end(),
  };
  if (encrypts) {
    memcpy(name, keys->name, sizeof keys->name);
    if (RAND_bytes(iv, sizeof keys->cipher) != 1) return FAILED;
  } else if (memcmp(name, keys->name, sizeof keys->name) != 0) {
    return UNKNOWN;
  }
  return EVP_CipherInit_ex(cipher, EVP_aes_128_cbc(), NULL, keys->cipher, iv, encrypts) &&
                 EVP_MAC_CTX_set_params(mac, params)
             ? DONE
             : FAILED;
}

/* tlsTicketKeys(context, 48 bytes: name, HMAC, cipher; or undefined): those of the context */
NATIVE(tlsTicketKeys) {
  size_t len;
  SSL_CTX *context = tls_context(c, argv[0]);
  const uint8_t *data = native_bytes(c, argv[1], &len);
  if (!context) return JS_EXCEPTION;
  ticket_keys *keys = ticket_keys_of(context);
  if (!keys) return JS_ThrowOutOfMemory(c);
  if (data && len == sizeof *keys) memcpy(keys, data, len);
  return JS_NewArrayBufferCopy(c, (const uint8_t *)keys, sizeof *keys);
}

/* ---- whom to trust, and PKCS #12 ---- */

/* The authorities of the system, unless others were set. They are read once. tlsTrustSystem(context) */
NATIVE(tlsTrustSystem) {
  SSL_CTX *context = tls_context(c, argv[0]);
  if (!context) return JS_EXCEPTION;
  X509_STORE *store = authorities;
  if (!store && (store = X509_STORE_new())) {
    share(store);
    const char *file = getenv("SSL_CERT_FILE"), *more = getenv("NODE_EXTRA_CA_CERTS");
    X509_STORE_load_file(store, file ? file : "/etc/ssl/certs/ca-certificates.crt");
    if (more) X509_STORE_load_file(store, more);
    ERR_clear_error();
  }
  if (store) SSL_CTX_set1_cert_store(context, store);
  return JS_UNDEFINED;
}

NATIVE(tlsAddRevoked) {
  SSL_CTX *context = tls_context(c, argv[0]);
  BIO *bio = context ? bio_of(c, argv[1]) : NULL;
  if (!context) return JS_EXCEPTION;
  X509_CRL *list = bio ? PEM_read_bio_X509_CRL(bio, NULL, give_password, NULL) : NULL;
  BIO_free(bio);
  if (!list) return tls_throw(c, "Failed to parse CRL");
  X509_STORE *store = own_store(context);
  if (store) {
    X509_STORE_add_crl(store, list);
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  }
  X509_CRL_free(list);
  return store ? JS_UNDEFINED : JS_ThrowOutOfMemory(c);
}

static JSValue throw_coded(JSContext *c, const char *code, const char *message) {
  ERR_clear_error();
  JSValue error = JS_NewError(c);
  JS_DefinePropertyValueStr(c, error, "message", JS_NewString(c, message),
                            JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
  if (code) JS_DefinePropertyValueStr(c, error, "code", JS_NewString(c, code), JS_PROP_C_W_E);
  return JS_Throw(c, error);
}

/* Why a file of PKCS #12 is of no use. */
static JSValue pkcs12_throw(JSContext *c, bool is_read, bool has_key, bool has_certificate) {
  const char *reason = ERR_reason_error_string(ERR_peek_error());
  if (is_read && !has_key) return throw_coded(c, NULL, "Unable to load private key from PFX data");
  if (is_read && !has_certificate) return throw_coded(c, NULL, "Unable to load certificate from PFX data");
  if (ERR_GET_REASON(ERR_peek_error()) == ERR_R_UNSUPPORTED)
    return throw_coded(c, "ERR_CRYPTO_UNSUPPORTED_OPERATION", "Unsupported PKCS12 PFX data");
  return throw_coded(c, NULL, reason ? reason : "Unable to load PFX certificate");
}

/* tlsLoadPKCS12(context, bytes, pass phrase) */
NATIVE(tlsLoadPKCS12) {
  SSL_CTX *context = tls_context(c, argv[0]);
  if (!context) return JS_EXCEPTION;
  const char *password = JS_IsString(argv[2]) ? JS_ToCString(c, argv[2]) : NULL;
  BIO *bio = bio_of(c, argv[1]);
  ERR_clear_error();
  PKCS12 *packed = bio ? d2i_PKCS12_bio(bio, NULL) : NULL;
  EVP_PKEY *key = NULL;
  X509 *own = NULL;
  STACK_OF(X509) *more = NULL;
  bool is_read = packed && PKCS12_parse(packed, password ? password : "", &key, &own, &more);
  bool done =
      is_read && key && own && SSL_CTX_use_certificate(context, own) && SSL_CTX_use_PrivateKey(context, key);
  X509_STORE *store = done ? own_store(context) : NULL;
  for (int i = 0; store && i < sk_X509_num(more); i++) {
    X509_STORE_add_cert(store, sk_X509_value(more, i));
    SSL_CTX_add_client_CA(context, sk_X509_value(more, i));
  }
  JSValue result = done ? JS_UNDEFINED : pkcs12_throw(c, is_read, key != NULL, own != NULL);
  sk_X509_pop_free(more, X509_free);
  X509_free(own);
  EVP_PKEY_free(key);
  PKCS12_free(packed);
  BIO_free(bio);
  JS_FreeCString(c, password);
  return result;
}

/* ---- settings ---- */

static int set_text(SSL_CTX *context, int what, const char *text) {
  switch (what) {
  case 0: return SSL_CTX_set_ciphersuites(context, text);
  case 1: return SSL_CTX_set_cipher_list(context, text) || !*text;
  case 2: return SSL_CTX_set1_sigalgs_list(context, text);
  case 3: return SSL_CTX_set1_groups_list(context, text);
  default:
    return SSL_CTX_set_session_id_context(context, (const unsigned char *)text,
                                          (unsigned)strnlen(text, SSL_MAX_SID_CTX_LENGTH));
  }
}

/* tlsSetText(context, what, text): cipher suites, ciphers, algorithms of signatures, curves, the context of sessions' ids */
NATIVE(tlsSetText) {
  SSL_CTX *context = tls_context(c, argv[0]);
  const char *text = context ? JS_ToCString(c, argv[2]) : NULL;
  if (!text) return JS_EXCEPTION;
  int done = set_text(context, native_int(c, argv[1]), text);
  JS_FreeCString(c, text);
  return done ? JS_UNDEFINED : tls_throw(c, "Failed to set it");
}

/* tlsSetNumber(context, what, number): lowest and highest version, options, time of sessions, parameters of DH, chains without their root */
NATIVE(tlsSetNumber) {
  SSL_CTX *context = tls_context(c, argv[0]);
  int64_t number = native_integer(c, argv[2]);
  if (!context) return JS_EXCEPTION;
  switch (native_int(c, argv[1])) {
  case 0: SSL_CTX_set_min_proto_version(context, (int)number); break;
  case 1: SSL_CTX_set_max_proto_version(context, (int)number); break;
  case 2: SSL_CTX_set_options(context, (uint64_t)number); break;
  case 3: SSL_CTX_set_timeout(context, (long)number); break;
  case 4: SSL_CTX_set_dh_auto(context, (int)number); break;
  default: X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  }
  return JS_UNDEFINED;
}

static X509 *issuer_of(const SSL_CTX *context, X509 *own) {
  X509 *issuer = NULL;
  X509_STORE_CTX *search = X509_STORE_CTX_new();
  if (!search || !X509_STORE_CTX_init(search, SSL_CTX_get_cert_store(context), NULL, NULL) ||
      X509_STORE_CTX_get1_issuer(&issuer, search, own) != 1)
    issuer = NULL;
  X509_STORE_CTX_free(search);
  ERR_clear_error();
  return issuer;
}

/* tlsOwnCertificate(context, of its issuer?): the certificate in DER; undefined when there is none. */
NATIVE(tlsOwnCertificate) {
  SSL_CTX *context = tls_context(c, argv[0]);
  if (!context) return JS_EXCEPTION;
  X509 *own = SSL_CTX_get0_certificate(context);
  X509 *issuer = own && JS_ToBool(c, argv[1]) ? issuer_of(context, own) : NULL;
  if (JS_ToBool(c, argv[1])) own = issuer;
  unsigned char *der = NULL;
  int len = own ? i2d_X509(own, &der) : 0;
  X509_free(issuer);
  if (len <= 0) return JS_UNDEFINED;
  JSValue value = JS_NewArrayBufferCopy(c, der, (size_t)len);
  OPENSSL_free(der);
  return value;
}

NATIVE(tlsSecurityLevel) {
  SSL_CTX *context = SSL_CTX_new(TLS_method());
  int level = context ? SSL_CTX_get_security_level(context) : 0;
  SSL_CTX_free(context);
  return JS_NewInt32(c, level);
}

NATIVE(tlsCiphers) {
  JSValue list = JS_NewArray(c);
  SSL_CTX *context = SSL_CTX_new(TLS_method());
  SSL *ssl = context ? SSL_new(context) : NULL;
  STACK_OF(SSL_CIPHER) *ciphers = ssl ? SSL_get_ciphers(ssl) : NULL;
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++)
    JS_SetPropertyUint32(c, list, (uint32_t)i,
                         JS_NewString(c, SSL_CIPHER_get_name(sk_SSL_CIPHER_value(ciphers, i))));
  SSL_free(ssl);
  SSL_CTX_free(context);
  return list;
}

/* ---- randomness ----
 *
 * A generator with a state would give two copies of a program the same keys, and images and forks are copies. So each byte comes from the
 * system. */

static int random_bytes(unsigned char *out, int len) {
  for (int at = 0; at < len;) {
    ssize_t got = getrandom(out + at, (size_t)(len - at), 0);
    if (got <= 0) return 0;
    at += (int)got;
  }
  return 1;
}

static int random_status(void) { return 1; }

static const JSCFunctionListEntry functions[] = {
  FUNCTION(tlsContext, 2),        FUNCTION(tlsSetCertificate, 2),   FUNCTION(tlsSetKey, 3),
  FUNCTION(tlsTrust, 2),          FUNCTION(tlsTrustSystem, 1),      FUNCTION(tlsSetAuthorities, 1),
  FUNCTION(tlsTicketKeys, 2),     FUNCTION(tlsSetDiffieHellman, 2), FUNCTION(tlsAddRevoked, 2),
  FUNCTION(tlsLoadPKCS12, 3),     FUNCTION(tlsSetText, 3),          FUNCTION(tlsSetNumber, 3),
  FUNCTION(tlsOwnCertificate, 2), FUNCTION(tlsCiphers, 0),          FUNCTION(tlsSecurityLevel, 0),
};

void tls_add_context(JSContext *c, JSValueConst into) {
  static const JSClassDef context = { .class_name = "TlsContext", .finalizer = context_finalize };
  static const RAND_METHOD system_random = { .bytes = random_bytes,
                                             .pseudorand = random_bytes,
                                             .status = random_status };
  JSRuntime *rt = JS_GetRuntime(c);
  RAND_set_rand_method(&system_random);
  JS_NewClass(rt, JS_NewClassID(rt, &context_class), &context);
  ADD(into, functions);
}
