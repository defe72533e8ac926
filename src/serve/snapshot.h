/* snapshot.h - whole sandboxes, kept in the server under names.
 *
 * Threads     the reading thread alone looks at the list. A snapshot that waits for rest is taken by a thread of
 *             server.waiters, which sets `snapshot` or `failed` with server.mu. */
#pragma once

#include "serve/server.h"

#include <cay/snapshot.h>

typedef struct serve_snapshot {
  list in_server;
  char *name;
  cay_snapshot *snapshot; /* NULL: not yet */
  bool failed;            /* and never will be */
} serve_snapshot;

/* With `how->running` CAY_RUNNING_WAIT: answers later, when it was taken or `how->wait_ms` are over. `one` is in the list. */
CAY_CHECK cay_status snapshot_take_later(call *c, serve_snapshot *one, const cay_snapshot_options *how,
                                         cay_error *err);
/* Gives up those of the sandbox (NULL: all) that wait, and returns when none does. */
void snapshot_takes_end(server *s, serve_box *box);
enum answer snapshot_answer(call *c, const cay_snapshot *snapshot);

serve_snapshot *snapshot_named(server *s, const char *name); /* NULL: none */
void snapshots_free(server *s);                              /* before the engines */

/* method_box.c */
serve_box *box_named(server *s, const char *name);
CAY_CHECK cay_status engine_for(server *s, const char *guest_dir, const char *image, cay_engine **out,
                                cay_error *err);
/* A sandbox of the name `to`, with the settings of `from`. */
CAY_CHECK cay_status box_fork(const serve_box *from, const char *to, cay_snapshot *snapshot, cay_error *err);

/* method_python.c: the sessions that came with it, under their names. */
CAY_CHECK cay_status sessions_resume(serve_box *box, const cay_snapshot *snapshot, cay_error *err);
