/* server.h - the state of one JSON-RPC server: its sandboxes, and the runs that are under way.
 *
 * Threads     the thread of serve_stdio reads requests and answers all but `run` itself. Each run has a
 * thread that waits for its end and answers; output of a streamed run is written by the guest's thread, so a
 * client that does not read makes the guest sleep. Locks       server.mu protects the lists. It is never held
 * during a call of the library that waits, nor while writing. */
#pragma once

#include "base/list.h"
#include "serve/message.h"
#include "serve/output.h"
#include "serve/serve.h"

typedef struct serve_engine {
  list in_server;
  char *guest_dir; /* as asked for; "" for the installed guests */
  cay_engine *engine;
} serve_engine;

typedef struct serve_box {
  list in_server;
  char *name; /* "" for the one of the plain form */
  cay_sandbox *sandbox;
  uint32_t runs; /* under way */
} serve_box;

typedef struct server {
  serve_options options;
  line_writer out;
  pthread_mutex_t mu;
  pthread_cond_t run_ended;
  list engines, boxes, runs;
} server;

/* One request being answered. */
typedef struct call {
  server *server;
  serve_box *box; /* NULL for methods that need none */
  const rpc_id *id;
  yyjson_val *params;     /* may be NULL */
  yyjson_mut_doc *result; /* its root is what is answered; {} at first */
  int code;               /* of a failure */
  char why[320];
} call;

enum answer {
  ANSWER_RESULT,
  ANSWER_ERROR, /* call.code, call.why */
  ANSWER_LATER, /* by another thread */
  ANSWER_QUIT,  /* the result, and then the end */
};
typedef enum answer method_fn(call *c);

typedef struct method {
  const char *name;
  method_fn *fn;
  bool needs_box;
} method;

const method *method_find(const char *name);
const method *method_table(size_t *count);

/* ---- for the methods ---- */

enum answer fail(call *c, int code, const char *format, ...) PRINTF(3, 4);
enum answer fail_status(call *c,
                        const cay_error *err); /* code 1, the message beginning with an errno's name */

/* Members of params. False: it is missing, or of another type; the failure is written. Optional ones leave
 * *out as it was. */
bool param_text(call *c, const char *name, bool required, const char **out); /* without NUL */
bool param_text_len(call *c, const char *name, bool required, const char **out, size_t *len);
bool param_number(call *c, const char *name, uint64_t min, uint64_t max, uint64_t *out);
bool param_bool(call *c, const char *name, bool *out);
/* An object of texts as "NAME=value" entries, NULL ended; free with param_env_free. NULL when absent. */
bool param_env(call *c, const char *name, char ***out);
void param_env_free(char **env);

yyjson_mut_val *result_root(call *c);

/* ---- runs (run.c) ---- */

/* Ends every run of this box (NULL: of all), and waits until they have been answered. */
void runs_end(server *s, serve_box *box);
