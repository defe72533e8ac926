/* client.h - a client in the same process as its server: lines go to functions in place of a descriptor, and the
 * frequent answers as structs in place of JSON.
 *
 * The functions are called on threads of the library, one or more at a time; they must not wait for the client's next
 * request. They never get a lock of the server. */
#pragma once

#include "serve/message.h"

#include <cay/session.h>

/* How a command ended whose output was not streamed. Borrowed. */
typedef struct serve_run_end {
  int exit_code;
  cay_end end;
  cay_slice out, err;
  bool out_cut, err_cut;
  cay_slice detail; /* as cay_result's */
  uint64_t fuel, wall_ns;
} serve_run_end;

typedef struct serve_client {
  void *ctx;
  /* A whole line, which is the receiver's (mem_free). `about`: the request that it answers, or that a notification is about;
   * NULL: none. */
  void (*line)(void *ctx, const rpc_id *about, char *line, size_t len);
  /* The answer of python.eval; the value is the receiver's. */
  void (*value)(void *ctx, const rpc_id *about, cay_value *value);
  /* The answer of run. */
  void (*run_end)(void *ctx, const rpc_id *about, const serve_run_end *end);
  /* A guest calls a callback, on the guest's thread. The receiver answers the call, as cay_callback_fn says. */
  void (*callback)(void *ctx, const char *sandbox, cay_callback_call *call, const char *name, cay_slice args);
} serve_client;
