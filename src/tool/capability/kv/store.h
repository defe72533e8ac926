/* store.h - what tools keep: one SQLite file with the rows of every user, and the moments that are due.
 *
 * The file is in WAL mode. A change is answered after it is on the disk (fsync(2)), so that neither a killed
 * process nor a lost machine loses an acknowledged change; TOOL_STORE_PROCESS gives up the second for speed. A
 * file that is damaged, belongs to another program or to a newer version is refused and never changed.
 *
 * Any number of processes may have the file open; a writer waits up to `busy_ms` for another. In one process,
 * do not open it with another copy of SQLite too: closing that would drop the locks of this one (fcntl(2)).
 *
 * Locks: one mutex per store; every function may be called from any thread, and no callback runs with it. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

enum { TOOL_STORE_ROWS_MAX = 10000, TOOL_STORE_BUSY_MS = 30000 };
#define TOOL_STORE_SIZE_MAX (UINT64_C(1) << 30)

enum tool_durability { TOOL_STORE_DISK, TOOL_STORE_PROCESS };

typedef struct tool_store_options {
  const char *path;                /* its folder must be there; a new file is for its owner alone (0600) */
  enum tool_durability durability; /* what an acknowledged change survives */
  uint32_t rows_max;               /* of one user and family; 0: TOOL_STORE_ROWS_MAX */
  uint64_t size_max;               /* of the file, in bytes; 0: TOOL_STORE_SIZE_MAX */
  uint32_t busy_ms;                /* 0: TOOL_STORE_BUSY_MS */
} tool_store_options;

typedef struct tool_store tool_store;

/* CAY_CORRUPT: not SQLite's, or damaged. CAY_INVALID: another program's. CAY_UNSUPPORTED: a newer version's.
 * CAY_BUSY, CAY_IO, CAY_NO_MEMORY. Files of up to 16 MiB are checked whole. */
cay_status tool_store_open(const tool_store_options *options, tool_store **out, cay_error *err) CHECKED;
void tool_store_free(tool_store *store); /* NULL is fine */
OWNED_DEFINE(tool_store, tool_store_free)

/* ---- entries that are due ---- */

enum tool_event_kind { TOOL_EVENT_TASK = 1, TOOL_EVENT_WAKEUP = 2, TOOL_EVENT_REMINDER = 3 };

typedef struct tool_event {
  enum tool_event_kind kind;
  int64_t id;
  const char *user;
  const char *name;   /* of a reminder: its title */
  const char *prompt; /* of a reminder: NULL */
  int64_t due_at;     /* the moment it was due, in seconds since 1970 */
  int64_t missed;     /* moments of a recurring one that passed since, and are not delivered */
} tool_event;

/* True: delivered. Everything in `event` is borrowed until it returns. It may use the store. */
typedef bool tool_due_fn(void *ctx, const tool_event *event);

enum { TOOL_DUE_LEASE_S = 300, TOOL_DUE_RETRY_S = 60 };

/* Calls `each` for everything that is due at `now` (seconds since 1970) as it begins, earliest first. Each
 * moment is delivered once, by one process: it is claimed for TOOL_DUE_LEASE_S before the call and marked
 * after. Twice only when `each` answered false (offered again after TOOL_DUE_RETRY_S), took longer than the
 * lease, or its process ended between the call and the mark. A recurring one moves to its first moment after
 * `now`; a `now` that is smaller than before delivers nothing again. *delivered (may be NULL) counts the true
 * answers, also on failure. */
cay_status tool_store_due(tool_store *store, int64_t now, tool_due_fn *each, void *ctx, size_t *delivered,
                          cay_error *err) CHECKED;

/* The next moment at which tool_store_due would do something, which may be past; INT64_MAX: none. */
cay_status tool_store_next(tool_store *store, int64_t now, int64_t *next, cay_error *err) CHECKED;

const char *tool_event_kind_name(enum tool_event_kind kind); /* "task"; static */
