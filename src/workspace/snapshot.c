/* snapshot.c - sessions go to the store and come from it: snapshot, resume, park, start. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "workspace/tree.h"

#include <string.h>

static cay_status store_needed(cay_ws *ws, cay_ws_error *err) {
  if (ws->store != NULL) return CAY_OK;
  return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "the client was opened without a store");
}

/* ---- to the store ---- */

/* Files as they are now. Processes that run are left out, and files are as they have written them. */
static cay_status session_take(cay_ws_session *s, cay_snapshot **out, cay_ws_error *err) {
  cay_error cause;
  cay_snapshot_options how =
      CAY_INIT(cay_snapshot_options, .running = CAY_RUNNING_LEAVE_OUT, .no_sessions = true);
  if (cay_snapshot_take(s->box, &how, out, &cause) == CAY_OK) return CAY_OK;
  return ws_fail_from(err, CAY_WS_EXECUTION_FAILED, s->handle, &cause);
}

static cay_status record_keep(ws_store *store, const cay_snapshot *snapshot, ws_table table,
                              ws_record *record, cay_error *err) {
  digest *contents = NULL;
  size_t count = 0;
  S_TRY(store->ops->begin(store, err));
  cay_status status = ws_tree_write(store, snapshot, record, &contents, &count, err);
  if (status == CAY_OK) status = store->ops->commit(store, table, record, contents, count, err);
  if (status != CAY_OK) store->ops->rollback(store);
  mem_free(contents);
  return status;
}

static cay_status session_keep(cay_ws_session *s, ws_table table, const char *id, cay_ws_error *err) {
  cay_snapshot *snapshot = NULL;
  cay_error cause;
  ws_record record = { .created_ns = table == WS_SESSIONS ? s->created_ns : clock_real_ns(),
                       .config = s->config };
  memcpy(record.id, id, CAY_WS_ID_MAX);
  memcpy(record.handle, s->handle, CAY_WS_ID_MAX);
  S_TRY(session_take(s, &snapshot, err));
  cay_status status = record_keep(s->ws->store, snapshot, table, &record, &cause);
  cay_snapshot_free(snapshot);
  return status == CAY_OK ? CAY_OK : ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, s->handle, &cause);
}

/* A parked session has its files in the store already: the snapshot is one more record of them. */
static cay_status snapshot_parked(cay_ws *ws, const char *handle, const char *id, cay_ws_error *err) {
  OWNED(ws_record_free) ws_record record = { 0 };
  cay_snapshot *snapshot = NULL;
  cay_error cause;
  cay_status status = ws->store->ops->find(ws->store, WS_SESSIONS, handle, &record, &cause);
  if (status == CAY_OK) status = ws_tree_read(ws->store, ws->engine, &record, &snapshot, &cause);
  if (status == CAY_OK) {
    memcpy(record.id, id, CAY_WS_ID_MAX);
    memcpy(record.handle, handle, strlen(handle) + 1);
    record.created_ns = clock_real_ns();
    status = record_keep(ws->store, snapshot, WS_SNAPSHOTS, &record, &cause);
  }
  cay_snapshot_free(snapshot);
  if (status == CAY_OK) return CAY_OK;
  return ws_fail_from(err, status == CAY_NOT_FOUND ? CAY_WS_SESSION_NOT_FOUND : CAY_WS_BACKEND_UNAVAILABLE,
                      handle, &cause);
}

cay_status cay_ws_snapshot(cay_ws *ws, const char *handle, char id[CAY_WS_ID_MAX], cay_ws_error *err) {
  OWNED(cay_ws_session_free) cay_ws_session *s = NULL;
  char made[CAY_WS_ID_MAX] = { 0 };
  cay_status status = ws_session_find(ws, handle, &s, err);
  if (status != CAY_OK && ws->store == NULL) return status;
  S_TRY(store_needed(ws, err));
  S_TRY(ws_new_id("snap", made, err));
  if (s == NULL) {
    S_TRY(snapshot_parked(ws, handle, made, err));
  } else {
    S_TRY(ws_session_enter(s, WS_SNAPSHOT, err));
    status = session_keep(s, WS_SNAPSHOTS, made, err);
    ws_session_leave(s);
    S_TRY(status);
  }
  memcpy(id, made, CAY_WS_ID_MAX);
  return CAY_OK;
}

static cay_status park_last(cay_ws_session *s, cay_ws_error *err) {
  cay_error cause;
  if (s->claim == NULL &&
      s->ws->store->ops->claim(s->ws->store, s->handle, true, &s->claim, &cause) != CAY_OK)
    return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, s->handle, &cause);
  return session_keep(s, WS_SESSIONS, s->handle, err);
}

cay_status cay_ws_park(cay_ws *ws, const char *handle, cay_ws_error *err) {
  OWNED(cay_ws_session_free) cay_ws_session *s = NULL;
  S_TRY(store_needed(ws, err));
  if (ws_session_find(ws, handle, &s, err) == CAY_OK) return ws_session_end(s, WS_PARK, park_last, err);
  OWNED(ws_record_free) ws_record record = { 0 };
  if (ws->store->ops->find(ws->store, WS_SESSIONS, handle, &record, NULL) != CAY_OK) return CAY_NOT_FOUND;
  cay_ws_state to;
  return ws_session_move(CAY_WS_PARKED, WS_PARK, handle, &to, err);
}

/* ---- from the store ---- */

static cay_status session_restore(cay_ws_session *s, const ws_record *record, cay_ws_error *err) {
  cay_snapshot *snapshot = NULL;
  cay_limits limits;
  cay_error cause;
  cay_sandbox_options options = ws_session_options(s, &limits);
  cay_status status = ws_tree_read(s->ws->store, s->ws->engine, record, &snapshot, &cause);
  if (status == CAY_OK) status = cay_snapshot_restore(snapshot, &options, &s->box, &cause);
  cay_snapshot_free(snapshot);
  return status == CAY_OK ? CAY_OK : ws_fail_from(err, CAY_WS_EXECUTION_FAILED, record->id, &cause);
}

cay_status cay_ws_resume(cay_ws *ws, const char *id, char handle[CAY_WS_ID_MAX], cay_ws_error *err) {
  OWNED(cay_ws_session_free) cay_ws_session *s = NULL;
  OWNED(ws_record_free) ws_record record = { 0 };
  cay_error cause;
  cay_status status =
      ws->store != NULL ? ws->store->ops->find(ws->store, WS_SNAPSHOTS, id, &record, &cause) : CAY_NOT_FOUND;
  if (status == CAY_NOT_FOUND)
    return ws_fail(err, CAY_WS_SNAPSHOT_NOT_FOUND, status, id, "no snapshot %s: it was deleted, or never was",
                   TEXT_NAME(id));
  if (status != CAY_OK) return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, id, &cause);
  S_TRY(ws_session_of_config(ws, record.config, &s, err));
  S_TRY(session_restore(s, &record, err));
  ws_session_add(s);
  memcpy(handle, s->handle, CAY_WS_ID_MAX);
  return CAY_OK;
}

/* A parked session comes back under its handle. */
static cay_status start_parked(cay_ws *ws, const char *handle, cay_ws_session **out, cay_ws_error *err) {
  OWNED(cay_ws_session_free) cay_ws_session *s = NULL;
  OWNED(ws_record_free) ws_record record = { 0 };
  ws_claim *claim = NULL;
  cay_error cause;
  cay_status status = ws->store->ops->claim(ws->store, handle, false, &claim, &cause);
  if (status == CAY_OK) status = ws->store->ops->find(ws->store, WS_SESSIONS, handle, &record, &cause);
  if (status != CAY_OK) {
    if (claim != NULL) ws->store->ops->release(ws->store, claim, false);
    return ws_fail_from(err, status == CAY_NOT_FOUND ? CAY_WS_SESSION_NOT_FOUND : CAY_WS_INVALID_REQUEST,
                        handle, &cause);
  }
  status = ws_session_of_config(ws, record.config, &s, err);
  if (status != CAY_OK) {
    ws->store->ops->release(ws->store, claim, false);
    return status;
  }
  s->claim = claim;
  s->created_ns = record.created_ns;
  memcpy(s->handle, record.id, CAY_WS_ID_MAX);
  S_TRY(session_restore(s, &record, err));
  s->state = CAY_WS_RUNNING;
  ws_session_add(s);
  *out = MOVE(s);
  return CAY_OK;
}

cay_status cay_ws_start(cay_ws *ws, const char *handle, cay_ws_session **out, cay_ws_error *err) {
  OWNED(cay_ws_session_free) cay_ws_session *s = NULL;
  cay_status status = ws_session_find(ws, handle, &s, err);
  if (s == NULL) return ws->store != NULL ? start_parked(ws, handle, out, err) : status;
  S_TRY(ws_session_enter(s, WS_START, err));
  ws_session_leave(s);
  *out = MOVE(s);
  return CAY_OK;
}

/* ---- the snapshots of a store ---- */

typedef struct snapshot_lister {
  cay_ws_snapshot_fn *each;
  void *ctx;
} snapshot_lister;

static bool snapshot_list_one(void *ctx, const ws_record *r) {
  snapshot_lister *l = ctx;
  return l->each(l->ctx, &(cay_ws_snapshot_info){ r->id, r->handle, r->created_ns, r->files, r->len });
}

cay_status cay_ws_snapshots(cay_ws *ws, cay_ws_snapshot_fn *each, void *ctx, cay_ws_error *err) {
  snapshot_lister l = { each, ctx };
  cay_error cause;
  S_TRY(store_needed(ws, err));
  if (ws->store->ops->each(ws->store, WS_SNAPSHOTS, snapshot_list_one, &l, &cause) == CAY_OK) return CAY_OK;
  return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, NULL, &cause);
}

cay_status cay_ws_snapshot_delete(cay_ws *ws, const char *id, cay_ws_error *err) {
  cay_error cause;
  S_TRY(store_needed(ws, err));
  cay_status status = ws->store->ops->remove(ws->store, WS_SNAPSHOTS, id, &cause);
  if (status == CAY_OK) return CAY_OK;
  return ws_fail_from(err, status == CAY_NOT_FOUND ? CAY_WS_SNAPSHOT_NOT_FOUND : CAY_WS_BACKEND_UNAVAILABLE,
                      id, &cause);
}

/* ---- retention ---- */

typedef struct pruning {
  const cay_ws_retention *rules;
  int64_t now_ns;
  size_t total, seen, count, cap;
  char (*ids)[CAY_WS_ID_MAX];
  bool no_memory;
} pruning;

static bool prune_count(void *ctx, const ws_record *r) {
  (void)r;
  ((pruning *)ctx)->total++;
  return true;
}

/* Records come by age, the oldest first. A rule that is not given says nothing. */
static bool prune_look(void *ctx, const ws_record *r) {
  pruning *p = ctx;
  size_t newer = p->total - ++p->seen;
  int64_t age_ms = (p->now_ns - r->created_ns) / NS_PER_MS;
  bool kept = p->rules->keep != 0 && newer < p->rules->keep;
  bool old = p->rules->max_age_ms == 0 || (age_ms > 0 && (uint64_t)age_ms > p->rules->max_age_ms);
  if (kept || !old) return true;
  if (p->count == p->cap) {
    size_t cap = p->cap == 0 ? 16 : 2 * p->cap;
    void *grown = mem_realloc_array(p->ids, cap, sizeof *p->ids);
    if (grown == NULL) return !(p->no_memory = true);
    p->ids = grown;
    p->cap = cap;
  }
  memcpy(p->ids[p->count++], r->id, CAY_WS_ID_MAX);
  return true;
}

cay_status cay_ws_prune(cay_ws *ws, const cay_ws_retention *rules, size_t *removed, cay_ws_error *err) {
  cay_ws_retention r = { 0 };
  cay_error cause;
  size_t gone = 0;
  if (rules != NULL) memcpy(&r, rules, rules->size < sizeof r ? rules->size : sizeof r);
  S_TRY(store_needed(ws, err));
  if (r.keep == 0 && r.max_age_ms == 0)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "retention: keep or max_age_ms is needed");
  pruning p = { .rules = &r, .now_ns = clock_real_ns() };
  cay_status status = ws->store->ops->each(ws->store, WS_SNAPSHOTS, prune_count, &p, &cause);
  if (status == CAY_OK) status = ws->store->ops->each(ws->store, WS_SNAPSHOTS, prune_look, &p, &cause);
  if (status == CAY_OK && p.no_memory) status = err_no_memory(&cause);
  for (size_t i = 0; status == CAY_OK && i < p.count; i++) {
    status = ws->store->ops->remove(ws->store, WS_SNAPSHOTS, p.ids[i], &cause);
    gone += status == CAY_OK;
    if (status == CAY_NOT_FOUND) status = CAY_OK; /* another process was faster */
  }
  mem_free(p.ids);
  if (status != CAY_OK) return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, NULL, &cause);
  if (removed != NULL) *removed = gone;
  return CAY_OK;
}

cay_status cay_ws_fsck(cay_ws *ws, bool repair, cay_ws_fsck_fn *each, void *ctx, size_t *out,
                       cay_ws_error *err) {
  cay_error cause;
  size_t problems = 0;
  S_TRY(store_needed(ws, err));
  if (ws->store->ops->fsck(ws->store, repair, each, ctx, &problems, &cause) != CAY_OK)
    return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, NULL, &cause);
  if (out != NULL) *out = problems;
  return CAY_OK;
}
