/* tls.c - one side of TLS over memory BIOs: handshake, revocation by OCSP stapling, plain bytes (tls.h). */
#include "net/tls.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

struct net_tls {
  const net_openssl *o;
  SSL *ssl;
  BIO *in, *out; /* of ssl */
  enum net_tls_state state;
  bool client, revoked;
  net_resume *resume; /* of a client, by this name and port */
  char name[NET_HOST_MAX + 1];
  uint16_t port;
  SSL_SESSION *early; /* came before the handshake was over; NULL: none */
};

/* ---- life ---- */

static net_tls *tls_over(net_authority *a, SSL *ssl) {
  const net_openssl *o = net_authority_ssl(a);
  net_tls *t = ssl != NULL ? mem_zalloc(sizeof *t) : NULL;
  BIO *in = t != NULL ? o->BIO_new(o->BIO_s_mem()) : NULL,
      *out = in != NULL ? o->BIO_new(o->BIO_s_mem()) : NULL;
  if (out == NULL) {
    (void)o->BIO_free(in);
    o->SSL_free(ssl);
    mem_free(t);
    return NULL;
  }
  (void)o->BIO_ctrl(in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
  o->SSL_set_bio(ssl, in, out);
  *t = (net_tls){ .o = o, .ssl = ssl, .in = in, .out = out };
  return t;
}

static void tls_resume(net_tls *t) {
  SSL_SESSION *session = net_resume_take(t->resume, t->name, t->port);
  if (session == NULL) return;
  (void)t->o->SSL_set_session(t->ssl, session); /* without it a whole handshake */
  t->o->SSL_SESSION_free(session);
}

net_tls *net_tls_client(net_authority *a, const char *name, uint16_t port) {
  net_tls *t = tls_over(a, net_authority_client(a, name));
  if (t == NULL) return NULL;
  t->client = true;
  t->resume = net_authority_resume(a);
  t->port = port;
  (void)snprintf(t->name, sizeof t->name, "%s", name);
  if (t->o->SSL_set_ex_data(t->ssl, 0, t) == 1) tls_resume(t);
  return t;
}

net_tls *net_tls_server(net_authority *a, const char *name, enum net_leaf kind) {
  return tls_over(a, net_authority_server(a, name, kind));
}

void net_tls_free(net_tls *t) {
  if (t == NULL) return;
  t->o->SSL_SESSION_free(t->early);
  net_tls_end(t); /* else SSL_free makes its session one that cannot be resumed */
  t->o->SSL_free(t->ssl);
  mem_free(t);
}

/* ---- sessions ---- */

int net_tls_on_session(SSL *ssl, SSL_SESSION *session) {
  enum { REFUSED, TAKEN };
  const net_openssl *o;
  if (net_openssl_load(&o, NULL) != CAY_OK) return REFUSED;
  net_tls *t = o->SSL_get_ex_data(ssl, 0);
  if (t == NULL) return REFUSED;
  if (t->state == NET_TLS_READY) {
    net_resume_keep(t->resume, t->name, t->port, session);
    return TAKEN;
  }
  o->SSL_SESSION_free(t->early);
  t->early = session;
  return TAKEN;
}

/* TLS 1.2 gives a session before the handshake is over, which may still find that the certificate was revoked. */
static void tls_keep_early(net_tls *t) {
  if (t->early != NULL) net_resume_keep(t->resume, t->name, t->port, MOVE(t->early));
}

/* ---- records ---- */

bool net_tls_put(net_tls *t, const void *data, size_t len) {
  return len == 0 || t->o->BIO_write(t->in, data, (int)len) == (int)len;
}

size_t net_tls_take(net_tls *t, void *data, size_t len) {
  if (t->o->BIO_ctrl_pending(t->out) == 0) return 0;
  int n = t->o->BIO_read(t->out, data, (int)len);
  return n > 0 ? (size_t)n : 0;
}

size_t net_tls_waiting(const net_tls *t) { return t->o->BIO_ctrl_pending(t->out); }

size_t net_tls_unread(const net_tls *t) { return t->o->BIO_ctrl_pending(t->in); }

/* ---- the handshake ---- */

static bool tls_wants_more(net_tls *t, int result) {
  int why = t->o->SSL_get_error(t->ssl, result);
  return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

/* A response of OCSP (RFC 6960) about the server's certificate, signed by its issuer or in its name. */
static bool tls_response_revokes(const net_tls *t, OCSP_BASICRESP *basic) {
  enum { CLOCK_SKEW_S = 300 };
  const net_openssl *o = t->o;
  STACK_OF(X509) *chain = o->SSL_get0_verified_chain(t->ssl);
  const OPENSSL_STACK *raw = (const OPENSSL_STACK *)chain;
  ASN1_GENERALIZEDTIME *from = NULL;
  int status = V_OCSP_CERTSTATUS_UNKNOWN, reason;
  if (chain == NULL || o->OPENSSL_sk_num(raw) < 2) return false;
  X509_STORE *store = o->SSL_CTX_get_cert_store(o->SSL_get_SSL_CTX(t->ssl));
  if (o->OCSP_basic_verify(basic, chain, store, 0) <= 0) return false;
  OCSP_CERTID *id =
      o->OCSP_cert_to_id(o->EVP_sha1(), o->OPENSSL_sk_value(raw, 0), o->OPENSSL_sk_value(raw, 1));
  bool found = id != NULL && o->OCSP_resp_find_status(basic, id, &status, &reason, NULL, &from, NULL) == 1;
  o->OCSP_CERTID_free(id);
  /* An old response revokes, too: a certificate does not become good again. */
  return found && status == V_OCSP_CERTSTATUS_REVOKED &&
         o->OCSP_check_validity(from, NULL, CLOCK_SKEW_S, -1) == 1;
}

/* What the server stapled to its handshake; a server that staples nothing is not asked about elsewhere. */
static bool tls_staple_revokes(const net_tls *t) {
  const unsigned char *data = NULL;
  long len = t->o->SSL_ctrl(t->ssl, SSL_CTRL_GET_TLSEXT_STATUS_REQ_OCSP_RESP, 0, (void *)&data);
  OCSP_RESPONSE *r = data != NULL && len > 0 ? t->o->d2i_OCSP_RESPONSE(NULL, &data, len) : NULL;
  OCSP_BASICRESP *basic = NULL;
  if (r != NULL && t->o->OCSP_response_status(r) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
    basic = t->o->OCSP_response_get1_basic(r);
  bool revoked = basic != NULL && tls_response_revokes(t, basic);
  t->o->OCSP_BASICRESP_free(basic);
  t->o->OCSP_RESPONSE_free(r);
  return revoked;
}

enum net_tls_state net_tls_shake(net_tls *t) {
  if (t->state != NET_TLS_SHAKING) return t->state;
  t->o->ERR_clear_error();
  int r = t->o->SSL_do_handshake(t->ssl);
  if (r == 1)
    t->state = NET_TLS_READY;
  else if (!tls_wants_more(t, r))
    t->state = NET_TLS_FAILED;
  if (t->client && t->state == NET_TLS_READY && tls_staple_revokes(t)) {
    t->revoked = true;
    t->state = NET_TLS_FAILED;
  }
  if (t->state == NET_TLS_READY) tls_keep_early(t);
  return t->state;
}

bool net_tls_is_revoked(const net_tls *t) {
  return t->revoked || t->o->SSL_get_verify_result(t->ssl) == X509_V_ERR_CERT_REVOKED;
}

bool net_tls_is_h2(const net_tls *t) {
  const unsigned char *name = NULL;
  unsigned len = 0;
  t->o->SSL_get0_alpn_selected(t->ssl, &name, &len);
  return len == 2 && memcmp(name, "h2", 2) == 0;
}

bool net_tls_fault(const net_tls *t, enum net_leaf *kind, const char **why) {
  long code = t->o->SSL_get_verify_result(t->ssl);
  if (t->state != NET_TLS_FAILED || code == X509_V_OK) return false;
  *why = t->o->X509_verify_cert_error_string(code);
  *kind = code == X509_V_ERR_CERT_HAS_EXPIRED    ? NET_LEAF_EXPIRED
          : code == X509_V_ERR_HOSTNAME_MISMATCH ? NET_LEAF_OTHER_NAME
                                                 : NET_LEAF_UNTRUSTED;
  return true;
}

/* ---- plain bytes ---- */

int64_t net_tls_read(net_tls *t, void *data, size_t len) {
  t->o->ERR_clear_error();
  int n = t->o->SSL_read(t->ssl, data, (int)len);
  if (n > 0) return n;
  int why = t->o->SSL_get_error(t->ssl, n);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return -1;
  return why == SSL_ERROR_ZERO_RETURN ? 0 : -2;
}

bool net_tls_write(net_tls *t, const void *data, size_t len) {
  if (len == 0) return true;
  t->o->ERR_clear_error();
  return t->o->SSL_write(t->ssl, data, (int)len) == (int)len;
}

void net_tls_end(net_tls *t) {
  t->o->ERR_clear_error();
  if (t->state == NET_TLS_READY) (void)t->o->SSL_shutdown(t->ssl);
}
