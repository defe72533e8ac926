/* exchange.h - HTTP/1.1 between a guest and a server of secrets: one request, its answer, the next request.
 *
 *   guest ── request_in ──► head checked, rewritten; body ── request_out ──► server
 *   guest ◄── answer_out ── scrubbed ◄────────────────────── answer_in ◄──── server
 *
 * Bytes alone: TLS and sockets are relay.c's. Requests that have two meanings are refused; answers that cannot be scrubbed
 * (compressed, although the request asked for none) become 502. Of the poller's thread.
 *
 * The request loses Accept-Encoding, Range, If-Range, Expect, Upgrade, TE and Trailer: answers come whole and as they are. */
#pragma once

#include "net/cache.h"
#include "net/flow.h"
#include "net/tape.h"

enum { NET_EXCHANGE_WINDOW = 64 << 10, NET_EXCHANGE_BODY_MAX = 8 << 20 };

typedef struct net_exchange net_exchange;

typedef struct net_exchange_ops {
  /* Whether this request may go; else `why` says it in a sentence. */
  bool (*check)(void *ctx, const net_hello *head, const char **why);
  /* A secret was put in, or its placeholder goes on unchanged. */
  void (*tell)(void *ctx, const char *secret, bool put);
} net_exchange_ops;

enum net_answer_state {
  NET_ANSWER_NONE, /* no request is open */
  NET_ANSWER_HEAD,
  NET_ANSWER_LENGTH,
  NET_ANSWER_SIZE,
  NET_ANSWER_CHUNK,
  NET_ANSWER_CHUNK_END,
  NET_ANSWER_TRAILER,
  NET_ANSWER_TO_END,
};

struct net_exchange {
  const net_secrets *secrets;
  const net_exchange_ops *ops;
  void *ctx;
  net_hello *scratch; /* borrowed, between calls anything */
  char host[NET_HOST_MAX + 1];
  uint16_t port;
  bool plain;       /* no TLS: no secret is put in */
  net_tape *tape;   /* NULL: none */
  net_cache *cache; /* NULL: none */
  bool taking;      /* `take` is of the open request */
  net_take take;
  bool credentials; /* the open request has placeholders of secrets */
  bool revalidates; /* it asks whether the cache's answer still holds, by `conditions` */
  buf conditions;
  const char *broken; /* no server: what each request is answered; NULL: there is one */
  buf request_in, request_out, answer_in, answer_out;
  /* the request */
  net_flow flow;
  bool in_body, collecting, head_only;
  buf head, body; /* of one whose body is collected */
  enum net_secret_form form;
  net_sighting sighting;
  /* the answer */
  enum net_answer_state state;
  uint64_t left;
  bool chunked;
  buf held;    /* of the scrubber */
  bool closed; /* the connection ends behind answer_out */
};

void net_exchange_init(net_exchange *x, const net_secrets *secrets, const char *host, uint16_t port);
void net_exchange_free(net_exchange *x);

/* Moves what can be moved. False: no memory. */
bool net_exchange_request(net_exchange *x);
bool net_exchange_answer(net_exchange *x, bool ended); /* `ended`: the server sends no more */

/* answer.c: for exchange.c. */
bool net_exchange_replay(net_exchange *x); /* writes the answer of x->take, from a tape or a cache */
bool net_exchange_refuse(net_exchange *x, int status, const char *words, const char *why);
bool net_exchange_is_idle(const net_exchange *x);
/* Removes the first bytes. */
void net_buf_drop(buf *b, size_t len);

/* One line of a head, without its end; its field. */
typedef struct net_line {
  const char *at;
  size_t len;
  const char *name, *value;
  size_t name_len, value_len;
} net_line;
/* The next line from *at on; false: the empty line, or no whole line. A line without a colon has no name. */
bool net_line_next(const char **at, const char *end, net_line *out);
bool net_line_is(const net_line *l, const char *name);
