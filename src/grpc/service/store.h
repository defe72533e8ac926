/* store.h - what survives the server: the cache of code, and executions that were started to be asked about later.
 *
 * One SQLite file in WAL mode, for one server at a time. A change survives the end of the process at any moment
 * (kill -9), but perhaps not that of the machine. Locks: one mutex; every function may be called from any thread. */
#pragma once

#include "grpc/service/execution.h"

typedef struct store store;

typedef struct store_options {
  const char *
      path; /* NULL: in memory, nothing survives. Its folder must be there; a new file is for its owner alone */
  const char *suffix; /* of names in the cache: ".ts" */
  size_t cache_max;   /* entries; the oldest go first */
  size_t runs_max;    /* executions that have ended */
  int64_t runs_age_ms;
} store_options;

/* Executions that were under way when the last server ended are FAILED from now on. CAY_BUSY: another server has the
 * file. CAY_CORRUPT, CAY_INVALID (of another program), CAY_UNSUPPORTED (a newer version's), CAY_IO. */
cay_status store_open(const store_options *options, store **out, cay_error *err) CHECKED;
void store_free(store *s); /* NULL is fine */

/* ---- the cache ---- */

/* Adds code that is new: *entry is the CacheEntry as bytes of the contract. Code that is there: *entry stays empty. */
cay_status store_cache_add(store *s, cay_slice code, buf *entry, cay_error *err) CHECKED;

/* By its exact name, else by a part of a name without regard to case, the newest first. *name (mem_free) and *code are
 * the caller's. CAY_NOT_FOUND: the message has near names. */
cay_status store_cache_find(store *s, cay_slice name, char **full_name, buf *code, cay_error *err) CHECKED;

/* The entries that match, newest first, as field `number` of a message. */
cay_status store_cache_list(store *s, cay_slice filter, uint32_t number, pb_writer *w,
                            cay_error *err) CHECKED;
cay_status store_cache_clear(store *s, int64_t *deleted, cay_error *err) CHECKED;
int64_t store_cache_count(store *s); /* -1: it cannot be told */

/* ---- executions ---- */

/* The state as it is now; again when it has ended. */
cay_status store_run_save(store *s, execution *e, cay_error *err) CHECKED;
void store_run_forget(store *s, execution *e); /* it never began */
/* A final execution that holds no code. CAY_NOT_FOUND. */
cay_status store_run_load(store *s, cay_slice id, execution **out, cay_error *err) CHECKED;
/* Final ones that ended at `since_ms` or later, newest first, with the states that are bits of `states`. Their output
 * is not read. False stops. */
cay_status store_run_each(store *s, int64_t since_ms, unsigned states, bool (*each)(void *ctx, execution *e),
                          void *ctx, cay_error *err) CHECKED;
