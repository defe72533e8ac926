/* endpoint.c - requests to a configured endpoint: headers with keys, hidden in answers (endpoint.h). */
#include "tool/capability/net/endpoint.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tool/capability/net/handler.h"

#include <string.h>

enum { HEADER_MAX = TOOL_SECRET_MAX + 4096, REDIRECTS = 3 };

static cay_status check_url(const reach_place *p, const char *url) {
  reach_place at = reach_below(p, "url");
  net_url *read = mem_alloc(sizeof *read);
  if (read == NULL) return err_no_memory(p->err);
  cay_error why = { 0 };
  /* Places for a query are braces, which no URL has. */
  size_t len = strcspn(url, "{");
  cay_status status = net_url_parse(url, len, read, &why);
  mem_free(read);
  return status == CAY_OK ? CAY_OK : reach_wrong(&at, "must be a URL that begins with http:// or https://");
}

static cay_status check_headers(const reach_place *p, const reach_values *headers) {
  for (size_t i = 0; i < headers->count; i++) {
    reach_place at = reach_below(p, headers->list[i].name);
    const char *text = headers->list[i].text;
    if (!net_http_header_fits(headers->list[i].name, text != NULL ? text : ""))
      return reach_wrong(&at, "cannot be sent as a header");
  }
  return CAY_OK;
}

cay_status reach_endpoint_read(const reach_place *p, yyjson_val *object, reach_endpoint *out) {
  uint64_t timeout = REACH_TIMEOUT_MS;
  reach_place headers = reach_below(p, "headers"), key = reach_below(p, "key");
  S_TRY(reach_text(p, object, "url", &out->url));
  S_TRY(reach_text(p, object, "ca_file", &out->ca_file));
  S_TRY(reach_count(p, object, "timeout_ms", 1, REACH_TIMEOUT_MAX_MS, &timeout));
  S_TRY(reach_values_read(&headers, yyjson_obj_get(object, "headers"), &out->headers));
  S_TRY(check_headers(&headers, &out->headers));
  yyjson_val *secret = yyjson_obj_get(object, "key");
  if (secret != NULL) {
    static const char *const known[] = { "secret", "prefix", "header", NULL };
    reach_value *value = &out->headers.list[out->headers.count];
    if (out->headers.count == REACH_VALUES_MAX) return reach_wrong(&headers, "has too many members");
    if (!yyjson_is_obj(secret)) return reach_wrong(&key, "must be {\"secret\": name}");
    S_TRY(reach_object(&key, secret, known));
    *value = (reach_value){ .name = "Authorization" };
    S_TRY(reach_text(&key, secret, "header", &value->name));
    S_TRY(reach_text(&key, secret, "secret", &value->secret));
    S_TRY(reach_text(&key, secret, "prefix", &value->prefix));
    if (value->prefix == NULL && strcmp(value->name, "Authorization") == 0) value->prefix = "Bearer ";
    if (value->secret == NULL || !tool_secret_is_name(value->secret) ||
        !net_http_header_fits(value->name, ""))
      return reach_wrong(&key, "must be {\"secret\": name}");
    out->headers.count++;
  }
  out->timeout_ms = (uint32_t)timeout;
  out->there = out->url != NULL;
  return out->there ? check_url(p, out->url) : CAY_OK;
}

/* The headers of the configuration, with their secrets, then the caller's. */
static cay_status endpoint_make_headers(const tool_reach *reach, const reach_exchange *x, reach_keys *keys,
                                        buf *values, net_header *out, cay_error *err) {
  size_t starts[REACH_VALUES_MAX];
  const reach_values *set = &x->endpoint->headers;
  tool_secrets secrets = reach_secrets(reach, x->limit);
  for (size_t i = 0; i < set->count; i++) {
    starts[i] = values->len;
    S_TRY(reach_value_get(&secrets, &set->list[i], keys, values, err));
    if (buf_append_byte(values, 0) != CAY_OK) return err_no_memory(err);
  }
  for (size_t i = 0; i < set->count; i++) {
    out[i] = (net_header){ set->list[i].name, (const char *)values->data + starts[i] };
    if (!net_http_header_fits(out[i].name, out[i].value))
      return err_set(err, CAY_INVALID, "the value of header %.60s cannot be sent", out[i].name);
  }
  for (size_t i = 0; i < x->extra_count; i++) out[set->count + i] = x->extra[i];
  return CAY_OK;
}

static cay_status endpoint_run(const tool_reach *reach, const reach_exchange *x, net_url *own, buf *values,
                               reach_keys *keys, net_http_response *response, cay_error *err) {
  net_header headers[REACH_VALUES_MAX + REACH_EXTRA_MAX];
  if (x->url == NULL) S_TRY(net_url_parse(x->endpoint->url, strlen(x->endpoint->url), own, err));
  S_TRY(endpoint_make_headers(reach, x, keys, values, headers, err));
  net_http_request request = {
    .method = x->method,
    .url = x->url != NULL ? x->url : own,
    .headers = headers,
    .header_count = x->endpoint->headers.count + x->extra_count,
    .body = x->body,
    .deadline_ns = x->limit.deadline_ns,
    .stop = x->limit.stop,
    .body_max = REACH_ANSWER_MAX,
    .redirects_max = REDIRECTS,
    .same_origin = true,
    .any_address = true,
    .resolver = &reach->resolver,
    .ca_file = x->endpoint->ca_file != NULL ? x->endpoint->ca_file : reach->ca_file,
    .on_piece = x->on_piece,
    .ctx = x->ctx,
  };
  return net_http(&request, response, err);
}

cay_status reach_exchange_run(const tool_reach *reach, const reach_exchange *exchange, reach_keys *keys,
                              net_http_response *response, cay_error *err) {
  net_url *own = mem_alloc(sizeof *own);
  if (own == NULL) return err_no_memory(err);
  buf values = BUF_INIT((size_t)HEADER_MAX * REACH_VALUES_MAX);
  cay_status status = endpoint_run(reach, exchange, own, &values, keys, response, err);
  tool_secret_wipe(&values);
  mem_free(own);
  return status;
}

cay_status reach_parse(const reach_keys *keys, const void *data, size_t len, yyjson_doc **out,
                       cay_error *err) {
  tool_end end = { 0 };
  yyjson_doc *doc = NULL;
  S_TRY(tool_json_read(data, len, &doc, &end, err));
  if (doc == NULL) return err_set(err, CAY_CORRUPT, "the answer is %.80s", end.why);
  reach_hide_all(keys, doc);
  *out = doc;
  return CAY_OK;
}
