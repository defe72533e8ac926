/* hello.c - parsers of a client's first bytes: ClientHello of TLS, head of an HTTP/1 request (hello.h). */
#include "net/hello.h"

#include <string.h>
#include <strings.h>

/* ---- bytes ---- */

typedef struct span {
  const uint8_t *at;
  size_t len;
} span;

static bool span_skip(span *s, size_t n) {
  if (n > s->len) return false;
  s->at += n;
  s->len -= n;
  return true;
}

static bool span_number(span *s, int bytes, size_t *out) {
  size_t n = 0;
  if (s->len < (size_t)bytes) return false;
  for (int i = 0; i < bytes; i++) n = n << 8 | s->at[i];
  *out = n;
  return span_skip(s, (size_t)bytes);
}

/* A part with its length of `bytes` bytes before it. */
static bool span_part(span *s, int bytes, span *out) {
  size_t n;
  if (!span_number(s, bytes, &n) || n > s->len) return false;
  *out = (span){ s->at, n };
  return span_skip(s, n);
}

/* ---- TLS ---- */

enum { RECORD_HANDSHAKE = 22, CLIENT_HELLO = 1, EXTENSION_NAME = 0, NAME_HOST = 0 };

/* The handshake message of the first records, put together. -1: no TLS; 0: more bytes are needed. */
static int tls_message(span s, uint8_t *message, size_t cap, size_t *len) {
  size_t n = 0, want = 4, type, version;
  span record;
  while (n < want) {
    if (s.len < 5) return 0;
    if (!span_number(&s, 1, &type) || type != RECORD_HANDSHAKE) return -1;
    if (!span_number(&s, 2, &version) || version >> 8 != 3) return -1;
    size_t record_len = (size_t)(s.at[0] << 8 | s.at[1]);
    if (record_len == 0 || record_len > (1 << 14)) return -1;
    bool whole = span_part(&s, 2, &record);
    if (!whole) record = s; /* behind its length */
    size_t part = record.len < cap - n ? record.len : cap - n;
    memcpy(message + n, record.at, part);
    n += part;
    if (n >= 1 && message[0] != CLIENT_HELLO) return -1;
    if (n >= 4) want = 4 + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
    if (want > cap) return -1;
    if (!whole && n < want) return 0;
  }
  *len = want;
  return 1;
}

/* False: not as RFC 6066 has it. */
static bool tls_server_name(span body, net_hello *out) {
  span names, name;
  size_t type;
  if (!span_part(&body, 2, &names) || body.len != 0) return false;
  if (!span_number(&names, 1, &type) || type != NAME_HOST || !span_part(&names, 2, &name)) return false;
  net_addr addr;
  if (names.len != 0 || out->has_name) return false;
  out->has_name = true;
  return net_host_clean((const char *)name.at, name.len, out->name) && !net_addr_parse(out->name, &addr);
}

static bool tls_hello(span s, net_hello *out) {
  enum { VERSION_AND_RANDOM = 2 + 32 };
  span part, extensions, body;
  size_t type;
  if (!span_skip(&s, 4 + VERSION_AND_RANDOM)) return false;
  if (!span_part(&s, 1, &part) || !span_part(&s, 2, &part) || !span_part(&s, 1, &part)) return false;
  if (s.len == 0) return true; /* without extensions */
  if (!span_part(&s, 2, &extensions) || s.len != 0) return false;
  while (extensions.len != 0) {
    if (!span_number(&extensions, 2, &type) || !span_part(&extensions, 2, &body)) return false;
    if (type == EXTENSION_NAME && !tls_server_name(body, out)) return false;
  }
  return true;
}

static void hello_tls(const uint8_t *data, size_t len, net_hello *out) {
  static const size_t cap = NET_HELLO_MAX / 2;
  uint8_t message[NET_HELLO_MAX / 2];
  size_t message_len;
  int got = tls_message((span){ data, len }, message, cap, &message_len);
  if (got == 0) return;
  out->kind = got > 0 && tls_hello((span){ message, message_len }, out) ? NET_HELLO_TLS : NET_HELLO_BAD;
}

/* ---- HTTP ---- */

typedef struct line {
  const char *at;
  size_t len;
} line;

static bool http_is_token(const char *at, size_t len) {
  for (size_t i = 0; i < len; i++) {
    char c = at[i];
    bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
    if (!fine) return false;
  }
  return len > 0;
}

/* Up to a line end, which is CR LF and nothing else. 1; 0: more bytes are needed; -1: not so. */
static int http_line(const char **at, const char *end, line *out) {
  const char *lf = memchr(*at, '\n', (size_t)(end - *at));
  if (lf == NULL) return memchr(*at, '\0', (size_t)(end - *at)) != NULL ? -1 : 0;
  size_t len = (size_t)(lf - *at);
  if (len == 0 || lf[-1] != '\r') return -1;
  *out = (line){ *at, len - 1 };
  *at = lf + 1;
  if (memchr(out->at, '\r', out->len) != NULL || memchr(out->at, '\0', out->len) != NULL) return -1;
  return 1;
}

static bool line_is(const line *l, const char *text) {
  return l->len == strlen(text) && strncasecmp(l->at, text, l->len) == 0;
}

/* host, host:port, [::1]:port */
static bool http_host(const char *at, size_t len, net_hello *out) {
  const char *bracket = memrchr(at, ']', len);
  const char *start = bracket != NULL ? bracket : at;
  const char *colon = memrchr(start, ':', len - (size_t)(start - at));
  size_t host = colon != NULL ? (size_t)(colon - at) : len;
  if (colon != NULL) {
    size_t digits = len - host - 1;
    unsigned long port = 0;
    if (digits > 5) return false;
    for (size_t i = 0; i < digits; i++) {
      if (colon[1 + i] < '0' || colon[1 + i] > '9') return false;
      port = 10 * port + (unsigned long)(colon[1 + i] - '0');
    }
    if (port > UINT16_MAX) return false;
    out->name_port = (uint16_t)port;
  }
  out->has_name = true;
  return net_host_clean(at, host, out->name);
}

/* Where the host of a whole URL begins; NULL: it is none. */
static const char *http_url_host(const char *at, size_t len) {
  const char *mark = len > 0 && at[0] != '/' ? memmem(at, len, "://", 3) : NULL;
  for (const char *p = at; mark != NULL && p < mark; p++)
    if (!http_is_token(p, 1)) return NULL;
  return mark != NULL ? mark + 3 : NULL;
}

/* The target: a path, or a whole URL of any scheme, as proxies take it, whose host then must be the header's. */
static bool http_target(const char *at, size_t len, net_hello *out) {
  if (strcmp(out->method, "CONNECT") == 0) return false; /* a proxy is no host that a rule named */
  const char *host = http_url_host(at, len);
  if (host != NULL) {
    size_t host_len = 0, rest = len - (size_t)(host - at);
    while (host_len < rest && host[host_len] != '/' && host[host_len] != '?') host_len++;
    if (!http_host(host, host_len, out)) return false;
    at = host + host_len;
    len = rest - host_len;
    if (len == 0) at = "/", len = 1;
  }
  if (!net_path_clean(at, len, out->path, sizeof out->path)) out->path[0] = '\0';
  return true;
}

/* METHOD SP target SP HTTP/1.x. 1; 0: no HTTP; -1: HTTP, but not as it has to be. */
static int http_request_line(const line *l, net_hello *out) {
  const char *blank = memchr(l->at, ' ', l->len), *last = memrchr(l->at, ' ', l->len);
  size_t method = blank != NULL ? (size_t)(blank - l->at) : 0, version = l->len - 9;
  if (blank == NULL || blank == last || method >= sizeof out->method || !http_is_token(l->at, method))
    return 0;
  if (l->len < 9 || last != l->at + version || strncmp(last, " HTTP/", 6) != 0) return 0;
  if (strncmp(last, " HTTP/1.1", 9) != 0 && strncmp(last, " HTTP/1.0", 9) != 0) return -1;
  memcpy(out->method, l->at, method);
  out->method[method] = '\0';
  size_t target = (size_t)(last - blank) - 1;
  if (memchr(blank + 1, ' ', target) != NULL || memchr(l->at, '\t', l->len) != NULL) return -1;
  return http_target(blank + 1, target, out) ? 1 : -1;
}

static bool http_number(const line *value, uint64_t *out) {
  uint64_t n = 0;
  if (value->len == 0 || value->len > 18) return false;
  for (size_t i = 0; i < value->len; i++) {
    if (value->at[i] < '0' || value->at[i] > '9') return false;
    n = 10 * n + (uint64_t)(value->at[i] - '0');
  }
  *out = n;
  return true;
}

typedef struct seen {
  bool host, length, coding;
} seen;

static bool http_known_field(const line *name, const line *value, seen *s, net_hello *out) {
  if (line_is(name, "host")) {
    char before[NET_HOST_MAX + 1];
    bool absolute = out->has_name;
    memcpy(before, out->name, sizeof before);
    bool fine = !s->host && http_host(value->at, value->len, out);
    s->host = true;
    return fine && (!absolute || strcmp(before, out->name) == 0);
  }
  if (line_is(name, "content-length")) {
    bool fine = !s->length && http_number(value, &out->body_len);
    s->length = true;
    return fine;
  }
  if (line_is(name, "transfer-encoding")) {
    bool fine = !s->coding && line_is(value, "chunked");
    s->coding = true;
    out->body = NET_BODY_CHUNKED;
    return fine;
  }
  if (line_is(name, "upgrade")) {
    out->websocket = !out->upgrade && line_is(value, "websocket");
    out->upgrade = true;
  }
  return true;
}

static bool http_field(const line *l, seen *s, net_hello *out) {
  const char *colon = memchr(l->at, ':', l->len);
  if (colon == NULL) return false;
  line name = { l->at, (size_t)(colon - l->at) }, value = { colon + 1, l->len - (size_t)(colon - l->at) - 1 };
  if (!http_is_token(name.at, name.len)) return false; /* nor a line that continues the one before */
  while (value.len > 0 && (*value.at == ' ' || *value.at == '\t')) value.at++, value.len--;
  while (value.len > 0 && (value.at[value.len - 1] == ' ' || value.at[value.len - 1] == '\t')) value.len--;
  return http_known_field(&name, &value, s, out);
}

static void hello_http(const uint8_t *data, size_t len, net_hello *out) {
  const char *at = (const char *)data, *end = at + len;
  seen s = { 0 };
  line l;
  int got = http_line(&at, end, &l);
  if (got == 0) return;
  got = got > 0 ? http_request_line(&l, out) : 0;
  if (got == 0) out->kind = NET_HELLO_OTHER;
  if (got < 0) out->kind = NET_HELLO_BAD;
  while (out->kind == NET_HELLO_MORE) {
    got = http_line(&at, end, &l);
    if (got == 0) return;
    if (got < 0 || (l.len > 0 && !http_field(&l, &s, out)))
      out->kind = NET_HELLO_BAD;
    else if (l.len == 0)
      out->kind = s.length && s.coding ? NET_HELLO_BAD : NET_HELLO_HTTP; /* smuggling, RFC 9112, 6.1 */
  }
  out->head_len = (size_t)(at - (const char *)data);
}

/* ---- both ---- */

/* Where lines and words end for the one server or the other. */
static bool text_is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool text_mentions_http(const char *at, size_t len) {
  for (size_t i = 0; i + 5 <= len; i++)
    if (strncasecmp(at + i, "http/", 5) == 0) return true;
  return false;
}

/* Lines that some servers take for a request of HTTP, and that are none as it has to be, are bad. */
static void hello_text(const uint8_t *data, size_t len, net_hello *out) {
  enum { BLANKS = 64, METHOD = 32, LINE = 16 << 10 };
  const char *at = (const char *)data;
  size_t blanks = 0, method = 0;
  while (blanks < len && blanks <= BLANKS && text_is_blank(data[blanks])) blanks++;
  at += blanks;
  len -= blanks;
  while (method < len && method <= METHOD && http_is_token(at + method, 1)) method++;
  bool other = blanks > BLANKS || method > METHOD ||
               (method < len && (method == 0 || !text_is_blank((uint8_t)at[method])));
  const char *lf = other ? NULL : memchr(at, '\n', len < LINE ? len : LINE);
  if (lf == NULL) {
    if (other || len >= LINE) out->kind = NET_HELLO_OTHER;
    out->open = out->kind == NET_HELLO_MORE;
    return;
  }
  hello_http((const uint8_t *)at, len, out);
  bool request = out->kind == NET_HELLO_HTTP || out->kind == NET_HELLO_MORE;
  if (request ? blanks > 0 : out->kind == NET_HELLO_OTHER && text_mentions_http(at, (size_t)(lf - at)))
    out->kind = NET_HELLO_BAD;
}

void net_hello_read(const uint8_t *data, size_t len, net_hello *out) {
  memset(out, 0, offsetof(net_hello, path) + 1);
  out->body = NET_BODY_LENGTH;
  out->body_len = 0;
  out->upgrade = out->websocket = false;
  if (len == 0) return;
  if (data[0] == RECORD_HANDSHAKE)
    hello_tls(data, len, out);
  else
    hello_text(data, len, out);
}
