/* execution.h - one piece of code that was given to the service: its states, its output, who wants to know.
 *
 *   PENDING -> RUNNING -> COMPLETED, FAILED, CANCELLED or TIMEOUT          PENDING -> CANCELLED
 *
 * Output is kept as text: bytes that are no UTF-8 become '?', and no character is ever cut. Beyond `output_max` bytes of
 * a stream nothing more is kept; a sink still gets it.
 *
 * Locks: each execution has a mutex. Sinks and watches are called without it. */
#pragma once

#include "base/buf.h"
#include "base/cancel.h"
#include "base/list.h"
#include "grpc/wire/pb.h"

#include <pthread.h>

enum execution_state { /* the numbers of the contract */
                       EXECUTION_PENDING = 1,
                       EXECUTION_RUNNING = 2,
                       EXECUTION_COMPLETED = 3,
                       EXECUTION_FAILED = 4,
                       EXECUTION_CANCELLED = 5,
                       EXECUTION_TIMEOUT = 6,
};
enum { EXECUTION_STATES = 7, EXECUTION_ID = 37, EXECUTION_PREVIEW = 100, EXECUTION_CLIENT = 80 };

static inline bool execution_is_final(enum execution_state state) { return state >= EXECUTION_COMPLETED; }

typedef struct execution execution;

/* As it comes, whole characters; fd is 1 or 2. May sleep. */
typedef void execution_sink(void *ctx, execution *e, int fd, cay_slice text);

typedef struct execution_spec {
  cay_slice code, tests; /* copied */
  bool is_test;
  const char *client;
  const char *cached_name; /* NULL: the code came with the call */
  uint32_t timeout_ms;
  size_t output_max;
  bool merged;  /* both streams are kept as one, in the order in which they came */
  bool lasting; /* survives the server */
  execution_sink *sink;
  void *sink_ctx;
} execution_spec;

typedef struct execution_result {
  enum execution_state state;
  buf error;  /* empty when it COMPLETED */
  buf report; /* of tests */
  buf entry;  /* the CacheEntry that was made, as bytes of the contract; empty: none */
} execution_result;

struct execution {
  atomic_uint refs;
  char id[EXECUTION_ID], client[EXECUTION_CLIENT];
  char *cached_name; /* NULL: none */
  buf code, tests, preview;
  bool is_test, merged, lasting;
  uint32_t timeout_ms;
  execution_sink *sink;
  void *sink_ctx;
  cancel cancel;
  list in_queue; /* of the queue */
  list in_table; /* of the table */
  list in_order; /* likewise */
  bool in_kept;  /* likewise: it is counted among those that have ended */

  pthread_mutex_t mu; /* all below */
  enum execution_state state;
  int64_t created_ms, started_ms, finished_ms; /* since 1970; 0: not yet */
  int64_t started_ns, took_ms;
  buf out, err;
  uint8_t carry[2][4]; /* the beginning of a character */
  size_t carried[2];
  bool cut[2]; /* of out and err */
  buf error, report, entry;
  list watches;
  bool told;
};

/* CAY_NO_MEMORY, CAY_IO (no randomness). */
cay_status execution_new(const execution_spec *spec, execution **out, cay_error *err) CHECKED;
execution *execution_ref(execution *e);
void execution_unref(execution *e); /* NULL is fine */

bool execution_start(execution *e);                           /* false: it was cancelled while it waited */
void execution_output(execution *e, int fd, cay_slice bytes); /* while it is RUNNING, one at a time */
/* Takes what `result` has. Only the first one counts: true. Then execution_tell calls the watches. */
bool execution_finish(execution *e, execution_result *result);
void execution_tell(execution *e);
enum execution_state execution_state_of(execution *e);

/* Called once by execution_tell, at once after it. */
typedef struct execution_watch {
  list node;
  void (*fn)(void *ctx, execution *e);
  void *ctx;
} execution_watch;
void execution_watch_add(execution *e, execution_watch *watch);
/* False: it was called, or is being called now. */
bool execution_watch_remove(execution *e, execution_watch *watch);

/* ---- as messages of the contract ---- */

int64_t wall_ms(void);                                                /* since 1970 */
void execution_put_response(execution *e, pb_writer *w);              /* ExecuteResponse */
void execution_put_test(execution *e, pb_writer *w);                  /* ExecuteTestResponse */
void execution_put_result(execution *e, pb_writer *w);                /* ExecuteResult */
void execution_put_get(execution *e, int64_t offset, pb_writer *w);   /* GetExecutionResponse */
void execution_put_info(execution *e, uint32_t number, pb_writer *w); /* ExecutionInfo, as this field */
