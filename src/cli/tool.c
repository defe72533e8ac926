/* tool.c - `cay tool`: modules that take JSON and give JSON. */
#include "cli/tool.h"

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/module.h"
#include "cli/say.h"
#include "cli/stop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool tool_put_json(json *j) {
  size_t len = 0;
  const char *text = json_text(j, &len);
  bool fine = text != NULL && say_write(STDOUT_FILENO, text, len);
  json_free(j);
  return fine;
}

static int failed(const cay_error *err) {
  say("%s", err->message);
  return EXIT_CAY;
}

/* ---- check ---- */

static int cli_tool_check(cay_tools *tools, const tool_words *w) {
  cay_slice module = { 0 };
  cay_tool_verdict verdict;
  cay_error err;
  if (!module_load(w->argument, &module)) return EXIT_WRONG;
  cay_status status = cay_tool_check(tools, module, w->entrypoint, &verdict, &err);
  free((void *)(uintptr_t)module.data);
  if (status != CAY_OK) return failed(&err);
  bool fine = strcmp(verdict.code, "ok") == 0;
  if (!w->as_json) {
    printf(fine ? "%s: a tool\n" : "%s: %s: %s\n", w->argument, verdict.code, verdict.why);
    return fine ? 0 : EXIT_WRONG;
  }
  json *j = json_new();
  if (j == NULL) return EXIT_CAY;
  json_open(j, NULL, '{');
  json_bytes(j, "file", w->argument, strlen(w->argument));
  json_bool(j, "ok", fine);
  json_string(j, "code", verdict.code);
  json_bytes(j, "why", verdict.why, strlen(verdict.why));
  json_close(j);
  return tool_put_json(j) && fine ? 0 : EXIT_WRONG;
}

/* ---- run ---- */

/* All of standard input. */
static char *tool_read_input(size_t *len) {
  char *text = NULL;
  size_t cap = 0;
  ssize_t n = getdelim(&text, &cap, '\0', stdin);
  *len = n > 0 ? (size_t)n : 0;
  return text;
}

static int tool_run(cay_tools *tools, const tool_words *w, cay_tool_cancel *cancel) {
  cay_tool_result *r = NULL;
  cay_error err;
  size_t len = w->input != NULL ? strlen(w->input) : 2;
  bool piped = w->input != NULL && strcmp(w->input, "-") == 0;
  char *read = piped ? tool_read_input(&len) : NULL;
  cay_slice input = { piped ? read : w->input != NULL ? w->input : "{}", len };
  cay_tool_call_options options = { .size = sizeof options, .timeout_ms = w->timeout_ms, .cancel = cancel };
  cay_status status = cay_tool_call(tools, w->argument, input, &options, &r, &err);
  free(read);
  if (status != CAY_OK) return failed(&err);
  bool fine = say_write(STDOUT_FILENO, r->json.data, r->json.len) && say_write(STDOUT_FILENO, "\n", 1);
  bool ok = strcmp(r->code, "ok") == 0;
  if (!ok) say("%s: %s: %.*s", w->argument, r->code, (int)r->why.len, (const char *)r->why.data);
  cay_tool_result_free(r);
  if (!fine) return EXIT_CAY;
  return ok ? 0 : EXIT_WRONG;
}

/* Signals are taken by a thread, before the library has any. */
static int run_stoppable(const tool_words *w) {
  cay_tool_cancel *cancel = NULL;
  cay_error err;
  stop *stopper = stop_new();
  if (stopper == NULL || cay_tool_cancel_new(&cancel, &err) != CAY_OK) {
    say("%s", stopper == NULL ? strerror(errno) : err.message);
    stop_free(stopper);
    return EXIT_CAY;
  }
  cay_tools *tools = tool_open(w, true);
  stop_aim_tool(stopper, cancel);
  int code = tools != NULL ? tool_run(tools, w, cancel) : EXIT_CAY;
  stop_aim_tool(stopper, NULL);
  int sent = stop_signal(stopper);
  cay_tools_free(tools);
  stop_free(stopper);
  cay_tool_cancel_free(cancel);
  if (sent != 0) stop_die(sent); /* its parent sees why it ended */
  return code;
}

/* ---- list ---- */

static void show_one(const cay_tool *tool) {
  bool fine = strcmp(tool->verdict.code, "ok") == 0;
  printf("%-20s %-20s ", tool->name, tool->verdict.code);
  for (size_t i = 0; tool->allow[i] != NULL; i++) printf("%s%s", i != 0 ? "," : "", tool->allow[i]);
  printf("%s%s\n", tool->allow[0] == NULL ? "-" : "", fine ? "" : "  *");
}

static bool cli_tool_on_tool(void *ctx, const cay_tool *tool) {
  json *j = ctx;
  if (j == NULL) {
    show_one(tool);
    return true;
  }
  json_open(j, NULL, '{');
  json_string(j, "name", tool->name);
  json_bytes(j, "module", tool->module, strlen(tool->module));
  json_bytes(j, "entrypoint", tool->entrypoint, strlen(tool->entrypoint));
  json_bool(j, "configured", tool->configured);
  json_string(j, "code", tool->verdict.code);
  json_bytes(j, "why", tool->verdict.why, strlen(tool->verdict.why));
  json_uint(j, "timeout_ms", tool->timeout_ms);
  json_uint(j, "fuel", tool->fuel);
  json_open(j, "allow", '[');
  for (size_t i = 0; tool->allow[i] != NULL; i++) json_string(j, NULL, tool->allow[i]);
  json_close(j);
  json_close(j);
  return true;
}

static int list(cay_tools *tools, const tool_words *w) {
  cay_error err;
  json *j = w->as_json ? json_new() : NULL;
  if (w->as_json && j == NULL) return EXIT_CAY;
  if (j != NULL)
    json_open(j, NULL, '[');
  else
    printf("%-20s %-20s %s\n", "TOOL", "MODULE", "MAY USE");
  cay_status status = cay_tools_list(tools, cli_tool_on_tool, j, &err);
  if (j != NULL) json_close(j);
  if (status != CAY_OK) {
    json_free(j);
    return failed(&err);
  }
  if (j != NULL) return tool_put_json(j) ? 0 : EXIT_CAY;
  return fflush(stdout) == 0 ? 0 : EXIT_CAY;
}

/* ---- due ---- */

static void show_event(const cay_tool_event *e) {
  printf("%s %" PRId64 " of %s, due %" PRId64 ": %s", e->kind, e->id, e->user, e->due_at, e->name);
  if (e->prompt != NULL) printf(": %s", e->prompt);
  printf("\n");
}

/* Each is on its way before it counts as delivered. */
static bool cli_tool_on_due(void *ctx, const cay_tool_event *e) {
  const tool_words *w = ctx;
  if (!w->as_json) {
    show_event(e);
    return fflush(stdout) == 0;
  }
  json *j = json_new();
  if (j == NULL) return false;
  json_open(j, NULL, '{');
  json_string(j, "kind", e->kind);
  json_int(j, "id", e->id);
  json_string(j, "user_id", e->user);
  json_string(j, "name", e->name);
  json_string(j, "prompt", e->prompt);
  json_int(j, "due_at", e->due_at);
  json_int(j, "missed", e->missed);
  json_close(j);
  return tool_put_json(j);
}

static int due(cay_tools *tools, const tool_words *w) {
  cay_error err;
  cay_status status = cay_tools_due(tools, cli_tool_on_due, (void *)(uintptr_t)w, NULL, &err);
  return status == CAY_OK ? 0 : failed(&err);
}

/* ---- audit ---- */

static bool on_line(void *ctx, cay_slice line, const char *problem) {
  const tool_words *w = ctx;
  if (problem != NULL) say("a record %s", problem);
  if (w->verify) return true;
  return say_write(STDOUT_FILENO, line.data, line.len) && say_write(STDOUT_FILENO, "\n", 1);
}

static int show_report(const tool_words *w, const cay_tool_audit_report *r) {
  if (r->problems != 0)
    say("%" PRIu64 " problems, the first: %s", r->problems, r->problem);
  else if (w->verify && !w->as_json)
    printf("%" PRIu64 " records, unbroken; the hash of the last is %s\n", r->records, r->head);
  if (!w->verify || !w->as_json) return r->problems == 0 ? 0 : EXIT_WRONG;
  json *j = json_new();
  if (j == NULL) return EXIT_CAY;
  json_open(j, NULL, '{');
  json_uint(j, "records", r->records);
  json_uint(j, "first", r->first);
  json_uint(j, "last", r->last);
  json_string(j, "head", r->head);
  json_uint(j, "problems", r->problems);
  json_bytes(j, "problem", r->problem, strlen(r->problem));
  json_close(j);
  return tool_put_json(j) && r->problems == 0 ? 0 : EXIT_WRONG;
}

static int audit(const tool_words *w) {
  cay_error err;
  cay_tool_audit_report report;
  char *path = tool_audit_path(w);
  if (path == NULL) {
    say("there is no audit log; name one with --audit FILE");
    return EXIT_USAGE;
  }
  cay_status status = cay_tool_audit_verify(path, on_line, (void *)(uintptr_t)w, &report, &err);
  free(path);
  if (status != CAY_OK) {
    say("%s", err.message);
    return EXIT_WRONG;
  }
  return show_report(w, &report);
}

int command_tool(int argc, char **argv) {
  tool_words w;
  if (!tool_words_read(argc, argv, &w)) return EXIT_USAGE;
  if (w.help) return help_show("tool") ? 0 : EXIT_WRONG;
  if (strcmp(w.verb, "audit") == 0) return audit(&w);
  if (strcmp(w.verb, "run") == 0) return run_stoppable(&w);
  cay_tools *tools = tool_open(&w, strcmp(w.verb, "due") == 0);
  if (tools == NULL) return EXIT_CAY;
  int code = strcmp(w.verb, "check") == 0  ? cli_tool_check(tools, &w)
             : strcmp(w.verb, "list") == 0 ? list(tools, &w)
                                           : due(tools, &w);
  cay_tools_free(tools);
  return code;
}
