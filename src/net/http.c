/* http.c - one HTTP request through libcurl: headers, pinned addresses, redirects, errors (http.h). */
#include "net/http.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/curl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BODY_MAX = 1 << 20, HEADERS_MAX = 64 << 10, HEADER_COUNT_MAX = 200, CONNECT_HOSTS = 2048 };

/* One hop, as the callbacks see it. */
typedef struct hop {
  const net_curl *curl;
  const net_http_request *request;
  net_http_response *response;
  net_addrs allowed;
  size_t header_bytes;
  cay_status why; /* a callback ended the transfer */
  bool enough;    /* on_piece needs no more */
} hop;

/* ---- what may be sent ---- */

bool net_http_is_token(const char *text) {
  size_t len = strlen(text);
  return len > 0 && len <= 128 &&
         strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") == len;
}

bool net_http_header_fits(const char *name, const char *value) {
  static const char *const framing[] = { "host",          "content-length", "transfer-encoding",
                                         "connection",    "upgrade",        "te",
                                         "trailer",       "expect",         "keep-alive",
                                         "http2-settings" };
  if (!net_http_is_token(name) || strncasecmp(name, "proxy-", 6) == 0) return false;
  for (size_t i = 0; i < COUNT_OF(framing); i++)
    if (strcasecmp(name, framing[i]) == 0) return false;
  for (; *value != '\0'; value++)
    if (((unsigned char)*value < 0x20 && *value != '\t') || *value == 0x7f) return false;
  return true;
}

static bool is_credential(const char *name) {
  static const char *const parts[] = { "auth", "cookie", "key", "token", "secret", "session" };
  for (size_t i = 0; i < COUNT_OF(parts); i++)
    if (strcasestr(name, parts[i]) != NULL) return true;
  return false;
}

/* ---- callbacks ---- */

static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *at) {
  hop *h = ctx;
  net_addr addr;
  if (purpose != CURLSOCKTYPE_IPCXN || !net_addr_from(&at->addr, &addr)) return CURL_SOCKET_BAD;
  for (size_t i = 0; i < h->allowed.count; i++)
    if (net_addr_equal(&h->allowed.list[i], &addr))
      return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
  h->why = CAY_DENIED;
  return CURL_SOCKET_BAD;
}

static size_t http_end_with(hop *h, cay_status why) {
  h->why = why;
  return 0;
}

static cay_status keep_header(net_http_response *r, const char *line, size_t len) {
  const char *colon = memchr(line, ':', len);
  if (colon == NULL || memchr(line, '\0', len) != NULL) return CAY_OK;
  const char *value = colon + 1, *end = line + len;
  while (value < end && (*value == ' ' || *value == '\t')) value++;
  while (end > value && strchr(" \t\r\n", end[-1]) != NULL) end--;
  buf *b = &r->headers;
  for (const char *p = line; p < colon; p++)
    S_TRY(buf_append_byte(b, (uint8_t)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p)));
  S_TRY(buf_append_byte(b, 0));
  S_TRY(buf_append(b, value, (size_t)(end - value)));
  S_TRY(buf_append_byte(b, 0));
  r->header_count++;
  return CAY_OK;
}

/* The budget is for all heads of the hop together: a server may send 1xx without end. */
static size_t http_on_header(char *line, size_t size, size_t count, void *ctx) {
  hop *h = ctx;
  size_t len = size * count;
  net_http_response *r = h->response;
  h->header_bytes += len;
  if (h->header_bytes > r->headers.max || r->header_count >= HEADER_COUNT_MAX)
    return http_end_with(h, CAY_LIMIT);
  if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
    const char *blank = memchr(line, ' ', len);
    buf_clear(&r->headers);
    r->header_count = 0;
    r->status = 0;
    for (size_t at = blank != NULL ? (size_t)(blank - line) + 1 : len; at < len && r->status < 1000; at++) {
      if (line[at] < '0' || line[at] > '9') break;
      r->status = r->status * 10 + line[at] - '0';
    }
    return len;
  }
  cay_status status = keep_header(r, line, len);
  return status == CAY_OK ? len : http_end_with(h, status);
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx) {
  hop *h = ctx;
  size_t len = size * count;
  net_http_response *r = h->response;
  if (h->request->on_piece != NULL && r->status >= 200 && r->status <= 299) {
    h->enough = !h->request->on_piece(h->request->ctx, r, data, len);
    return h->enough ? 0 : len;
  }
  size_t room = r->body.max - r->body.len, take = len < room ? len : room;
  if (buf_append(&r->body, data, take) != CAY_OK) return http_end_with(h, CAY_NO_MEMORY);
  if (take == len) return len;
  r->truncated = true;
  return http_end_with(h, h->request->truncate ? CAY_OK : CAY_LIMIT);
}

/* ---- one hop ---- */

/* `path` is for the target to borrow. */
static net_target http_target(const char *method, const net_url *url, char path[static NET_PATH_MAX]) {
  net_target target = net_url_target(url);
  target.method = method;
  if (net_path_clean(url->rest, strlen(url->rest), path, NET_PATH_MAX)) target.path = path;
  return target;
}

static cay_status find_addrs(const net_http_request *q, const char *method, const net_url *url,
                             net_addrs *out, cay_error *err) {
  char path[NET_PATH_MAX];
  net_target target = http_target(method, url, path);
  if (!q->any_address && !net_policy_may(q->policy, &target, NULL).allowed)
    return err_set(err, CAY_DENIED, "the egress policy has no rule that allows %.100s:%u", url->host,
                   url->port);
  net_addrs all;
  net_verdict verdict = { 0 };
  S_TRY(net_resolve(q->resolver, url->host, q->deadline_ns, q->stop, &all, err));
  net_addrs allowed = { 0 };
  for (size_t i = 0; i < all.count; i++) {
    net_verdict v = net_policy_check(q->policy, &target, &all.list[i]);
    if (q->any_address || v.allowed)
      allowed.list[allowed.count++] = all.list[i];
    else
      verdict = v;
  }
  *out = allowed;
  if (allowed.count > 0) return CAY_OK;
  return err_set(err, CAY_DENIED, "the egress policy refuses %.100s:%u (a %s address)", url->host, url->port,
                 net_class_name(verdict.class));
}

static bool is_body_header(const char *name) { return strncasecmp(name, "content-", 8) == 0; }

static bool http_add_line(const net_curl *c, struct curl_slist **list, const char *line) {
  struct curl_slist *longer = line != NULL ? c->slist_append(*list, line) : NULL;
  if (longer == NULL) return false;
  *list = longer;
  return true;
}

static cay_status http_make_headers(const hop *h, bool crossed, bool has_body, struct curl_slist **list,
                                    cay_error *err) {
  const net_http_request *q = h->request;
  if (!http_add_line(h->curl, list, "Expect:")) return err_no_memory(err);
  bool typed = false;
  for (size_t i = 0; i < q->header_count; i++) {
    const net_header *header = &q->headers[i];
    if (!net_http_header_fits(header->name, header->value))
      return err_set(err, CAY_INVALID, "header %.60s cannot be sent", header->name);
    if ((crossed && is_credential(header->name)) || (!has_body && is_body_header(header->name))) continue;
    typed = typed || strcasecmp(header->name, "content-type") == 0;
    OWNED(buf_free) buf line = BUF_INIT(1 << 17);
    /* "Name;" is how libcurl takes a header without a value. */
    cay_status status = header->value[0] != '\0' ? buf_appendf(&line, "%s: %s", header->name, header->value)
                                                 : buf_appendf(&line, "%s;", header->name);
    if (status == CAY_LIMIT) return err_set(err, CAY_INVALID, "header %.60s is too long", header->name);
    bool added = status == CAY_OK && http_add_line(h->curl, list, buf_text(&line));
    if (line.data != NULL) explicit_bzero(line.data, line.cap); /* it may be a credential */
    if (!added) return err_no_memory(err);
  }
  return typed || !has_body || http_add_line(h->curl, list, "Content-Type:") ? CAY_OK : err_no_memory(err);
}

/* "host:port:address,address" for CURLOPT_RESOLVE. */
static cay_status make_hosts(const hop *h, const net_url *url, struct curl_slist **list, cay_error *err) {
  net_addr literal;
  if (net_addr_parse(url->host, &literal)) return CAY_OK;
  OWNED(buf_free) buf line = BUF_INIT(CONNECT_HOSTS);
  cay_status status = buf_appendf(&line, "%s:%u:", url->host, url->port);
  for (size_t i = 0; status == CAY_OK && i < h->allowed.count; i++) {
    char text[NET_ADDR_TEXT];
    net_addr_format(&h->allowed.list[i], text);
    bool six = h->allowed.list[i].family == 6;
    status = buf_appendf(&line, "%s%s%s%s", i != 0 ? "," : "", six ? "[" : "", text, six ? "]" : "");
  }
  return status == CAY_OK && http_add_line(h->curl, list, buf_text(&line)) ? CAY_OK : err_no_memory(err);
}

/* Each option, or the first that failed. */
#define SET(option, ...)                                                                                     \
  if (code == CURLE_OK) code = c->easy_setopt(handle, option, __VA_ARGS__)

static CURLcode http_set_up(hop *h, CURL *handle, const char *url, const char *method, const cay_slice *body,
                            struct curl_slist *headers, struct curl_slist *hosts) {
  const net_curl *c = h->curl;
  CURLcode code = CURLE_OK;
  int64_t left_ms = (h->request->deadline_ns - clock_mono_ns()) / NS_PER_MS;
  SET(CURLOPT_NOSIGNAL, 1L);
  SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  SET(CURLOPT_FOLLOWLOCATION, 0L);
  SET(CURLOPT_PROXY, "");
  SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
  SET(CURLOPT_SSL_VERIFYPEER, 1L);
  SET(CURLOPT_SSL_VERIFYHOST, 2L);
  SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  SET(CURLOPT_RESOLVE, hosts);
  SET(CURLOPT_OPENSOCKETFUNCTION, on_socket);
  SET(CURLOPT_OPENSOCKETDATA, h);
  SET(CURLOPT_TIMEOUT_MS, (long)(left_ms > 1 ? left_ms : 1));
  SET(CURLOPT_ACCEPT_ENCODING, "");
  SET(CURLOPT_URL, url);
  SET(CURLOPT_HTTPHEADER, headers);
  SET(CURLOPT_HEADERFUNCTION, http_on_header);
  SET(CURLOPT_HEADERDATA, h);
  SET(CURLOPT_WRITEFUNCTION, on_body);
  SET(CURLOPT_WRITEDATA, h);
  if (body != NULL) {
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
    SET(CURLOPT_POSTFIELDS, body->len != 0 ? body->data : "");
  }
  if (strcmp(method, "HEAD") == 0) SET(CURLOPT_NOBODY, 1L);
  SET(CURLOPT_CUSTOMREQUEST, method);
  if (h->request->ca_file != NULL) SET(CURLOPT_CAINFO, h->request->ca_file);
  return code;
}

/* ---- the transfer ---- */

/* Until it is over, or the descriptor tells of the wish that it ends. */
static CURLcode drive(const net_curl *c, CURLM *multi, int wish, cancel *stop) {
  struct curl_waitfd more = { .fd = wish, .events = CURL_WAIT_POLLIN };
  CURLMcode code = CURLM_OK;
  int running = 1, left;
  while (!cancel_raised(stop) && (code = c->multi_perform(multi, &running)) == CURLM_OK && running != 0)
    if ((code = c->multi_wait(multi, &more, 1, 1000, NULL)) != CURLM_OK) break;
  if (code != CURLM_OK) return code == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_RECV_ERROR;
  const CURLMsg *end = running == 0 ? c->multi_info_read(multi, &left) : NULL;
  return end != NULL ? end->data.result : CURLE_ABORTED_BY_CALLBACK;
}

static CURLcode http_transfer(const hop *h, CURL *handle) {
  const net_curl *c = h->curl;
  int wish = cancel_fd(h->request->stop);
  if (wish < 0) return c->easy_perform(handle);
  CURLM *multi = c->multi_init();
  if (multi == NULL) return CURLE_OUT_OF_MEMORY;
  CURLcode code = CURLE_OUT_OF_MEMORY;
  if (c->multi_add_handle(multi, handle) == CURLM_OK) {
    code = drive(c, multi, wish, h->request->stop);
    (void)c->multi_remove_handle(multi, handle);
  }
  (void)c->multi_cleanup(multi);
  return code;
}

/* The network errors of the Python contract in words (doc/reference/network.md); NULL: libcurl's own. */
static const char *http_error_words(const hop *h, CURL *handle, CURLcode code) {
  long number = 0;
  if (h->curl->easy_getinfo(handle, CURLINFO_OS_ERRNO, &number) != CURLE_OK) number = 0;
  if (code == CURLE_PEER_FAILED_VERIFICATION) return "certificate error";
  if (code == CURLE_SSL_CONNECT_ERROR) return "TLS handshake failed";
  if (code == CURLE_COULDNT_CONNECT && number == ECONNREFUSED) return "connection refused";
  if (code == CURLE_COULDNT_CONNECT && number == ETIMEDOUT) return "did not answer in time";
  if (code == CURLE_GOT_NOTHING || number == ECONNRESET || number == EPIPE) return "connection reset";
  return NULL;
}

static cay_status http_explain(const hop *h, CURL *handle, CURLcode code, const net_url *url,
                               cay_error *err) {
  if (code == CURLE_OK || h->enough || (h->response->truncated && h->why == CAY_OK)) return CAY_OK;
  if (code == CURLE_ABORTED_BY_CALLBACK && cancel_raised(h->request->stop))
    return err_set(err, CAY_CANCELLED, "cancelled");
  if (h->why == CAY_NO_MEMORY || code == CURLE_OUT_OF_MEMORY) return err_no_memory(err);
  if (h->why == CAY_LIMIT)
    return err_set(err, CAY_LIMIT, "the answer of %.100s:%u is too long", url->host, url->port);
  if (h->why == CAY_DENIED)
    return err_set(err, CAY_DENIED, "%.100s:%u leads to an address that was not checked", url->host,
                   url->port);
  if (code == CURLE_OPERATION_TIMEDOUT)
    return err_set(err, CAY_TIMEOUT, "%.100s:%u did not answer in time", url->host, url->port);
  const char *words = http_error_words(h, handle, code);
  return err_set(err, CAY_IO, "%.100s:%u: %.80s", url->host, url->port,
                 words != NULL ? words : h->curl->easy_strerror(code));
}

static cay_status perform(hop *h, const net_url *url, const char *method, const cay_slice *body, bool crossed,
                          cay_error *err) {
  struct curl_slist *headers = NULL, *hosts = NULL;
  OWNED(buf_free) buf text = BUF_INIT(2 * NET_URL_MAX);
  CURL *handle = h->curl->easy_init();
  cay_status status = handle != NULL && net_url_write(url, &text) == CAY_OK ? CAY_OK : err_no_memory(err);
  if (status == CAY_OK) status = http_make_headers(h, crossed, body != NULL, &headers, err);
  if (status == CAY_OK) status = make_hosts(h, url, &hosts, err);
  if (status == CAY_OK) {
    CURLcode code = http_set_up(h, handle, buf_text(&text), method, body, headers, hosts);
    if (code == CURLE_OK) code = http_transfer(h, handle);
    status = http_explain(h, handle, code, url, err);
  }
  if (handle != NULL) h->curl->easy_cleanup(handle);
  for (struct curl_slist *at = headers; at != NULL; at = at->next) explicit_bzero(at->data, strlen(at->data));
  h->curl->slist_free_all(headers);
  h->curl->slist_free_all(hosts);
  return status;
}

/* ---- all hops ---- */

static bool redirects(const net_http_response *r) {
  return (r->status >= 301 && r->status <= 303) || r->status == 307 || r->status == 308;
}

/* What the next hop sends. */
typedef struct sending {
  const char *method;
  const cay_slice *body;
  bool crossed; /* an origin was left: credentials stay behind for good */
} sending;

static cay_status next_hop(const net_http_request *q, net_http_response *r, const char *location, sending *s,
                           cay_error *err) {
  if (r->redirects >= q->redirects_max)
    return err_set(err, CAY_LIMIT, "more than %u redirects", (unsigned)q->redirects_max);
  net_url *next = mem_alloc(sizeof *next);
  if (next == NULL) return err_no_memory(err);
  cay_status status = net_url_follow(r->url, location, next, err);
  if (status != CAY_OK)
    status = err_prefix(err, CAY_IO, "a redirect");
  else if (r->url->secure && !next->secure)
    status = err_set(err, CAY_DENIED, "a redirect from https to http");
  else if (q->same_origin && !net_url_same_origin(r->url, next))
    status = err_set(err, CAY_DENIED, "a redirect to another origin");
  if (status != CAY_OK) {
    mem_free(next);
    return status;
  }
  s->crossed = s->crossed || !net_url_same_origin(r->url, next);
  bool post = strcmp(s->method, "POST") == 0;
  if ((r->status == 303 && strcmp(s->method, "HEAD") != 0) || (r->status <= 302 && post))
    s->method = "GET", s->body = NULL;
  mem_free(r->url);
  r->url = next;
  r->redirects++;
  return CAY_OK;
}

static cay_status http_run(const net_http_request *q, net_http_response *r, cay_error *err) {
  hop h = { .request = q, .response = r };
  sending s = { .method = q->method, .body = q->body.data != NULL ? &q->body : NULL };
  if (!net_http_is_token(q->method)) return err_set(err, CAY_INVALID, "method must be a token");
  S_TRY(net_curl_load(&h.curl, err));
  for (;;) {
    if (cancel_raised(q->stop)) return err_set(err, CAY_CANCELLED, "cancelled");
    if (clock_mono_ns() >= q->deadline_ns) return err_set(err, CAY_TIMEOUT, "no time is left");
    h.header_bytes = 0;
    buf_clear(&r->headers);
    buf_clear(&r->body);
    r->header_count = 0;
    r->truncated = false;
    S_TRY(find_addrs(q, s.method, r->url, &h.allowed, err));
    S_TRY(perform(&h, r->url, s.method, s.body, s.crossed, err));
    const char *location = net_http_header(r, "location");
    if (!redirects(r) || location == NULL || q->redirects_max == 0) return CAY_OK;
    S_TRY(next_hop(q, r, location, &s, err));
  }
}

cay_status net_http(const net_http_request *request, net_http_response *response, cay_error *err) {
  net_http_response r = { 0 };
  r.headers.max = request->headers_max != 0 ? request->headers_max : HEADERS_MAX;
  r.body.max = request->body_max != 0 ? request->body_max : BODY_MAX;
  r.url = mem_dup(request->url, sizeof *request->url);
  cay_status status = r.url != NULL ? http_run(request, &r, err) : err_no_memory(err);
  if (status == CAY_OK)
    *response = r;
  else
    net_http_response_free(&r);
  return status;
}

void net_http_response_free(net_http_response *response) {
  buf_free(&response->headers);
  buf_free(&response->body);
  mem_free(response->url);
  *response = (net_http_response){ 0 };
}

const char *net_http_header(const net_http_response *response, const char *name) {
  const char *at = buf_text(&response->headers);
  for (size_t i = 0; i < response->header_count; i++) {
    const char *value = at + strlen(at) + 1;
    if (strcmp(at, name) == 0) return value;
    at = value + strlen(value) + 1;
  }
  return NULL;
}
