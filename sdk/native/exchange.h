/* exchange.h - a server of JSON-RPC inside a process of another language, and its answers to that. The extension modules of the packages
 * for Python and Node are built on it.
 *
 * Flow        a thread of the language gives a line to the server (native_line). What answers it is made on a thread of the library, which
 *             never enters the language: it becomes an item, and goes to the asker, a thread that waits for this answer, or into the
 *             queue for the thread that reads it.
 * Callbacks   a call of a guest goes to an asker of its sandbox that has nothing else to do. The guest's thread spins a moment
 *             for the answer, which is cheaper than a sleep; after that the guest polls, as it does while calls take long. Without
 *             such an asker the call goes into the queue.
 * Locks       call_mu is held by the thread that is in the server: requests are read one after the other. mu protects the
 *             askers and the queue, and is held for a moment. Neither is held together with a lock of the language while waiting.
 * Forks       a child must not touch the server: its threads and locks are the parent's. It leaves everything as it is. */
#pragma once

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
  cay_callback_call *call;    /* NULL: it was answered. By the thread of the language */
  char *sandbox, *name, *args;
  size_t args_len;
} native_call;

typedef enum native_kind {
  NATIVE_LINE,
  NATIVE_VALUE,
  NATIVE_RUN_END,
  NATIVE_CALL,
  NATIVE_FILE,
} native_kind;

typedef struct native_item {
  list in_queue;
  native_kind kind;
  uint64_t number; /* of the request that it answers or is about; 0: none */
  char *line;      /* NATIVE_LINE, NATIVE_FILE: the bytes that were read, or why there are none */
  size_t len;
  int code;           /* NATIVE_FILE: of the refusal; 0: it is done */
  cay_value *value;   /* NATIVE_VALUE */
  serve_run_end *end; /* NATIVE_RUN_END: in one allocation with its bytes */
  native_call *call;
} native_item;

/* A thread of the language that waits for one answer. */
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
  _Atomic int64_t waited_ns; /* by the last asker */
  pthread_mutex_t call_mu;
  pthread_mutex_t mu;
  list askers, queue;
  pthread_cond_t queued;
  int queued_fd; /* an eventfd: readable while something is queued, for event loops; -1 with on_queued */
  /* Set by the maker, or NULL: called with mu when the queue is not empty any more, on any thread. It must not wait. */
  void (*on_queued)(void *ctx);
  void *on_queued_ctx;
};

/* Of zeroed memory in which only on_queued may be set. On failure, native_free is due. */
cay_status native_open(native *n, const char *guest_dir, const char *cache_dir, cay_error *err);
void native_close(native *n); /* ends everything, and waits for that; twice is fine */
/* The memory of one that is closed or was never open, and has no thread in it. NULL is fine. */
void native_free(native *n);

/* ---- from any thread, without a lock of the language ---- */

void native_asker_enter(native *n, native_asker *a, uint64_t number, const char *sandbox);
void native_asker_leave(native *n,
                        native_asker *a); /* what came and was not taken goes into the queue, or away */

/* Waits for the answer or a call. *out is NULL when a signal came that the language may want to handle. An asker that takes a call is
 * busy until native_call_done. False: the server is closed. */
bool native_asker_next(native *n, native_asker *a, native_item **out);

/* Its thread is free again, whether or not the call was answered. */
void native_call_done(native *n, native_asker *a, native_call *call);

/* All that is queued, put into `out`; waits up to `timeout_ms` (< 0: for ever) for the first. */
void native_queue_take(native *n, list *out, int64_t timeout_ms);

void native_queue_put(native *n, native_item *item);

void native_item_free(native_item *item);
native_item *native_item_new(native_kind kind, uint64_t number); /* NULL: out of memory */
native_call *native_call_unref(native_call *call);               /* NULL */
void native_call_answer(native_call *call, cay_slice json);
void native_call_fail(native_call *call, const char *message);

/* ---- requests ---- */

/* Gives a line to the server, and waits while another one is being read. */
void native_line(native *n, const char *line, size_t len);

/* The same, when no other line is being read. False: one is. */
bool native_line_try(native *n, const char *line, size_t len);

/* ---- file.c: contents of files as bytes ---- */

typedef struct native_file {
  const char *sandbox, *path, *data;
  size_t data_len;
  uint64_t offset; /* UINT64_MAX: at the end */
  unsigned mode;
  bool part; /* not the whole file */
} native_file;

cay_status native_file_write(native *n, const native_file *f, cay_error *err);

/* At most `*len` bytes from the offset. With `to` NULL: how many there are to read. */
cay_status native_file_read(native *n, const native_file *f, char *to, size_t *len, cay_error *err);

/* As the server says it: the code, and the message in `c->why`. */
int native_refusal(const cay_error *err, call *c);
