/* snapshot.h - snapshots in files of this machine. Each says what went wrong. */
#pragma once

#include <cay/snapshot.h>

/* NULL: it cannot be had. "-": standard input. Archives are taken too, with their files below `place` (NULL:
 * /home/agent). */
cay_snapshot *snapshot_open(cay_engine *engine, const char *path, const char *place);

/* Beside its place, synced, and renamed over it. "-": to standard output. */
bool snapshot_store(const cay_snapshot *snapshot, const char *path, const cay_snapshot_save_options *options);

/* For `cay run`: keeps the sandbox as it is now. */
bool snapshot_keep(cay_sandbox *box, const char *path);

/* `cay snapshot tree`: prints the files as branches; the exit code. */
int snapshot_tree(cay_engine *engine, char **paths, int count);
