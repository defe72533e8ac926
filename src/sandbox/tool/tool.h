/* tool.h - what stands behind the types of <cay/tool.h>.
 *
 * Locks       tools.mu protects the table of loaded tools and the counts in it; never held while a module is
 *             compiled or called. A tool that is in use when its file changes lives until that call ends. */
#pragma once

#include "base/clock.h"
#include "base/thread.h"
#include "engine/engine.h"
#include "tool/audit/audit.h"
#include "tool/capability/kv/store.h"
#include "tool/capability/net/reach.h"
#include "tool/policy/config.h"
#include "tool/run/call.h"
#include "tool/run/check.h"
#include "tool/run/envelope.h"

#include <cay/tool.h>
#include <sys/stat.h>

enum { SB_TOOL_ROUNDS_MAX = 64 };

/* A module that was looked at: compiled, or refused. Counted by the table and by calls. */
typedef struct sb_tool {
  size_t refs; /* with tools.mu */
  char name[TOOL_NAME_MAX + 1];
  char *path;
  struct stat file;       /* as it was when it was read */
  tool_settings settings; /* texts belong to the configuration, or are `name` */
  eng_module *module;     /* NULL: `end` says why */
  tool_end end;
} sb_tool;

struct cay_tools {
  cay_tools_options o; /* texts are ours */
  char *base_dir, *user;
  tool_config *config;
  eng_engine *wasm;
  alarm_set *alarms;
  thread_pool *threads;
  tool_store *store; /* NULL: none, as the audit log */
  tool_audit *audit;
  tool_reach *reach;
  pthread_mutex_t mu;
  sb_tool **list; /* by name */
  size_t count, cap;
};

void sb_tools_log(const cay_tools *tools, cay_log_level level, const char *area, const char *line);
int64_t sb_tools_now(const cay_tools *tools); /* nanoseconds since 1970 */

/* The tool as its file is now, in *out (sb_tool_release). A refusal is a sb_tool without module. On a thread
 * with the stack that eng_thread_stack says. */
cay_status sb_tool_take(cay_tools *tools, const char *name, sb_tool **out, cay_error *err) CHECKED;
void sb_tool_release(cay_tools *tools, sb_tool *tool);

/* What tools and the parts of this set have to say, for a log_ctx that is the set. */
tool_log_fn sb_tools_on_log;

/* Where its module is. */
cay_status sb_tool_path(const cay_tools *tools, const tool_settings *settings, buf *out,
                        cay_error *err) CHECKED;

/* Runs fn(ctx) with the stack that guests need, here or on a thread of the pool, and waits for its end. */
cay_status sb_tool_on_stack(cay_tools *tools, thread_fn *fn, void *ctx, cay_error *err) CHECKED;
