/* tls_connection.h - one end of a TLS connection, and what OpenSSL asks of it and tells it. */
#pragma once

#include "tls.h"

/* What lib/ is told between two calls: sessions that may be resumed, secrets for a log, what a client's hello has (the id of a session, and
 * its ticket), the begin and the end of a handshake after the first. */
enum { NOTE_SESSION, NOTE_KEYS, NOTE_HELLO, NOTE_BEGIN, NOTE_DONE };

typedef struct tls_note {
  struct tls_note *next;
  int kind;
  size_t id_len, len; /* the id comes before the bytes */
  uint8_t bytes[];
} tls_note;

typedef struct {
  SSL *ssl;
  BIO *in, *out;      /* belong to ssl */
  SSL_CTX *context;   /* that it began with, which ssl keeps */
  JSContext *c;       /* during a call into OpenSSL */
  JSValueConst asked; /* then: the function that answers */
  uint8_t *protocols; /* of ALPN: a server's */
  size_t protocols_len;
  SSL_SESSION *found; /* for the id of a client's hello */
  tls_note *notes, **last_note;
  bool logs_keys;
  bool asks_for_certificate, has_answered; /* whether lib/ chooses the certificate, and whether it has */
  bool asks_for_session, has_session;      /* likewise of a session */
  bool asks_for_protocol;
  bool is_established; /* the first handshake is done */
} tls_connection;

void tls_begin(tls_connection *t, JSContext *c, JSValueConst asked); /* before OpenSSL may ask */
void tls_end(tls_connection *t);
void tls_listen(SSL_CTX *context); /* connections of the context are asked and told */
void tls_ask_for_keys(tls_connection *t);
int tls_on_certificate(SSL *ssl, void *arg);
void tls_notes_free(tls_connection *t);
