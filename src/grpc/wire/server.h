/* server.h - a server of gRPC over HTTP/2: addresses, methods, limits.
 *
 *   S_TRY(server_new(&options, &s, err));
 *   S_TRY(server_run(s, err));            returns when it was stopped and the last call has ended
 *
 * One thread, that of server_run, has all sockets and timers; handlers run on `workers` threads. Nothing grows with
 * what a client sends or does not read: connections, calls, header fields, messages and the bytes held for a
 * connection and for all are limited, and so are the frames that cost the client nothing. */
#pragma once

#include "base/buf.h"
#include "grpc/wire/call.h"

#include <cay/cay.h>

typedef struct server server;
typedef struct tokens tokens;
typedef struct tls tls;

/* The request of a unary call, or the next message of a stream; borrowed until it returns. NULL data: the client has
 * sent the last message of a stream. */
typedef void server_fn(void *app, call *c, cay_slice message);

typedef struct server_method {
  const char *path; /* "/package.Service/Method"; lives as long as the server */
  server_fn *fn;
  bool stream_in; /* the client sends a stream */
  bool open;      /* needs no token */
  /* Whether the handler of this unary request is short and waits for nothing: it then runs on the I/O thread, which spares two
   * changes of threads. NULL: never. */
  bool (*at_once)(cay_slice message);
} server_method;

typedef struct server_options {
  const char *const *addresses; /* NULL ended: "127.0.0.1:50051", "[::1]:0", "unix:/run/x.sock" */
  const server_method *methods;
  size_t method_count;
  void *app;
  tls *tls;            /* NULL: plain; borrowed */
  tokens *tokens;      /* NULL: none are asked for; borrowed */
  bool plain_anywhere; /* addresses that are not loopback without TLS */
  uint32_t workers;
  uint32_t connections_max;
  uint32_t streams_max; /* of one connection */
  size_t message_max;   /* bytes of one request */
  size_t header_max;    /* bytes of the fields of one request */
  size_t held_max;      /* bytes held for one connection; eight times as many for all */
  uint32_t request_ms;  /* for a request to be whole */
  uint32_t hello_ms;    /* for a connection to speak HTTP/2 */
  uint32_t
      ping_ms; /* of silence, until a connection is asked whether it lives; half of that for its answer */
  uint32_t idle_ms;  /* without a call, until a connection is closed */
  uint32_t stall_ms; /* without progress in writing */
  uint32_t drain_ms; /* for calls to end once the server is stopped */
  void (*log)(void *ctx, cay_log_level level, const char *line);
  void *log_ctx;
  void (*on_drain)(void *ctx); /* the server was stopped and takes no new calls; NULL: nothing */
} server_options;

typedef struct server_counts {
  uint64_t connections, connections_refused, calls;
  uint32_t connections_now, calls_now;
} server_counts;

#define SERVER_DEFAULTS                                                                                      \
  .workers = 4, .connections_max = 1024, .streams_max = 1024, .message_max = 8u << 20,                       \
  .header_max = 16u << 10, .held_max = 96u << 20, .request_ms = 30000, .hello_ms = 10000, .ping_ms = 60000,  \
  .idle_ms = 600000, .stall_ms = 60000, .drain_ms = 30000

/* Listens. CAY_INVALID: an address; CAY_DENIED: one that needs TLS; CAY_IO. */
cay_status server_new(const server_options *options, server **out, cay_error *err) CHECKED;
size_t server_address_count(const server *s);
const char *server_address(const server *s, size_t index); /* with the port that was chosen */
cay_status server_run(server *s, cay_error *err) CHECKED;  /* when it returns, no handler runs */
/* From any thread and from signal handlers: no new calls, and the end when the last has ended. */
void server_stop(server *s);
int64_t server_patience(
    const server *s); /* after server_run: until when (clock_mono_ns) drain_ms have not passed */
void server_counts_read(server *s, server_counts *out);
void server_free(server *s); /* NULL is fine */

/* ---- bearer tokens ---- */

/* A file with a token in each line, "name:token" or a token alone; blank lines and those that start with # are
 * skipped. CAY_DENIED: others may read the file. CAY_INVALID: none is in it, or one is shorter than 16 bytes. */
cay_status tokens_load(const char *path, tokens **out, cay_error *err) CHECKED;
void tokens_free(tokens *t);
/* The name for the value of a header field "authorization"; NULL: not one of them. The time it takes does not depend
 * on how much of a token is right. */
const char *tokens_find(const tokens *t, cay_slice authorization);

/* ---- TLS ---- */

/* PEM files; client_ca NULL: clients need no certificate. TLS 1.2 and 1.3, ALPN "h2". */
cay_status tls_load(const char *cert, const char *key, const char *client_ca, tls **out,
                    cay_error *err) CHECKED;
void tls_free(tls *t);
