/* queue.h - executions that wait for their turn, and the threads that run them.
 *
 * Clients take turns: each executor takes the oldest execution of the client whose turn it is. What may wait is limited
 * in number and in bytes of code, of one client and of all.
 *
 * Locks: one mutex, a leaf. */
#pragma once

#include "grpc/service/execution.h"

typedef struct queue queue;

typedef struct queue_options {
  uint32_t executors;
  size_t client_max, total_max; /* executions that wait */
  size_t client_bytes, total_bytes;
  void (*run)(void *ctx, execution *e); /* on an executor's thread; brings it to its end */
  void *ctx;
} queue_options;

cay_status queue_new(const queue_options *options, queue **out, cay_error *err) CHECKED;

/* Takes a reference. CAY_LIMIT: too much waits, of this client or of all. CAY_CANCELLED: the queue was closed. */
cay_status queue_add(queue *q, execution *e, cay_error *err) CHECKED;
/* True: it waited and does no longer; the reference is the caller's. */
bool queue_remove(queue *q, execution *e);
/* Nothing is added any more, and `each` is called with all that waits; the references are its. */
void queue_close(queue *q, void (*each)(void *ctx, execution *e), void *ctx);
bool queue_wait(queue *q, int64_t until_ns); /* closed; false: something still runs then (clock_mono_ns) */
void queue_free(queue *q);                   /* closed; waits for what runs. NULL is fine */

typedef struct queue_counts {
  size_t waiting, running, clients;
} queue_counts;
void queue_counts_read(queue *q, queue_counts *out);
