/* inner.h - server, connection and call as the files of this folder see them.
 *
 *   server 1-n connection 1-n call      a connection holds a reference to each of its calls
 *
 * Functions marked [io] belong to the thread of server_run. The rest of a call is under call.mu, the lists of the server
 * under server.mu. Order: call.mu before server.mu; neither with another call's. */
#pragma once

#include "base/list.h"
#include "grpc/wire/account.h"
#include "grpc/wire/frame.h"
#include "grpc/wire/server.h"
#include "grpc/wire/timers.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>

typedef struct conn conn;
typedef struct ssl_st ssl_st;

enum {
  CALL_OUT_HIGH = 64 * 1024, /* bytes that wait for the client before a sender sleeps */
  CALL_PACK_FROM = 1024,     /* shorter messages are not compressed */
  CALL_TEXT_MAX = 1024,      /* of grpc-message */
  CONN_OUT_MAX = 64 * 1024,
  CONN_WINDOW = 4 << 20,
  CALL_WINDOW = 1 << 20,
  CLIENT_MAX = 80,
};

/* A message that goes out, or came in. */
typedef struct call_message {
  list node;
  buf bytes;
  uint8_t head[FRAME_HEAD];
  size_t at;   /* how much of head and bytes is written */
  size_t held; /* in the account */
} call_message;

struct call {
  atomic_uint refs;
  server *server;
  account *account;
  char client[CLIENT_MAX];

  conn *conn; /* [io]; NULL: the stream is closed */
  list in_conn;
  int32_t id;
  const server_method *method;
  frame_reader reader;
  size_t reader_held;
  timer_entry
      timer; /* of the deadline; before that, of the request; at last, of what the client does not read */
  size_t header_len;
  bool posted, is_grpc, unpackable, accepts_gzip, timed, bad_timeout, token_seen, begun, responded,
      input_ended, failed;
  const char *token;
  const char *
      plain; /* the status of HTTP for a request that is no gRPC, when the request has ended; NULL: it is gRPC */
  size_t plain_at;
  int64_t deadline_ns; /* set before the first handler runs */

  pthread_mutex_t mu;
  pthread_cond_t room;
  list out, in; /* call_message */
  size_t out_len, consumed;
  bool end_in; /* the client has sent its last message, and the handler shall know */
  bool queued, dirty, finished, hurried, ended; /* ended: otherwise than by call_finish */
  enum grpc_code code;
  char text[CALL_TEXT_MAX];
  call_hook_fn *hook; /* NULL: none, or it was called */
  void *hook_ctx;

  list in_work;  /* server.mu */
  list in_dirty; /* server.mu */
};

struct conn { /* [io] */
  server *server;
  list in_server, in_touched, calls;
  account *account;
  int fd;
  ssl_st *ssl;
  nghttp2_session *h2;
  uint32_t events; /* of epoll */
  bool secured, greeted, want_write, dead, draining, noticed, settled, parting;
  bool ping_free; /* the client was sent headers or data since its last PING */
  uint8_t *out;   /* CONN_OUT_MAX bytes */
  size_t out_at, out_len;
  timer_entry timer;
  int64_t read_ns, write_ns, idle_ns, ping_ns, began_ns;
  int64_t parting_ns;
  int64_t credit_ns; /* when the frames that cost nothing have been paid */
  char client[CLIENT_MAX];
};

typedef struct listener {
  int fd;
  bool is_unix;
  char address[160];
} listener;

struct server {
  server_options options;
  nghttp2_session_callbacks *callbacks;
  nghttp2_option *h2_option;
  int epoll, wake;
  listener listeners[8];
  size_t listener_count;
  timers timers;
  list conns, touched;
  uint32_t conn_count;
  bool draining;
  int64_t drain_ns;
  account *account;
  atomic_bool stopped;
  atomic_ullong connections, refused, calls;
  atomic_uint connections_now, calls_now;

  pthread_mutex_t mu;
  pthread_cond_t work_there;
  list work, dirty; /* call */
  bool closing;
  pthread_t *workers;
  uint32_t worker_count;
};

void server_log(server *s, cay_log_level level, const char *format, ...) PRINTF(3, 4);
void server_wake(server *s);
void server_end_conns(server *s);

/* work.c */
cay_status work_start(server *s, cay_error *err) CHECKED;
void work_stop(server *s);
void work_add(call *c); /* call.mu; it has input for its handler */

/* call.c */
call *call_new(conn *c, int32_t id) CHECKED;
void call_fail(call *c, enum grpc_code code, const char *message); /* [io] unsent messages are dropped */
void call_drop(call *c);                                           /* [io] its stream is gone */
void call_message_free(call *c, call_message *m);
void call_kick(call *c); /* call.mu; the I/O thread is to look at it */

/* request.c: [io] what a client sends */
int request_header(call *c, cay_slice name, cay_slice value);
void request_begin(call *c);
void request_data(call *c, cay_slice data);
void request_end(call *c);

/* respond.c: [io] the answer */
void respond(call *c);
void respond_plain(call *c); /* c->plain */
void respond_sent(conn *c, const nghttp2_frame *frame);

/* stream.c: [io] nghttp2 */
cay_status stream_setup(server *s, cay_error *err) CHECKED;
nghttp2_mem stream_memory(void);

/* conn.c: [io] */
void conn_open(server *s, int fd, const char *client);
void conn_event(conn *c, uint32_t events);
void conn_touch(conn *c); /* flushed before the thread sleeps */
void conn_flush(conn *c);
void conn_drain(conn *c);
void conn_noticed(conn *c); /* a GOAWAY was sent */
void conn_close(conn *c);
bool conn_pay(conn *c); /* for a frame that costs the client nothing; false: too many */

/* tls.c */
enum tls_result { TLS_DONE, TLS_WANT_READ, TLS_WANT_WRITE, TLS_FAILED };
ssl_st *tls_accept(tls *t, int fd);
enum tls_result tls_hello(ssl_st *ssl);
enum tls_result tls_read(ssl_st *ssl, void *to, size_t cap, size_t *out);
bool tls_pending(
    const ssl_st *ssl); /* bytes that were received and wait for tls_read: the socket may not say so */
enum tls_result tls_write(ssl_st *ssl, const void *from, size_t len, size_t *out);
void tls_client(ssl_st *ssl, char *out, size_t cap); /* the name in the certificate; left alone: none */
void tls_part(ssl_st *ssl);                          /* tells the client that no more comes; NULL is fine */
void tls_end(ssl_st *ssl);

/* listen.c */
cay_status listen_on(server *s, const char *address, cay_error *err) CHECKED;
void listen_close(server *s);
