/* One end of a TLS connection, between two queues in memory: bytes from the network and bytes for it. */
#include "tls_connection.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static JSClassID connection_class;

static void connection_finalize(JSRuntime *rt, JSValueConst value) {
  tls_connection *t = JS_GetOpaque(value, connection_class);
  if (!t) return;
  SSL_free(t->ssl);
  SSL_SESSION_free(t->found);
  js_free_rt(rt, t->protocols);
  tls_notes_free(t);
  js_free_rt(rt, t);
}

static tls_connection *connection_of(JSContext *c, JSValueConst object) {
  ERR_clear_error();
  return JS_GetOpaque2(c, object, connection_class);
}

#define ENTER                                                                                                \
  tls_connection *t = connection_of(c, argv[0]);                                                             \
  if (!t) return JS_EXCEPTION

/* ---- the life of a connection ---- */

static int accept_any(int ok, X509_STORE_CTX *store) {
  (void)ok, (void)store;
  return 1;
}

/* tlsNew(context, is it a server) */
NATIVE(tlsNew) {
  SSL_CTX *context = tls_context(c, argv[0]);
  tls_connection *t = context ? js_mallocz(c, sizeof *t) : NULL;
  if (!t) return JS_EXCEPTION;
  t->ssl = SSL_new(context);
  t->in = BIO_new(BIO_s_mem());
  t->out = BIO_new(BIO_s_mem());
  JSValue object =
      t->ssl && t->in && t->out ? JS_NewObjectClass(c, (int)connection_class) : JS_ThrowOutOfMemory(c);
  if (JS_IsException(object)) {
    SSL_free(t->ssl);
    BIO_free(t->in);
    BIO_free(t->out);
    js_free(c, t);
    return object;
  }
  BIO_set_mem_eof_return(t->in, -1); /* empty: more will come */
  SSL_set_bio(t->ssl, t->in, t->out);
  SSL_set_app_data(t->ssl, t);
  t->last_note = &t->notes;
  t->context = context;
  tls_listen(context);
  SSL_set_verify(t->ssl, SSL_VERIFY_NONE, accept_any);
  if (JS_ToBool(c, argv[1])) {
    SSL_set_accept_state(t->ssl);
    SSL_set_cert_cb(t->ssl, tls_on_certificate, t);
  } else {
    SSL_set_connect_state(t->ssl);
  }
  JS_SetOpaque(object, t);
  return object;
}

enum { DONE, WANTS_MORE, WANTS_CERTIFICATE, ENDED, WANTS_SESSION };

/* DONE and others, or the exception that ends the connection. */
static JSValue connection_result(JSContext *c, const tls_connection *t, int result) {
  if (JS_HasException(c)) return JS_EXCEPTION; /* of a question to lib/ */
  switch (SSL_get_error(t->ssl, result)) {
  case SSL_ERROR_NONE: return JS_NewInt32(c, DONE);
  case SSL_ERROR_WANT_READ:
  case SSL_ERROR_WANT_WRITE: return JS_NewInt32(c, WANTS_MORE);
  case SSL_ERROR_WANT_X509_LOOKUP: return JS_NewInt32(c, WANTS_CERTIFICATE);
  case SSL_ERROR_WANT_CLIENT_HELLO_CB: return JS_NewInt32(c, WANTS_SESSION);
  case SSL_ERROR_ZERO_RETURN: return JS_NewInt32(c, ENDED);
  default: return tls_throw_ssl(c, "the TLS connection broke");
  }
}

/* tlsHandshake(connection, the function that OpenSSL's questions go to) */
NATIVE(tlsHandshake) {
  ENTER;
  tls_begin(t, c, argv[1]);
  int result = SSL_do_handshake(t->ssl);
  tls_end(t);
  if (result == 1) t->is_established = true;
  return connection_result(c, t, result);
}

/* It begins with the next read or write. */
NATIVE(tlsRenegotiate) {
  ENTER;
  return SSL_renegotiate(t->ssl) == 1 ? JS_UNDEFINED : tls_throw(c, "it cannot be negotiated anew");
}

NATIVE(tlsFeed) {
  ENTER;
  size_t len;
  const uint8_t *data = native_bytes(c, argv[1], &len);
  for (size_t at = 0; at < len;) {
    int took = BIO_write(t->in, data + at, (int)(len - at > 1 << 20 ? 1 << 20 : len - at));
    if (took <= 0) return JS_ThrowOutOfMemory(c);
    at += (size_t)took;
  }
  return JS_UNDEFINED;
}

/* The bytes to be sent: an ArrayBuffer, or undefined for none. */
NATIVE(tlsTake) {
  ENTER;
  size_t len = BIO_ctrl_pending(t->out);
  if (!len) return JS_UNDEFINED;
  uint8_t *data = js_malloc(c, len);
  if (!data) return JS_EXCEPTION;
  int got = BIO_read(t->out, data, (int)len);
  return native_buffer(c, data, got > 0 ? (size_t)got : 0);
}

/* tlsRead(connection, as in tlsHandshake). Plain bytes: an ArrayBuffer; or a number as of tlsHandshake. */
NATIVE(tlsRead) {
  ENTER;
  enum { PIECE = 16 << 10 };
  uint8_t *data = js_malloc(c, PIECE);
  if (!data) return JS_EXCEPTION;
  tls_begin(t, c, argv[1]);
  int got = SSL_read(t->ssl, data, PIECE);
  tls_end(t);
  if (got > 0) return native_buffer(c, data, (size_t)got);
  js_free(c, data);
  return connection_result(c, t, got);
}

/* tlsWrite(connection, bytes, as in tlsHandshake): how many were taken, or a number below 0: it wants something to come first */
NATIVE(tlsWrite) {
  ENTER;
  size_t len;
  const uint8_t *data = native_bytes(c, argv[1], &len);
  if (!len) return JS_NewInt32(c, 0);
  tls_begin(t, c, argv[2]);
  int took = SSL_write(t->ssl, data, (int)(len > INT32_MAX ? INT32_MAX : len));
  tls_end(t);
  if (took > 0) return JS_NewInt32(c, took);
  JSValue result = connection_result(c, t, took);
  return JS_IsException(result) ? result : JS_NewInt32(c, -1);
}

/* [[kind, id, bytes], …], which are told once; undefined: none */
NATIVE(tlsNotes) {
  ENTER;
  if (!t->notes) return JS_UNDEFINED;
  JSValue list = JS_NewArray(c);
  uint32_t count = 0;
  for (const tls_note *n = t->notes; n; n = n->next) {
    JSValue each = JS_NewArray(c);
    JS_SetPropertyUint32(c, each, 0, JS_NewInt32(c, n->kind));
    JS_SetPropertyUint32(c, each, 1, JS_NewArrayBufferCopy(c, n->bytes, n->id_len));
    JS_SetPropertyUint32(c, each, 2, JS_NewArrayBufferCopy(c, n->bytes + n->id_len, n->len));
    JS_SetPropertyUint32(c, list, count++, each);
  }
  tls_notes_free(t);
  return list;
}

NATIVE(tlsLogKeys) {
  ENTER;
  t->logs_keys = true;
  return JS_UNDEFINED;
}

NATIVE(tlsMaxFragment) {
  ENTER;
  return JS_NewBool(c, SSL_set_max_send_fragment(t->ssl, native_int(c, argv[1])));
}

/* The ticket of the session: an ArrayBuffer, or undefined */
NATIVE(tlsTicket) {
  ENTER;
  const SSL_SESSION *session = SSL_get_session(t->ssl);
  const unsigned char *data = NULL;
  size_t len = 0;
  if (session) SSL_SESSION_get0_ticket(session, &data, &len);
  return data ? JS_NewArrayBufferCopy(c, data, len) : JS_UNDEFINED;
}

static const char *signature_name(int kind) {
  switch (kind) {
  case EVP_PKEY_RSA: return "RSA";
  case EVP_PKEY_RSA_PSS: return "RSA-PSS";
  case EVP_PKEY_DSA: return "DSA";
  case EVP_PKEY_EC: return "ECDSA";
  case NID_ED25519: return "Ed25519";
  case NID_ED448: return "Ed448";
  default: return OBJ_nid2sn(kind);
  }
}

/* Kinds of signatures that both sides have: ["RSA-PSS+SHA256", …] */
NATIVE(tlsSharedSignatures) {
  ENTER;
  JSValue list = JS_NewArray(c);
  int count = SSL_get_shared_sigalgs(t->ssl, 0, NULL, NULL, NULL, NULL, NULL);
  for (int i = 0; i < count; i++) {
    int kind = 0, digest = 0;
    char text[96];
    SSL_get_shared_sigalgs(t->ssl, i, &kind, &digest, NULL, NULL, NULL);
    const char *name = signature_name(kind), *with = digest == NID_undef ? NULL : OBJ_nid2sn(digest);
    snprintf(text, sizeof text, "%s%s%s", name ? name : "UNDEF", with ? "+" : "", with ? with : "");
    JS_SetPropertyUint32(c, list, (uint32_t)i, JS_NewString(c, text));
  }
  return list;
}

NATIVE(tlsShutdown) {
  ENTER;
  SSL_shutdown(t->ssl);
  ERR_clear_error();
  return JS_UNDEFINED;
}

/* ---- before the handshake ---- */

/* tlsVerify(connection, ask for a certificate, refuse those that have none) */
NATIVE(tlsVerify) {
  ENTER;
  int mode = SSL_VERIFY_NONE;
  if (JS_ToBool(c, argv[1])) mode = SSL_VERIFY_PEER;
  if (mode && SSL_is_server(t->ssl) && JS_ToBool(c, argv[2])) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_set_verify(t->ssl, mode, accept_any);
  return JS_UNDEFINED;
}

NATIVE(tlsSetServerName) {
  ENTER;
  const char *name = JS_ToCString(c, argv[1]);
  if (!name) return JS_EXCEPTION;
  SSL_set_tlsext_host_name(t->ssl, name);
  JS_FreeCString(c, name);
  return JS_UNDEFINED;
}

/* tlsSetProtocols(connection, bytes as in the protocol) */
NATIVE(tlsSetProtocols) {
  ENTER;
  size_t len;
  const uint8_t *data = native_bytes(c, argv[1], &len);
  if (!data) return JS_UNDEFINED;
  if (!SSL_is_server(t->ssl)) {
    SSL_set_alpn_protos(t->ssl, data, (unsigned)len);
    return JS_UNDEFINED;
  }
  uint8_t *copy = js_malloc(c, len ? len : 1);
  if (!copy) return JS_EXCEPTION;
  memcpy(copy, data, len);
  js_free(c, t->protocols);
  t->protocols = copy;
  t->protocols_len = len;
  return JS_UNDEFINED;
}

NATIVE(tlsAskForCertificate) {
  ENTER;
  t->asks_for_certificate = true;
  return JS_UNDEFINED;
}

/* tlsAnswerCertificate(connection, another context or undefined) */
NATIVE(tlsAnswerCertificate) {
  ENTER;
  SSL_CTX *context = JS_IsObject(argv[1]) ? tls_context(c, argv[1]) : NULL;
  if (JS_IsObject(argv[1]) && !context) return JS_EXCEPTION;
  t->has_answered = true;
  if (!context) return JS_UNDEFINED;
  tls_listen(context);
  SSL_set_SSL_CTX(t->ssl, context);
  SSL_set1_verify_cert_store(t->ssl, SSL_CTX_get_cert_store(context));
  return JS_UNDEFINED;
}

NATIVE(tlsAskForProtocol) {
  ENTER;
  t->asks_for_protocol = true;
  return JS_UNDEFINED;
}

/* A server's: ids of sessions are asked for, and new ones told. */
NATIVE(tlsAskForSession) {
  ENTER;
  t->asks_for_session = true;
  return JS_UNDEFINED;
}

/* tlsAnswerSession(connection, bytes of the session or undefined) */
NATIVE(tlsAnswerSession) {
  ENTER;
  size_t len;
  const uint8_t *data = native_bytes(c, argv[1], &len);
  SSL_SESSION_free(t->found);
  t->found = data ? d2i_SSL_SESSION(NULL, &data, (long)len) : NULL;
  t->has_session = true;
  ERR_clear_error();
  return JS_UNDEFINED;
}

/* tlsSharedKeys(connection): keys that both sides have before are asked for */
NATIVE(tlsSharedKeys) {
  ENTER;
  tls_ask_for_keys(t);
  return JS_UNDEFINED;
}

/* tlsKeyHint(connection, text): whether it fits */
NATIVE(tlsKeyHint) {
  ENTER;
  const char *hint = JS_ToCString(c, argv[1]);
  if (!hint) return JS_EXCEPTION;
  bool done = SSL_use_psk_identity_hint(t->ssl, hint);
  JS_FreeCString(c, hint);
  ERR_clear_error();
  return JS_NewBool(c, done);
}

NATIVE(tlsSetSession) {
  ENTER;
  size_t len;
  const uint8_t *data = native_bytes(c, argv[1], &len);
  SSL_SESSION *session = data ? d2i_SSL_SESSION(NULL, &data, (long)len) : NULL;
  bool done = session && SSL_set_session(t->ssl, session);
  SSL_SESSION_free(session);
  ERR_clear_error();
  return JS_NewBool(c, done);
}

/* ---- afterwards ---- */

NATIVE(tlsSession) {
  ENTER;
  SSL_SESSION *session = SSL_get_session(t->ssl);
  unsigned char *data = NULL;
  int len = session ? i2d_SSL_SESSION(session, &data) : 0;
  JSValue value = len > 0 ? JS_NewArrayBufferCopy(c, data, (size_t)len) : JS_UNDEFINED;
  OPENSSL_free(data);
  return value;
}

static JSValue text_or_nothing(JSContext *c, const char *text) {
  return text ? JS_NewString(c, text) : JS_UNDEFINED;
}

/* [protocol, cipher, its standard name, its version, server name, ALPN, is the session an earlier one, key exchange, its curve, its bits] */
NATIVE(tlsFacts) {
  ENTER;
  const SSL_CIPHER *cipher = SSL_get_current_cipher(t->ssl);
  const unsigned char *alpn;
  unsigned alpn_len;
  EVP_PKEY *exchange = NULL;
  SSL_get0_alpn_selected(t->ssl, &alpn, &alpn_len);
  SSL_get_peer_tmp_key(t->ssl, &exchange);
  char group[64] = "";
  size_t group_len = 0;
  if (exchange) EVP_PKEY_get_group_name(exchange, group, sizeof group, &group_len);
  const char *kind = exchange ? EVP_PKEY_get0_type_name(exchange) : NULL;
  JSValue fields[] = {
    JS_NewString(c, SSL_get_version(t->ssl)),
    text_or_nothing(c, cipher ? SSL_CIPHER_get_name(cipher) : NULL),
    text_or_nothing(c, cipher ? SSL_CIPHER_standard_name(cipher) : NULL),
    text_or_nothing(c, cipher ? SSL_CIPHER_get_version(cipher) : NULL),
    text_or_nothing(c, SSL_get_servername(t->ssl, TLSEXT_NAMETYPE_host_name)),
    alpn_len ? JS_NewStringLen(c, (const char *)alpn, alpn_len) : JS_FALSE,
    JS_NewBool(c, SSL_session_reused(t->ssl)),
    text_or_nothing(c, kind),
    text_or_nothing(c, *group ? group : kind),
    JS_NewInt32(c, exchange ? EVP_PKEY_get_bits(exchange) : 0),
  };
  EVP_PKEY_free(exchange);
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++) JS_SetPropertyUint32(c, list, i, fields[i]);
  return list;
}

/* A peer with a key that both sides have before needs no certificate; in TLS 1.3 that looks like a session that is resumed. */
static bool needs_certificate(SSL *ssl) {
  const SSL_CIPHER *cipher = SSL_get_current_cipher(ssl);
  return !SSL_session_reused(ssl) && !(cipher && SSL_CIPHER_get_auth_nid(cipher) == NID_auth_psk);
}

/* [text, code] of the fault of the peer's certificate; undefined: it has none */
NATIVE(tlsVerifyResult) {
  ENTER;
  X509 *peer = SSL_get0_peer_certificate(t->ssl);
  long result = peer || !needs_certificate(t->ssl) ? SSL_get_verify_result(t->ssl)
                                                   : X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT;
  if (result == X509_V_OK) return JS_UNDEFINED;
  JSValue list = JS_NewArray(c);
  JS_SetPropertyUint32(c, list, 0, JS_NewString(c, X509_verify_cert_error_string(result)));
  JS_SetPropertyUint32(c, list, 1, JS_NewString(c, tls_verify_code(result)));
  return list;
}

/* The peer's certificate and those that it sent with it; or the own one: [object, …] */
NATIVE(tlsCertificates) {
  ENTER;
  JSValue list = JS_NewArray(c);
  uint32_t count = 0;
  if (JS_ToBool(c, argv[1])) {
    X509 *own = SSL_get_certificate(t->ssl);
    if (own) JS_SetPropertyUint32(c, list, count++, tls_certificate(c, own));
    return list;
  }
  X509 *peer = SSL_get0_peer_certificate(t->ssl);
  if (peer) JS_SetPropertyUint32(c, list, count++, tls_certificate(c, peer));
  STACK_OF(X509) *chain = SSL_get0_verified_chain(t->ssl);
  if (!chain) chain = SSL_get_peer_cert_chain(t->ssl);
  for (int i = 0; i < sk_X509_num(chain); i++) {
    X509 *each = sk_X509_value(chain, i);
    if (peer && X509_cmp(each, peer) != 0) JS_SetPropertyUint32(c, list, count++, tls_certificate(c, each));
  }
  return list;
}

/* tlsExport(connection, length, label, context or undefined) */
NATIVE(tlsExport) {
  ENTER;
  size_t len = (size_t)native_integer(c, argv[1]), label_len, context_len = 0;
  const char *label = JS_ToCStringLen(c, &label_len, argv[2]);
  const uint8_t *context = native_bytes(c, argv[3], &context_len);
  uint8_t *data = label ? js_malloc(c, len ? len : 1) : NULL;
  int done = data && SSL_export_keying_material(t->ssl, data, len, label, label_len, context, context_len,
                                                context != NULL);
  JS_FreeCString(c, label);
  if (done) return native_buffer(c, data, len);
  js_free(c, data);
  return label && data ? tls_throw(c, "no keying material") : JS_EXCEPTION;
}

/* tlsFinished(connection, of the peer?) */
NATIVE(tlsFinished) {
  ENTER;
  uint8_t data[EVP_MAX_MD_SIZE];
  size_t len = JS_ToBool(c, argv[1]) ? SSL_get_peer_finished(t->ssl, data, sizeof data)
                                     : SSL_get_finished(t->ssl, data, sizeof data);
  return len ? JS_NewArrayBufferCopy(c, data, len < sizeof data ? len : sizeof data) : JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(tlsNew, 2),
  FUNCTION(tlsHandshake, 2),
  FUNCTION(tlsRenegotiate, 1),
  FUNCTION(tlsFeed, 2),
  FUNCTION(tlsTake, 1),
  FUNCTION(tlsRead, 2),
  FUNCTION(tlsWrite, 3),
  FUNCTION(tlsNotes, 1),
  FUNCTION(tlsLogKeys, 1),
  FUNCTION(tlsMaxFragment, 2),
  FUNCTION(tlsTicket, 1),
  FUNCTION(tlsSharedSignatures, 1),
  FUNCTION(tlsShutdown, 1),
  FUNCTION(tlsVerify, 3),
  FUNCTION(tlsSetServerName, 2),
  FUNCTION(tlsSetProtocols, 2),
  FUNCTION(tlsAskForCertificate, 1),
  FUNCTION(tlsAnswerCertificate, 2),
  FUNCTION(tlsAskForProtocol, 1),
  FUNCTION(tlsAskForSession, 1),
  FUNCTION(tlsAnswerSession, 2),
  FUNCTION(tlsSharedKeys, 1),
  FUNCTION(tlsKeyHint, 2),
  FUNCTION(tlsSetSession, 2),
  FUNCTION(tlsSession, 1),
  FUNCTION(tlsFacts, 1),
  FUNCTION(tlsVerifyResult, 1),
  FUNCTION(tlsCertificates, 2),
  FUNCTION(tlsExport, 4),
  FUNCTION(tlsFinished, 2),
};

void native_add_tls(JSContext *c, JSValueConst into) {
  static const JSClassDef class = { .class_name = "TlsConnection", .finalizer = connection_finalize };
  JSRuntime *rt = JS_GetRuntime(c);
  JS_NewClass(rt, JS_NewClassID(rt, &connection_class), &class);
  ADD(into, functions);
  tls_add_context(c, into);
  tls_add_certificate(c, into);
}
