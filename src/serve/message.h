/* message.h - JSON-RPC 2.0 messages: what a line asks for, and the lines that answer.
 *
 * Foreign bytes are parsed by yyjson; a message that is not a request by name with an id is refused here, so methods
 * see only well-formed ones. */
#pragma once

#include "base/defs.h"

#include "base/json.h"

enum {
  RPC_PARSE_ERROR = -32700,
  RPC_INVALID_REQUEST = -32600,
  RPC_METHOD_NOT_FOUND = -32601,
  RPC_INVALID_PARAMS = -32602,
  RPC_INTERNAL = -32603,
  RPC_SANDBOX_ERROR = 1,
};

enum { RPC_KEYS_MAX = 256, RPC_ID_MAX = 256 };

/* An id as it stood in the request, to be said again: JSON text. */
typedef struct rpc_id {
  char text[RPC_ID_MAX];
} rpc_id;

extern const rpc_id RPC_ID_NULL;

enum rpc_kind {
  RPC_REQUEST,
  RPC_NOTIFICATION, /* not to be answered (specification, section 4.1); we act on none */
  RPC_RESPONSE,     /* to a request of ours */
  RPC_BAD,          /* answer with `code` and `why` */
};

typedef struct rpc_message {
  enum rpc_kind kind;
  yyjson_doc *doc;
  rpc_id id;
  const char *method; /* borrowed from doc, like params */
  yyjson_val *params; /* an object, or NULL */
  int code;
  char why[120];
} rpc_message;

/* Always fills *out; rpc_message_free frees it. `data` is not kept. */
void rpc_parse(const char *data, size_t len, rpc_message *out);
void rpc_message_free(rpc_message *m);

/* `value` as an id; false when it is none. */
bool rpc_id_from(yyjson_val *value, rpc_id *out);

/* Milliseconds with three places, as replies have them. */
static inline double rpc_ms(uint64_t ns) {
  uint64_t us = ns / 1000;
  return (double)us / 1000.0;
}

/* Whole lines, newline included, made in `doc`, whose root they become. The caller's (mem_free); NULL: out of
 * memory. */
char *rpc_result_line(yyjson_mut_doc *doc, const rpc_id *id, yyjson_mut_val *result, size_t *len);
char *rpc_request_line(yyjson_mut_doc *doc, const rpc_id *id, const char *method, yyjson_mut_val *params,
                       size_t *len);
char *rpc_notification_line(yyjson_mut_doc *doc, const char *method, yyjson_mut_val *params, size_t *len);
char *rpc_error_line(const rpc_id *id, int code, const char *message, size_t *len);
