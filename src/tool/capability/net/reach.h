/* reach.h - what the capabilities that use the network share: http.request, mcp.*, github.*, search.internet
 * and coding.generate.
 *
 * Made once from a configuration and used by every call. What the configuration names (servers, endpoints) is
 * the operator's and may be anywhere; URLs that a tool gives go through the egress policy. Keys come from the
 * secrets when they are needed; where an answer, error or log line repeats one, stars stand in its place.
 *
 * Any number of threads may call handlers; one MCP server serves one of them at a time. */
#pragma once

#include "net/resolve.h"
#include "tool/capability/capability.h"

typedef struct tool_reach tool_reach;

typedef struct tool_reach_options {
  yyjson_val
      *sandbox; /* tools.settings.sandbox, copied: network, http, mcp, github, search, coding; may be NULL */
  tool_secrets secrets; /* borrowed for life */
  tool_log_fn *log;     /* warnings, and error output of MCP servers; NULL: no log */
  void *log_ctx;
  net_resolver resolver; /* zero: the host's */
} tool_reach_options;

/* Nothing is connected or started yet. CAY_INVALID: the message begins with the JSON path. CAY_NO_MEMORY. */
cay_status tool_reach_new(const tool_reach_options *options, tool_reach **out, cay_error *err) CHECKED;

/* Ends the MCP servers that were started. No handler may be running. NULL is fine. */
void tool_reach_free(tool_reach *reach);
OWNED_DEFINE(tool_reach, tool_reach_free)
