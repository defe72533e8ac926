/* call.c - one call in a new instance: input copied in, entry point run, output copied out (call.h). */
#include "tool/run/call.h"

#include "base/error.h"
#include "engine/instance.h"
#include "engine/stop.h"

#include <string.h>

typedef struct live {
  eng_instance *instance;
  uint64_t memory_max;
  cancel *stop;
  tool_end *end;
} live;

static bool call_is_full(const live *l) { return eng_memory_len(l->instance) + ENG_PAGE > l->memory_max; }

/* False: l->end says how the guest ended. */
static bool call_guest(live *l, const char *name, const char *type, eng_val *values) {
  eng_func func;
  if (!eng_func_find(l->instance, name, type, &func)) {
    tool_end_set(l->end, TOOL_NO_ENTRYPOINT, "exports no function `%.100s`", name);
    return false;
  }
  enum eng_end how = eng_call(l->instance, &func, values);
  if (how == ENG_RETURNED) return true;
  enum eng_trap trap = eng_trap_kind(l->instance);
  if (how != ENG_TRAPPED && cancel_raised(l->stop))
    tool_end_set(l->end, TOOL_CANCELLED, "cancelled in `%.100s`", name);
  else if (how != ENG_TRAPPED)
    tool_end_set(l->end, TOOL_TIMEOUT, "the time limit was reached in `%.100s`", name);
  else if (trap == ENG_TRAP_FUEL)
    tool_end_set(l->end, TOOL_OUT_OF_FUEL, "the fuel was used up in `%.100s`", name);
  else if (call_is_full(l))
    tool_end_set(l->end, TOOL_MEMORY_LIMIT, "the memory limit was reached in `%.100s`", name);
  else
    tool_end_set(l->end, TOOL_TRAP, "`%.100s` trapped: %s", name, eng_trap_name(trap));
  return false;
}

static bool put_input(live *l, cay_slice input, uint32_t *at) {
  eng_val values[1] = { { .u32 = (uint32_t)input.len } };
  if (!call_guest(l, "alloc", "i:i", values)) return false;
  *at = values[0].u32;
  if (*at == 0) {
    tool_end_set(l->end, TOOL_MEMORY_LIMIT, "alloc has no memory for the input");
    return false;
  }
  void *place = eng_memory_at(l->instance, *at, input.len);
  if (place == NULL) {
    tool_end_set(l->end, TOOL_BAD_ALLOC, "alloc gave %u for %zu bytes, which is outside of the memory", *at,
                 input.len);
    return false;
  }
  if (input.len != 0) memcpy(place, input.data, input.len);
  return true;
}

static bool call_drop(live *l, uint32_t at, uint32_t len) {
  eng_val values[2] = { { .u32 = at }, { .u32 = len } };
  return call_guest(l, "dealloc", "ii:", values);
}

static cay_status take_output(live *l, uint32_t at, uint32_t len, buf *out, cay_error *err) {
  const void *bytes = eng_memory_at(l->instance, at, len);
  if (bytes == NULL) {
    tool_end_set(l->end, TOOL_BAD_OUTPUT, "the output, %u bytes at %u, is outside of the memory", len, at);
    return CAY_OK;
  }
  cay_status status = buf_append(out, bytes, len);
  if (status == CAY_LIMIT) {
    tool_end_set(l->end, TOOL_OUTPUT_TOO_LARGE, "%u bytes of output; a tool may give %zu", len, out->max);
    return CAY_OK;
  }
  return status == CAY_OK ? status : err_no_memory(err);
}

static cay_status talk(live *l, const tool_call *call, buf *out, cay_error *err) {
  eng_val values[2] = { { 0 } };
  uint32_t input;
  if (eng_module_exports(call->module, "_initialize", ":") && !call_guest(l, "_initialize", ":", values))
    return CAY_OK;
  if (!put_input(l, call->input, &input)) return CAY_OK;
  values[0].u32 = input;
  values[1].u32 = (uint32_t)call->input.len;
  if (!call_guest(l, call->entrypoint != NULL ? call->entrypoint : "execute", "ii:I", values)) return CAY_OK;
  uint32_t at = (uint32_t)(values[0].u64 >> 32), len = (uint32_t)values[0].u64;
  S_TRY(take_output(l, at, len, out, err));
  if (l->end->code == TOOL_OK && call_drop(l, input, (uint32_t)call->input.len)) (void)call_drop(l, at, len);
  return CAY_OK;
}

static void call_kick(void *ctx) { eng_instance_kick(ctx); }

static cay_status talk_in_time(live *l, const tool_call *call, buf *out, cay_error *err) {
  alarm_entry limit = { .fn = call_kick, .ctx = l->instance };
  cancel_watch watch = { .fn = call_kick, .ctx = l->instance };
  int64_t ms = call->timeout_ms != 0 ? call->timeout_ms : TOOL_TIMEOUT_MS;
  S_TRY(alarm_arm(call->alarms, &limit, clock_mono_ns() + ms * NS_PER_MS, err));
  cancel_add(l->stop, &watch);
  cay_status status = talk(l, call, out, err);
  cancel_remove(l->stop, &watch);
  alarm_disarm(call->alarms, &limit);
  return status;
}

cay_status tool_call_run(const tool_call *call, buf *out, tool_end *end, cay_error *err) {
  *end = (tool_end){ 0 };
  if (call->input.len > INT32_MAX) {
    tool_end_set(end, TOOL_BAD_INPUT, "the input has %zu bytes", call->input.len);
    return CAY_OK;
  }
  live l = { .end = end,
             .stop = call->stop,
             .memory_max = call->memory_max != 0 ? call->memory_max : TOOL_MEMORY_MAX };
  eng_instance_options options = { .memory_max = l.memory_max, .fuel = call->fuel };
  OWNED(eng_instance_free) eng_instance *instance = NULL;
  cay_error why = { 0 };
  cay_status status = eng_instance_new(call->module, &options, &instance, &why);
  if (status == CAY_LIMIT || status == CAY_INVALID) {
    tool_end_set(end, status == CAY_LIMIT ? TOOL_MEMORY_LIMIT : TOOL_TRAP, "%.180s", why.message);
    return CAY_OK;
  }
  if (status != CAY_OK) {
    if (err != NULL) *err = why;
    return status;
  }
  l.instance = instance;
  size_t before = out->len;
  status = talk_in_time(&l, call, out, err);
  if ((status != CAY_OK || end->code != TOOL_OK) && out->data != NULL) {
    out->len = before;
    out->data[before] = '\0';
  }
  return status;
}
