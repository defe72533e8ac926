/* resume.h - sessions of TLS that servers gave to the relays of one sandbox, for its next connections to the same name and port: such a
 * handshake needs no certificate and no signature (RFC 8446, 2.2; RFC 5077).
 *
 * A session was verified when it was made, and is not again: so the store belongs to one authority, whose settings of verification never
 * change, and forgets a session after ten minutes.
 *
 * Threads     the poller's alone, but for the two about its life. */
#pragma once

#include "net/openssl.h"

typedef struct net_resume net_resume;

net_resume *net_resume_new(const net_openssl *ssl); /* NULL: no memory */
void net_resume_free(net_resume *r);                /* wipes the keys; NULL is fine */

/* Takes the session over. The oldest is forgotten when there are too many. */
void net_resume_keep(net_resume *r, const char *name, uint16_t port, SSL_SESSION *session);
/* The latest of this name and port, the caller's reference; NULL: none. One of TLS 1.3 is used once (RFC 8446, C.4). */
SSL_SESSION *net_resume_take(net_resume *r, const char *name, uint16_t port);
