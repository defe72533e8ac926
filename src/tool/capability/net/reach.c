/* reach.c - the configuration of the network capabilities, read and checked as one tool_reach (reach.h). */
#include "tool/capability/net/reach.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tool/capability/net/mcp.h"

#include <string.h>

enum {
  HTTP_TIMEOUT_MS = 30000,
  HTTP_BODY_MAX = 1 << 20,
  HTTP_BODY_MOST = 16 << 20,
  HTTP_REDIRECTS = 5,
  SERVERS_MAX = 64
};

static cay_status read_http(const reach_place *p, yyjson_val *value, tool_reach *r) {
  static const char *const known[] = { "timeout_ms", "max_bytes", "max_redirects", "ca_file", NULL };
  r->http_timeout_ms = HTTP_TIMEOUT_MS;
  r->http_body_max = HTTP_BODY_MAX;
  r->http_redirects_max = HTTP_REDIRECTS;
  S_TRY(reach_object(p, value, known));
  S_TRY(reach_count(p, value, "timeout_ms", 1, REACH_TIMEOUT_MAX_MS, &r->http_timeout_ms));
  S_TRY(reach_count(p, value, "max_bytes", 1, HTTP_BODY_MOST, &r->http_body_max));
  S_TRY(reach_count(p, value, "max_redirects", 0, 20, &r->http_redirects_max));
  return reach_text(p, value, "ca_file", &r->ca_file);
}

/* ---- MCP ---- */

static cay_status read_mcp(const reach_place *p, yyjson_val *value, tool_reach *r, cay_error *err) {
  static const char *const known[] = { "servers", NULL };
  yyjson_val *servers = yyjson_obj_get(value, "servers");
  reach_place at = reach_below(p, "servers");
  S_TRY(reach_object(p, value, known));
  S_TRY(reach_object(&at, servers, NULL));
  if (yyjson_obj_size(servers) > SERVERS_MAX) return reach_wrong(&at, "has too many members");
  r->servers = mem_zalloc_array(yyjson_obj_size(servers) + 1, sizeof *r->servers);
  if (r->servers == NULL) return err_no_memory(err);
  yyjson_obj_iter it = yyjson_obj_iter_with(servers);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
    const char *name = reach_text_of(key);
    reach_place one = reach_below(&at, name != NULL ? name : "");
    if (name == NULL || name[0] == '\0' || strlen(name) > 64)
      return reach_wrong(&one, "a server's name has 1 to 64 bytes");
    S_TRY(mcp_server_read(r, &one, name, yyjson_obj_iter_get_val(key), &r->servers[r->server_count], err));
    r->server_count++;
  }
  return CAY_OK;
}

/* {"server":"name of one of mcp.servers"}, or a server of its own. */
static cay_status read_github(const reach_place *p, yyjson_val *value, tool_reach *r, cay_error *err) {
  const char *name = NULL;
  if (value == NULL) return CAY_OK;
  S_TRY(reach_object(p, value, NULL));
  S_TRY(reach_text(p, value, "server", &name));
  if (name == NULL) {
    S_TRY(mcp_server_read(r, p, "github", value, &r->github, err));
    r->github_is_own = true;
    return CAY_OK;
  }
  for (size_t i = 0; i < r->server_count; i++)
    if (strcmp(r->servers[i]->name, name) == 0) r->github = r->servers[i];
  reach_place at = reach_below(p, "server");
  return r->github != NULL ? CAY_OK : reach_wrong(&at, "must be the name of one of mcp.servers");
}

/* ---- search and coding ---- */

static cay_status read_search(const reach_place *p, yyjson_val *value, search_config *c) {
  static const char *const known[] = { "provider", "url",     "headers", "key",  "timeout_ms", "ca_file",
                                       "body",     "results", "title",   "link", "snippet",    NULL };
  static const struct {
    const char *name, *results, *title, *link, *snippet;
  } shapes[] = { [SEARCH_BRAVE] = { "brave", "web.results", "title", "url", "description" },
                 [SEARCH_SEARXNG] = { "searxng", "results", "title", "url", "content" },
                 [SEARCH_JSON] = { "json", "results", "title", "url", "snippet" } };
  const char *provider = "json";
  if (value == NULL) return CAY_OK;
  S_TRY(reach_object(p, value, known));
  S_TRY(reach_text(p, value, "provider", &provider));
  size_t i = 0;
  while (i < COUNT_OF(shapes) && strcmp(shapes[i].name, provider) != 0) i++;
  reach_place at = reach_below(p, "provider");
  if (i == COUNT_OF(shapes)) return reach_wrong(&at, "must be brave, searxng or json");
  c->shape = (enum search_shape)i;
  c->results = shapes[i].results, c->title = shapes[i].title;
  c->link = shapes[i].link, c->snippet = shapes[i].snippet;
  S_TRY(reach_text(p, value, "results", &c->results));
  S_TRY(reach_text(p, value, "title", &c->title));
  S_TRY(reach_text(p, value, "link", &c->link));
  S_TRY(reach_text(p, value, "snippet", &c->snippet));
  if (strcmp(c->results, ".") == 0) c->results = ""; /* the answer itself is the list */
  c->body = yyjson_obj_get(value, "body");
  S_TRY(reach_endpoint_read(p, value, &c->endpoint));
  return c->endpoint.there ? CAY_OK : reach_wrong(p, "must have a url");
}

static cay_status read_coding(const reach_place *p, yyjson_val *value, coding_config *c) {
  static const char *const known[] = { "url",    "headers", "key",        "timeout_ms", "ca_file", "model",
                                       "models", "system",  "max_tokens", "stream",     NULL };
  reach_place models = reach_below(p, "models");
  if (value == NULL) return CAY_OK;
  S_TRY(reach_object(p, value, known));
  S_TRY(reach_text(p, value, "model", &c->model));
  S_TRY(reach_text(p, value, "system", &c->system));
  S_TRY(reach_count(p, value, "max_tokens", 1, 1000000, &c->max_tokens));
  S_TRY(reach_bool(p, value, "stream", &c->stream));
  c->models = yyjson_obj_get(value, "models");
  if (c->models != NULL && !yyjson_is_arr(c->models))
    return reach_wrong(&models, "must be an array of names");
  S_TRY(reach_endpoint_read(p, value, &c->endpoint));
  return c->endpoint.there ? CAY_OK : reach_wrong(p, "must have a url");
}

/* ---- the whole ---- */

static cay_status reach_read_all(const reach_place *top, yyjson_val *sandbox, tool_reach *r, cay_error *err) {
  reach_place network = reach_below(top, "network"), http = reach_below(top, "http"),
              mcp = reach_below(top, "mcp");
  reach_place github = reach_below(top, "github"), search = reach_below(top, "search");
  reach_place coding = reach_below(top, "coding");
  S_TRY(net_policy_read(yyjson_obj_get(sandbox, "network"), network.path, &r->policy, err));
  S_TRY(read_http(&http, yyjson_obj_get(sandbox, "http"), r));
  S_TRY(read_mcp(&mcp, yyjson_obj_get(sandbox, "mcp"), r, err));
  S_TRY(read_github(&github, yyjson_obj_get(sandbox, "github"), r, err));
  S_TRY(read_search(&search, yyjson_obj_get(sandbox, "search"), &r->search));
  return read_coding(&coding, yyjson_obj_get(sandbox, "coding"), &r->coding);
}

/* A copy: the caller may free the original. */
static cay_status reach_copy_of(yyjson_val *value, yyjson_doc **out, cay_error *err) {
  if (value == NULL) return CAY_OK;
  size_t len = 0;
  char *text = yyjson_val_write_opts(value, 0, &JSON_ALLOC, &len, NULL);
  if (text == NULL) return err_no_memory(err);
  *out = yyjson_read_opts(text, len, YYJSON_READ_BIGNUM_AS_RAW, &JSON_ALLOC, NULL);
  mem_free(text);
  return *out != NULL ? CAY_OK : err_no_memory(err);
}

cay_status tool_reach_new(const tool_reach_options *options, tool_reach **out, cay_error *err) {
  OWNED(tool_reach_free) tool_reach *r = mem_zalloc(sizeof *r);
  if (r == NULL) return err_no_memory(err);
  r->secrets = options->secrets;
  r->log = options->log;
  r->log_ctx = options->log_ctx;
  r->resolver = options->resolver;
  reach_place top = {
    .path = "tools.settings.sandbox", .err = err, .log = options->log, .log_ctx = options->log_ctx
  };
  S_TRY(reach_copy_of(options->sandbox, &r->doc, err));
  S_TRY(reach_read_all(&top, yyjson_doc_get_root(r->doc), r, err));
  *out = MOVE(r);
  return CAY_OK;
}

void tool_reach_free(tool_reach *reach) {
  if (reach == NULL) return;
  if (reach->github_is_own) mcp_server_free(reach->github);
  for (size_t i = 0; i < reach->server_count; i++) mcp_server_free(reach->servers[i]);
  mem_free((void *)reach->servers);
  net_policy_free(reach->policy);
  yyjson_doc_free(reach->doc);
  mem_free(reach);
}
