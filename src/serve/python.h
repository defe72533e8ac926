/* python.h - sessions of a sandbox, and the requests that are under way in them.
 *
 * Life        the reading thread makes and closes sessions. A request runs on a thread of server.waiters, or waits in
 *             the line of its session for the one that runs; it counts in `uses` until it is freed, and a session that
 *             is used is not freed.
 * Locks       server.mu protects the lists, the counts and `running`. */
#pragma once

#include "serve/server.h"

#include <cay/session.h>

enum { PYTHON_WAITING_MAX = 64 }; /* requests in the line of one session */

typedef struct python_job python_job;

typedef struct serve_session {
  list in_box;
  char *name;
  const char *language; /* static */
  cay_session *session;
  list line;           /* requests that wait, in their order */
  uint32_t waiting;    /* of them */
  python_job *running; /* the request that a thread works for; NULL: none does */
  uint32_t uses;       /* requests that are not freed */
  uint32_t unanswered; /* requests whose answer is not on its way */
  cay_buf state;       /* of a python.loadState that comes in pieces; the reading thread's */
} serve_session;

enum python_job_kind { PYTHON_EVAL, PYTHON_SAVE, PYTHON_LOAD, PYTHON_CLEAR };

struct python_job {
  list in_line;
  server *server;
  serve_session *session;
  rpc_id id;
  enum python_job_kind kind;
  bool stream, display, no_wait;
  bool cancelled; /* atomic */
  char *code, *filter;
  size_t code_len;
  cay_buf input, bytes; /* bytes: of a state */
  uint32_t wall_ms, trace, trace_max, value_max, display_max;
  uint64_t fuel;
};

/* On the reading thread: runs the request when its turn comes, answers it and frees it. */
enum answer python_job_start(call *c, python_job *j);
void python_job_free(python_job *j);

/* Cancels the request of this id, whether it runs or waits; NULL: the request that runs. False: there is none. */
bool python_job_cancel(serve_session *one, server *s, const rpc_id *id);
bool serve_session_is_busy(server *s, const serve_session *one);

/* Cancels what runs and waits there, waits for its end, and frees the session. */
void serve_session_free(server *s, serve_session *one);

/* The same for all sessions of this box (NULL: of all boxes). */
void sessions_end(server *s, serve_box *box);
