/* addon.h - a server of JSON-RPC inside a Node process (exchange.h), and its answers to JavaScript.
 *
 * Threads     the loop's thread gives requests, and never waits for one: a request that may take a while is read by a thread of this
 *             server, after those that were given before it. A request that only starts something is read at once, on the loop's thread,
 *             when no other one is being read.
 * Answers     become items in the queue. The first one wakes the loop, which hands all of them to the function `deliver`.
 * Files       contents are copied when they are given, because the caller may change or transfer its buffer.
 * The end     the environment's clean-up ends everything and waits for that. Calls of callbacks that JavaScript still refers to keep the
 *             memory of the server. */
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include "exchange.h"

typedef struct addon_server {
  native *native;
  napi_env env;
  napi_ref deliver;
  napi_threadsafe_function wake;
  size_t calls; /* that JavaScript refers to; the loop's thread alone */
  bool closed;  /* likewise */

  pthread_mutex_t mu; /* of the requests */
  pthread_cond_t given;
  list requests;
  bool busy, ending; /* busy: a request was taken out, and is not answered */
  bool has_thread;
  pthread_t thread;
} addon_server;

/* ---- requests.c ---- */

typedef enum request_kind { REQUEST_LINE, REQUEST_READ, REQUEST_WRITE } request_kind;

typedef struct request {
  list in_line;
  request_kind kind;
  uint64_t number;
  char *sandbox, *path; /* of files */
  char *data;           /* the line, or the bytes to be written */
  size_t len;           /* of data, or how much is read */
  uint64_t offset;
  unsigned mode;
  bool part;
} request;

void request_free(request *r); /* NULL is fine */

/* Takes the request: it is read after those before it. False: out of memory, or there is no thread for it. */
bool requests_put(addon_server *s, request *r);

/* No request waits or is being read. */
bool requests_idle(addon_server *s);

/* Returns when the request that is being read is over; the others are dropped. */
void requests_end(addon_server *s);

/* ---- objects.c: on the loop's thread ---- */

/* Calls deliver with what the item is, its kind first. Takes the item. */
void addon_deliver(addon_server *s, native_item *item);

/* The functions answer(call, json) and fail(call, why). */
napi_value addon_answer(napi_env env, napi_callback_info info);
napi_value addon_fail(napi_env env, napi_callback_info info);

/* The text of a string; mem_free. NULL: it is none, and an exception is pending. */
char *addon_text(napi_env env, napi_value from, size_t *len);

/* ---- addon.c ---- */

/* Frees it when it is closed and no call refers to it. */
void addon_server_release(addon_server *s);
