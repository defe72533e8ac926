/* tool_list.c - the tools of a set, the entries that are due, and the audit log. */
#include "base/alloc.h"
#include "base/error.h"
#include "sandbox/tool/tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checking ---- */

static void fill_verdict(const tool_end *end, cay_tool_verdict *out) {
  *out = (cay_tool_verdict){ .code = tool_code_name(end->code) };
  (void)snprintf(out->why, sizeof out->why, "%s", end->why);
}

typedef struct checking {
  cay_tools *tools;
  cay_slice bytes;
  const char *entrypoint;
  tool_end end;
  cay_status status;
  cay_error err;
} checking;

static void check_on_stack(void *ctx) {
  checking *c = ctx;
  eng_module *module = NULL;
  tool_check_options options = { .entrypoint = c->entrypoint,
                                 .size_max = (size_t)c->tools->o.module_max,
                                 .allow_placeholder = c->tools->o.allow_placeholders };
  c->status = tool_check(c->tools->wasm, c->bytes, &options, &module, &c->end, &c->err);
  eng_module_unref(module);
}

cay_status cay_tool_check(cay_tools *tools, cay_slice module, const char *entrypoint, cay_tool_verdict *out,
                          cay_error *err) {
  checking c = { .tools = tools, .bytes = module, .entrypoint = entrypoint };
  S_TRY(sb_tool_on_stack(tools, check_on_stack, &c, err));
  if (c.status == CAY_OK)
    fill_verdict(&c.end, out);
  else if (err != NULL)
    *err = c.err;
  return c.status;
}

/* ---- listing ---- */

typedef struct listing {
  cay_tools *tools;
  cay_tool_fn *each;
  void *ctx;
  char **names;
  size_t count, cap;
  cay_status status;
  cay_error err;
} listing;

static cay_status tool_list_add_name(listing *l, const char *name, size_t len, cay_error *err) {
  if (l->count == l->cap) {
    size_t cap = l->cap != 0 ? 2 * l->cap : 16;
    char **grown = mem_realloc_array((void *)l->names, cap, sizeof(char *));
    if (grown == NULL) return err_no_memory(err);
    l->names = grown;
    l->cap = cap;
  }
  l->names[l->count] = mem_strndup(name, len);
  if (l->names[l->count] == NULL) return err_no_memory(err);
  l->count++;
  return CAY_OK;
}

static cay_status names_of_folder(listing *l, cay_error *err) {
  static const char end[] = "_tool.wasm";
  buf path = BUF_INIT(4096);
  cay_status status = buf_appendf(&path, "%s/wasm", l->tools->base_dir);
  DIR *dir = status == CAY_OK ? opendir(buf_text(&path)) : NULL;
  buf_free(&path);
  if (status != CAY_OK) return err_no_memory(err);
  for (struct dirent *entry; status == CAY_OK && dir != NULL && (entry = readdir(dir)) != NULL;) {
    size_t len = strlen(entry->d_name), tail = sizeof end - 1;
    char name[TOOL_NAME_MAX + 1];
    if (len <= tail || len - tail > TOOL_NAME_MAX || strcmp(entry->d_name + len - tail, end) != 0) continue;
    (void)snprintf(name, sizeof name, "%.*s", (int)(len - tail), entry->d_name);
    if (tool_is_name(name)) status = tool_list_add_name(l, name, len - tail, err);
  }
  if (dir != NULL) (void)closedir(dir);
  return status;
}

static int tool_list_compare(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static cay_status tool_list_collect(listing *l, cay_error *err) {
  const tool_config *config = l->tools->config;
  for (size_t i = 0; i < tool_config_count(config); i++) {
    const char *name = tool_config_at(config, i)->name;
    S_TRY(tool_list_add_name(l, name, strlen(name), err));
  }
  S_TRY(names_of_folder(l, err));
  if (l->count != 0) qsort((void *)l->names, l->count, sizeof(char *), tool_list_compare);
  return CAY_OK;
}

static cay_status tool_list_show(listing *l, const char *name, bool *more, cay_error *err) {
  tool_settings settings;
  cay_tool one = { .name = name, .configured = tool_config_find(l->tools->config, name, &settings) };
  const char *family[] = { tool_default_family(name), NULL };
  sb_tool *tool = NULL;
  S_TRY(sb_tool_take(l->tools, name, &tool, err));
  fill_verdict(&tool->end, &one.verdict);
  sb_tool_release(l->tools, tool);
  buf path = BUF_INIT(4096);
  cay_status status = sb_tool_path(l->tools, &settings, &path, err);
  if (status == CAY_OK) {
    one.module = buf_text(&path);
    one.entrypoint = settings.entrypoint != NULL ? settings.entrypoint : "execute";
    one.allow = settings.allow.entries != NULL ? settings.allow.entries : family;
    one.timeout_ms = settings.timeout_ms != 0 ? settings.timeout_ms : TOOL_TIMEOUT_MS;
    one.fuel = settings.fuel;
    *more = l->each(l->ctx, &one);
  }
  buf_free(&path);
  return status;
}

static void list_on_stack(void *ctx) {
  listing *l = ctx;
  bool more = true;
  l->status = tool_list_collect(l, &l->err);
  for (size_t i = 0; l->status == CAY_OK && more && i < l->count; i++)
    if (i == 0 || strcmp(l->names[i], l->names[i - 1]) != 0)
      l->status = tool_list_show(l, l->names[i], &more, &l->err);
}

cay_status cay_tools_list(cay_tools *tools, cay_tool_fn *each, void *ctx, cay_error *err) {
  listing l = { .tools = tools, .each = each, .ctx = ctx };
  cay_status status = sb_tool_on_stack(tools, list_on_stack, &l, err);
  if (status == CAY_OK && l.status != CAY_OK) {
    if (err != NULL) *err = l.err;
    status = l.status;
  }
  for (size_t i = 0; i < l.count; i++) mem_free(l.names[i]);
  mem_free((void *)l.names);
  return status;
}

/* ---- entries that are due ---- */

typedef struct delivering {
  cay_tool_due_fn *each;
  void *ctx;
} delivering;

static bool tool_list_on_due(void *ctx, const tool_event *event) {
  const delivering *d = ctx;
  cay_tool_event public = { .kind = tool_event_kind_name(event->kind),
                            .id = event->id,
                            .user = event->user,
                            .name = event->name,
                            .prompt = event->prompt,
                            .due_at = event->due_at,
                            .missed = event->missed };
  return d->each(d->ctx, &public);
}

static cay_status need_store(const cay_tools *tools, cay_error *err) {
  return tools->store != NULL ? CAY_OK : err_set(err, CAY_INVALID, "there is no database");
}

static int64_t now_seconds(const cay_tools *tools) {
  int64_t ns = sb_tools_now(tools);
  return ns > 0 ? ns / NS_PER_SEC : 0;
}

cay_status cay_tools_due(cay_tools *tools, cay_tool_due_fn *each, void *ctx, size_t *delivered,
                         cay_error *err) {
  S_TRY(need_store(tools, err));
  delivering d = { each, ctx };
  return tool_store_due(tools->store, now_seconds(tools), tool_list_on_due, &d, delivered, err);
}

cay_status cay_tools_next_due(cay_tools *tools, int64_t *next, cay_error *err) {
  S_TRY(need_store(tools, err));
  return tool_store_next(tools->store, now_seconds(tools), next, err);
}

/* ---- audit ---- */

cay_status cay_tool_audit_verify(const char *path, cay_tool_audit_fn *each, void *ctx,
                                 cay_tool_audit_report *out, cay_error *err) {
  tool_audit_report report;
  S_TRY(tool_audit_verify(path, each, ctx, &report, err));
  *out = (cay_tool_audit_report){
    .records = report.records, .first = report.first, .last = report.last, .problems = report.problems
  };
  (void)snprintf(out->head, sizeof out->head, "%s", report.head);
  (void)snprintf(out->problem, sizeof out->problem, "%s", report.problem);
  return CAY_OK;
}
