/* tool.h - tools: WebAssembly modules that take JSON and give JSON, import nothing, and ask for capabilities they
 * want from the world.
 *
 *   cay_tools *tools;  cay_tool_result *r;  cay_error err;
 *   cay_tools_open(&CAY_INIT(cay_tools_options, .database = "tools.db"), &tools, &err);
 *   cay_tool_call(tools, "todo", (cay_slice){ "{}", 2 }, NULL, &r, &err);
 *   printf("%.*s\n", (int)r->json.len, (const char *)r->json.data);
 *
 * doc/reference/tool-abi.md has the contract of the modules, every code and the configuration. A set of tools
 * needs neither engine nor guests of cay.h.
 *
 * The rules of cay.h hold: errors, ownership, options, threads. How a tool ends is a result and not a
 * failure: a module that is refused, a trap, a capability that is forbidden have codes, the same for the same
 * cause always. */
#ifndef CAY_TOOL_H
#define CAY_TOOL_H

#include <cay/cay.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cay_tools cay_tools;

typedef struct cay_tools_options {
  size_t size;
  cay_slice config;        /* JSON; tools.settings.sandbox of it is read. Empty: every default */
  const char *base_dir;    /* where relative paths of modules start; NULL: the working directory */
  const char *database;    /* of kv.sqlite.*, in a folder that is there; NULL: they are answered `internal` */
  const char *audit;       /* the audit log, and its table in "<audit>.db"; NULL: none */
  uint64_t audit_rotate;   /* bytes at which the log begins a new file; 0: 16 MiB */
  bool audit_sync;         /* each record is on the disk before its effect, and not only with the system */
  const char *cache_dir;   /* compiled code, trusted as code; NULL: memory only */
  bool allow_placeholders; /* for development: modules that only show the shape of an answer are called too */
  const char *user;        /* whose rows are meant when arguments name no user; NULL: they must */
  uint64_t memory_max;     /* bytes of linear memory of one call; 0: 256 MiB */
  uint64_t output_max;     /* bytes of one output; 0: 16 MiB */
  uint64_t module_max;     /* bytes of one module; 0: 32 MiB */
  uint32_t rounds; /* 0: the answer of a capability is the result. Else the tool is called again with it, so
                      many times at most (up to 64) */
  cay_log_fn
      *log;      /* warnings, and what tools say with log.emit: `area` is "tools" or the tool. NULL: silent */
  void *log_ctx; /* lives as long as the cay_tools, as clock_ctx does */
  int64_t (*clock)(void *ctx); /* nanoseconds since 1970; NULL: the host's */
  void *clock_ctx;
} cay_tools_options;

/* CAY_INVALID: the configuration; the message begins with the JSON path. CAY_CORRUPT, CAY_UNSUPPORTED,
 * CAY_BUSY, CAY_IO: the database or the audit log cannot be used. */
CAY_CHECK CAY_API cay_status cay_tools_open(const cay_tools_options *options, cay_tools **out,
                                            cay_error *err);
CAY_API void cay_tools_free(cay_tools *tools); /* no call may be under way */

/* ---------------------------------------------------------------- calls ---- */

/* The wish that calls end early. It may be given to any number of them, now and later, and be raised while
 * they run, before, or never; raised once it stays so. */
typedef struct cay_tool_cancel cay_tool_cancel;
CAY_CHECK CAY_API cay_status cay_tool_cancel_new(cay_tool_cancel **out, cay_error *err);
CAY_API void cay_tool_cancel_raise(cay_tool_cancel *cancel); /* [any time] from any thread; NULL is fine */
CAY_API void cay_tool_cancel_free(cay_tool_cancel *cancel);  /* no call may have it; NULL is fine */

typedef struct cay_tool_call_options {
  size_t size;
  const char *user;    /* in place of that of the set */
  uint32_t timeout_ms; /* lowers the tool's own limit, never raises it; 0: that limit */
  /* Ends the call with the code "cancelled": the guest stops, what waits for the network or a command stops
   * waiting, and no capability begins any more. One that has been done keeps its result. May be NULL. */
  cay_tool_cancel *cancel;
} cay_tool_call_options;

/* How a call ended. Fields stay valid until cay_tool_result_free. */
typedef struct cay_tool_result {
  const char *code; /* "ok", or the cause: "timeout", "forbidden", ...; static */
  cay_slice json;   /* the result; when the code is not "ok": {"status":"error","code":...,"error":...} */
  cay_slice why;    /* the sentence that goes with the code; empty: "ok" */
  uint32_t capabilities; /* that were asked for */
  uint64_t wall_ns;
} cay_tool_result;

/* Calls the tool of this name with a JSON object. On the calling thread when that has 1.5 MiB of stack left,
 * else on one of the set's. CAY_INVALID: `name` is no name of a tool. CAY_NO_MEMORY, CAY_IO: the host. */
CAY_CHECK CAY_API cay_status cay_tool_call(cay_tools *tools, const char *name, cay_slice input,
                                           const cay_tool_call_options *options, cay_tool_result **out,
                                           cay_error *err);
CAY_API void cay_tool_result_free(cay_tool_result *result);

/* ---------------------------------------------------------------- which tools ---- */

typedef struct cay_tool_verdict {
  const char *code; /* "ok", or why the module is refused; static */
  char why[200];
} cay_tool_verdict;

/* Whether these bytes are a tool. `entrypoint` NULL: "execute". */
CAY_CHECK CAY_API cay_status cay_tool_check(cay_tools *tools, cay_slice module, const char *entrypoint,
                                            cay_tool_verdict *out, cay_error *err);

/* Borrowed until the callback returns. */
typedef struct cay_tool {
  const char *name, *module, *entrypoint; /* `module`: the path of the file */
  bool configured;                        /* else it is there by convention: wasm/<name>_tool.wasm */
  cay_tool_verdict verdict;
  const char *const *allow; /* NULL ended: its capabilities */
  uint32_t timeout_ms;
  uint64_t fuel; /* 0: not counted */
} cay_tool;
typedef bool cay_tool_fn(void *ctx, const cay_tool *tool); /* false stops */

/* Every tool that the configuration names, and every one in wasm/, by name. */
CAY_CHECK CAY_API cay_status cay_tools_list(cay_tools *tools, cay_tool_fn *each, void *ctx, cay_error *err);

/* ---------------------------------------------------------------- due entries -- */

/* Borrowed until the callback returns. */
typedef struct cay_tool_event {
  const char *kind; /* "task", "wakeup", "reminder" */
  int64_t id;
  const char *user, *name; /* of a reminder: its title */
  const char *prompt;      /* of a reminder: NULL */
  int64_t due_at;          /* seconds since 1970 */
  int64_t missed;          /* moments of a recurring one that passed since and are not delivered */
} cay_tool_event;
typedef bool cay_tool_due_fn(void *ctx, const cay_tool_event *event); /* true: delivered */

/* Calls `each` for all that is due now, earliest first; each moment is delivered once, by one process. Again
 * a minute later when `each` answered false. *delivered (may be NULL) counts. CAY_INVALID: there is no
 * database. */
CAY_CHECK CAY_API cay_status cay_tools_due(cay_tools *tools, cay_tool_due_fn *each, void *ctx,
                                           size_t *delivered, cay_error *err);
/* When cay_tools_due has something to do next, in seconds since 1970, which may be past; INT64_MAX: never. */
CAY_CHECK CAY_API cay_status cay_tools_next_due(cay_tools *tools, int64_t *next, cay_error *err);

/* ---------------------------------------------------------------- audit ---- */

typedef struct cay_tool_audit_report {
  uint64_t records, first, last; /* numbers of the first and the last */
  char head[65];                 /* hash of the last, in hexadecimal: kept elsewhere, it pins the whole log */
  uint64_t problems;             /* 0: nothing was edited, removed, put in or moved */
  char problem[200];             /* the first of them */
} cay_tool_audit_report;

/* One line of the log without its line end; `problem` NULL: it is as it was written. False stops. */
typedef bool cay_tool_audit_fn(void *ctx, cay_slice line, const char *problem);

/* Reads a log, its older files too, oldest first, and verifies it; `each` may be NULL. CAY_NOT_FOUND. */
CAY_CHECK CAY_API cay_status cay_tool_audit_verify(const char *path, cay_tool_audit_fn *each, void *ctx,
                                                   cay_tool_audit_report *out, cay_error *err);

#ifdef __cplusplus
}
#endif
#endif /* CAY_TOOL_H */
