/* mcp.h - a client of the Model Context Protocol: a server, over stdio or streamable HTTP, and requests to
 * it.
 *
 * A server is connected when it is first needed: `initialize`, the version agreed on, `notifications/
 * initialized`. A stdio server is a child process that is kept; one that has ended is started again, once for
 * each request. Requests of the server are answered (ping) or refused; its notifications are dropped.
 *
 * Locks: one request at a time has a server (`busy`); `mu` is only for that. */
#pragma once

#include "tool/capability/net/handler.h"

#include <pthread.h>
#include <sys/types.h>

enum { MCP_MESSAGE_MAX = 8 << 20, MCP_TIMEOUT_MS = 60000, MCP_ARGS_MAX = 64 };

typedef struct mcp_server mcp_server;

/* One of the two ways to a server. `send` writes one message and, when `id` is not 0, waits for the answer
 * with that id, which is given parsed and with keys hidden. */
typedef struct mcp_way {
  cay_status (*send)(mcp_server *server, const buf *message, int64_t id, reach_limit limit,
                     yyjson_doc **answer, cay_error *err);
  /* Forgets the connection; it may be used again. `grace_ms`: what a process has for each step of ending. */
  void (*end)(mcp_server *server, int64_t grace_ms);
} mcp_way;
extern const mcp_way MCP_PIPE, MCP_WEB;

struct mcp_server {
  const tool_reach *reach;
  const char *name;
  const mcp_way *way;
  yyjson_val *tools; /* the names that may be used; NULL: all */
  uint32_t timeout_ms;
  pthread_mutex_t mu; /* for `busy` */
  pthread_cond_t freed;
  bool busy; /* a request has it, and all below */
  int64_t last_id;
  bool ready;       /* initialised */
  bool again;       /* the way found the connection gone before the request was taken: try once more */
  char version[32]; /* agreed on; "" before */
  reach_keys keys;  /* in use since the connection was made */

  /* stdio */
  const char *argv[MCP_ARGS_MAX + 2];
  reach_values env;
  const char *cwd;
  pid_t pid; /* 0: none runs */
  int to, from, errors;
  buf in, log;
  unsigned timeouts; /* in a row */

  /* HTTP */
  reach_endpoint endpoint;
  char session[256];
};

cay_status mcp_server_read(const tool_reach *reach, const reach_place *p, const char *name, yyjson_val *value,
                           mcp_server **out, cay_error *err) CHECKED;
void mcp_server_free(mcp_server *server); /* ends it; NULL is fine */

/* `params` (of `doc`) may be NULL. *out has the member result of the answer's root. CAY_INVALID: the server
 * refused the parameters; CAY_TIMEOUT; CAY_CANCELLED; CAY_IO; CAY_CORRUPT: no answer of this protocol.
 * `repeatable`: may be sent again when the server ended during it. */
cay_status mcp_request(mcp_server *server, const char *method, yyjson_mut_doc *doc, yyjson_mut_val *params,
                       bool repeatable, reach_limit limit, yyjson_doc **out, cay_error *err) CHECKED;

/* For the two ways: a message that came. True: it is the answer to `id`. Otherwise *reply may have what must
 * be sent back. */
bool mcp_is_answer(yyjson_doc *message, int64_t id, buf *reply);
