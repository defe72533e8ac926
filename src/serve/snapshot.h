/* snapshot.h - whole sandboxes, kept in the server under names.
 *
 * Threads     the reading thread alone looks at the list. */
#pragma once

#include "serve/server.h"

#include <cay/snapshot.h>

typedef struct serve_snapshot {
  list in_server;
  char *name;
  cay_snapshot *snapshot;
} serve_snapshot;

serve_snapshot *snapshot_named(server *s, const char *name); /* NULL: none */
void snapshots_free(server *s);                              /* before the engines */

/* method_box.c */
serve_box *box_named(server *s, const char *name);
CAY_CHECK cay_status engine_for(server *s, const char *guest_dir, cay_engine **out, cay_error *err);
/* A sandbox of the name `to`, with the settings of `from`. */
CAY_CHECK cay_status box_fork(const serve_box *from, const char *to, cay_snapshot *snapshot, cay_error *err);

/* method_python.c: the sessions that came with it, under their names. */
CAY_CHECK cay_status sessions_resume(serve_box *box, const cay_snapshot *snapshot, cay_error *err);
