/* fake_tool.c - the functions of <cay/tool.h> that the server calls, without any tool. test/tool has real
 * ones. */
#include <cay/tool.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct cay_tools {
  int unused;
};

cay_status cay_tools_open(const cay_tools_options *options, cay_tools **out, cay_error *err) {
  if (options->config.len > 2 && strstr(options->config.data, "bad") != NULL) {
    *err = (cay_error){ .status = CAY_INVALID, .message = "tools.settings: bad" };
    return CAY_INVALID;
  }
  *out = calloc(1, sizeof **out);
  return *out != NULL ? CAY_OK : CAY_NO_MEMORY;
}

void cay_tools_free(cay_tools *tools) { free(tools); }

struct cay_tool_cancel {
  atomic_bool raised;
};

cay_status cay_tool_cancel_new(cay_tool_cancel **out, cay_error *err) {
  (void)err;
  *out = calloc(1, sizeof **out);
  return *out != NULL ? CAY_OK : CAY_NO_MEMORY;
}

void cay_tool_cancel_raise(cay_tool_cancel *cancel) { atomic_store(&cancel->raised, true); }
void cay_tool_cancel_free(cay_tool_cancel *cancel) { free(cancel); }

cay_status cay_tool_call(cay_tools *tools, const char *name, cay_slice input,
                         const cay_tool_call_options *options, cay_tool_result **out, cay_error *err) {
  (void)tools, (void)err;
  bool waits = strcmp(name, "waits") == 0; /* until it is cancelled */
  while (waits && !atomic_load(&options->cancel->raised)) (void)poll(NULL, 0, 1);
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return CAY_NO_MEMORY;
  **out = (cay_tool_result){ .code = waits ? "cancelled" : "ok",
                             .json = { strndup(input.data, input.len), input.len } };
  return CAY_OK;
}

void cay_tool_result_free(cay_tool_result *result) {
  if (result != NULL) free((void *)(uintptr_t)result->json.data);
  free(result);
}

cay_status cay_tool_check(cay_tools *tools, cay_slice module, const char *entrypoint, cay_tool_verdict *out,
                          cay_error *err) {
  (void)tools, (void)entrypoint, (void)err;
  *out = (cay_tool_verdict){ .code = module.len == 8 ? "ok" : "module_not_wasm" };
  return CAY_OK;
}

cay_status cay_tools_list(cay_tools *tools, cay_tool_fn *each, void *ctx, cay_error *err) {
  static const char *const allow[] = { "log.emit", NULL };
  (void)tools, (void)err;
  (void)each(
      ctx,
      &(cay_tool){ .name = "t", .module = "m", .entrypoint = "e", .verdict = { "ok", "" }, .allow = allow });
  return CAY_OK;
}

cay_status cay_tools_due(cay_tools *tools, cay_tool_due_fn *each, void *ctx, size_t *delivered,
                         cay_error *err) {
  (void)tools, (void)delivered, (void)err;
  (void)each(ctx, &(cay_tool_event){ .kind = "task", .id = 1, .user = "u", .name = "n", .prompt = "p" });
  return CAY_OK;
}
