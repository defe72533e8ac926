/* runtime.h - what runs the code of an execution: a struct of functions, so that the service and its tests do not depend
 * on a language. */
#pragma once

#include "base/buf.h"
#include "base/cancel.h"

#include <cay/cay.h>

typedef struct runtime runtime;

typedef void runtime_output(void *ctx, int fd, cay_slice bytes); /* may sleep; the guest sleeps with it */

typedef struct runtime_job {
  cay_slice code, tests;
  bool is_test;
  uint32_t timeout_ms;
  runtime_output *output;
  void *output_ctx;
  cancel *cancel; /* raised: the guest is to end */
} runtime_job;

enum runtime_end { RUNTIME_DONE, RUNTIME_FAILED, RUNTIME_TIMEOUT, RUNTIME_CANCELLED };

typedef struct runtime_result {
  enum runtime_end end;
  buf error;  /* of RUNTIME_FAILED: what a person is shown */
  buf report; /* of tests that were run: fields 1 to 3 of ExecuteTestResponse, as bytes of the contract */
  void *left; /* for `clean`; NULL: nothing */
} runtime_result;

struct runtime {
  const char *suffix; /* of names in the cache: ".ts" */
  bool has_tests;     /* ExecuteTest works */
  /* On any number of threads at once, each in a sandbox of its own. A failure is one of the host. */
  cay_status (*run)(runtime *r, const runtime_job *job, runtime_result *out, cay_error *err);
  /* After `run`, whatever its status: frees the rest of it. The client has its answer by then. NULL: never anything. */
  void (*clean)(runtime *r, void *left);
  void (*free)(runtime *r);
};

/* A package of the operator's: code finds it by this name. */
typedef struct runtime_module {
  const char *name, *dir; /* in node_modules; on the host */
} runtime_module;

typedef struct runtime_options {
  const char *language; /* of cay_session_options */
  const char *cache_dir;
  uint64_t memory, cpu_ms;       /* of one sandbox; 0: those of cay_limits */
  const runtime_module *modules; /* of the caller, as long as the runtime */
  size_t module_count;
  cay_log_fn *log;
  void *log_ctx;
} runtime_options;

/* Sessions of one language, each in a fresh sandbox of one engine. CAY_NOT_FOUND: there is no such language. */
cay_status session_runtime_new(const runtime_options *options, runtime **out, cay_error *err) CHECKED;
