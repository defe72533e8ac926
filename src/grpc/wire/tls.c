/* tls.c - TLS by OpenSSL, without waiting. */
#include "grpc/wire/inner.h"

#include "base/alloc.h"
#include "base/error.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

struct tls {
  SSL_CTX *ctx;
};

static cay_status tls_error(cay_error *err, const char *what, const char *path) {
  char why[160] = "unknown";
  unsigned long code = ERR_peek_last_error();
  if (code != 0) ERR_error_string_n(code, why, sizeof why);
  ERR_clear_error();
  return err_set(err, CAY_INVALID, "%s %.60s: %.120s", what, path, why);
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                     unsigned in_len, void *ctx) {
  (void)ssl, (void)ctx;
  static const unsigned char ours[] = { 2, 'h', '2' };
  int chosen =
      SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, ours, sizeof ours, in, in_len);
  return chosen == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static cay_status load_files(SSL_CTX *ctx, const char *cert, const char *key, const char *client_ca,
                             cay_error *err) {
  if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1) return tls_error(err, "certificate", cert);
  if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1) return tls_error(err, "key", key);
  if (SSL_CTX_check_private_key(ctx) != 1)
    return tls_error(err, "the key does not belong to the certificate:", key);
  if (client_ca == NULL) return CAY_OK;
  if (SSL_CTX_load_verify_locations(ctx, client_ca, NULL) != 1)
    return tls_error(err, "certificates of clients", client_ca);
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(client_ca));
  return CAY_OK;
}

cay_status tls_load(const char *cert, const char *key, const char *client_ca, tls **out, cay_error *err) {
  tls *t = mem_zalloc(sizeof *t);
  if (t == NULL) return err_no_memory(err);
  t->ctx = SSL_CTX_new(TLS_server_method());
  if (t->ctx == NULL) return tls_free(t), err_no_memory(err);
  (void)SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
  (void)SSL_CTX_set_options(t->ctx,
                            SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  (void)SSL_CTX_set_mode(t->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                     SSL_MODE_RELEASE_BUFFERS);
  (void)SSL_CTX_set_cipher_list(t->ctx, "ECDHE+AESGCM:ECDHE+CHACHA20"); /* what HTTP/2 permits of TLS 1.2 */
  (void)SSL_CTX_set_session_id_context(t->ctx, (const unsigned char *)"cay", 3);
  SSL_CTX_set_alpn_select_cb(t->ctx, choose_h2, NULL);
  cay_status status = load_files(t->ctx, cert, key, client_ca, err);
  if (status != CAY_OK) return tls_free(t), status;
  *out = t;
  return CAY_OK;
}

void tls_free(tls *t) {
  if (t == NULL) return;
  SSL_CTX_free(t->ctx);
  mem_free(t);
}

ssl_st *tls_accept(tls *t, int fd) {
  SSL *ssl = SSL_new(t->ctx);
  if (ssl == NULL) return NULL;
  if (SSL_set_fd(ssl, fd) != 1) return SSL_free(ssl), NULL;
  SSL_set_accept_state(ssl);
  return ssl;
}

static enum tls_result tls_told(SSL *ssl, int result) {
  int why = SSL_get_error(ssl, result);
  ERR_clear_error();
  if (why == SSL_ERROR_WANT_READ) return TLS_WANT_READ;
  return why == SSL_ERROR_WANT_WRITE ? TLS_WANT_WRITE : TLS_FAILED;
}

enum tls_result tls_hello(ssl_st *ssl) {
  int result = SSL_do_handshake(ssl);
  if (result != 1) return tls_told(ssl, result);
  const unsigned char *chosen;
  unsigned len;
  SSL_get0_alpn_selected(ssl, &chosen, &len);
  return len == 2 && memcmp(chosen, "h2", 2) == 0 ? TLS_DONE : TLS_FAILED;
}

enum tls_result tls_read(ssl_st *ssl, void *to, size_t cap, size_t *out) {
  int result = SSL_read_ex(ssl, to, cap, out);
  return result == 1 ? TLS_DONE : tls_told(ssl, result);
}

bool tls_pending(const ssl_st *ssl) { return SSL_pending(ssl) > 0; }

enum tls_result tls_write(ssl_st *ssl, const void *from, size_t len, size_t *out) {
  int result = SSL_write_ex(ssl, from, len, out);
  return result == 1 ? TLS_DONE : tls_told(ssl, result);
}

void tls_client(ssl_st *ssl, char *out, size_t cap) {
  X509 *certificate = SSL_get1_peer_certificate(ssl);
  if (certificate == NULL) return;
  char name[64];
  int len = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  if (len > 0) (void)snprintf(out, cap, "cert:%s", name);
  X509_free(certificate);
}

void tls_part(ssl_st *ssl) {
  if (ssl == NULL) return;
  (void)SSL_shutdown(ssl);
  ERR_clear_error();
}

void tls_end(ssl_st *ssl) {
  if (ssl == NULL) return;
  (void)SSL_shutdown(ssl); /* one try: the socket is closed at once */
  ERR_clear_error();
  SSL_free(ssl);
}
