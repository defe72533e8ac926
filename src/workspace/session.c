/* session.c - a session: its state, its users, its sandbox. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "workspace/client.h"

#include <stdio.h>
#include <string.h>

/* ---- states ---- */

static const char *const state_names[] = {
  [CAY_WS_PROVISIONED] = "provisioned",
  [CAY_WS_RUNNING] = "running",
  [CAY_WS_PARKED] = "parked",
  [CAY_WS_STOPPED] = "stopped",
};

const char *cay_ws_state_name(cay_ws_state state) {
  return (size_t)state < COUNT_OF(state_names) ? state_names[state] : "";
}

enum { WS_NO = -1 };
#define TO_PROVISIONED CAY_WS_PROVISIONED
#define TO_RUNNING CAY_WS_RUNNING
#define TO_PARKED CAY_WS_PARKED
#define TO_STOPPED CAY_WS_STOPPED
#define TO_NO WS_NO
static const int moves[][3] = {
#define M(operation, provisioned, running, parked)                                                           \
  [WS_##operation] = { TO_##provisioned, TO_##running, TO_##parked },
#include "workspace/moves.def"
#undef M
};

static cay_status session_not_found(const char *handle, cay_ws_error *err) {
  return ws_fail(err, CAY_WS_SESSION_NOT_FOUND, CAY_NOT_FOUND, handle,
                 "no session %s: it was stopped, or never was", TEXT_NAME(handle));
}

cay_status ws_session_move(cay_ws_state from, ws_move move, const char *handle, cay_ws_state *to,
                           cay_ws_error *err) {
  if (from == CAY_WS_STOPPED) return session_not_found(handle, err);
  int next = moves[move][from];
  if (next == WS_NO)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_BUSY, handle, "the session is %s; it %s",
                   state_names[from],
                   move == WS_USE ? "must be running (cay_ws_start)" : "cannot become parked");
  *to = (cay_ws_state)next;
  return CAY_OK;
}

/* ---- making ---- */

cay_status ws_new_id(const char *prefix, char out[static CAY_WS_ID_MAX], cay_ws_error *err) {
  uint8_t bytes[16];
  cay_error cause;
  if (random_bytes(bytes, sizeof bytes, &cause) != CAY_OK)
    return ws_fail_from(err, CAY_WS_BACKEND_UNAVAILABLE, NULL, &cause);
  size_t len = (size_t)snprintf(out, CAY_WS_ID_MAX, "%s-", prefix);
  for (size_t i = 0; i < sizeof bytes; i++) (void)snprintf(out + len + 2 * i, 3, "%02x", bytes[i]);
  return CAY_OK;
}

cay_slice ws_session_network(const cay_ws_session *s) {
  if (s->ws->network != NULL) return (cay_slice){ s->ws->network, strlen(s->ws->network) };
  return cay_ws_manifest_get(s->document)->network;
}

cay_status ws_session_of_config(cay_ws *ws, const char *config, cay_ws_session **out, cay_ws_error *err) {
  OWNED(cay_ws_session_free) cay_ws_session *s = mem_zalloc(sizeof *s);
  if (s == NULL) return ws_no_memory(err);
  pthread_mutex_init(&s->mu, NULL);
  pthread_cond_init(&s->idle, NULL);
  list_init(&s->in_client);
  list_init(&s->processes);
  s->ws = ws;
  s->refs = 1;
  s->created_ns = clock_real_ns();
  S_TRY(ws_new_id("session", s->handle, err));
  if ((s->config = mem_strdup(config)) == NULL) return ws_no_memory(err);
  S_TRY(cay_ws_manifest_parse((cay_slice){ config, strlen(config) }, &s->document, err));
  S_TRY(ws_config_rules(ws_session_network(s), &s->rules, err));
  s->net = CAY_INIT(cay_net_options, .rules = s->rules);
  *out = MOVE(s);
  return CAY_OK;
}

cay_sandbox_options ws_session_options(const cay_ws_session *s, cay_limits *limits) {
  const cay_ws_manifest *m = cay_ws_manifest_get(s->document);
  *limits = m->limits != NULL ? *m->limits : s->ws->limits;
  limits->size = sizeof *limits;
  limits->output = WS_OUTPUT_MAX;
  if (limits->wall_ms == 0) limits->wall_ms = UINT32_MAX; /* each command has a time of its own */
  return CAY_INIT(cay_sandbox_options, .limits = limits, .env = m->env,
                  .net = s->rules != NULL ? &s->net : NULL);
}

static void session_destroy(cay_ws_session *s) {
  cay_sandbox_free(s->box);
  if (s->claim != NULL) s->ws->store->ops->release(s->ws->store, s->claim, false);
  cay_ws_manifest_free(s->document);
  mem_free(s->config);
  mem_free(s->rules);
  pthread_mutex_destroy(&s->mu);
  pthread_cond_destroy(&s->idle);
  mem_free(s);
}

void cay_ws_session_free(cay_ws_session *s) {
  if (s == NULL) return;
  pthread_mutex_lock(&s->mu);
  bool last = --s->refs == 0;
  pthread_mutex_unlock(&s->mu);
  if (last) session_destroy(s);
}

static void session_ref(cay_ws_session *s) {
  pthread_mutex_lock(&s->mu);
  s->refs++;
  pthread_mutex_unlock(&s->mu);
}

/* ---- the client's list ---- */

void ws_session_add(cay_ws_session *s) {
  session_ref(s);
  pthread_mutex_lock(&s->ws->mu);
  list_push(&s->ws->sessions, &s->in_client);
  pthread_mutex_unlock(&s->ws->mu);
}

cay_status ws_session_find(cay_ws *ws, const char *handle, cay_ws_session **out, cay_ws_error *err) {
  cay_ws_session *found = NULL;
  pthread_mutex_lock(&ws->mu);
  LIST_EACH (s, &ws->sessions, cay_ws_session, in_client) {
    if (strcmp(s->handle, handle) != 0) continue;
    session_ref(s);
    found = s;
    break;
  }
  pthread_mutex_unlock(&ws->mu);
  if (found == NULL) return session_not_found(handle, err);
  *out = found;
  return CAY_OK;
}

/* ---- using and ending ---- */

/* Another thread puts it into the store, or has: the object is of no use any more. */
static cay_status session_check_parked(const cay_ws_session *s, cay_ws_error *err) {
  if (s->state != CAY_WS_PARKED) return CAY_OK;
  return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_BUSY, s->handle,
                 "the session is parked; it must be running (cay_ws_start)");
}

cay_status ws_session_enter(cay_ws_session *s, ws_move move, cay_ws_error *err) {
  cay_ws_state to;
  pthread_mutex_lock(&s->mu);
  cay_status status = session_check_parked(s, err);
  if (status == CAY_OK) status = ws_session_move(s->state, move, s->handle, &to, err);
  if (status == CAY_OK) {
    s->state = to;
    s->users++;
  }
  pthread_mutex_unlock(&s->mu);
  return status;
}

void ws_session_leave(cay_ws_session *s) {
  pthread_mutex_lock(&s->mu);
  if (--s->users == 0) pthread_cond_broadcast(&s->idle);
  pthread_mutex_unlock(&s->mu);
}

/* Its users see the end at once: commands are interrupted, waits return. */
static void session_wait_idle(cay_ws_session *s) {
  pthread_mutex_lock(&s->mu);
  while (s->users > 0) {
    pthread_mutex_unlock(&s->mu);
    cay_sandbox_interrupt(s->box);
    pthread_mutex_lock(&s->mu);
    struct timespec soon = { 0 };
    (void)clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 10 * NS_PER_MS; /* a command may begin between the interrupt and its own count */
    if (soon.tv_nsec >= NS_PER_SEC) soon.tv_sec++, soon.tv_nsec -= NS_PER_SEC;
    if (s->users > 0) (void)pthread_cond_timedwait(&s->idle, &s->mu, &soon);
  }
  pthread_mutex_unlock(&s->mu);
}

static void session_set_state(cay_ws_session *s, cay_ws_state state) {
  pthread_mutex_lock(&s->mu);
  s->state = state;
  pthread_mutex_unlock(&s->mu);
}

cay_status ws_session_end(cay_ws_session *s, ws_move move, ws_session_last_fn *last, cay_ws_error *err) {
  cay_ws_state before, after;
  pthread_mutex_lock(&s->mu);
  before = s->state;
  cay_status status = session_check_parked(s, err);
  if (status == CAY_OK) status = ws_session_move(before, move, s->handle, &after, err);
  if (status == CAY_OK) s->state = after;
  pthread_mutex_unlock(&s->mu);
  S_TRY(status);
  session_wait_idle(s);
  cay_sandbox_interrupt(s->box);
  if (last != NULL && (status = last(s, err)) != CAY_OK) {
    session_set_state(s, before);
    return status;
  }
  ws_processes_end(s);
  pthread_mutex_lock(&s->ws->mu);
  list_remove(&s->in_client);
  pthread_mutex_unlock(&s->ws->mu);
  cay_sandbox *box = MOVE(s->box);
  cay_sandbox_free(box);
  if (s->claim != NULL) {
    s->ws->store->ops->release(s->ws->store, s->claim, after == CAY_WS_STOPPED && last != NULL);
    s->claim = NULL;
  }
  cay_ws_session_free(s); /* the client's reference */
  return CAY_OK;
}
