/* python.h - sessions of a sandbox, and the requests that are under way in them.
 *
 * Life        the reading thread makes and closes sessions; a request runs on a thread of server.waiters and
 * counts in `uses`, and nobody frees a session that has any; `unanswered` are those whose answer is not on
 * its way. Locks server.mu protects the lists and the counts. */
#pragma once

#include "serve/server.h"

#include <cay/session.h>

typedef struct serve_session {
  list in_box;
  char *name;
  cay_session *session;
  uint32_t uses, unanswered;
  bool closing;
} serve_session;

/* Ends what runs in the sessions of this box (NULL: of all), and waits for it; then the sessions go. */
void sessions_end(server *s, serve_box *box);
