/* flow.h - the requests on one HTTP/1 connection, one after the other (RFC 9112): where each head begins, so that each is
 * checked. Bytes are never changed. */
#pragma once

#include "net/hello.h"

enum net_flow_state {
  NET_FLOW_HEAD,
  NET_FLOW_BODY,
  NET_FLOW_SIZE,
  NET_FLOW_DATA,
  NET_FLOW_DATA_END,
  NET_FLOW_TRAILER,
  NET_FLOW_ASKED, /* behind a request that asks for another protocol: no byte passes before the answer */
  NET_FLOW_TUNNEL
};

typedef struct net_flow {
  enum net_flow_state state;
  uint64_t left;             /* bytes of the body or of the chunk */
  enum net_flow_state after; /* the request */
  uint8_t status[12];        /* of an answer: "HTTP/1.1 101" */
  size_t status_len, blank;  /* bytes of it; of the empty line behind its head */
} net_flow;

/* The number of bytes at the beginning of `data` that may pass. 0 with *head NULL: more bytes are needed. With *head set
 * (to `hello`) a head begins there: the caller checks it, and calls net_flow_begin to let it pass. -1: no HTTP
 * that has one meaning. */
int64_t net_flow_pass(net_flow *flow, const uint8_t *data, size_t len, net_hello *hello,
                      const net_hello **head);
void net_flow_begin(net_flow *flow, const net_hello *head); /* its head_len bytes pass */

/* The first bytes of the server's answer to a request that asks for another protocol: 101 lets all that follows pass, and
 * behind any other answer the next request comes. */
void net_flow_answer(net_flow *flow, const uint8_t *data, size_t len);
