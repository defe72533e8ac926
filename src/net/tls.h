/* tls.h - one side of TLS over memory: bytes go in and come out, and no socket is known here. Of the poller's thread.
 * A client keeps the sessions that its server gives, for later ones of the same authority (resume.h). */
#pragma once

#include "net/authority.h"

typedef struct net_tls net_tls;

enum net_tls_state { NET_TLS_SHAKING, NET_TLS_READY, NET_TLS_FAILED };

/* NULL: no memory. */
net_tls *net_tls_client(net_authority *a, const char *name, uint16_t port); /* resumes, if it can */
net_tls *net_tls_server(net_authority *a, const char *name, enum net_leaf kind);
void net_tls_free(net_tls *t); /* NULL is fine */

/* Records from the peer, and for it. */
bool net_tls_put(net_tls *t, const void *data, size_t len); /* false: no memory */
size_t net_tls_take(net_tls *t, void *data, size_t len);    /* 0: none */
size_t net_tls_waiting(const net_tls *t);                   /* bytes for the peer */
size_t net_tls_unread(const net_tls *t);                    /* bytes from the peer that were not looked at */

enum net_tls_state net_tls_shake(net_tls *t);

/* After the handshake. Plain bytes: how many were read; 0: no more, the peer has ended; -1: none now; -2: no TLS. */
int64_t net_tls_read(net_tls *t, void *data, size_t len);
bool net_tls_write(net_tls *t, const void *data, size_t len); /* false: it has failed */
void net_tls_end(net_tls *t);                                 /* no more plain bytes to the peer */

/* Of a client that has failed: the fault of the server's certificate. False: it has none, or was not seen. */
bool net_tls_fault(const net_tls *t, enum net_leaf *kind, const char **why);
/* Of a client: the server's certificate was revoked, as a list of its issuer or the server's own stapled answer of OCSP says. */
bool net_tls_is_revoked(const net_tls *t);
/* Of a client that is ready: the server chose HTTP/2. */
bool net_tls_is_h2(const net_tls *t);
