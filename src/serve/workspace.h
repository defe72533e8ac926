/* workspace.h - the workspaces of a server.
 *
 * Life        the reading thread opens the client; every other call runs on a thread of server.waiters, with a copy of its
 *             params, and is counted in server.ws_calls, which server.mu protects. */
#pragma once

#include "serve/server.h"

#include <cay/workspace.h>

/* Waits for the calls that are under way, stops all sessions and frees the client, if there is one. */
void workspaces_end(server *s);
