/* source.c - what a call wants to run, checked against the limits. */
#include "base/alloc.h"
#include "grpc/service/inner.h"

void spec_timeout(const service *s, const request *r, execution_spec *spec) {
  int64_t ms = r->has_timeout ? r->timeout_ms : s->options.timeout_ms;
  if (ms < s->options.timeout_min_ms) ms = s->options.timeout_min_ms;
  if (ms > s->options.timeout_max_ms) ms = s->options.timeout_max_ms;
  spec->timeout_ms = (uint32_t)ms;
}

static bool source_code(service *s, call *c, const request *r, execution_spec *spec) {
  if (r->code.len == 0) return call_finish(c, GRPC_INVALID_ARGUMENT, "code is empty"), false;
  if (r->code.len > s->options.code_max) {
    call_finishf(c, GRPC_INVALID_ARGUMENT, "code has %zu bytes; at most %zu are accepted", r->code.len,
                 s->options.code_max);
    return false;
  }
  spec->code = r->code;
  return true;
}

static bool source_cached(service *s, call *c, const request *r, execution_spec *spec, buf *code,
                          char **name) {
  if (r->cached.len == 0) return call_finish(c, GRPC_INVALID_ARGUMENT, "cached is an empty name"), false;
  cay_error err;
  cay_status status = store_cache_find(s->options.store, r->cached, name, code, &err);
  if (status != CAY_OK) return answer_error(c, status, &err), false;
  spec->code = (cay_slice){ code->data, code->len };
  spec->cached_name = *name;
  return true;
}

bool source_of(service *s, call *c, const request *r, execution_spec *spec, buf *code, char **name) {
  *spec = (execution_spec){ .client = call_client(c), .output_max = s->options.output_max };
  spec_timeout(s, r, spec);
  if (r->has_code) return source_code(s, c, r, spec);
  if (r->has_cached) return source_cached(s, c, r, spec, code, name);
  call_finish(c, GRPC_INVALID_ARGUMENT, "there is nothing to run: code or cached has to be set");
  return false;
}
