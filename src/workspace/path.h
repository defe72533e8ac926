/* path.h - paths of a workspace: relative texts, and the places in the sandbox that they lead to.
 *
 * Not a boundary of security: programs of the sandbox reach all of it anyway, and may change a link between a check and
 * its use. It keeps the caller of the client, often a model, in the folder that it was given. */
#pragma once

#include "workspace/error.h"

#define WS_ROOT "/workspace"
enum { WS_PATH_MAX = 4096, WS_NAME_MAX = 255, WS_LINKS_MAX = 40 };

typedef struct ws_path {
  char text[WS_PATH_MAX];
} ws_path;

/* Without ".", "..", and double or trailing slashes; the workspace itself is ".". By text alone: "a/../b" is "b".
 * PathTraversal: empty, absolute, a NUL byte, a drive letter with a backslash, or ".." that leads out. ExecutionFailed
 * (ENAMETOOLONG): longer than a path can be. */
cay_status ws_path_clean(cay_slice path, ws_path *out, cay_ws_error *err) CHECKED;

/* Where it leads in the sandbox. Links are followed, with `last` that of the last name too; names that do not exist are taken
 * as written. PathTraversal: a link leads out of the workspace. */
cay_status ws_path_resolve(cay_sandbox *box, const char *path, bool last, ws_path *out,
                           cay_ws_error *err) CHECKED;
