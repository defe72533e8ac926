/* handler.h - what every handler of this folder needs: the reach itself, deadlines, arguments, failures. */
#pragma once

#include "tool/capability/net/endpoint.h"

struct mcp_server;

enum search_shape { SEARCH_BRAVE, SEARCH_SEARXNG, SEARCH_JSON };

typedef struct search_config {
  reach_endpoint endpoint;
  enum search_shape shape;
  yyjson_val *body;                             /* with places; NULL: a GET */
  const char *results, *title, *link, *snippet; /* where they are: members, dotted */
} search_config;

typedef struct coding_config {
  reach_endpoint endpoint;
  const char *model, *system;
  yyjson_val *models; /* that a tool may ask for, besides `model` */
  uint64_t max_tokens;
  bool stream;
} coding_config;

struct tool_reach {
  yyjson_doc *doc; /* every text of the configuration points into it */
  tool_secrets secrets;
  tool_log_fn *log;
  void *log_ctx;
  net_resolver resolver;
  const char *ca_file;
  net_policy *policy;
  uint64_t http_timeout_ms, http_body_max, http_redirects_max;
  struct mcp_server **servers; /* the last may be github's own */
  size_t server_count;         /* that mcp.* sees */
  struct mcp_server *github;   /* NULL: not configured */
  bool github_is_own;
  search_config search;
  coding_config coding;
};

/* In so many milliseconds, or with the call if that ends earlier. */
reach_limit reach_limit_of(const tool_world *world, uint64_t ms);

/* The secrets, for that long. */
tool_secrets reach_secrets(const tool_reach *reach, reach_limit limit);

/* The code of an answer: CAY_DENIED is forbidden, CAY_INVALID invalid_args,
 * CAY_CANCELLED cancelled, all else internal. */
void reach_fail(tool_end *end, cay_status status, const char *what, const cay_error *err);
void reach_check_memory(bool fine, tool_end *end);

/* Arguments. Null is as good as absent; a value of the wrong kind fails the call. */
yyjson_val *reach_arg(yyjson_val *args, const char *name);
const char *reach_arg_text(yyjson_val *args, const char *name, size_t max, bool required, tool_end *end);
uint64_t reach_arg_count(yyjson_val *args, const char *name, uint64_t min, uint64_t max, uint64_t by_default,
                         tool_end *end);
bool reach_arg_bool(yyjson_val *args, const char *name, bool by_default, tool_end *end);
