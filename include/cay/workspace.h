/* workspace.h - workspaces with a life of their own: provisioned from a manifest, used through sessions, stopped,
 * kept as snapshots and resumed.
 *
 *   cay_ws *ws;  char handle[CAY_WS_ID_MAX], id[CAY_WS_ID_MAX];  cay_ws_session *s;  cay_ws_output *out;  cay_ws_error err;
 *   cay_ws_open(&CAY_INIT(cay_ws_options, .engine = engine, .store = "workspaces"), &ws, &err);
 *   cay_ws_provision(ws, &manifest, handle, &err);
 *   cay_ws_start(ws, handle, &s, &err);
 *   cay_ws_exec(s, &CAY_INIT(cay_ws_exec_options, .command = "make test"), &out, &err);
 *   cay_ws_snapshot(ws, handle, id, &err);
 *
 * A workspace is the folder /workspace of a sandbox of its own. Paths are relative to it. A path that leads out of it,
 * by its text (absolute, "..", a NUL byte) or through a symbolic link, is refused with PathTraversal. That is a promise
 * about paths; what programs of the sandbox can reach is the sandbox's matter (cay.h).
 *
 * The rules of cay.h hold: ownership, options, threads. Failures have a code of their own beside the status:
 * cay_ws_error. A command that ends with an exit code other than 0, by a signal or at its deadline is a result and no
 * failure. */
#ifndef CAY_WORKSPACE_H
#define CAY_WORKSPACE_H

#include <cay/cay.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- failures ---- */

typedef enum cay_ws_code {
  CAY_WS_OK,
  CAY_WS_PROVISION_FAILED,     /* an entry of a manifest; `subject`: its path                     */
  CAY_WS_PATH_TRAVERSAL,       /* a path leads out of the workspace; `subject`: the path          */
  CAY_WS_SESSION_NOT_FOUND,    /* no such handle, or it was stopped; `subject`: the handle        */
  CAY_WS_SNAPSHOT_NOT_FOUND,   /* `subject`: the id                                               */
  CAY_WS_EXECUTION_FAILED,     /* a file or a command cannot be used; a patch cannot be applied   */
  CAY_WS_TIMEOUT,              /* `limit`: milliseconds                                           */
  CAY_WS_MEMORY_EXCEEDED,      /* `limit`: mebibytes                                              */
  CAY_WS_INVALID_REQUEST,      /* arguments that can never work, or a move that the state forbids */
  CAY_WS_BACKEND_UNAVAILABLE,  /* guests, the store or a library are not there                    */
  CAY_WS_ENFORCER_FAILED,      /* the sandbox failed us; `subject`: "cay"                         */
  CAY_WS_ENFORCER_UNAVAILABLE, /* this host cannot isolate; `subject`: "cay"                      */
  CAY_WS_POLICY_VIOLATION,     /* the egress policy or a quota says no                            */
} cay_ws_code;

CAY_API const char *cay_ws_code_name(cay_ws_code code); /* "ProvisionFailed"; static */

typedef struct cay_ws_error {
  cay_ws_code code;
  uint64_t limit;
  cay_error cause;      /* status, errno and the sentence */
  char subject[256];    /* cut if need be */
  char suggestion[120]; /* what to do, as a sentence; may be empty */
} cay_ws_error;

/* --------------------------------------------------------------- client ---- */

typedef struct cay_ws cay_ws;
typedef struct cay_ws_session cay_ws_session;
typedef struct cay_ws_process cay_ws_process;

enum { CAY_WS_ID_MAX = 64 }; /* handles and ids of snapshots, with their NUL */

typedef struct cay_ws_options {
  size_t size;
  cay_engine *engine; /* outlives the client */
  const char *store;  /* a folder, made if need be; NULL: snapshots and parked sessions are not kept */
  cay_slice
      network; /* JSON: {"rules":[…]} (doc/reference/egress.md), for git and for programs. Empty: a manifest's, else none */
  const char *git_files;   /* a folder below which file:// URLs may lead; NULL: none do */
  const char *git_program; /* cay-git; NULL: in the folder cay/ beside the library */
  uint32_t git_timeout_ms; /* of one clone; 0: 5 minutes */
  void (*git_progress)(void *ctx, const char *path, uint64_t received,
                       uint64_t total); /* objects; may be NULL */
  void *git_progress_ctx;
  const cay_limits *limits; /* of sandboxes whose manifest names none; NULL: the defaults of cay.h */
  /* Lines as git-credential-store(1) has them, "https://USER:PASSWORD@HOST[:PORT][/PATH]": what git sends to servers of
   * that scheme, host and port, for paths that begin so. Empty: none. Never sent to another host after a redirect, and never to
   * be seen in a workspace. */
  cay_slice git_credentials;
  const char *git_ca_file; /* authorities in PEM for https://, in place of the system's; NULL: those */
} cay_ws_options;

CAY_CHECK CAY_API cay_status cay_ws_open(const cay_ws_options *options, cay_ws **out, cay_ws_error *err);
/* Stops the sessions that are still there. No call may be under way, and every cay_ws_session is freed. */
CAY_API void cay_ws_close(cay_ws *ws);
/* Stops every session of this client, so that calls under way return. Parked ones stay in the store. [any time] */
CAY_API void cay_ws_stop_all(cay_ws *ws);

/* ------------------------------------------------------------- manifest ---- */

typedef enum cay_ws_kind { CAY_WS_FILE, CAY_WS_DIRECTORY, CAY_WS_GIT_REPO } cay_ws_kind;

typedef struct cay_ws_entry {
  size_t size;
  cay_ws_kind kind;
  const char *path;   /* relative to the workspace; parents are made */
  cay_slice content;  /* file */
  uint32_t mode;      /* file; 0: 0644 */
  const char *url;    /* git_repo: https://, http:// or file:// */
  const char *branch; /* git_repo: a branch or a tag; NULL: the repository's default */
  const char *commit; /* git_repo: 40 hexadecimal digits; NULL: the head of the branch */
  uint32_t depth;     /* git_repo: how many commits of history are wanted; 0: all */
} cay_ws_entry;

typedef struct cay_ws_manifest {
  size_t size;
  const cay_ws_entry *entries; /* done in order; each as long as the `size` of the first says */
  size_t entry_count;
  const char *const *env;   /* "NAME=value", NULL ended */
  const cay_limits *limits; /* NULL: the client's */
  cay_slice network;        /* JSON: {"rules":[…]}; read only when the client has no rules of its own */
} cay_ws_manifest;

/* A manifest from JSON (doc/reference/workspace-manifest.md). InvalidRequest: the message begins with the path in the
 * document. Paths are checked by provision. What `cay_ws_manifest_get` gives lives as long as the document. */
typedef struct cay_ws_document cay_ws_document;
CAY_CHECK CAY_API cay_status cay_ws_manifest_parse(cay_slice json, cay_ws_document **out, cay_ws_error *err);
CAY_API const cay_ws_manifest *cay_ws_manifest_get(const cay_ws_document *document);
CAY_API void cay_ws_manifest_free(cay_ws_document *document);

/* ------------------------------------------------------------ lifecycle ---- */

typedef enum cay_ws_state {
  CAY_WS_PROVISIONED, /* filled, and not yet started */
  CAY_WS_RUNNING,     /* started: operations are possible */
  CAY_WS_PARKED,      /* only in the store; any process may start it */
  CAY_WS_STOPPED,     /* its handle is invalid */
} cay_ws_state;
CAY_API const char *cay_ws_state_name(cay_ws_state state); /* "provisioned"; static */

/* All or nothing: after a failure there is no session. PathTraversal before anything is made; ProvisionFailed. */
CAY_CHECK CAY_API cay_status cay_ws_provision(cay_ws *ws, const cay_ws_manifest *manifest,
                                              char handle[CAY_WS_ID_MAX], cay_ws_error *err);
/* Makes it running. A session that is running can be started again: all that are given out are the same session.
 * SessionNotFound. InvalidRequest: a parked session that another process has. */
CAY_CHECK CAY_API cay_status cay_ws_start(cay_ws *ws, const char *handle, cay_ws_session **out,
                                          cay_ws_error *err);
CAY_API void cay_ws_session_free(cay_ws_session *session); /* does not stop it */
/* Ends its processes and gives its sandbox back, parked or not. Later calls with the handle, or with a session that
 * was given out, are SessionNotFound. */
CAY_CHECK CAY_API cay_status cay_ws_stop(cay_ws *ws, const char *handle, cay_ws_error *err);
/* Durable when it returns. Programs may be running: each file is taken as it is. `id` stays valid until it is deleted. */
CAY_CHECK CAY_API cay_status cay_ws_snapshot(cay_ws *ws, const char *handle, char id[CAY_WS_ID_MAX],
                                             cay_ws_error *err);
/* A new session, provisioned, with the files of the snapshot: bytes, modes, times and links. SnapshotNotFound. */
CAY_CHECK CAY_API cay_status cay_ws_resume(cay_ws *ws, const char *id, char handle[CAY_WS_ID_MAX],
                                           cay_ws_error *err);
/* Puts the session into the store and gives its sandbox back; its processes are ended. cay_ws_start continues it, in any
 * process. A parked session whose process ends without parking it again is as it was parked last. */
CAY_CHECK CAY_API cay_status cay_ws_park(cay_ws *ws, const char *handle, cay_ws_error *err);

/* ----------------------------------------------------------- operations ---- */

typedef struct cay_ws_exec_options {
  size_t size;
  const char *command;     /* a line for bash */
  const char *working_dir; /* relative; NULL: the workspace */
  uint32_t timeout_ms;     /* 0: the limit of the manifest */
  const char *const *env;  /* "NAME=value", NULL ended, over the manifest's */
  cay_slice input;         /* standard input; empty: at end of file */
  bool input_open;         /* cay_ws_spawn: cay_ws_process_write goes on */
  cay_output_fn *output;   /* also gets the output as it appears; NULL: none */
  void *output_ctx;        /* as cay_run_options.output_ctx */
} cay_ws_exec_options;

/* Fields stay valid until cay_ws_output_free. Captured output ends at 1 MiB, before a UTF-8 character that would be cut. */
typedef struct cay_ws_output {
  cay_slice out, err;
  bool out_cut, err_cut; /* there was more */
  int32_t exit_code;     /* as a shell shows it: 128 + signal, 124 for time */
  uint64_t duration_ns;
  bool timed_out;
} cay_ws_output;

CAY_CHECK CAY_API cay_status cay_ws_exec(cay_ws_session *session, const cay_ws_exec_options *options,
                                         cay_ws_output **out, cay_ws_error *err);
CAY_API void cay_ws_output_free(cay_ws_output *output);

/* In the background. The handle is freed before the client is closed; freeing it does not end the process. */
CAY_CHECK CAY_API cay_status cay_ws_spawn(cay_ws_session *session, const cay_ws_exec_options *options,
                                          cay_ws_process **out, cay_ws_error *err);
CAY_API int32_t cay_ws_process_pid(const cay_ws_process *process);
/* Waits up to `timeout_ms` (< 0: for ever). Timeout: still running. SessionNotFound: the session was stopped. */
CAY_CHECK CAY_API cay_status cay_ws_process_wait(cay_ws_process *process, int64_t timeout_ms,
                                                 cay_ws_output **out, cay_ws_error *err);
CAY_CHECK CAY_API cay_status cay_ws_process_write(cay_ws_process *process, cay_slice bytes,
                                                  cay_ws_error *err);
CAY_API void cay_ws_process_close_input(cay_ws_process *process);
CAY_API void cay_ws_process_signal(cay_ws_process *process, int signal); /* gone: no effect */
CAY_API void cay_ws_process_kill(cay_ws_process *process);
CAY_API void cay_ws_process_free(cay_ws_process *process);

/* ExecutionFailed: there is no such file, or it cannot be used. */
CAY_CHECK CAY_API cay_status cay_ws_read_file(cay_ws_session *session, const char *path, cay_buf *out,
                                              cay_ws_error *err);
/* Makes parents. mode 0: that of the file, 0644 for a new one. */
CAY_CHECK CAY_API cay_status cay_ws_write_file(cay_ws_session *session, const char *path, cay_slice content,
                                               uint32_t mode, cay_ws_error *err);
/* In the order of the names' bytes; `stat` is of the entry itself, also when it is a symbolic link. */
CAY_CHECK CAY_API cay_status cay_ws_list_dir(cay_ws_session *session, const char *path, cay_list_fn *each,
                                             void *ctx, cay_ws_error *err);

#define CAY_WS_NO_FUZZ UINT32_MAX
typedef struct cay_ws_patch_options {
  size_t size;
  bool strict; /* hunks only where they say, and with all of their context */
  uint32_t
      fuzz; /* lines of context that may be passed over at each end; 0: 2, as patch(1) does; CAY_WS_NO_FUZZ: none */
  int32_t strip; /* folders taken off names, plus 1; 0: what the headers suggest */
} cay_ws_patch_options;

/* Applies a unified diff: all of it or nothing. ExecutionFailed names file, hunk and the line of the patch. */
CAY_CHECK CAY_API cay_status cay_ws_apply_patch(cay_ws_session *session, cay_slice patch,
                                                const cay_ws_patch_options *options, cay_ws_error *err);

/* ---------------------------------------------------------------- store ---- */

typedef struct cay_ws_session_info {
  const char *handle;
  cay_ws_state state;
  int64_t created_ns; /* since 1970 */
} cay_ws_session_info;
typedef bool cay_ws_session_fn(void *ctx, const cay_ws_session_info *info); /* false stops */
/* Sessions of this client and parked ones, by age. The client may not be used in `each`. */
CAY_CHECK CAY_API cay_status cay_ws_sessions(cay_ws *ws, cay_ws_session_fn *each, void *ctx,
                                             cay_ws_error *err);

typedef struct cay_ws_snapshot_info {
  const char *id;
  const char *handle; /* of the session it was taken of */
  int64_t created_ns; /* since 1970 */
  uint64_t files;     /* entries */
  uint64_t len;       /* bytes of all files */
} cay_ws_snapshot_info;
typedef bool cay_ws_snapshot_fn(void *ctx, const cay_ws_snapshot_info *info); /* false stops */
CAY_CHECK CAY_API cay_status cay_ws_snapshots(cay_ws *ws, cay_ws_snapshot_fn *each, void *ctx,
                                              cay_ws_error *err);

/* SnapshotNotFound. Contents that no other snapshot has are removed. */
CAY_CHECK CAY_API cay_status cay_ws_snapshot_delete(cay_ws *ws, const char *id, cay_ws_error *err);

typedef struct cay_ws_retention {
  size_t size;
  uint32_t keep;       /* the newest so many stay; 0: no rule */
  uint64_t max_age_ms; /* older ones go; 0: no rule */
} cay_ws_retention;
/* Deletes snapshots that a rule says goes and no rule says stays. The count in *removed. */
CAY_CHECK CAY_API cay_status cay_ws_prune(cay_ws *ws, const cay_ws_retention *rules, size_t *removed,
                                          cay_ws_error *err);

/* Reads everything in the store and compares it with its digests. Each problem is a line; with `repair`, snapshots
 * that cannot be resumed and files that belong to none are removed. The count of problems in *out. */
typedef void cay_ws_fsck_fn(void *ctx, const char *line);
CAY_CHECK CAY_API cay_status cay_ws_fsck(cay_ws *ws, bool repair, cay_ws_fsck_fn *each, void *ctx,
                                         size_t *out, cay_ws_error *err);

#ifdef __cplusplus
}
#endif
#endif /* CAY_WORKSPACE_H */
