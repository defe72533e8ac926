/* pending.h - a call that waits for the end of an execution.
 *
 * Two events let go of it: the execution's end, which answers the call, and the call's own end, which comes first or
 * not at all. Each drops one reference, and the other's if that will not come. */
#pragma once

#include "grpc/service/inner.h"

typedef void pending_answer(call *c, execution *e, int64_t offset);

typedef struct pending_options {
  pending_answer *answer;
  int64_t offset;
  bool owner;  /* the execution is the call's: it is cancelled with it */
  bool stream; /* a sender sleeps in call_send: it is woken when the execution is cancelled */
} pending_options;

/* References of its own to call and execution. Without memory the call is answered so. */
void pending_wait(service *s, call *c, execution *e, const pending_options *options);
