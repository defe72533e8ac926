/* server.h - the state of one JSON-RPC server: its sandboxes, and the runs that are under way.
 *
 * Threads     the thread of serve_stdio reads requests and answers all but `run` itself. Each run has a
 *             thread that waits for its end and answers; output of a streamed run is written by the guest's
 *             thread, so a client that does not read makes the guest sleep.
 * Locks       server.mu protects the lists, the runs in them and `ending`. It is never held during a call of
 *             the library that waits, nor while writing. Only the reading thread adds and removes sandboxes
 * and engines, so it looks at these two lists without it. */
#pragma once

#include "base/list.h"
#include "base/thread.h"
#include "serve/client.h"
#include "serve/message.h"
#include "serve/output.h"
#include "serve/serve.h"

typedef struct serve_engine {
  list in_server;
  char *guest_dir; /* as asked for; "" for the installed guests */
  char *image;     /* the name of an installed image; "" for none */
  cay_engine *engine;
} serve_engine;

typedef struct server server;

typedef struct serve_box {
  list in_server;
  server *server;
  char *name;         /* "" for the one of the plain form */
  cay_engine *engine; /* the server's */
  cay_sandbox *sandbox;
  struct cay_image *image;    /* what sessions of image_language begin as; NULL: the standard one */
  const char *image_language; /* static: python, or javascript, which is TypeScript's interpreter, too */
  uint32_t timeout_ms;        /* of a run that names none */
  size_t output_max;          /* bytes of each stream of a run that are kept */
  uint64_t disk_max;          /* bytes in files: the limit of the sandbox */
  uint32_t runs;              /* under way */
  uint32_t takes;             /* snapshots that wait for rest; with server.mu */
  bool takes_end;             /* they give up; with server.mu */
  bool ending;                /* asks nothing any more; with server.mu */
  list sinks;                 /* method_run.c */
  list sessions;              /* python.h */
} serve_box;

struct server {
  serve_options options;
  line_writer out;
  thread_pool *waiters;
  pthread_mutex_t mu;
  pthread_cond_t changed; /* a run ended, its client took output, or the server ends */
  list engines, boxes, runs;
  list snapshots; /* snapshot.h */
  size_t snapshot_count;
  list asks; /* ask.c, like these */
  uint32_t ask_count;
  uint64_t ask_last;
  bool ending;               /* asks nothing any more */
  struct cay_tools *tools;   /* NULL: not opened. method_tool.c, like this: */
  list tool_calls;           /* under way */
  struct cay_ws *workspaces; /* NULL: not opened. method_workspace.c, like this: */
  uint32_t ws_calls;         /* under way */
  list ws_processes;         /* mu: of workspace.spawn; method_workspace_process.c, like these */
  list ws_gone;              /* mu: those whose output may still be on its way */
  uint64_t ws_last_process;  /* mu */
};

CAY_CHECK cay_status server_open(server *s, const serve_options *options, cay_error *err);

/* Answers one line, or has it answered. False: the server is to end. */
bool server_line(server *s, const char *data, size_t len);

/* After the end of input: returns when all that was asked for has been answered, or when the client is gone: when the
 * other end of `out` is closed, or `parent_fd` (-1: none) is readable. Commands find the end of their input; callbacks fail;
 * streams do not wait for run.ack any more. */
void server_finish(server *s, int parent_fd);

/* For a line that was thrown away. */
void server_line_too_long(server *s);

/* Ends everything, and waits for that. A client that reads gets the answers of the runs that were under way. */
void server_close(server *s);

/* One request being answered. */
typedef struct call {
  server *server;
  serve_box *box; /* NULL for methods that need none */
  const rpc_id *id;
  yyjson_val *params;     /* may be NULL */
  yyjson_mut_doc *doc;    /* of the answer */
  yyjson_mut_val *result; /* the result; {} at first */
  buf kept;               /* text that `doc` refers to; freed after it */
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
enum answer fail_memory(call *c);
enum answer fail_status(call *c, const cay_error *err);                    /* code 1, an errno's name first */
enum answer answer_ok(call *c);                                            /* {"ok":true} */
enum answer answer_done(call *c, cay_status status, const cay_error *err); /* one of the two */

/* Members of params. False: it is missing, or of another type; the failure is written. Optional ones leave
 * *out as it was. */
bool param_text(call *c, const char *name, bool required, const char **out); /* without NUL */
bool param_text_len(call *c, const char *name, bool required, const char **out, size_t *len);
bool param_number(call *c, const char *name, uint64_t min, uint64_t max, uint64_t *out);
bool param_bool(call *c, const char *name, bool *out);

enum { SERVE_PATH_MAX = 4096 + 16 };
/* A name of files, here or in the sandbox: the text `name`, or, when it is not UTF-8, the bytes `nameBase64`. Without NUL, not
 * empty. One that is optional and not there leaves *out empty. */
bool param_file(call *c, const char *name, bool required, char out[static SERVE_PATH_MAX]);

/* A required path of the sandbox, made absolute: relative ones start where commands do. */
bool param_path(call *c, const char *name, char out[static SERVE_PATH_MAX]);

/* An object of texts as "NAME=value" entries, NULL ended; free with param_env_free. NULL when absent. */
bool param_env(call *c, const char *name, char ***out);
void param_env_free(char **env);
/* An array of texts, NULL ended; the array is yours (mem_free), the texts the request's. NULL when absent. */
bool param_texts(call *c, const char *name, const char ***out);

/* Adds bytes of a guest as text. False: out of memory. */
bool put_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, const void *data, size_t len);
/* Bytes that may be no UTF-8, as the member `name` and then also as `nameBase64`. */
bool put_file_name(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, const void *data,
                   size_t len);
/* Base64 of them, without a copy: `kept` holds the text and must outlive the document. */
bool put_base64(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, buf *kept, const void *data,
                size_t len);

/* ---- what the server tells its log ---- */

void server_log(const server *s, cay_log_level level, const char *format, ...) PRINTF(3, 4);

/* Takes a line (mem_free) and sends it; NULL tells the log that an answer was lost. `about`: the request, or NULL. False: the
 * other side is gone. */
bool server_send(server *s, const rpc_id *about, char *line, size_t len);
void server_send_error(server *s, const rpc_id *id, int code, const char *why);

/* ---- runs (method_run.c) ---- */

/* Ends every run of this box (NULL: of all), and waits until they have been answered; at most `wait_ms`
 * (negative: for ever). */
void runs_end(server *s, serve_box *box, int wait_ms);

/* No more requests come: their inputs end, and no stream waits for the client. */
void runs_end_input(server *s);

/* The box has no sandbox any more, so nothing can write to these. */
void sinks_free(serve_box *box);

/* ---- sandboxes (method_box.c) ---- */

/* No run of it is left. */
void box_free(serve_box *box);
void engine_free(serve_engine *engine);
