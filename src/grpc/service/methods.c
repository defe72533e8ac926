/* methods.c - every method of the service, with its handler. */
#include "grpc/service/inner.h"

#define OURS(name, handler) { .path = "/prodisco.sandbox.v1.SandboxService/" name, .fn = handler }
#define OURS_AT_ONCE(name, handler, when)                                                                    \
  { .path = "/prodisco.sandbox.v1.SandboxService/" name, .fn = handler, .at_once = when }

static const server_method methods[] = {
  OURS_AT_ONCE("Execute", method_execute, request_is_short),
  OURS_AT_ONCE("ExecuteStream", method_execute_stream, request_is_short),
  OURS("ExecuteAsync", method_execute_async),
  OURS("GetExecution", method_get_execution),
  OURS("CancelExecution", method_cancel_execution),
  OURS("ListExecutions", method_list_executions),
  OURS("HealthCheck", method_health_check),
  OURS("ListCache", method_list_cache),
  OURS("ClearCache", method_clear_cache),
  OURS("ExecuteTest", method_execute_test),
  { .path = "/grpc.health.v1.Health/Check", .fn = health_check, .open = true },
  { .path = "/grpc.health.v1.Health/Watch", .fn = health_watch_call, .open = true },
  { .path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    .fn = reflection_info,
    .stream_in = true },
  { .path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    .fn = reflection_info,
    .stream_in = true },
};

const server_method *service_methods(size_t *count) {
  *count = COUNT_OF(methods);
  return methods;
}
