/* inner.h - the service as its methods see it. */
#pragma once

#include "grpc/service/service.h"
#include "grpc/wire/pb.h"

typedef struct health_watch {
  list node; /* of health_watches */
  service *service;
  call *of;
} health_watch;

struct service {
  service_options options;
  queue *queue;
  table *table;
  atomic_ullong ended[EXECUTION_STATES], refused, took_ms;

  pthread_mutex_t mu; /* all below */
  list health_watches;
  char kubernetes[256]; /* the context; empty: none; fixed */
  bool draining;
};

/* ---- requests ---- */

/* The fields that requests have; what a message does not have stays as it is. */
typedef struct request {
  cay_slice code, cached, tests, id, filter;
  bool has_code, has_cached, has_tests, has_timeout, wait;
  int64_t timeout_ms, offset, limit, within_ms;
  unsigned states; /* bits */
} request;

enum request_kind {
  REQUEST_EXECUTE,
  REQUEST_TEST,
  REQUEST_GET,
  REQUEST_ID,
  REQUEST_LIST,
  REQUEST_FILTER,
  REQUEST_EMPTY
};

/* False: the call was answered with INVALID_ARGUMENT. */
bool request_read(call *c, cay_slice message, enum request_kind kind, request *out) CHECKED;

/* Of Execute and ExecuteStream: code that is copied in no time. A name would have to be looked up in the store, which may wait. */
bool request_is_short(cay_slice message);

/* ---- executions ---- */

/* What a call wants to run. False: the call was answered. */
bool source_of(service *s, call *c, const request *r, execution_spec *spec, buf *cached_code,
               char **cached_name) CHECKED;
void spec_timeout(const service *s, const request *r, execution_spec *spec);

/* Into table, store and queue. False: the call was answered, and nothing is left of it. */
bool submit(service *s, call *c, execution *e) CHECKED;
void service_cancel(service *s, execution *e); /* ends it soon, or at once while it waits */
/* By table, then store. NULL: the call was answered. */
execution *service_find(service *s, call *c, cay_slice id) CHECKED;
void answer_error(call *c, cay_status status, const cay_error *err);

/* ---- methods ---- */

server_fn method_execute, method_execute_stream, method_execute_async, method_get_execution,
    method_cancel_execution, method_list_executions, method_health_check, method_list_cache,
    method_clear_cache, method_execute_test;
server_fn health_check, health_watch_call, reflection_info;
