/* tool.h - the set of tools of a server.
 *
 * Life        the reading thread opens and closes it; a call runs on a thread of server.waiters and is in
 *             server.tool_calls, which server.mu protects. */
#pragma once

#include "serve/server.h"

#include <cay/tool.h>

/* Waits for the calls that are under way, each of which has a time limit, and frees the set, if there is one.
 * `cancel`: they are cancelled. */
void tools_end(server *s, bool cancel);
