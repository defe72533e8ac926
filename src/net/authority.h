/* authority.h - the certificate authority of one sandbox, and the contexts of TLS on both sides of a relay.
 *
 * Its private key exists in this process alone, as long as the sandbox does; the certificate is in the guest's trust
 * store. A certificate for a host is made when a guest first connects to it.
 *
 * Threads     made on the embedder's thread; net_authority_leaf and what tls.h does are the poller's alone. */
#pragma once

#include "net/openssl.h"
#include "net/policy.h"
#include "net/resume.h"

typedef struct net_authority net_authority;

/* `ca_file`: certificates that servers are verified with, beside the system's; NULL: none. `crl_file`: lists of revoked
 * certificates; with them each certificate of a server's chain needs a list of its issuer; NULL: none. CAY_UNSUPPORTED: no
 * OpenSSL; CAY_INVALID: a file; CAY_NO_MEMORY. */
cay_status net_authority_new(const char *ca_file, const char *crl_file, net_authority **out,
                             cay_error *err) CHECKED;
void net_authority_free(net_authority *a); /* NULL is fine */

const char *net_authority_pem(const net_authority *a); /* the certificate; borrowed */

/* A fault of the server's certificate is shown to the guest as the same fault, so that its programs fail with
 * the message that they have without a relay. */
enum net_leaf { NET_LEAF_GOOD, NET_LEAF_EXPIRED, NET_LEAF_OTHER_NAME, NET_LEAF_UNTRUSTED, NET_LEAF_KINDS };

/* For the files of this folder. */
const net_openssl *net_authority_ssl(const net_authority *a);
net_resume *net_authority_resume(const net_authority *a); /* sessions with servers */
/* The client's context calls this with each session that a server gives. */
int net_tls_on_session(SSL *ssl, SSL_SESSION *session);
SSL *net_authority_client(net_authority *a, const char *name); /* verifies; NULL: no memory */
SSL *net_authority_server(net_authority *a, const char *name, enum net_leaf kind); /* NULL: no memory */
