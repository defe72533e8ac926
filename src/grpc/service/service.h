/* service.h - prodisco.sandbox.v1.SandboxService: its methods, on a runtime, a store and a queue.
 *
 *   call -> method -> execution -> queue -> runtime           the answer goes the other way by a watch
 *
 * Methods run on the workers of the server and never wait: what takes time happens on the executors of the queue. */
#pragma once

#include "grpc/service/log.h"
#include "grpc/service/queue.h"
#include "grpc/service/runtime.h"
#include "grpc/service/store.h"
#include "grpc/service/table.h"
#include "grpc/wire/server.h"

typedef struct service service;

typedef struct service_options {
  runtime *runtime; /* borrowed */
  store *store;     /* borrowed */
  const log *log;   /* borrowed */
  uint32_t executors;
  size_t queue_max;    /* executions of one client that wait; eight times as many of all */
  size_t code_max;     /* bytes of one piece of code */
  size_t output_max;   /* bytes kept of each stream */
  size_t kept_max;     /* executions in memory that have ended */
  uint32_t timeout_ms; /* when a call names none */
  uint32_t timeout_min_ms, timeout_max_ms;
} service_options;

#define SERVICE_DEFAULTS                                                                                     \
  .queue_max = 1024, .code_max = 500000, .output_max = 1u << 20, .kept_max = 1000, .timeout_ms = 30000,      \
  .timeout_min_ms = 1000, .timeout_max_ms = 120000

cay_status service_new(const service_options *options, service **out, cay_error *err) CHECKED;
/* What waits becomes CANCELLED, or FAILED when it was to survive. What runs has until then (clock_mono_ns) to end, and is
 * cancelled after it. */
void service_close(service *s, int64_t until_ns);
void service_free(service *s); /* closed; NULL is fine */

/* Methods of this service, of health and of reflection; `app` of the server is the service. */
const server_method *service_methods(size_t *count);
void service_draining(service *s); /* health is NOT_SERVING from now on */

/* Numbers for the metrics. */
typedef struct service_counts {
  uint64_t ended[EXECUTION_STATES]; /* by state */
  uint64_t refused;
  uint64_t took_ms;
  queue_counts queue;
  int64_t cached;
} service_counts;
void service_counts_read(service *s, service_counts *out);
