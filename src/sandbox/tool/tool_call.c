/* tool_call.c - one call of a tool: its envelope, its capabilities, and the audit record. */
#include "base/alloc.h"
#include "base/error.h"
#include "sandbox/sandbox.h"
#include "sandbox/tool/tool.h"

#include <stdio.h>
#include <string.h>

struct cay_tool_cancel {
  cancel wish;
};

typedef struct sb_tool_result {
  cay_tool_result public;
  buf json;
  tool_end end;
} sb_tool_result;

typedef struct calling {
  cay_tools *tools;
  const char *name;
  cay_slice input;
  cay_tool_call_options o;
  sb_tool *tool;
  sb_tool_result *r;
  tool_world world;
  cancel *stop;      /* NULL: cannot be ended early */
  int64_t until_ns;  /* clock_mono_ns */
  cay_status status; /* the host's */
  cay_error err;
  /* of the decision that is under way */
  char capability[TOOL_AUDIT_NAME_MAX + 1];
  digest args;
  uint64_t decision;
  int64_t decided_ns;
  bool told;
} calling;

/* ---- audit ---- */

static enum tool_decision decision_of(const tool_end *end) {
  if (end->code == TOOL_OK) return TOOL_ALLOWED;
  return end->code == TOOL_FORBIDDEN || end->code == TOOL_HOST_CALL ? TOOL_DENIED : TOOL_FAILED;
}

static cay_status on_decision(void *ctx, const char *capability, const digest *args, const tool_end *verdict,
                              cay_error *err) {
  calling *c = ctx;
  c->r->public.capabilities++;
  c->told = true;
  c->decision = 0;
  c->args = *args;
  c->decided_ns = clock_mono_ns();
  (void)snprintf(c->capability, sizeof c->capability, "%s", capability);
  if (c->tools->audit == NULL) return CAY_OK;
  tool_audit_record record = { .time_ns = sb_tools_now(c->tools),
                               .tool = c->name,
                               .decision = decision_of(verdict),
                               .capability = capability,
                               .args = args,
                               .code = tool_code_name(verdict->code) };
  return tool_audit_append(c->tools->audit, &record, &c->decision, err);
}

/* An effect cannot be undone: a record that could not be written is reported to the log. */
static void on_outcome(void *ctx, const tool_end *end) {
  calling *c = ctx;
  cay_error err;
  if (c->tools->audit == NULL) return;
  tool_audit_record record = { .time_ns = sb_tools_now(c->tools),
                               .tool = c->name,
                               .of = c->decision,
                               .decision = decision_of(end),
                               .capability = c->capability,
                               .args = &c->args,
                               .code = tool_code_name(end->code),
                               .duration_ns = clock_mono_ns() - c->decided_ns };
  if (tool_audit_append(c->tools->audit, &record, NULL, &err) != CAY_OK)
    sb_tools_log(c->tools, CAY_LOG_ERROR, "tools", err.message);
}

/* A call that failed by itself is a decision too: nothing of it went on. */
static void tell_failure(calling *c) {
  static const cay_error none;
  cay_error err = none;
  if (c->tools->audit == NULL || c->told || c->r->end.code == TOOL_OK) return;
  tool_audit_record record = { .time_ns = sb_tools_now(c->tools),
                               .tool = c->name,
                               .decision = TOOL_FAILED,
                               .capability = "",
                               .code = tool_code_name(c->r->end.code) };
  if (tool_audit_append(c->tools->audit, &record, NULL, &err) != CAY_OK)
    sb_tools_log(c->tools, CAY_LOG_ERROR, "tools", err.message);
}

/* ---- one round ---- */

static cay_status check_input(calling *c, cay_error *err) {
  OWNED(yyjson_doc_free) yyjson_doc *doc = NULL;
  tool_end *end = &c->r->end, why = { 0 };
  S_TRY(tool_json_read(c->input.data, c->input.len, &doc, &why, err));
  if (why.code != TOOL_OK)
    tool_end_set(end, TOOL_BAD_INPUT, "the input is %.180s", why.why);
  else if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
    tool_end_set(end, TOOL_BAD_INPUT, "the input must be a JSON object");
  return CAY_OK;
}

/* The limit holds for all rounds together; a tool that has none left gets the least there is. */
static uint32_t time_left(const calling *c) {
  int64_t ms = (c->until_ns - clock_mono_ns()) / NS_PER_MS;
  return ms > 1 ? (uint32_t)ms : 1;
}

static cay_status one_round(calling *c, cay_slice input, bool *asked, cay_error *err) {
  const cay_tools *t = c->tools;
  tool_call call = { .module = c->tool->module,
                     .entrypoint = c->tool->settings.entrypoint,
                     .alarms = t->alarms,
                     .timeout_ms = time_left(c),
                     .stop = c->stop,
                     .fuel = c->tool->settings.fuel,
                     .memory_max = t->o.memory_max,
                     .input = input };
  tool_watch watch = { .ctx = c, .before = on_decision, .after = on_outcome };
  *asked = false;
  if (cancel_raised(c->stop)) {
    tool_end_set(&c->r->end, TOOL_CANCELLED, "cancelled before it was called");
    return CAY_OK;
  }
  buf output = BUF_INIT(t->o.output_max != 0 ? (size_t)t->o.output_max : TOOL_OUTPUT_MAX);
  cay_status status = tool_call_run(&call, &output, &c->r->end, err);
  if (status == CAY_OK && c->r->end.code == TOOL_OK)
    status = tool_answer_watched(&c->world, &c->tool->settings.allow, t->o.allow_placeholders, &watch,
                                 (cay_slice){ output.data, output.len }, &c->r->json, &c->r->end, asked, err);
  buf_free(&output);
  return status;
}

/* ---- the tool is called again with the answer ---- */

/* {…the answer…, "round": n, "input": {…what the call began with…}} */
static cay_status next_input(const calling *c, uint32_t round, const buf *answer, buf *out, cay_error *err) {
  cay_status status = buf_append(out, answer->data, answer->len - 1); /* an object, as we wrote it */
  if (status == CAY_OK) status = buf_appendf(out, ",\"round\":%u,\"input\":", (unsigned)round);
  if (status == CAY_OK) status = buf_append(out, c->input.data, c->input.len);
  if (status == CAY_OK) status = buf_append_byte(out, '}');
  return status == CAY_OK ? status : err_no_memory(err);
}

static cay_status all_rounds(calling *c, cay_error *err) {
  bool asked;
  S_TRY(one_round(c, c->input, &asked, err));
  for (uint32_t round = 1; asked && c->tools->o.rounds != 0; round++) {
    if (round > c->tools->o.rounds) {
      buf_clear(&c->r->json);
      tool_end_set(&c->r->end, TOOL_TOO_MANY_ROUNDS, "asked for more than %u capabilities",
                   (unsigned)round - 1);
      c->told = false;
      return CAY_OK;
    }
    buf input = BUF_INIT(BUF_UNLIMITED);
    cay_status status = next_input(c, round, &c->r->json, &input, err);
    buf_clear(&c->r->json);
    c->r->end = (tool_end){ 0 };
    c->told = false;
    if (status == CAY_OK) status = one_round(c, (cay_slice){ input.data, input.len }, &asked, err);
    buf_free(&input);
    S_TRY(status);
  }
  return CAY_OK;
}

/* ---- the whole ---- */

static void set_up_world(calling *c) {
  const cay_tools *t = c->tools;
  uint32_t own = c->tool->settings.timeout_ms != 0 ? c->tool->settings.timeout_ms : TOOL_TIMEOUT_MS;
  uint32_t ms = c->o.timeout_ms != 0 && c->o.timeout_ms < own ? c->o.timeout_ms : own;
  c->until_ns = clock_mono_ns() + ms * NS_PER_MS;
  c->world = (tool_world){ .tool = c->name,
                           .secrets = tool_config_secrets(t->config),
                           .log = t->o.log != NULL ? sb_tools_on_log : NULL,
                           .log_ctx = c->tools,
                           .store = t->store,
                           .reach = t->reach,
                           .deadline_ns = c->until_ns,
                           .stop = c->stop,
                           .user = c->o.user != NULL ? c->o.user : t->user,
                           .clock = t->o.clock,
                           .clock_ctx = t->o.clock_ctx };
}

static cay_status tool_call_tool(calling *c, cay_error *err) {
  S_TRY(check_input(c, err));
  if (c->r->end.code != TOOL_OK) return CAY_OK;
  S_TRY(sb_tool_take(c->tools, c->name, &c->tool, err));
  if (c->tool->module == NULL) {
    c->r->end = c->tool->end;
    return CAY_OK;
  }
  set_up_world(c);
  return all_rounds(c, err);
}

static void on_stack(void *ctx) {
  calling *c = ctx;
  c->status = tool_call_tool(c, &c->err);
  if (c->tool != NULL) sb_tool_release(c->tools, c->tool);
}

static cay_status tool_call_finish(calling *c, cay_error *err) {
  sb_tool_result *r = c->r;
  tell_failure(c);
  if (r->end.code != TOOL_OK && r->json.len == 0) S_TRY(tool_answer_error(&r->end, &r->json, err));
  r->public.code = tool_code_name(r->end.code);
  r->public.json = (cay_slice){ r->json.data, r->json.len };
  r->public.why = (cay_slice){ r->end.why, strlen(r->end.why) };
  return CAY_OK;
}

static cay_status tool_tool_call_run(calling *c, cay_error *err) {
  int64_t start = clock_mono_ns();
  S_TRY(sb_tool_on_stack(c->tools, on_stack, c, err));
  if (c->status != CAY_OK) {
    if (err != NULL) *err = c->err;
    return c->status;
  }
  S_TRY(tool_call_finish(c, err));
  c->r->public.wall_ns = (uint64_t)(clock_mono_ns() - start);
  return CAY_OK;
}

cay_status cay_tool_call(cay_tools *tools, const char *name, cay_slice input,
                         const cay_tool_call_options *options, cay_tool_result **out, cay_error *err) {
  calling c = { .tools = tools, .name = name, .input = input };
  if (!sb_options_copy(&c.o, sizeof c.o, options))
    return err_set(err, CAY_INVALID, "options of a call: from a newer version of cay.h");
  if (name == NULL || !tool_is_name(name))
    return err_set(err, CAY_INVALID, "a tool's name is 1 to %d small letters, digits, '_' and '-'",
                   TOOL_NAME_MAX);
  if (c.o.cancel != NULL) c.stop = &c.o.cancel->wish;
  c.r = mem_zalloc(sizeof *c.r);
  if (c.r == NULL) return err_no_memory(err);
  c.r->json = BUF_INIT(BUF_UNLIMITED);
  cay_status status = tool_tool_call_run(&c, err);
  if (status != CAY_OK) {
    cay_tool_result_free(&c.r->public);
    return status;
  }
  *out = &c.r->public;
  return CAY_OK;
}

void cay_tool_result_free(cay_tool_result *result) {
  if (result == NULL) return;
  sb_tool_result *r = CONTAINER_OF(result, sb_tool_result, public);
  buf_free(&r->json);
  mem_free(r);
}

/* ---- cancelling ---- */

cay_status cay_tool_cancel_new(cay_tool_cancel **out, cay_error *err) {
  cay_tool_cancel *c = mem_zalloc(sizeof *c);
  if (c == NULL) return err_no_memory(err);
  cancel_init(&c->wish);
  *out = c;
  return CAY_OK;
}

void cay_tool_cancel_raise(cay_tool_cancel *c) {
  if (c != NULL) cancel_raise(&c->wish);
}

void cay_tool_cancel_free(cay_tool_cancel *c) {
  if (c == NULL) return;
  cancel_end(&c->wish);
  mem_free(c);
}
