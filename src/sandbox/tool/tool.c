/* tool.c - a set of tools: its configuration, store, log and capabilities. */
#include "sandbox/tool/tool.h"

#include "base/alloc.h"
#include "base/error.h"
#include "sandbox/sandbox.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of native stack a tool may use. */
enum { WASM_STACK = 1 << 20, THREADS_KEPT = 2, LINGER_MS = 2000 };

void sb_tools_log(const cay_tools *tools, cay_log_level level, const char *area, const char *line) {
  if (tools->o.log != NULL) tools->o.log(tools->o.log_ctx, level, area, line);
}

static void on_warning(void *ctx, const char *line) { sb_tools_log(ctx, CAY_LOG_WARN, "tools", line); }

void sb_tools_on_log(void *ctx, enum tool_level level, const char *tool, const char *line) {
  static const cay_log_level levels[] = { CAY_LOG_ERROR, CAY_LOG_WARN, CAY_LOG_INFO, CAY_LOG_DEBUG };
  sb_tools_log(ctx, levels[level], tool, line);
}

int64_t sb_tools_now(const cay_tools *tools) {
  return tools->o.clock != NULL ? tools->o.clock(tools->o.clock_ctx) : clock_real_ns();
}

static cay_status copy_texts(cay_tools *t, cay_error *err) {
  char here[PATH_MAX];
  const char *base = t->o.base_dir;
  if (base == NULL && (base = getcwd(here, sizeof here)) == NULL)
    return err_set(err, CAY_IO, "no working directory");
  t->base_dir = mem_strdup(base);
  t->user = t->o.user != NULL ? mem_strdup(t->o.user) : NULL;
  return t->base_dir == NULL || (t->o.user != NULL && t->user == NULL) ? err_no_memory(err) : CAY_OK;
}

static cay_status set_up_engine(cay_tools *t, cay_error *err) {
  size_t module_max = t->o.module_max != 0 ? (size_t)t->o.module_max : TOOL_MODULE_MAX;
  eng_options options = { .wasm_stack = WASM_STACK, .cache_dir = t->o.cache_dir, .module_max = module_max };
  S_TRY(alarm_set_new(&t->alarms, err));
  S_TRY(eng_engine_new(&options, &t->wasm, err));
  return thread_pool_new(&(thread_pool_options){ .name = "cay-tool",
                                                 .stack_len = eng_thread_stack(t->wasm),
                                                 .keep = THREADS_KEPT,
                                                 .linger_ms = LINGER_MS },
                         &t->threads, err);
}

static cay_status set_up_reach(cay_tools *t, cay_error *err) {
  return tool_reach_new(&(tool_reach_options){ .sandbox = tool_config_sandbox(t->config),
                                               .secrets = tool_config_secrets(t->config),
                                               .log = t->o.log != NULL ? sb_tools_on_log : NULL,
                                               .log_ctx = t },
                        &t->reach, err);
}

static cay_status tool_set_up(cay_tools *t, cay_error *err) {
  S_TRY(copy_texts(t, err));
  S_TRY(tool_config_read(t->o.config, on_warning, t, &t->config, err));
  S_TRY(set_up_engine(t, err));
  S_TRY(set_up_reach(t, err));
  if (t->o.database != NULL)
    S_TRY(tool_store_open(&(tool_store_options){ .path = t->o.database }, &t->store, err));
  if (t->o.audit == NULL) return CAY_OK;
  tool_audit_options audit = { .path = t->o.audit, .rotate_len = t->o.audit_rotate, .sync = t->o.audit_sync };
  return tool_audit_open(&audit, &t->audit, err);
}

cay_status cay_tools_open(const cay_tools_options *options, cay_tools **out, cay_error *err) {
  cay_tools_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "options of tools: from a newer version of cay.h");
  if (o.rounds > SB_TOOL_ROUNDS_MAX)
    return err_set(err, CAY_INVALID, "rounds: at most %d", SB_TOOL_ROUNDS_MAX);
  cay_tools *t = mem_zalloc(sizeof *t);
  if (t == NULL) return err_no_memory(err);
  pthread_mutex_init(&t->mu, NULL);
  t->o = o;
  cay_status status = tool_set_up(t, err);
  if (status != CAY_OK) {
    cay_tools_free(t);
    return status;
  }
  t->o.config = (cay_slice){ 0 }; /* all of the caller's texts were used or copied */
  t->o.base_dir = t->o.database = t->o.audit = t->o.cache_dir = t->o.user = NULL;
  *out = t;
  return CAY_OK;
}

void cay_tools_free(cay_tools *t) {
  if (t == NULL) return;
  thread_pool_free(t->threads);
  for (size_t i = 0; i < t->count; i++) sb_tool_release(t, t->list[i]);
  mem_free((void *)t->list);
  tool_reach_free(t->reach);
  tool_audit_free(t->audit);
  tool_store_free(t->store);
  eng_engine_free(t->wasm);
  alarm_set_free(t->alarms);
  tool_config_free(t->config);
  pthread_mutex_destroy(&t->mu);
  mem_free(t->base_dir);
  mem_free(t->user);
  mem_free(t);
}
