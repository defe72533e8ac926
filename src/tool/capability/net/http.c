/* http.request: one request of a tool, to where the egress policy lets it. */
#include "tool/capability/net/handler.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HEADERS_MAX = 64, VALUE_MAX = 8192, BODY_MAX = 8 << 20 };

/* What a request is made of; the texts are the arguments'. */
typedef struct sending {
  net_url url;
  net_header headers[HEADERS_MAX + 1];
  size_t header_count;
  buf body;
  bool has_body, typed;
} sending;

/* ---- arguments ---- */

static void read_headers(yyjson_val *args, sending *s, tool_end *end) {
  yyjson_val *headers = reach_arg(args, "headers");
  if (headers == NULL || end->code != TOOL_OK) return;
  if (!yyjson_is_obj(headers) || yyjson_obj_size(headers) > HEADERS_MAX) {
    tool_end_set(end, TOOL_INVALID_ARGS, "headers must be an object of at most %d texts", HEADERS_MAX);
    return;
  }
  yyjson_obj_iter it = yyjson_obj_iter_with(headers);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
    const char *name = reach_text_of(key), *value = reach_text_of(yyjson_obj_iter_get_val(key));
    if (name == NULL || value == NULL || strlen(value) > VALUE_MAX || !net_http_header_fits(name, value)) {
      tool_end_set(end, TOOL_INVALID_ARGS,
                   "headers has one that cannot be sent: a name that is not allowed, a "
                   "line end, or no text of at most 8192 bytes");
      return;
    }
    s->headers[s->header_count++] = (net_header){ name, value };
    s->typed = s->typed || strcasecmp(name, "content-type") == 0;
  }
}

static bool add_one(net_url *url, const char *name, yyjson_val *value) {
  char number[40];
  const char *text = reach_text_of(value);
  if (yyjson_is_bool(value)) {
    text = yyjson_get_bool(value) ? "true" : "false";
  } else if (yyjson_is_uint(value) || yyjson_is_sint(value)) {
    (void)snprintf(number, sizeof number, yyjson_is_uint(value) ? "%llu" : "%lld",
                   (unsigned long long)yyjson_get_uint(value));
    text = number;
  } else if (yyjson_is_real(value)) {
    (void)snprintf(number, sizeof number, "%.17g", yyjson_get_real(value));
    text = number;
  }
  return text != NULL && net_url_add_query(url, name, text);
}

static void read_query(yyjson_val *args, sending *s, tool_end *end) {
  yyjson_val *query = reach_arg(args, "query");
  if (query == NULL || end->code != TOOL_OK) return;
  bool fine = yyjson_is_obj(query);
  yyjson_obj_iter it = yyjson_obj_iter_with(query);
  for (yyjson_val *key; fine && (key = yyjson_obj_iter_next(&it)) != NULL;) {
    yyjson_val *value = yyjson_obj_iter_get_val(key), *one;
    const char *name = reach_text_of(key);
    yyjson_arr_iter each = yyjson_arr_iter_with(value);
    fine = name != NULL && (yyjson_is_arr(value) || add_one(&s->url, name, value));
    while (fine && (one = yyjson_arr_iter_next(&each)) != NULL) fine = add_one(&s->url, name, one);
  }
  if (!fine)
    tool_end_set(end, TOOL_INVALID_ARGS,
                 "query must be an object of texts, numbers, booleans or arrays of "
                 "them, and make no URL of more than %d bytes",
                 NET_URL_MAX);
}

static void read_url(yyjson_val *args, sending *s, tool_end *end) {
  cay_error err = { 0 };
  const char *url = reach_arg_text(args, "url", NET_URL_MAX, true, end);
  if (url == NULL) return;
  if (net_url_parse(url, strlen(url), &s->url, &err) != CAY_OK)
    tool_end_set(end, TOOL_INVALID_ARGS, "%.150s", err.message);
}

static void read_json(yyjson_val *json, sending *s, tool_end *end) {
  size_t len = 0;
  char *text = yyjson_val_write_opts(json, 0, &JSON_ALLOC, &len, NULL);
  bool fits = text != NULL && buf_append(&s->body, text, len) == CAY_OK;
  mem_free(text);
  if (!fits) tool_end_set(end, TOOL_INVALID_ARGS, "json is too long");
  if (!s->typed) s->headers[s->header_count++] = (net_header){ "Content-Type", "application/json" };
}

static void read_body(yyjson_val *args, sending *s, tool_end *end) {
  yyjson_val *text = reach_arg(args, "body"), *encoded = reach_arg(args, "body_base64");
  yyjson_val *json = yyjson_obj_get(args, "json");
  if (end->code != TOOL_OK) return;
  if ((text != NULL) + (encoded != NULL) + (json != NULL) > 1) {
    tool_end_set(end, TOOL_INVALID_ARGS, "only one of body, body_base64 and json can be sent");
    return;
  }
  s->has_body = text != NULL || encoded != NULL || json != NULL;
  if (json != NULL) read_json(json, s, end);
  if (text != NULL &&
      (!yyjson_is_str(text) || buf_append(&s->body, yyjson_get_str(text), yyjson_get_len(text)) != CAY_OK))
    tool_end_set(end, TOOL_INVALID_ARGS, "body must be a text of at most %d bytes", BODY_MAX);
  if (encoded != NULL &&
      (!yyjson_is_str(encoded) ||
       base64_decode(yyjson_get_str(encoded), yyjson_get_len(encoded), &s->body) != CAY_OK))
    tool_end_set(end, TOOL_INVALID_ARGS, "body_base64 must be base64 of at most %d bytes", BODY_MAX);
}

/* ---- the result ---- */

/* Repeated fields are one, as RFC 9110, 5.2 has it; those of set-cookie cannot be, and have a line each. */
static bool add_header(yyjson_mut_doc *doc, yyjson_mut_val *headers, const char *name, const char *value) {
  size_t len = strlen(value);
  len = utf8_valid_len(value, len);
  yyjson_mut_val *old = yyjson_mut_obj_get(headers, name);
  if (old == NULL) {
    yyjson_mut_val *key = yyjson_mut_strcpy(doc, name), *text = yyjson_mut_strncpy(doc, value, len);
    return key != NULL && text != NULL && yyjson_mut_obj_add(headers, key, text);
  }
  OWNED(buf_free) buf both = BUF_INIT(1 << 20);
  const char *between = strcmp(name, "set-cookie") == 0 ? "\n" : ", ";
  if (buf_append(&both, yyjson_mut_get_str(old), yyjson_mut_get_len(old)) != CAY_OK ||
      buf_append_text(&both, between) != CAY_OK || buf_append(&both, value, len) != CAY_OK)
    return false;
  yyjson_mut_val *text = yyjson_mut_strncpy(doc, buf_text(&both), both.len);
  return text != NULL && yyjson_mut_set_strn(old, yyjson_mut_get_str(text), both.len);
}

static bool add_headers(const net_http_response *r, yyjson_mut_doc *doc, yyjson_mut_val *result) {
  yyjson_mut_val *headers = yyjson_mut_obj(doc);
  const char *at = buf_text(&r->headers);
  if (headers == NULL || !yyjson_mut_obj_add_val(doc, result, "headers", headers)) return false;
  for (size_t i = 0; i < r->header_count; i++) {
    const char *value = at + strlen(at) + 1;
    if (net_http_is_token(at) && !add_header(doc, headers, at, value)) return false;
    at = value + strlen(value) + 1;
  }
  return true;
}

static bool add_base64(yyjson_mut_doc *doc, yyjson_mut_val *result, const buf *body) {
  OWNED(buf_free) buf text = BUF_INIT(BUF_UNLIMITED);
  return base64_append(&text, body->data, body->len) == CAY_OK &&
         yyjson_mut_obj_add_str(doc, result, "encoding", "base64") &&
         yyjson_mut_obj_add_strncpy(doc, result, "body", buf_text(&text), text.len);
}

/* A text that was cut may end inside a character: that one is left out. */
static size_t text_len(const net_http_response *r) {
  size_t len = r->body.len;
  for (int i = 0; i < 3 && r->truncated && len > 0 && !utf8_is_valid(r->body.data, len); i++) len--;
  return len;
}

static bool add_body(const net_http_response *r, bool as_base64, yyjson_mut_doc *doc,
                     yyjson_mut_val *result) {
  size_t len = text_len(r);
  bool text = len == 0 || (memchr(r->body.data, '\0', len) == NULL && utf8_is_valid(r->body.data, len));
  if (as_base64 || !text) return add_base64(doc, result, &r->body);
  return yyjson_mut_obj_add_str(doc, result, "encoding", "text") &&
         yyjson_mut_obj_add_strncpy(doc, result, "body", buf_text(&r->body), len);
}

static void http_give(const net_http_response *r, bool as_base64, yyjson_mut_doc *doc, yyjson_mut_val *result,
                      tool_end *end) {
  OWNED(buf_free) buf url = BUF_INIT(3 * NET_URL_MAX);
  bool fine =
      net_url_write(r->url, &url) == CAY_OK && yyjson_mut_obj_add_int(doc, result, "status", r->status) &&
      yyjson_mut_obj_add_strncpy(doc, result, "url", buf_text(&url), url.len) &&
      yyjson_mut_obj_add_uint(doc, result, "redirects", r->redirects) && add_headers(r, doc, result) &&
      add_body(r, as_base64, doc, result) && yyjson_mut_obj_add_bool(doc, result, "truncated", r->truncated);
  reach_check_memory(fine, end);
}

/* ---- the handler ---- */

static void request(const tool_world *world, yyjson_val *args, sending *s, yyjson_mut_doc *doc,
                    yyjson_mut_val *result, tool_end *end) {
  const tool_reach *reach = world->reach;
  const char *method = reach_arg_text(args, "method", 16, false, end);
  const char *encoding = reach_arg_text(args, "encoding", 16, false, end);
  uint64_t ms = reach_arg_count(args, "timeout_ms", 1, reach->http_timeout_ms, reach->http_timeout_ms, end);
  uint64_t max = reach_arg_count(args, "max_bytes", 1, reach->http_body_max, reach->http_body_max, end);
  uint64_t redirects =
      reach_arg_count(args, "max_redirects", 0, reach->http_redirects_max, reach->http_redirects_max, end);
  if (!reach_arg_bool(args, "follow_redirects", true, end)) redirects = 0;
  bool as_base64 = encoding != NULL && strcmp(encoding, "base64") == 0;
  read_url(args, s, end);
  read_headers(args, s, end);
  read_query(args, s, end);
  read_body(args, s, end);
  if (end->code == TOOL_OK && method != NULL && !net_http_is_token(method))
    tool_end_set(end, TOOL_INVALID_ARGS, "method must be a token");
  if (end->code == TOOL_OK && encoding != NULL && !as_base64 && strcmp(encoding, "auto") != 0)
    tool_end_set(end, TOOL_INVALID_ARGS, "encoding must be auto or base64");
  if (end->code != TOOL_OK) return;

  reach_limit limit = reach_limit_of(world, ms);
  net_http_request q = {
    .method = method != NULL ? method
              : s->has_body  ? "POST"
                             : "GET",
    .url = &s->url,
    .headers = s->headers,
    .header_count = s->header_count,
    .body = { s->has_body ? (s->body.data != NULL ? (const void *)s->body.data : "") : NULL, s->body.len },
    .deadline_ns = limit.deadline_ns,
    .stop = limit.stop,
    .body_max = max,
    .truncate = true,
    .redirects_max = (uint32_t)redirects,
    .policy = reach->policy,
    .resolver = &reach->resolver,
    .ca_file = reach->ca_file,
  };
  OWNED(net_http_response_free) net_http_response response = { 0 };
  cay_error err = { 0 };
  cay_status status = net_http(&q, &response, &err);
  if (status != CAY_OK)
    reach_fail(end, status, "", &err);
  else
    http_give(&response, as_base64, doc, result, end);
}

void reach_http_request(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc,
                        yyjson_mut_val *result, tool_end *end) {
  if (world->reach == NULL) {
    tool_end_set(end, TOOL_FORBIDDEN, "the egress policy has no rule that allows anything");
    return;
  }
  sending *s = mem_zalloc(sizeof *s);
  if (s == NULL) {
    reach_check_memory(false, end);
    return;
  }
  s->body.max = BODY_MAX;
  request(world, args, s, doc, result, end);
  buf_free(&s->body);
  mem_free(s);
}
