/* native.h - a server of JSON-RPC inside a Python process, and its answers to Python.
 *
 * Flow        a thread of Python gives a line to the server (server_line) without the GIL. What answers it is made on a thread
 *             of the library, which never takes the GIL: it becomes an item, and goes to the asker, a thread of Python
 *             that waits for this answer, or into the queue for the thread that reads it.
 * Callbacks   a call of a guest goes to an asker of its sandbox that has nothing else to do. The guest's thread spins a moment
 *             for the answer, which is cheaper than a sleep; after that the guest polls, as it does while calls take long. Without
 *             such an asker the call goes into the queue.
 * Locks       call_mu is held by the thread that is in server_line: requests are read one after the other. mu protects the
 *             askers and the queue, and is held for a moment. Neither is held together with the GIL while waiting.
 * Forks       a child must not touch the server: its threads and locks are the parent's. It leaves everything as it is. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/list.h"
#include "serve/server.h"

#include <semaphore.h>

typedef struct native native;

/* A guest's call of a callback. Two threads refer to it: the guest's for as long as it spins, and its receiver. */
typedef struct native_call {
  _Atomic int refs;
  _Atomic bool answered;
  native *owner;
  struct native_asker *asker; /* whose thread runs the function; native.mu. NULL: another one */
  cay_callback_call *call;    /* NULL: it was answered. With the GIL */
  char *sandbox, *name, *args;
  size_t args_len;
} native_call;

typedef enum native_kind { NATIVE_LINE, NATIVE_VALUE, NATIVE_RUN_END, NATIVE_CALL } native_kind;

typedef struct native_item {
  list in_queue;
  native_kind kind;
  uint64_t number; /* of the request that it answers or is about; 0: none */
  char *line;      /* NATIVE_LINE */
  size_t len;
  cay_value *value;   /* NATIVE_VALUE */
  serve_run_end *end; /* NATIVE_RUN_END: in one allocation with its bytes */
  native_call *call;
} native_item;

/* A thread of Python that waits for one answer. */
typedef struct native_asker {
  list in_native;
  uint64_t number;
  const char *sandbox;
  bool busy;           /* it runs a callback that is not answered yet */
  native_item *answer; /* NULL: not there yet */
  list calls;          /* items for this thread */
  _Atomic uint32_t news;
  sem_t wake;
} native_asker;

struct native {
  server server;
  serve_client client;
  char *guest_dir, *cache_dir; /* the server reads them when it makes an engine */
  pid_t pid;                   /* the process that made it */
  bool open, unfinished;
  bool several_processors;
  pthread_mutex_t call_mu;
  pthread_mutex_t mu;
  list askers, queue;
  pthread_cond_t queued;
  int queued_fd; /* an eventfd: readable while something is queued, for event loops */
};

cay_status native_open(native *n, const char *guest_dir, const char *cache_dir, cay_error *err);
void native_close(native *n); /* without the GIL; twice is fine */

/* ---- exchange.c: without the GIL ---- */

void native_asker_enter(native *n, native_asker *a, uint64_t number, const char *sandbox);
void native_asker_leave(native *n,
                        native_asker *a); /* what came and was not taken goes into the queue, or away */

/* Waits for the answer or a call. *out is NULL when a signal came that Python may want to handle. An asker that takes a call is
 * busy until native_call_done. False: the server is closed. */
bool native_asker_next(native *n, native_asker *a, native_item **out);

/* Its thread is free again, whether or not the call was answered. */
void native_call_done(native *n, native_asker *a, native_call *call);

/* All that is queued, put into `out`; waits up to `timeout_ms` (< 0: for ever) for the first. */
void native_queue_take(native *n, list *out, int64_t timeout_ms);

void native_item_free(native_item *item);
native_call *native_call_unref(native_call *call); /* NULL */
void native_call_answer(native_call *call, cay_slice json);
void native_call_fail(native_call *call, const char *message);

/* ---- objects.c: with the GIL ---- */

/* What an item is for Python: a tuple whose first member is its kind. Takes the item. NULL: an exception. */
PyObject *native_item_object(native_item *item);

/* The functions answer(call, json) and fail(call, why). */
PyObject *native_call_answer_object(PyObject *module, PyObject *args);
PyObject *native_call_fail_object(PyObject *module, PyObject *args);
