/* What OpenSSL asks and tells in the middle of a handshake. Questions that it wants answered at once go to a function of lib/. */
#include "tls_connection.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

/* The first argument of that function. */
enum { ASK_SESSION, ASK_PROTOCOL, ASK_SERVER_KEY, ASK_CLIENT_KEY };

void tls_begin(tls_connection *t, JSContext *c, JSValueConst asked) {
  t->c = c;
  t->asked = asked;
}

void tls_end(tls_connection *t) { t->c = NULL; }

/* The answer; undefined when there is no function to be asked, or an exception is on its way. Frees `values`. */
static JSValue ask(tls_connection *t, int question, int count, JSValue *values) {
  JSValue arguments[4] = { JS_NewInt32(t->c, question) };
  for (int i = 0; i < count; i++) arguments[i + 1] = values[i];
  JSValue answer =
      JS_HasException(t->c) ? JS_UNDEFINED : JS_Call(t->c, t->asked, JS_UNDEFINED, count + 1, arguments);
  for (int i = 0; i < count; i++) JS_FreeValue(t->c, values[i]);
  return JS_IsException(answer) ? JS_UNDEFINED : answer;
}

static bool can_ask(const tls_connection *t) { return t && t->c && JS_IsFunction(t->c, t->asked); }

/* ---- notes ---- */

void tls_notes_free(tls_connection *t) {
  for (tls_note *n; (n = t->notes);) {
    t->notes = n->next;
    free(n);
  }
  t->last_note = &t->notes;
}

/* Without memory nothing is told. */
static void note_add(tls_connection *t, int kind, const void *id, size_t id_len, const void *data,
                     size_t len) {
  tls_note *n = malloc(sizeof *n + id_len + len);
  if (!n) return;
  *n = (tls_note){ .kind = kind, .id_len = id_len, .len = len };
  if (id_len) memcpy(n->bytes, id, id_len);
  if (len) memcpy(n->bytes + id_len, data, len);
  *t->last_note = n;
  t->last_note = &n->next;
}

/* ---- sessions ---- */

/* A client hears of a session while it is the current one; a server, between two calls. */
static int on_session(SSL *ssl, SSL_SESSION *session) {
  tls_connection *t = SSL_get_app_data(ssl);
  unsigned char *data = NULL;
  unsigned id_len;
  const unsigned char *id = SSL_SESSION_get_id(session, &id_len);
  int len = t ? i2d_SSL_SESSION(session, &data) : 0;
  if (len > 0 && SSL_is_server(ssl)) {
    note_add(t, NOTE_SESSION, id, id_len, data, (size_t)len);
  } else if (len > 0 && can_ask(t)) {
    JSValue values[] = { JS_NewArrayBufferCopy(t->c, id, id_len),
                         JS_NewArrayBufferCopy(t->c, data, (size_t)len) };
    JS_FreeValue(t->c, ask(t, ASK_SESSION, 2, values));
  }
  OPENSSL_free(data);
  return 0; /* it is not kept */
}

/* A server waits for lib/ to look for the session that the client names. */
static int on_hello(SSL *ssl, int *alert, void *arg) {
  (void)alert, (void)arg;
  tls_connection *t = SSL_get_app_data(ssl);
  if (!t || !t->asks_for_session || t->has_session) return SSL_CLIENT_HELLO_SUCCESS;
  const unsigned char *id, *ticket;
  size_t ticket_len = 0, id_len = SSL_client_hello_get0_session_id(ssl, &id);
  if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_session_ticket, &ticket, &ticket_len)) ticket_len = 0;
  note_add(t, NOTE_HELLO, id, id_len, ticket, ticket_len);
  return SSL_CLIENT_HELLO_RETRY;
}

static SSL_SESSION *on_find(SSL *ssl, const unsigned char *id, int len, int *copy) {
  (void)id, (void)len;
  tls_connection *t = SSL_get_app_data(ssl);
  SSL_SESSION *found = t ? t->found : NULL;
  if (t) t->found = NULL;
  *copy = 0; /* it is OpenSSL's now */
  return found;
}

/* ---- certificates and protocols ---- */

int tls_on_certificate(SSL *ssl, void *arg) {
  (void)ssl;
  const tls_connection *t = arg;
  return t->asks_for_certificate && !t->has_answered ? -1 : 1;
}

/* lib/ answers where in the client's list its choice is. */
static int ask_protocol(tls_connection *t, const unsigned char **out, unsigned char *out_len,
                        const unsigned char *in, unsigned in_len) {
  if (!can_ask(t)) return SSL_TLSEXT_ERR_ALERT_FATAL;
  JSValue list = JS_NewArrayBufferCopy(t->c, in, in_len), answer = ask(t, ASK_PROTOCOL, 1, &list);
  int64_t at = JS_IsNumber(answer) ? native_integer(t->c, answer) : -1;
  JS_FreeValue(t->c, answer);
  if (at < 0 || at >= in_len || in[at] > in_len - at - 1) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = in + at + 1;
  *out_len = in[at];
  return SSL_TLSEXT_ERR_OK;
}

/* The first of a server's protocols that the client has, too. */
static int on_protocols(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                        unsigned in_len, void *arg) {
  (void)arg;
  tls_connection *t = SSL_get_app_data(ssl);
  if (t && t->asks_for_protocol) return ask_protocol(t, out, out_len, in, in_len);
  if (!t || !t->protocols) return SSL_TLSEXT_ERR_NOACK;
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, out_len, t->protocols, (unsigned)t->protocols_len, in, in_len) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

/* ---- keys that both sides have before ---- */

/* How many bytes the answer has; 0: none, or too many. */
static unsigned take_key(tls_connection *t, JSValueConst answer, unsigned char *key, unsigned cap) {
  size_t len;
  const uint8_t *data = native_bytes(t->c, answer, &len);
  if (!data || len > cap) return 0;
  memcpy(key, data, len);
  return (unsigned)len;
}

static unsigned on_server_key(SSL *ssl, const char *identity, unsigned char *key, unsigned cap) {
  tls_connection *t = SSL_get_app_data(ssl);
  if (!can_ask(t)) return 0;
  JSValue values[] = { JS_NewString(t->c, identity), JS_NewUint32(t->c, cap) };
  JSValue answer = ask(t, ASK_SERVER_KEY, 2, values);
  unsigned len = take_key(t, answer, key, cap);
  JS_FreeValue(t->c, answer);
  return len;
}

/* The answer is [key, identity]. `identity` has a byte more than `identity_cap`. */
static unsigned on_client_key(SSL *ssl, const char *hint, char *identity, unsigned identity_cap,
                              unsigned char *key, unsigned cap) {
  tls_connection *t = SSL_get_app_data(ssl);
  if (!can_ask(t)) return 0;
  JSContext *c = t->c;
  JSValue values[] = { hint ? JS_NewString(c, hint) : JS_NULL, JS_NewUint32(c, cap),
                       JS_NewUint32(c, identity_cap) };
  JSValue answer = ask(t, ASK_CLIENT_KEY, 3, values);
  unsigned len = 0;
  if (JS_IsArray(answer)) {
    JSValue bytes = JS_GetPropertyUint32(c, answer, 0), name = JS_GetPropertyUint32(c, answer, 1);
    size_t name_len = 0;
    const char *text = JS_ToCStringLen(c, &name_len, name);
    if (text && name_len <= identity_cap) {
      memcpy(identity, text, name_len + 1);
      len = take_key(t, bytes, key, cap);
    }
    JS_FreeCString(c, text);
    JS_FreeValue(c, name);
    JS_FreeValue(c, bytes);
  }
  JS_FreeValue(c, answer);
  return len;
}

void tls_ask_for_keys(tls_connection *t) {
  if (SSL_is_server(t->ssl))
    SSL_set_psk_server_callback(t->ssl, on_server_key);
  else
    SSL_set_psk_client_callback(t->ssl, on_client_key);
}

/* ---- reports ---- */

static void on_keys(const SSL *ssl, const char *line) {
  tls_connection *t = SSL_get_app_data(ssl);
  if (t && t->logs_keys) note_add(t, NOTE_KEYS, "", 0, line, strlen(line));
}

static void on_info(const SSL *ssl, int where, int result) {
  (void)result;
  tls_connection *t = SSL_get_app_data(ssl);
  if (!t || !t->is_established) return;
  if (where & SSL_CB_HANDSHAKE_START) note_add(t, NOTE_BEGIN, "", 0, "", 0);
  if (where & SSL_CB_HANDSHAKE_DONE && !SSL_renegotiate_pending(ssl)) note_add(t, NOTE_DONE, "", 0, "", 0);
}

void tls_listen(SSL_CTX *context) {
  SSL_CTX_sess_set_new_cb(context, on_session);
  SSL_CTX_sess_set_get_cb(context, on_find);
  SSL_CTX_set_client_hello_cb(context, on_hello, NULL);
  SSL_CTX_set_alpn_select_cb(context, on_protocols, NULL);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, tls_on_ticket);
  SSL_CTX_set_keylog_callback(context, on_keys);
  SSL_CTX_set_info_callback(context, on_info);
}
