/* relay.h - a connection whose TLS ends on the host: the guest speaks TLS to the relay, under the sandbox's own authority,
 * and the relay speaks TLS to the server, whose certificate it verifies. Between the two stands an exchange.
 *
 *   guest ══ TLS ══ inner │ exchange │ far ══ TLS ══ world (the socket)
 *
 * The guest's handshake waits for the server's. A server that cannot prove its name never gets a request, and the guest
 * sees a certificate with the same fault. */
#pragma once

#include "net/conn.h"

/* Puts a relay for this name before c->outer; `plain`: HTTP without TLS, for a tape. False: no memory; the connection is as
 * before. */
bool net_relay_begin(net_poller *p, net_conn *c, const char *name, bool plain);
