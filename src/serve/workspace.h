/* workspace.h - the workspaces of a server.
 *
 * Life        the reading thread opens the client; every other call runs on a thread of server.waiters, with a copy of its
 *             params, and is counted in server.ws_calls, which server.mu protects. */
#pragma once

#include "serve/server.h"

#include <cay/workspace.h>

/* "ProvisionFailed: entry 1, …" */
enum answer ws_refuse(call *c, const cay_ws_error *err);
enum answer ws_done(call *c, cay_status status, const cay_ws_error *err);
/* The session that `handle` names. The failure is written. */
bool ws_begin(call *c, cay_ws_session **out);

/* ---- processes (method_workspace_process.c): on threads of server.waiters ---- */

method_fn serve_ws_exec, serve_ws_spawn, serve_ws_wait, serve_ws_input, serve_ws_signal, serve_ws_kill,
    serve_ws_forget;
void ws_processes_close(server *s); /* when no call is under way */
void ws_processes_free(server *s);  /* after the client was closed */

/* Waits for the calls that are under way, stops all sessions and frees the client, if there is one. */
void workspaces_end(server *s);
