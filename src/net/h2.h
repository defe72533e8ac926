/* h2.h - HTTP/2 with a server, for an exchange that speaks HTTP/1.1: its requests become streams, one at a time, and the
 * frames of the server become answers of HTTP/1.1 (RFC 9113).
 *
 *   exchange ── request_out ──► net_h2 ── net_h2_write ──► TLS ──► server
 *   exchange ◄── answer_in ◄─── net_h2 ◄── net_h2_read ─── TLS ◄── server
 *
 * Bytes alone, as exchange.h. A request that net_h2_put takes has been checked by the exchange; anything may come from the
 * server. A field of a request is never indexed, and the memory that held one is wiped.
 *
 * Of the poller's thread. */
#pragma once

#include "base/buf.h"

typedef struct net_h2 net_h2;

bool net_h2_is_there(void); /* libnghttp2 can be loaded */

net_h2 *net_h2_new(void); /* NULL: no memory, or net_h2_is_there is false */
void net_h2_free(net_h2 *h);

/* Takes the bytes of requests. False: no memory, or the server takes no more requests. */
bool net_h2_put(net_h2 *h, buf *request);
/* Bytes of the server become bytes of `answer`. False: no HTTP/2, or no memory. */
bool net_h2_read(net_h2 *h, const void *data, size_t len, buf *answer);
/* Bytes for the server. False: no memory. */
bool net_h2_write(net_h2 *h, buf *out);

size_t net_h2_waiting(const net_h2 *h); /* bytes of a request's body that the server has no window for */
bool net_h2_is_over(const net_h2 *h);   /* no answer comes any more */
