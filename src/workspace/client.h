/* client.h - the client and its sessions.
 *
 * Locks: cay_ws.mu covers the list of sessions; cay_ws_session.mu its state and counts. The second may be taken with the
 * first held. No call into the sandbox or the store is made with either.
 *
 * A session is used under a count (session_enter): stopping it makes the state STOPPED or PARKED first, interrupts the
 * sandbox, waits until the count is 0, and only then frees it. */
#pragma once

#include "base/list.h"
#include "workspace/config.h"
#include "workspace/store.h"

#include <cay/snapshot.h>
#include <pthread.h>

#define WS_TIMEOUT_MS 120000u /* of a command, when neither its caller nor the manifest names one */
#define WS_OUTPUT_MAX (1u << 20)

struct cay_ws {
  pthread_mutex_t mu;
  cay_engine *engine;
  ws_store *store; /* NULL: none */
  char *network, *git_files, *git_program, *git_credentials, *git_ca_file;
  uint32_t git_timeout_ms;
  void (*git_progress)(void *ctx, const char *path, uint64_t received, uint64_t total);
  void *git_progress_ctx;
  cay_limits limits;
  list sessions; /* cay_ws_session.in_client; each holds a reference */
};

struct cay_ws_session {
  list in_client;
  cay_ws *ws;
  pthread_mutex_t mu; /* for the next five */
  pthread_cond_t idle;
  cay_ws_state state;
  unsigned refs, users;
  list processes;   /* cay_ws_process.in_session */
  cay_sandbox *box; /* while the state is PROVISIONED or RUNNING, and users > 0 */
  char handle[CAY_WS_ID_MAX];
  char *config;              /* JSON */
  cay_ws_document *document; /* the same, read */
  char *rules;               /* of the network, as cay_net_options has them; NULL: the network is off */
  cay_net_options net;
  int64_t created_ns;
  ws_claim *claim; /* of a session that the store knows; else NULL */
};

typedef enum ws_move {
#define M(operation, ...) WS_##operation,
#include "workspace/moves.def"
#undef M
} ws_move;

/* The state after a move. InvalidRequest names both states; SessionNotFound for STOPPED. */
cay_status ws_session_move(cay_ws_state from, ws_move move, const char *handle, cay_ws_state *to,
                           cay_ws_error *err) CHECKED;

/* A session without a sandbox, state PROVISIONED, one reference. */
cay_status ws_session_new(cay_ws *ws, const cay_ws_manifest *manifest, const char *prefix,
                          cay_ws_session **out, cay_ws_error *err) CHECKED;
cay_status ws_session_of_config(cay_ws *ws, const char *config, cay_ws_session **out,
                                cay_ws_error *err) CHECKED;
OWNED_DEFINE(cay_ws_session, cay_ws_session_free)

/* The rules of the client, else those of the manifest: a JSON object; empty: none. */
cay_slice ws_session_network(const cay_ws_session *s);

/* The options of its sandbox; `limits` is filled and borrowed by them. */
cay_sandbox_options ws_session_options(const cay_ws_session *s, cay_limits *limits);

/* In the list of the client, which takes a reference. */
void ws_session_add(cay_ws_session *s);
/* Takes a reference. SessionNotFound, when it is not one of this client's. */
cay_status ws_session_find(cay_ws *ws, const char *handle, cay_ws_session **out, cay_ws_error *err) CHECKED;

/* Begins a use in a state that allows `move`; ws_session_leave ends it. */
cay_status ws_session_enter(cay_ws_session *s, ws_move move, cay_ws_error *err) CHECKED;
void ws_session_leave(cay_ws_session *s);

/* Makes a move that ends the session, and gives its sandbox back. `last` (NULL: nothing) is called when its last process has
 * ended, to keep or remove what the store has; when that fails the session goes on as it was. */
typedef cay_status ws_session_last_fn(cay_ws_session *s, cay_ws_error *err);
cay_status ws_session_end(cay_ws_session *s, ws_move move, ws_session_last_fn *last,
                          cay_ws_error *err) CHECKED;

/* Ends and frees its processes; called with users == 0. */
void ws_processes_end(cay_ws_session *s);

/* A random name. */
cay_status ws_new_id(const char *prefix, char out[static CAY_WS_ID_MAX], cay_ws_error *err) CHECKED;

cay_status ws_git_clone(cay_ws *ws, cay_ws_session *s, const cay_ws_entry *entry, cay_ws_error *err) CHECKED;
/* The second half of it, with the records of cay-git from a descriptor: into the folder "r". */
cay_status ws_git_records(cay_ws *ws, cay_ws_session *s, int fd, cay_error *err) CHECKED;
