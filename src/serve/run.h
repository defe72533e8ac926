/* run.h - one command under way: what its request asked for, and where its output goes.
 *
 * Life        the reading thread makes a run and lists it in server.runs; the thread that waits for its end
 *             answers, takes it out and frees it. Its sink outlives it: a process that the command left
 *             in the background lives on and may write at any time. A sink without a run discards output it
 *             gets, and is freed when no process of the sandbox is left, or with the sandbox.
 * Deadline    the waiting thread keeps it, not the library, whose deadline would end later what the command
 *             left in the background.
 * Locks       server.mu protects everything but `held`, `kept` and `cut`, which belong to the writer
 *             (never two at once for one run) and, after the last write, to the waiting thread. */
#pragma once

#include "serve/server.h"

typedef struct run run;

typedef struct sink {
  list in_box;
  server *server;
  run *run; /* NULL: over */
} sink;

struct run {
  list in_server;
  server *server;
  serve_box *box;
  sink *sink;
  cay_process *process;
  rpc_id id;
  char *command;
  int32_t pid;
  bool stream, base64;
  bool timed_out;      /* and was ended for it */
  bool over;           /* its command has ended: there is nothing to cancel */
  bool ended;          /* no thread may wait for the client any more */
  bool writing;        /* a guest's thread is in this run */
  int64_t deadline_ns; /* clock_mono_ns */
  uint64_t window;     /* bytes; 0: none */
  uint64_t unacked;
  buf held[2]; /* streamed: bytes of a character that is not whole yet */
  buf kept[2]; /* not streamed: for the answer, up to box.output_max */
  bool cut[2]; /* there was more */
};

/* method_run.c; with server.mu */

void run_stop(run *r);

/* run_stream.c */

cay_output_fn sink_write;

/* CAY_NO_MEMORY. Frees sinks that nothing can write to any more. */
CAY_CHECK cay_status sink_new(run *r, cay_error *err);

/* Nothing more comes through the sink once this returns, except for its own flush: the rest. */
void sink_close(run *r);
