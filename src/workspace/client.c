/* client.c - the client: sessions are provisioned, started and stopped. */
#include "workspace/client.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#include <string.h>

/* ---- opening ---- */

static cay_status option_copy(char **to, const char *text, size_t len) {
  if (text == NULL) return CAY_OK;
  *to = mem_strndup(text, len);
  return *to != NULL ? CAY_OK : CAY_NO_MEMORY;
}

static cay_status client_set_up(cay_ws *ws, const cay_ws_options *o, cay_ws_error *err) {
  cay_error cause;
  ws->engine = o->engine;
  ws->git_timeout_ms = o->git_timeout_ms;
  ws->git_progress = o->git_progress;
  ws->git_progress_ctx = o->git_progress_ctx;
  if (o->limits != NULL)
    memcpy(&ws->limits, o->limits, o->limits->size < sizeof ws->limits ? o->limits->size : sizeof ws->limits);
  bool copied =
      option_copy(&ws->network, o->network.data, o->network.len) == CAY_OK &&
      option_copy(&ws->git_credentials, o->git_credentials.data, o->git_credentials.len) == CAY_OK &&
      option_copy(&ws->git_files, o->git_files, o->git_files != NULL ? strlen(o->git_files) : 0) == CAY_OK &&
      option_copy(&ws->git_ca_file, o->git_ca_file, o->git_ca_file != NULL ? strlen(o->git_ca_file) : 0) ==
          CAY_OK &&
      option_copy(&ws->git_program, o->git_program, o->git_program != NULL ? strlen(o->git_program) : 0) ==
          CAY_OK;
  if (!copied) return ws_no_memory(err);
  if (o->store == NULL) return CAY_OK;
  if (ws_folder_open(o->store, &ws->store, &cause) == CAY_OK) return CAY_OK;
  err_prefix(&cause, cause.status, "%s", TEXT_NAME(o->store));
  return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, o->store, &cause);
}

cay_status cay_ws_open(const cay_ws_options *options, cay_ws **out, cay_ws_error *err) {
  cay_ws_options o = { 0 };
  if (options != NULL) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
  if (o.engine == NULL)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "options: an engine is needed");
  cay_ws *ws = mem_zalloc(sizeof *ws);
  if (ws == NULL) return ws_no_memory(err);
  pthread_mutex_init(&ws->mu, NULL);
  list_init(&ws->sessions);
  cay_status status = client_set_up(ws, &o, err);
  if (status == CAY_OK)
    *out = ws;
  else
    cay_ws_close(ws);
  return status;
}

/* The first of the list that is not being stopped already, with a reference; NULL: there is none. */
static cay_ws_session *client_first(cay_ws *ws) {
  cay_ws_session *found = NULL;
  pthread_mutex_lock(&ws->mu);
  LIST_EACH (s, &ws->sessions, cay_ws_session, in_client) {
    pthread_mutex_lock(&s->mu);
    if (found == NULL && s->state < CAY_WS_PARKED) (found = s)->refs++;
    pthread_mutex_unlock(&s->mu);
  }
  pthread_mutex_unlock(&ws->mu);
  return found;
}

void cay_ws_stop_all(cay_ws *ws) {
  for (cay_ws_session *s; (s = client_first(ws)) != NULL; cay_ws_session_free(s))
    IGNORED(ws_session_end(s, WS_STOP, NULL, NULL)); /* another thread has stopped it meanwhile */
}

void cay_ws_close(cay_ws *ws) {
  if (ws == NULL) return;
  cay_ws_stop_all(ws);
  if (ws->store != NULL) ws->store->ops->free(ws->store);
  pthread_mutex_destroy(&ws->mu);
  mem_free(ws->network);
  mem_free(ws->git_files);
  mem_free(ws->git_credentials);
  mem_free(ws->git_ca_file);
  mem_free(ws->git_program);
  mem_free(ws);
}

/* ---- provision ---- */

static cay_status provision_file(cay_ws_session *s, const cay_ws_entry *e, cay_ws_error *err) {
  ws_path place;
  cay_error cause;
  S_TRY(ws_path_resolve(s->box, e->path, true, &place, err));
  if (cay_file_write(s->box, place.text, e->content, e->mode, &cause) == CAY_OK) return CAY_OK;
  return ws_fail_from(err, CAY_WS_PROVISION_FAILED, e->path, &cause);
}

static cay_status provision_directory(cay_ws_session *s, const cay_ws_entry *e, cay_ws_error *err) {
  ws_path place;
  cay_error cause;
  S_TRY(ws_path_resolve(s->box, e->path, true, &place, err));
  if (cay_file_mkdir(s->box, place.text, true, &cause) == CAY_OK) return CAY_OK;
  return ws_fail_from(err, CAY_WS_PROVISION_FAILED, e->path, &cause);
}

static cay_status provision_entry(cay_ws_session *s, const cay_ws_entry *e, cay_ws_error *err) {
  switch (e->kind) {
  case CAY_WS_FILE: return provision_file(s, e, err);
  case CAY_WS_DIRECTORY: return provision_directory(s, e, err);
  case CAY_WS_GIT_REPO: return ws_git_clone(s->ws, s, e, err);
  }
  return CAY_INTERNAL; /* ws_manifest_check let no other kind pass */
}

static cay_status provision_sandbox(cay_ws_session *s, cay_ws_error *err) {
  cay_limits limits;
  cay_error cause;
  cay_sandbox_options options = ws_session_options(s, &limits);
  cay_status status = cay_sandbox_new(s->ws->engine, &options, &s->box, &cause);
  if (status == CAY_OK && cay_file_mkdir(s->box, WS_ROOT, true, &cause) != CAY_OK)
    return ws_fail(err, CAY_WS_PROVISION_FAILED, cause.status, ".",
                   "the limits leave no room for the workspace: %s", cause.message);
  if (status == CAY_OK) return CAY_OK;
  return ws_fail_from(err, status == CAY_INVALID ? CAY_WS_INVALID_REQUEST : CAY_WS_ENFORCER_UNAVAILABLE,
                      "cay", &cause);
}

static cay_ws_manifest manifest_copy(const cay_ws_manifest *given) {
  cay_ws_manifest m = CAY_INIT(cay_ws_manifest);
  if (given != NULL) memcpy(&m, given, given->size < sizeof m ? given->size : sizeof m);
  return m;
}

static cay_status session_begin(cay_ws *ws, const cay_ws_manifest *m, cay_ws_session **out,
                                cay_ws_error *err) {
  char *config = NULL;
  S_TRY(ws_config_write(m, &config, err));
  cay_status status = ws_session_of_config(ws, config, out, err);
  mem_free(config);
  return status;
}

cay_status cay_ws_provision(cay_ws *ws, const cay_ws_manifest *manifest, char handle[CAY_WS_ID_MAX],
                            cay_ws_error *err) {
  OWNED(cay_ws_session_free) cay_ws_session *s = NULL;
  cay_ws_manifest m = manifest_copy(manifest);
  S_TRY(ws_manifest_check(&m, err));
  S_TRY(session_begin(ws, &m, &s, err));
  S_TRY(provision_sandbox(s, err));
  for (size_t i = 0; i < m.entry_count; i++) {
    cay_ws_entry e = ws_manifest_entry(&m, i);
    cay_status status = provision_entry(s, &e, err);
    if (status != CAY_OK) return ws_fail_entry(err, status, i, e.path);
  }
  ws_session_add(s);
  memcpy(handle, s->handle, CAY_WS_ID_MAX);
  return CAY_OK;
}

/* ---- stop ---- */

/* A parked session that no process has. */
static cay_status stop_parked(cay_ws *ws, const char *handle, cay_ws_error *err) {
  ws_claim *claim = NULL;
  cay_error cause;
  if (ws->store == NULL)
    return ws_fail(err, CAY_WS_SESSION_NOT_FOUND, CAY_NOT_FOUND, handle,
                   "no session %s: it was stopped, or never was", TEXT_NAME(handle));
  cay_status status = ws->store->ops->claim(ws->store, handle, false, &claim, &cause);
  if (status == CAY_OK) {
    status = ws->store->ops->remove(ws->store, WS_SESSIONS, handle, &cause);
    ws->store->ops->release(ws->store, claim, status == CAY_OK);
  }
  if (status == CAY_OK) return CAY_OK;
  return ws_fail_from(err, status == CAY_NOT_FOUND ? CAY_WS_SESSION_NOT_FOUND : CAY_WS_INVALID_REQUEST,
                      handle, &cause);
}

/* A session that was parked before is taken from the store before its handle is invalid. */
static cay_status stop_in_store(cay_ws_session *s, cay_ws_error *err) {
  cay_error cause;
  if (s->claim == NULL) return CAY_OK;
  cay_status status = s->ws->store->ops->remove(s->ws->store, WS_SESSIONS, s->handle, &cause);
  if (status == CAY_OK || status == CAY_NOT_FOUND) return CAY_OK;
  return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, s->handle, &cause);
}

cay_status cay_ws_stop(cay_ws *ws, const char *handle, cay_ws_error *err) {
  OWNED(cay_ws_session_free) cay_ws_session *s = NULL;
  if (ws_session_find(ws, handle, &s, NULL) != CAY_OK) return stop_parked(ws, handle, err);
  return ws_session_end(s, WS_STOP, stop_in_store, err);
}

/* ---- list ---- */

typedef struct session_lister {
  cay_ws *ws;
  cay_ws_session_fn *each;
  void *ctx;
  bool stopped;
} session_lister;

static bool session_list_parked(void *ctx, const ws_record *record) {
  session_lister *l = ctx;
  cay_ws_session *here = NULL;
  if (ws_session_find(l->ws, record->id, &here, NULL) == CAY_OK) { /* listed with those of this client */
    cay_ws_session_free(here);
    return true;
  }
  cay_ws_session_info info = { record->id, CAY_WS_PARKED, record->created_ns };
  l->stopped = !l->each(l->ctx, &info);
  return !l->stopped;
}

cay_status cay_ws_sessions(cay_ws *ws, cay_ws_session_fn *each, void *ctx, cay_ws_error *err) {
  session_lister l = { ws, each, ctx, false };
  cay_error cause;
  if (ws->store != NULL &&
      ws->store->ops->each(ws->store, WS_SESSIONS, session_list_parked, &l, &cause) != CAY_OK)
    return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, NULL, &cause);
  pthread_mutex_lock(&ws->mu);
  LIST_EACH (s, &ws->sessions, cay_ws_session, in_client) {
    if (l.stopped) break;
    cay_ws_session_info info = { s->handle, s->state, s->created_ns };
    l.stopped = !each(ctx, &info);
  }
  pthread_mutex_unlock(&ws->mu);
  return CAY_OK;
}
