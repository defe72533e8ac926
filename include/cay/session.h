/* session.h - an interpreter that keeps its variables between evaluations, and callbacks of the
 * embedder.
 *
 *   cay_session *py;  cay_value *v;
 *   cay_session_new(box, NULL, &py, &err);
 *   cay_session_eval(py, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("x = 20\nx + 1")), &v, &err);
 *   printf("%.*s\n", (int)v->repr.len, (const char *)v->repr.data);    // 21
 *
 * A session is a process of its sandbox that is at rest between two calls: no thread belongs to it, and
 * memory and descriptors are its whole state, lambdas, generators and open files included. It begins as an
 * image in which the interpreter has already started, so a new one costs the pages it touches.
 *
 * The rules of cay.h hold: errors, ownership, options, threads. What the code does, exceptions included, is a
 * result and not a failure. */
#ifndef CAY_SESSION_H
#define CAY_SESSION_H

#include <cay/cay.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- callbacks ---- */

/* A guest's call of a callback. Its receiver answers it exactly once, now or later and from any thread, also
 * after the sandbox is gone: then the answer is discarded. */
typedef struct cay_callback_call cay_callback_call;

CAY_API void cay_callback_answer(cay_callback_call *call,
                                 cay_slice json); /* [any time] JSON in UTF-8; gives it back */
CAY_API void cay_callback_fail(cay_callback_call *call,
                               const char *message);          /* [any time] an error in the guest; likewise */
CAY_API bool cay_callback_cancelled(cay_callback_call *call); /* [any time] the guest has given up */

/* Called on the thread of the calling guest, which waits meanwhile: answer now, or keep `call` and return.
 * `args` is a JSON object that the schema has accepted, borrowed until this returns. */
typedef void cay_callback_fn(void *ctx, cay_callback_call *call, const char *name, cay_slice args);

/* A callback: a function of the embedder that guests call by name. */
typedef struct cay_callback_options {
  size_t size;
  const char *name;        /* "http.get": letters, digits, '_', '-', parts separated by '.'; 1 to 128 bytes */
  const char *description; /* for people and models; NULL: none */
  const char *
      schema; /* JSON Schema of the arguments (doc/reference/python.md: which part of it); NULL: any object */
  cay_callback_fn *fn;
  void *ctx; /* lives until the sandbox is freed */
} cay_callback_options;

/* From now on; a callback of the same name is replaced. [any time] CAY_INVALID: the name, or a schema that
 * cannot be parsed or uses an unknown keyword (the message says where). CAY_LIMIT: 1,024 are there. */
CAY_CHECK CAY_API cay_status cay_callback_add(cay_sandbox *box, const cay_callback_options *options,
                                              cay_error *err);
/* [any time] Pending calls are still answered. CAY_NOT_FOUND. */
CAY_CHECK CAY_API cay_status cay_callback_remove(cay_sandbox *box, const char *name, cay_error *err);

/* ---------------------------------------------------------------- session ---- */

typedef struct cay_session cay_session;
typedef struct cay_image cay_image;

typedef struct cay_session_options {
  size_t size;
  const char *language;   /* "python", which NULL means too, "javascript" or "typescript" */
  const cay_image *image; /* its beginning; NULL: the standard image of the language */
  const char *cwd;        /* NULL: "/home/agent" */
  const char *const *env; /* "NAME=value", NULL ended, over the sandbox's */
  bool no_undo; /* an evaluation that has to be ended leaves the session unusable instead of undone: saves the
                   memory of what would be put back */
  bool count_fuel; /* evaluations may have a limit of it, at the price of slower code. It is counted anyway
                      when the sandbox has a limit. An installed cay has the interpreter's code for that; a package of pip or npm compiles it once, which takes
                      about 20 seconds */
} cay_session_options;

/* CAY_NOT_FOUND: no such language here. CAY_LIMIT: the sandbox's processes or memory. CAY_TIMEOUT: the interpreter is
 * still being compiled to count fuel, longer than limits.wall_ms; that goes on, and a later call finds it done. */
CAY_CHECK CAY_API cay_status cay_session_new(cay_sandbox *box, const cay_session_options *options,
                                             cay_session **out, cay_error *err);
/* [any time] Ends the evaluation that runs, if any, and waits for it. cay_sandbox_free frees the sessions of
 * the sandbox that are left: their handles are then gone too. */
CAY_API void cay_session_free(cay_session *session);

/* Events of a trace, as the interpreter reports them: texts of the guest, JSON if the guest is honest. On the
 * thread of the guest. */
typedef void cay_trace_event_fn(void *ctx, uint32_t line, cay_slice event, cay_slice context);

/* A MIME bundle that the code displays, on the thread of the guest: a text of the guest, JSON if the guest is honest.
 *
 *   {"kind": "display", "data": {"text/plain": "…", "image/png": "base64…"}, "metadata": {}, "id": "…"}
 *
 * "update" in place of "display" replaces the display that has the same id; {"kind": "clear", "wait": false}
 * takes back all that the evaluation has displayed. Texts are texts, JSON is JSON, and other contents are base64. */
typedef void cay_display_fn(void *ctx, cay_slice bundle);

enum {
  CAY_TRACE_LINE = 1,
  CAY_TRACE_CALL = 2,
  CAY_TRACE_RETURN = 4,
  CAY_TRACE_EXCEPTION = 8,
  CAY_TRACE_LOCALS = 16, /* events have the local variables that changed in their context */
};

typedef struct cay_eval_options {
  size_t size;
  cay_slice code;   /* UTF-8 */
  const char *name; /* what tracebacks call it; NULL: "<cell N>", counted from 1; copies of the session go on
                       counting */
  cay_slice input;  /* standard input; empty: at end of file */
  bool no_json;     /* the value is not wanted as JSON */
  bool no_capture;  /* only `output` gets the output */
  uint32_t wall_ms; /* lowers the sandbox's limit, never raises it; 0: that limit */
  uint64_t fuel; /* lowers the sandbox's limit, never raises it; 0: that limit. Of a session that counts it,
                  * else CAY_UNSUPPORTED. What runs out of it ends by force */
  cay_output_fn
      *output; /* as of cay_run; whole characters only. NULL: only captured. Not called after the end */
  void *output_ctx;
  uint32_t trace;           /* CAY_TRACE_*; 0: none, and then it costs nothing */
  uint32_t trace_max;       /* events; 0: 100,000 */
  const char *trace_filter; /* only functions and files whose name has this in it; NULL: all of the user's */
  cay_trace_event_fn *on_trace;
  void *trace_ctx;
  bool no_wait;          /* while another request has the session: CAY_BUSY, in place of waiting in line. For
                   callbacks: an evaluation may be waiting for their answer */
  uint32_t value_max;    /* bytes of repr, and of json, at most 64 MiB; 0: 1 MiB */
  const bool *cancelled; /* NULL: none. Another thread may set it, atomically, and then call
                            cay_session_cancel: an evaluation that still waits ends when its turn comes, before
                            any of its code runs */
  bool
      drain; /* JavaScript: like a program, it ends when nothing is left to do, timers and listeners included;
                 else with its last statement and what that awaits */
  cay_display_fn *
      display; /* Python: gets what display() is called with, and the value has a bundle, too. NULL: display()
                              prints text */
  void *display_ctx;
  uint32_t
      display_max; /* bytes of all bundles, the value's apart, and of the value's; 0: 16 MiB; at most 64 MiB */
} cay_eval_options;

typedef enum cay_outcome {
  CAY_OUTCOME_VALUE, /* it ran to its end; repr, if its last statement was an expression that is not None */
  CAY_OUTCOME_EXCEPTION, /* error_*, traceback */
  CAY_OUTCOME_EXIT,      /* SystemExit: exit_code */
  CAY_OUTCOME_STOPPED,   /* by the deadline, by cancelling, by exit, a signal or a trap of the interpreter
                            itself */
} cay_outcome;

CAY_API const char *cay_outcome_name(cay_outcome outcome); /* "value"; static */

/* The whole story of one evaluation. Texts are UTF-8 and end with a NUL that is not counted. */
typedef struct cay_value {
  cay_outcome outcome;
  cay_end end; /* CAY_END_EXIT unless STOPPED; then how */
  int32_t exit_code;
  bool
      undone; /* the session is rolled back to before this evaluation, and its open files are at the positions they
                  had; files keep the bytes written, and pipes and sockets that were closed stay dead */
  cay_slice out, err; /* captured output, up to limits.output */
  bool out_cut, err_cut;
  cay_slice repr, json; /* of the value; empty: none */
  cay_slice error_type, error_text, traceback;
  uint32_t error_line;   /* in the code; 0: unknown */
  cay_slice detail;      /* text of a trap; the limit of the sandbox that ended it (CAY_END_TIME), else "" */
  uint64_t trace_events; /* that were reported */
  uint64_t wall_ns;
  cay_usage usage;
  uint64_t fuel;       /* used, when there was a limit */
  bool repr_cut;       /* the repr was longer than value_max */
  bool json_too_large; /* there would be JSON, longer than value_max: `json` is empty */
  cay_slice
      bundle; /* of the value, when options.display is set: {"data": {…}, "metadata": {…}}; empty: none, or it displayed itself */
  bool bundle_too_large; /* longer than display_max: `bundle` is empty */
} cay_value;

/* One at a time for each session: calls from several threads wait in line, in the order in which they came.
 * The limits begin with their turn. The same holds for all calls below that take a session.
 *
 * CAY_BUSY: 64 calls wait already; options.no_wait; or the call comes from a callback on the thread of this very
 * session, which it would wait for. CAY_CANCELLED: the session was freed meanwhile. CAY_INVALID: the code is
 * not UTF-8. */
CAY_CHECK CAY_API cay_status cay_session_eval(cay_session *session, const cay_eval_options *options,
                                              cay_value **out, cay_error *err);
CAY_API void cay_value_free(cay_value *value);

/* The end of an evaluation that was started: its value, which is the receiver's, or with another status than CAY_OK
 * NULL and the error. On the thread of the session, which is held meanwhile: it must return soon, and of the functions
 * that take this session only cay_session_cancel may be called. */
typedef void cay_eval_done_fn(void *ctx, cay_status status, cay_value *value, const cay_error *err);

/* As cay_session_eval, without waiting: neither for the end, which `done` is called for exactly once, nor for its turn. CAY_BUSY:
 * another request has the session, or has had it a moment ago. On failure `done` is not called. What `options` points to is copied, but for `cancelled`
 * and the contexts, which live until `done` is called. */
CAY_CHECK CAY_API cay_status cay_session_start(cay_session *session, const cay_eval_options *options,
                                               cay_eval_done_fn *done, void *ctx, cay_error *err);

/* [any time] The evaluation that runs ends: first by an exception, soon after by force. Evaluations that wait
 * are not touched. None runs: no effect. */
CAY_API void cay_session_cancel(cay_session *session);

/* The user's variables as bytes, and back. CAY_UNSUPPORTED: one of them cannot be stored (the message names
 * it). CAY_CORRUPT: not such bytes, or damaged; the session is unchanged. CAY_BUSY. CAY_TIMEOUT: longer than
 * limits.wall_ms. The bytes are code as far as the session is concerned: they run in it, and only there. */
CAY_CHECK CAY_API cay_status cay_session_save_state(cay_session *session, cay_buf *out, cay_error *err);
CAY_CHECK CAY_API cay_status cay_session_load_state(cay_session *session, cay_slice bytes, cay_error *err);
CAY_CHECK CAY_API cay_status cay_session_clear_state(cay_session *session, cay_error *err);

/* ---------------------------------------------------------------- image ---- */

/* A session as a value: everything in its memory, its open files, its signal actions, and
 * its umask. Immutable, counted by its holders. Grants, mounts, limits, timers and the working directory are
 * not inside, nor are the contents of files.
 *
 * A session that begins as the image (cay_session_new, cay_session_restore) has its descriptors, under their numbers,
 * and no others but 0, 1 and 2. Files, directories and the likes of /dev/null are opened again by path, in
 * the sandbox's own tree with the permissions of open(2), at their positions; nothing is created or
 * truncated. Pipes with all their ends in the session are made anew with their contents. A file that cannot be had
 * (a file that is gone, not permitted or of another kind, one without a name, a socket, a terminal, a pipe to
 * another process) is a dead descriptor: every use is EBADF, and closing it works. Locks are not kept. */
CAY_CHECK CAY_API cay_status cay_session_freeze(cay_session *session, cay_image **out,
                                                cay_error *err); /* CAY_BUSY */
CAY_API void cay_image_free(cay_image *image);

/* The session becomes what the image is: descriptors that it has and the image has not are closed. On failure
 * it is unchanged. CAY_INVALID: the image is of another program. CAY_BUSY. */
CAY_CHECK CAY_API cay_status cay_session_restore(cay_session *session, const cay_image *image,
                                                 cay_error *err);

/* As a file: bounded and compact. Loading one gives some state of the interpreter, checked to be whole,
 * and nothing is believed of it: it can do what any guest can do. CAY_IO; CAY_CORRUPT; CAY_UNSUPPORTED: of
 * another version. */
CAY_CHECK CAY_API cay_status cay_image_save(const cay_image *image, const char *path, cay_error *err);
CAY_CHECK CAY_API cay_status cay_image_load(cay_engine *engine, const char *language, const char *path,
                                            cay_image **out, cay_error *err);
CAY_API uint64_t cay_image_memory(const cay_image *image,
                                  uint64_t *stored); /* bytes; *stored: that are not zero */

/* A new image: a fresh interpreter that has run `code` (imports, usually) in an empty sandbox with the files
 * of `box`, or none when NULL. */
typedef struct cay_image_options {
  size_t size;
  const char *language; /* as in cay_session_options */
  const char *code;     /* NULL: nothing beyond the standard */
  cay_sandbox *box;     /* whose files it sees; NULL: a fresh one */
} cay_image_options;

CAY_CHECK CAY_API cay_status cay_image_build(cay_engine *engine, const cay_image_options *options,
                                             cay_image **out, cay_error *err);

/* From now on the programs and sessions of the image's language begin as the image in all sandboxes of the engine, in
 * place of the standard one: python3 of the shell has its modules imported, too. Code that counts fuel begins anew.
 * CAY_UNSUPPORTED: files are open in the image. CAY_BUSY: the engine has such an image already. */
CAY_CHECK CAY_API cay_status cay_image_use(cay_engine *engine, const cay_image *image, cay_error *err);

/* For installers of guests: as a file that engines map and believe, like compiled code. It belongs beside
 * the program, under the name that the list of guests has for it. CAY_UNSUPPORTED: files are open in it. */
CAY_CHECK CAY_API cay_status cay_image_install(const cay_image *image, const char *path, cay_error *err);

#ifdef __cplusplus
}
#endif
#endif /* CAY_SESSION_H */
