/* capability.h - what the host does for a tool that asks: one handler for each row of capabilities.def.
 *
 * A handler that waits ends soon after world.stop was raised, with any code: it counts as TOOL_CANCELLED.
 *
 * A handler reads `args` (an object), fills `result` (an empty object of `doc`), and reports in *end a
 * wrong: TOOL_INVALID_ARGS or TOOL_INTERNAL. */
#pragma once

#include "tool/policy/secrets.h"
#include "tool/run/json.h"

enum tool_level { TOOL_LOG_ERROR, TOOL_LOG_WARN, TOOL_LOG_INFO, TOOL_LOG_DEBUG };
typedef void tool_log_fn(void *ctx, enum tool_level level, const char *tool, const char *line);

enum { TOOL_EVENT_MAX = 8192 }; /* bytes of one log.emit */

typedef struct tool_world {
  const char *tool; /* the calling tool */
  tool_secrets secrets;
  tool_log_fn *log; /* NULL: no log */
  void *log_ctx;
  struct tool_store *store;    /* NULL: kv.sqlite.* has none */
  const char *user;            /* whose rows are meant when the arguments do not say; NULL: they must */
  int64_t (*clock)(void *ctx); /* nanoseconds since 1970; NULL: clock_real_ns */
  void *clock_ctx;
  struct tool_reach *reach; /* NULL: nothing of the network is there */
  int64_t deadline_ns;      /* of the call, clock_mono_ns; 0: each capability's own limit alone */
  struct cancel *stop;      /* ends the call early; may be NULL */
} tool_world;

int64_t tool_world_now(const tool_world *world); /* seconds since 1970, never before it */

typedef void tool_handler(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc,
                          yyjson_mut_val *result, tool_end *end);

#define CAPABILITY(name, handler) tool_handler handler;
#include "tool/capability/capabilities.def"
#undef CAPABILITY

tool_handler *tool_capability_find(const char *name); /* NULL: not implemented */
