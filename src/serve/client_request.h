/* client_request.h - requests of the server to its client, and their answers.
 *
 * A request of ours has an id that no client gave: the text "cay-" and a number that is never used again. The
 * client answers with a response of that id whenever it likes, in any order, while it goes on asking and runs
 * go on. An answer to nothing, or that comes too late, is told to the log and ignored.
 *
 * Exactly one call of on_answer follows each serve_ask that said CAY_OK: with the client's answer, on the
 * reading thread; or with ASK_CANCELLED or ASK_GONE, on the thread that cancels or ends. It is called without
 * a lock and may come before serve_ask returns; `ctx` must live until then. It must not wait for another
 * answer: on the reading thread, that would never come. */
#pragma once

#include "serve/server.h"

enum { ASKS_MAX = 1024 }; /* waiting for their answers, in one server */

enum ask_end {
  ASK_RESULT,    /* value */
  ASK_ERROR,     /* code, message; value: the whole error */
  ASK_CANCELLED, /* by serve_ask_cancel */
  ASK_GONE,      /* the sandbox or the server ends, or its client is gone */
};

typedef struct ask_answer {
  enum ask_end end;
  yyjson_val *value;   /* NULL unless the client answered; borrowed during the call, like message */
  int64_t code;        /* RPC_INTERNAL when the client's is no whole number */
  const char *message; /* never NULL */
} ask_answer;

typedef void ask_answer_fn(void *ctx, const ask_answer *answer);

/* [any thread] Asks the client on behalf of a sandbox. The root of `params` is an object; the document is the
 * caller's before and after, but only to be freed. Sleeps when the client does not read. `number`, which may
 * be NULL, is set before anything is sent: it is what serve_ask_cancel takes.
 * CAY_LIMIT: ASKS_MAX wait already. CAY_CANCELLED: the sandbox or the server is ending. CAY_IO: no reader.
 * CAY_NO_MEMORY. */
CAY_CHECK cay_status serve_ask(serve_box *box, const char *method, yyjson_mut_doc *params,
                               ask_answer_fn *on_answer, void *ctx, uint64_t *number, cay_error *err);

/* [any thread] That answer is not needed any more: on_answer is called, here, and the client is told by the
 * notification request.cancelled. False, and nothing is done, when it has been or is being answered. */
bool serve_ask_cancel(server *s, uint64_t number);

/* ---- for the server ---- */

/* On the reading thread: a message of the kind RPC_RESPONSE. */
void asks_answer(server *s, const rpc_message *m);

/* Nothing can be asked for this box any more (NULL: for none); what waits is answered with ASK_GONE. */
void asks_end(server *s, serve_box *box);
