/* search.internet: one question to the search service that the configuration names. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tool/capability/net/handler.h"

#include <stdio.h>
#include <string.h>

enum { QUERY_MAX = 1024, COUNT_MAX = 50, COUNT_USUAL = 5, FIELD_MAX = 4096, DEPTH_MAX = 16 };

/* What the places {query} and {count} stand for. */
typedef struct question {
  const char *query;
  uint64_t count;
} question;

/* ---- asking ---- */

static bool fill_url(const char *pattern, const question *q, buf *out) {
  char number[24];
  (void)snprintf(number, sizeof number, "%llu", (unsigned long long)q->count);
  while (*pattern != '\0') {
    bool query = strncmp(pattern, "{query}", 7) == 0, count = strncmp(pattern, "{count}", 7) == 0;
    cay_status status = query   ? net_url_escape(q->query, out)
                        : count ? buf_append_text(out, number)
                                : buf_append_byte(out, (uint8_t)*pattern);
    if (status != CAY_OK) return false;
    pattern += query || count ? 7 : 1;
  }
  return true;
}

static cay_status make_url(const search_config *c, const question *q, net_url *url, cay_error *err) {
  OWNED(buf_free) buf text = BUF_INIT(NET_URL_MAX);
  char number[24];
  (void)snprintf(number, sizeof number, "%llu", (unsigned long long)q->count);
  if (!fill_url(c->endpoint.url, q, &text)) return err_set(err, CAY_INVALID, "query is too long");
  S_TRY(net_url_parse(buf_text(&text), text.len, url, err));
  bool fits = true;
  bool plain = strstr(c->endpoint.url, "{query}") == NULL && c->body == NULL;
  if (plain) fits = net_url_add_query(url, "q", q->query);
  if (plain && c->shape == SEARCH_BRAVE) fits = fits && net_url_add_query(url, "count", number);
  if (plain && c->shape == SEARCH_SEARXNG) fits = fits && net_url_add_query(url, "format", "json");
  return fits ? CAY_OK : err_set(err, CAY_INVALID, "query is too long");
}

/* A copy of the template in which "{query}" and "{count}" are replaced by their values. */
static yyjson_mut_val *search_fill(yyjson_mut_doc *doc, yyjson_val *value, const question *q, int depth) {
  if (yyjson_equals_str(value, "{query}")) return yyjson_mut_str(doc, q->query);
  if (yyjson_equals_str(value, "{count}")) return yyjson_mut_uint(doc, q->count);
  if (depth > DEPTH_MAX || !yyjson_is_ctn(value)) return yyjson_val_mut_copy(doc, value);
  yyjson_mut_val *copy = yyjson_is_arr(value) ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
  yyjson_arr_iter items = yyjson_arr_iter_with(value);
  for (yyjson_val *one; copy != NULL && (one = yyjson_arr_iter_next(&items)) != NULL;)
    if (!yyjson_mut_arr_append(copy, search_fill(doc, one, q, depth + 1))) return NULL;
  yyjson_obj_iter members = yyjson_obj_iter_with(value);
  for (yyjson_val *key; copy != NULL && (key = yyjson_obj_iter_next(&members)) != NULL;)
    if (!yyjson_mut_obj_add(copy, yyjson_val_mut_copy(doc, key),
                            search_fill(doc, yyjson_obj_iter_get_val(key), q, depth + 1)))
      return NULL;
  return copy;
}

static cay_status make_body(const search_config *c, const question *q, buf *out, cay_error *err) {
  if (c->body == NULL) return CAY_OK;
  OWNED(yyjson_mut_doc_free) yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *root = doc != NULL ? search_fill(doc, c->body, q, 0) : NULL;
  if (root == NULL) return err_no_memory(err);
  yyjson_mut_doc_set_root(doc, root);
  return tool_json_write(doc, out, err);
}

/* ---- understanding ---- */

/* "web.results"; an empty path is the value itself. */
static yyjson_val *at_path(yyjson_val *value, const char *path) {
  while (value != NULL && *path != '\0') {
    size_t len = strcspn(path, ".");
    value = yyjson_obj_getn(value, path, len);
    path += len + (path[len] == '.');
  }
  return value;
}

static bool add_field(yyjson_mut_doc *doc, yyjson_mut_val *out, const char *name, yyjson_val *from) {
  size_t len = yyjson_is_str(from) ? yyjson_get_len(from) : 0;
  const char *text = len != 0 ? yyjson_get_str(from) : "";
  if (len > FIELD_MAX) len = FIELD_MAX;
  len = utf8_valid_len(text, len);
  return yyjson_mut_obj_add_strncpy(doc, out, name, text, len);
}

static bool search_give(const search_config *c, const question *q, yyjson_val *list, yyjson_mut_doc *doc,
                        yyjson_mut_val *result) {
  yyjson_mut_val *results = yyjson_mut_arr(doc);
  if (results == NULL || !yyjson_mut_obj_add_strcpy(doc, result, "query", q->query) ||
      !yyjson_mut_obj_add_val(doc, result, "results", results))
    return false;
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  for (yyjson_val *one;
       yyjson_mut_arr_size(results) < q->count && (one = yyjson_arr_iter_next(&it)) != NULL;) {
    yyjson_mut_val *item = yyjson_mut_obj(doc);
    if (!yyjson_is_str(at_path(one, c->link))) continue;
    if (item == NULL || !add_field(doc, item, "title", at_path(one, c->title)) ||
        !add_field(doc, item, "url", at_path(one, c->link)) ||
        !add_field(doc, item, "snippet", at_path(one, c->snippet)) || !yyjson_mut_arr_append(results, item))
      return false;
  }
  return true;
}

/* ---- the handler ---- */

static cay_status search_ask(const tool_world *world, const question *q, yyjson_mut_doc *doc,
                             yyjson_mut_val *result, net_url *url, reach_keys *keys, cay_error *err) {
  const search_config *c = &world->reach->search;
  OWNED(buf_free) buf body = BUF_INIT(1 << 20);
  OWNED(net_http_response_free) net_http_response response = { 0 };
  OWNED(yyjson_doc_free) yyjson_doc *answer = NULL;
  S_TRY(make_url(c, q, url, err));
  S_TRY(make_body(c, q, &body, err));
  reach_exchange x = { .endpoint = &c->endpoint,
                       .url = url,
                       .method = c->body != NULL ? "POST" : "GET",
                       .body = { body.data, body.len },
                       .limit = reach_limit_of(world, c->endpoint.timeout_ms) };
  x.extra[x.extra_count++] = (net_header){ "Accept", "application/json" };
  if (c->body != NULL) x.extra[x.extra_count++] = (net_header){ "Content-Type", "application/json" };
  S_TRY(reach_exchange_run(world->reach, &x, keys, &response, err));
  if (response.status < 200 || response.status > 299)
    return err_set(err, CAY_IO, "the service answered with HTTP status %d", response.status);
  S_TRY(reach_parse(keys, response.body.data, response.body.len, &answer, err));
  yyjson_val *list = at_path(yyjson_doc_get_root(answer), c->results);
  if (list != NULL && !yyjson_is_arr(list))
    return err_set(err, CAY_CORRUPT, "the answer has no list of results");
  return search_give(c, q, list, doc, result) ? CAY_OK : err_no_memory(err);
}

void reach_search_internet(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc,
                           yyjson_mut_val *result, tool_end *end) {
  const char *count = reach_arg(args, "count") != NULL ? "count" : "max_results";
  question q = { .query = reach_arg_text(args, "query", QUERY_MAX, true, end) };
  q.count = reach_arg_count(args, count, 1, COUNT_MAX, COUNT_USUAL, end);
  if (end->code == TOOL_OK && (world->reach == NULL || !world->reach->search.endpoint.there))
    tool_end_set(end, TOOL_INTERNAL, "no search service is configured");
  if (end->code != TOOL_OK) return;
  OWNED(reach_keys_wipe) reach_keys keys = { .count = 0 };
  cay_error err = { 0 };
  net_url *url = mem_alloc(sizeof *url);
  cay_status status =
      url != NULL ? search_ask(world, &q, doc, result, url, &keys, &err) : err_no_memory(&err);
  mem_free(url);
  if (status != CAY_OK) reach_fail(end, status, "search", &err);
}
