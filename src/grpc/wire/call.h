/* call.h - one call of a client: what its handler may do.
 *
 * A handler runs on a worker thread of the server and does not wait there: it answers now, or takes a reference and
 * answers later from any thread. The call ends with the first of call_finish, the client's cancelling, its deadline,
 * and the end of its connection. After the last three nothing can be sent any more, and the hook is called.
 *
 * Locks: each call has a mutex of its own, a leaf: nothing else is taken with it. */
#pragma once

#include "base/buf.h"
#include "grpc/wire/code.h"

typedef struct call call;

call *call_ref(call *c);
void call_unref(call *c); /* NULL is fine */

/* The client that shares a fair part: the name of the token, the name in the certificate, or the connection. Static
 * while the call lives. */
const char *call_client(const call *c);

bool call_ended(call *c);

/* `fn` is called once, on the I/O thread and without a lock, when the call ends otherwise than by call_finish; at once
 * when it has. It must not wait. */
typedef void call_hook_fn(void *ctx);
void call_hook(call *c, call_hook_fn *fn, void *ctx);
/* False: it was called, or is being called now. True: it will not be. */
bool call_unhook(call *c);

/* CALL_NOW appends whatever is there; else the caller sleeps while the client does not read, up to this moment
 * (clock_mono_ns), call_hurry or the end of the call. False: it was not sent. The message is emptied either way. */
enum { CALL_NOW = 0 };
bool call_send(call *c, buf *message, int64_t until_ns);
void call_hurry(call *c); /* sleepers in call_send return, now and later */

/* Ends the call after the messages sent. `message` is for people; NULL: none. Only the first one counts. */
void call_finish(call *c, enum grpc_code code, const char *message);
void call_finishf(call *c, enum grpc_code code, const char *format, ...) PRINTF(3, 4);

/* call_send of the one message of a unary call, and call_finish. A writer that failed is RESOURCE_EXHAUSTED. */
typedef struct pb_writer pb_writer;
void call_answer(call *c, pb_writer *w);
