/* authority.c - the sandbox's certificate authority: key, leaf certificates, TLS contexts (authority.h). */
#include "net/authority.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "net/h2.h"

#include <stdio.h>
#include <string.h>

enum { LEAVES_MAX = 64, DAY = 24 * 60 * 60 };

typedef struct leaf {
  char name[NET_HOST_MAX + 1];
  enum net_leaf kind;
  X509 *certificate; /* NULL: a free place */
} leaf;

struct net_authority {
  const net_openssl *ssl;
  EVP_PKEY *key, *leaf_key;
  X509 *certificate;
  SSL_CTX *client, *server;
  net_resume *resume;
  char *pem;
  leaf leaves[LEAVES_MAX];
  size_t next;
};

/* ---- certificates ---- */

typedef struct sketch {
  const char *subject;     /* the common name */
  const char *alternative; /* "DNS:example.com", or NULL: an authority */
  long from, until;        /* seconds from now */
  bool own;                /* signed with its own key */
} sketch;

static bool cert_extend(const net_authority *a, X509 *x, X509 *issuer, int nid, const char *value) {
  X509V3_CTX ctx;
  memset(&ctx, 0, sizeof ctx);
  a->ssl->X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
  X509_EXTENSION *e = a->ssl->X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
  bool fine = e != NULL && a->ssl->X509_add_ext(x, e, -1) == 1;
  a->ssl->X509_EXTENSION_free(e);
  return fine;
}

static bool cert_number(const net_authority *a, X509 *x) {
  uint64_t serial = 0;
  if (random_bytes(&serial, sizeof serial, NULL) != CAY_OK) return false;
  return a->ssl->ASN1_INTEGER_set_uint64(a->ssl->X509_get_serialNumber(x), serial >> 1) == 1;
}

static bool cert_name(const net_authority *a, X509_NAME *name, const char *text) {
  const unsigned char *bytes = (const unsigned char *)text;
  /* A common name has at most 64 bytes; the alternative name is what counts. */
  size_t len = strnlen(text, 64);
  return a->ssl->X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, bytes, (int)len, -1, 0) == 1;
}

static bool cert_fill(const net_authority *a, const sketch *s, X509 *x, X509 *issuer, EVP_PKEY *key) {
  const net_openssl *o = a->ssl;
  bool authority = s->alternative == NULL;
  bool fine = o->X509_set_version(x, 2) == 1 && cert_number(a, x) &&
              o->X509_gmtime_adj(o->X509_getm_notBefore(x), s->from) != NULL &&
              o->X509_gmtime_adj(o->X509_getm_notAfter(x), s->until) != NULL &&
              cert_name(a, o->X509_get_subject_name(x), s->subject) &&
              o->X509_set_issuer_name(x, o->X509_get_subject_name(issuer)) == 1 &&
              o->X509_set_pubkey(x, key) == 1;
  fine = fine &&
         cert_extend(a, x, issuer, NID_basic_constraints, authority ? "critical,CA:TRUE" : "CA:FALSE") &&
         cert_extend(a, x, issuer, NID_key_usage,
                     authority ? "critical,keyCertSign" : "critical,digitalSignature") &&
         cert_extend(a, x, issuer, NID_subject_key_identifier, "hash");
  if (fine && issuer != x) fine = cert_extend(a, x, issuer, NID_authority_key_identifier, "keyid");
  if (fine && !authority)
    fine = cert_extend(a, x, issuer, NID_ext_key_usage, "serverAuth") &&
           cert_extend(a, x, issuer, NID_subject_alt_name, s->alternative);
  EVP_PKEY *signer = issuer == x ? key : a->key;
  return fine && o->X509_sign(x, signer, o->EVP_sha256()) != 0;
}

static X509 *cert_new(const net_authority *a, const sketch *s, EVP_PKEY *key) {
  X509 *x = a->ssl->X509_new();
  if (x == NULL) return NULL;
  X509 *issuer = s->own ? x : a->certificate;
  if (cert_fill(a, s, x, issuer, key)) return x;
  a->ssl->X509_free(x);
  return NULL;
}

static X509 *leaf_new(const net_authority *a, const char *name, enum net_leaf kind) {
  char alternative[NET_HOST_MAX + 5];
  sketch s = { .subject = name, .alternative = alternative, .from = -DAY, .until = 90L * DAY };
  (void)snprintf(alternative, sizeof alternative, "DNS:%s",
                 kind == NET_LEAF_OTHER_NAME ? "another-host.invalid" : name);
  if (kind == NET_LEAF_EXPIRED) s.from = -30L * DAY, s.until = -DAY;
  s.own = kind == NET_LEAF_UNTRUSTED;
  return cert_new(a, &s, a->leaf_key);
}

/* Borrowed. The oldest is forgotten when there are too many. */
static X509 *authority_leaf(net_authority *a, const char *name, enum net_leaf kind) {
  for (size_t i = 0; i < LEAVES_MAX; i++) {
    leaf *l = &a->leaves[i];
    if (l->certificate != NULL && l->kind == kind && strcmp(l->name, name) == 0) return l->certificate;
  }
  X509 *made = leaf_new(a, name, kind);
  if (made == NULL) return NULL;
  leaf *l = &a->leaves[a->next++ % LEAVES_MAX];
  if (l->certificate != NULL) a->ssl->X509_free(l->certificate);
  (void)snprintf(l->name, sizeof l->name, "%s", name);
  l->kind = kind;
  l->certificate = made;
  return made;
}

/* ---- contexts ---- */

/* The guest speaks HTTP/1.1 to the relay; servers may choose HTTP/2 (doc/adr/secrets-in-a-relay.md). */
static const unsigned char http11[] = "\x08http/1.1", both[] = "\x02h2\x08http/1.1";

static int authority_on_alpn(SSL *s, const unsigned char **out, unsigned char *out_len,
                             const unsigned char *in, unsigned in_len, void *arg) {
  const net_authority *a = arg;
  unsigned char *chosen = NULL;
  (void)s;
  int got = a->ssl->SSL_select_next_proto(&chosen, out_len, http11, sizeof http11 - 1, in, in_len);
  if (got != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

static bool context_settle(const net_authority *a, SSL_CTX *c) {
  a->ssl->SSL_CTX_set_options(c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CLEANSE_PLAINTEXT); /* a server may send a value back */
  (void)a->ssl->SSL_CTX_ctrl(c, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
  return a->ssl->SSL_CTX_ctrl(c, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) == 1;
}

/* Sessions with servers are kept by net_tls_on_session; of those with the guest there are none. */
static void authority_resume(const net_authority *a) {
  (void)a->ssl->SSL_CTX_ctrl(a->client, SSL_CTRL_SET_SESS_CACHE_MODE,
                             SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL, NULL);
  a->ssl->SSL_CTX_sess_set_new_cb(a->client, net_tls_on_session);
  (void)a->ssl->SSL_CTX_ctrl(a->server, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
  a->ssl->SSL_CTX_set_options(a->server, SSL_OP_NO_TICKET);
}

static bool authority_offer(const net_authority *a, SSL_CTX *c) {
  bool h2 = net_h2_is_there();
  const unsigned char *names = h2 ? both : http11;
  return a->ssl->SSL_CTX_set_alpn_protos(c, names, h2 ? sizeof both - 1 : sizeof http11 - 1) == 0;
}

/* The number of lists; 0: it has none, or cannot be read. */
static size_t authority_load_crls(const net_authority *a, SSL_CTX *c, const char *file) {
  size_t count = 0;
  X509_CRL *list;
  BIO *b = a->ssl->BIO_new_file(file, "r");
  while (b != NULL && (list = a->ssl->PEM_read_bio_X509_CRL(b, NULL, NULL, NULL)) != NULL) {
    if (a->ssl->X509_STORE_add_crl(a->ssl->SSL_CTX_get_cert_store(c), list) == 1) count++;
    a->ssl->X509_CRL_free(list);
  }
  (void)a->ssl->BIO_free(b);
  return count;
}

/* As curl verifies: the peer's chain, its name, and any authority of the store as the end of the chain; with lists of revoked
 * certificates, each certificate of the chain. */
static cay_status authority_client_context(net_authority *a, const char *ca_file, const char *crl_file,
                                           cay_error *err) {
  SSL_CTX *c = a->client = a->ssl->SSL_CTX_new(a->ssl->TLS_client_method());
  if (c == NULL || !context_settle(a, c)) return err_no_memory(err);
  a->ssl->SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
  unsigned long flags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST;
  if (crl_file != NULL) flags |= X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;
  (void)a->ssl->X509_VERIFY_PARAM_set_flags(a->ssl->SSL_CTX_get0_param(c), flags);
  (void)a->ssl->SSL_CTX_ctrl(c, SSL_CTRL_SET_TLSEXT_STATUS_REQ_TYPE, TLSEXT_STATUSTYPE_ocsp, NULL);
  if (!authority_offer(a, c)) return err_no_memory(err);
  (void)a->ssl->SSL_CTX_set_default_verify_paths(c); /* without them every server is refused */
  if (ca_file != NULL && a->ssl->SSL_CTX_load_verify_file(c, ca_file) != 1)
    return err_set(err, CAY_INVALID, "network.ca_file: %.200s holds no certificates in PEM", ca_file);
  if (crl_file != NULL && authority_load_crls(a, c, crl_file) == 0)
    return err_set(err, CAY_INVALID, "network.crl_file: %.200s holds no lists of revoked certificates in PEM",
                   crl_file);
  a->ssl->ERR_clear_error();
  authority_resume(a);
  return CAY_OK;
}

static bool authority_server_context(net_authority *a) {
  a->server = a->ssl->SSL_CTX_new(a->ssl->TLS_server_method());
  if (a->server == NULL || !context_settle(a, a->server)) return false;
  a->ssl->SSL_CTX_set_alpn_select_cb(a->server, authority_on_alpn, a);
  return true;
}

/* ---- life ---- */

static bool authority_write_pem(net_authority *a) {
  BIO *b = a->ssl->BIO_new(a->ssl->BIO_s_mem());
  if (b == NULL) return false;
  if (a->ssl->PEM_write_bio_X509(b, a->certificate) == 1) {
    size_t len = a->ssl->BIO_ctrl_pending(b);
    a->pem = mem_zalloc(len + 1);
    if (a->pem != NULL) (void)a->ssl->BIO_read(b, a->pem, (int)len);
  }
  (void)a->ssl->BIO_free(b);
  return a->pem != NULL;
}

static bool authority_make(net_authority *a) {
  const sketch s = {
    .subject = "cay: authority of one sandbox", .from = -DAY, .until = 3650L * DAY, .own = true
  };
  a->key = a->ssl->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  a->leaf_key = a->ssl->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  if (a->key == NULL || a->leaf_key == NULL) return false;
  a->certificate = cert_new(a, &s, a->key);
  a->resume = net_resume_new(a->ssl);
  return a->certificate != NULL && a->resume != NULL && authority_write_pem(a) && authority_server_context(a);
}

cay_status net_authority_new(const char *ca_file, const char *crl_file, net_authority **out, cay_error *err) {
  const net_openssl *ssl;
  S_TRY(net_openssl_load(&ssl, err));
  net_authority *a = mem_zalloc(sizeof *a);
  if (a == NULL) return err_no_memory(err);
  a->ssl = ssl;
  cay_status status =
      authority_make(a) ? authority_client_context(a, ca_file, crl_file, err) : err_no_memory(err);
  if (status != CAY_OK) {
    net_authority_free(a);
    return status;
  }
  *out = a;
  return CAY_OK;
}

void net_authority_free(net_authority *a) {
  if (a == NULL) return;
  for (size_t i = 0; i < LEAVES_MAX; i++) a->ssl->X509_free(a->leaves[i].certificate);
  a->ssl->X509_free(a->certificate);
  a->ssl->EVP_PKEY_free(a->key);
  a->ssl->EVP_PKEY_free(a->leaf_key);
  net_resume_free(a->resume);
  a->ssl->SSL_CTX_free(a->client);
  a->ssl->SSL_CTX_free(a->server);
  mem_free(a->pem);
  mem_free(a);
}

const char *net_authority_pem(const net_authority *a) { return a->pem; }

const net_openssl *net_authority_ssl(const net_authority *a) { return a->ssl; }

net_resume *net_authority_resume(const net_authority *a) { return a->resume; }

SSL *net_authority_client(net_authority *a, const char *name) {
  SSL *s = a->ssl->SSL_new(a->client);
  if (s == NULL) return NULL;
  char host[NET_HOST_MAX + 1];
  (void)snprintf(host, sizeof host, "%s", name);
  bool fine = a->ssl->SSL_ctrl(s, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host) == 1 &&
              a->ssl->SSL_set1_host(s, host) == 1;
  if (fine) {
    a->ssl->SSL_set_connect_state(s);
    return s;
  }
  a->ssl->SSL_free(s);
  return NULL;
}

SSL *net_authority_server(net_authority *a, const char *name, enum net_leaf kind) {
  X509 *certificate = authority_leaf(a, name, kind);
  SSL *s = certificate != NULL ? a->ssl->SSL_new(a->server) : NULL;
  if (s == NULL) return NULL;
  if (a->ssl->SSL_use_certificate(s, certificate) == 1 && a->ssl->SSL_use_PrivateKey(s, a->leaf_key) == 1) {
    a->ssl->SSL_set_accept_state(s);
    return s;
  }
  a->ssl->SSL_free(s);
  return NULL;
}
