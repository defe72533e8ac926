/* take.c - a sandbox as a snapshot (cay_snapshot_take).
 *
 * Order       sessions are held at rest first, then kernel.mu is taken: with it no process runs, and none is
 *             started, from the look at the processes to the frozen tree. While it waits it holds nothing, since
 *             a process may be waiting for an evaluation of the embedder, and that for a session. */
#include "sandbox/snapshot/snapshot.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/vfs/mount.h"
#include "sandbox/status.h"

#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 30000, DYING_MS = 1000 /* for processes that were ended and still have to notice */ };

typedef struct taking {
  cay_sandbox *box;
  cay_snapshot_options o;
  int64_t deadline_ns; /* how long running processes and sessions are waited for; 0: not at all */
  cay_session **held;  /* referenced by their holders until they are held */
  bool *taken;
  size_t count, busy; /* of `held`; the one that was busy, or count */
  cay_snapshot *out;
} taking;

/* ---- sessions ---- */

/* The list may change at once: those in it now cannot be freed before sessions_drop. */
static cay_status sessions_list(taking *t, cay_error *err) {
  cay_sandbox *box = t->box;
  pthread_mutex_lock(&box->runs_mu);
  size_t count = 0, cap = 0;
  LIST_EACH (s, &box->sessions, cay_session, in_box) cap++;
  t->held = mem_zalloc_array(cap + 1, sizeof(cay_session *));
  t->taken = mem_zalloc_array(cap + 1, sizeof *t->taken);
  bool there = t->held != NULL && t->taken != NULL;
  LIST_EACH (s, &box->sessions, cay_session, in_box) {
    if (!there) break;
    sb_session_enter(s);
    t->held[count++] = s;
  }
  t->count = count;
  pthread_mutex_unlock(&box->runs_mu);
  return there ? CAY_OK : err_no_memory(err);
}

static void sessions_give(taking *t) {
  for (size_t i = 0; i < t->count; i++) {
    if (t->taken[i]) sb_session_give(t->held[i]);
    t->taken[i] = false;
  }
}

static void sessions_drop(taking *t) {
  sessions_give(t);
  for (size_t i = 0; i < t->count; i++) sb_session_leave(t->held[i]);
  mem_free(t->held);
  mem_free(t->taken);
  t->held = NULL;
  t->taken = NULL;
  t->count = 0;
}

/* All of them at rest, or none is held and t->busy says which was not. */
static cay_status sessions_hold(taking *t, cay_error *err) {
  bool leave_out = t->o.running == CAY_RUNNING_LEAVE_OUT;
  for (size_t i = 0; i < t->count; i++) {
    t->busy = i;
    cay_status status = sb_session_hold(t->held[i], 0, &t->taken[i], err);
    if (status == CAY_OK || leave_out) continue;
    sessions_give(t);
    return status;
  }
  t->busy = t->count;
  return CAY_OK;
}

static cay_status sessions_copy(taking *t, cay_error *err) {
  cay_snapshot *s = t->out;
  s->sessions = mem_zalloc_array(t->count + 1, sizeof *s->sessions);
  if (s->sessions == NULL) return err_no_memory(err);
  for (size_t i = 0; i < t->count; i++) {
    if (!t->taken[i]) continue;
    S_TRY(sb_session_copy_take(t->held[i], &s->sessions[s->session_count], err));
    s->session_count++;
  }
  return CAY_OK;
}

/* ---- processes ---- */

K_LOCKED static bool process_runs(const k_process *p) { return !p->zombie && !p->resident && p->started; }

/* Those that run, as the message names them: the first few, and the number of the others. */
typedef struct busy {
  size_t running; /* without those that are being ended */
  size_t named;
  char names[160];
} busy;

static void busy_name(busy *b, const k_process *p) {
  char one[60];
  size_t used = strlen(b->names);
  int len = snprintf(one, sizeof one, "%s%d (%s)", b->named != 0 ? ", " : "", p->pid,
                     TEXT_NAME_LEN(p->comm, strnlen(p->comm, sizeof p->comm)));
  if (len < 0 || len >= (int)sizeof one || b->named + 1 < b->running || used + (size_t)len >= sizeof b->names)
    return; /* one was left out before, or is now */
  memcpy(b->names + used, one, (size_t)len + 1);
  b->named++;
}

/* With kernel.mu: how many run. */
K_LOCKED static size_t processes_count(const taking *t, busy *b) {
  size_t count = 0;
  *b = (busy){ 0 };
  LIST_EACH (p, &t->box->kernel->processes, k_process, in_kernel) {
    if (!process_runs(p)) continue;
    count++;
    if (p->dying) continue;
    b->running++;
    busy_name(b, p);
  }
  return count;
}

static cay_status processes_busy(const busy *b, cay_error *err) {
  if (b->running == 0) return err_set(err, CAY_BUSY, "processes that were ended are still there");
  if (b->running == 1) return err_set(err, CAY_BUSY, "process %s is running", b->names);
  if (b->named == b->running) return err_set(err, CAY_BUSY, "processes %s are running", b->names);
  return err_set(err, CAY_BUSY, "processes %s and %zu more are running", b->names, b->running - b->named);
}

/* With kernel.mu, which it releases while it waits. */
K_LOCKED static cay_status processes_wait(const taking *t, bool wait, cay_error *err) {
  if (t->o.running == CAY_RUNNING_LEAVE_OUT) return CAY_OK;
  k_kernel *k = t->box->kernel;
  int64_t dying_ns = clock_mono_ns() + DYING_MS * NS_PER_MS;
  k_sleeper sleeper;
  k_waitq *queue = &k->exits;
  if (k_sleeper_init(&sleeper, k, NULL) < 0) return err_no_memory(err);
  cay_status status = CAY_OK;
  for (;;) {
    busy b;
    size_t count = processes_count(t, &b);
    if (count == 0) break;
    int64_t until = b.running == 0 ? dying_ns : wait ? t->deadline_ns : 0;
    if (clock_mono_ns() >= until) {
      status = processes_busy(&b, err);
      break;
    }
    if (k_sleep(&sleeper, &queue, 1, until) == -K_ENOMEM) {
      status = err_no_memory(err);
      break;
    }
  }
  k_sleeper_destroy(&sleeper);
  return status;
}

/* ---- all of it ---- */

static cay_status take_files(taking *t, cay_error *err) {
  k_kernel *k = t->box->kernel;
  k_lock(k);
  cay_status status = processes_wait(t, false, err);
  k_ret r = status == CAY_OK ? memfs_snapshot(vfs_mounts_root(k), &t->out->tree) : 0;
  if (r >= 0 && status == CAY_OK && memfs_has_names(t->box->shm))
    r = memfs_snapshot(t->box->shm, &t->out->shm);
  k_unlock(k);
  return r < 0 ? err_no_memory(err) : status;
}

static cay_status take_env(taking *t, cay_error *err) {
  cay_sandbox *box = t->box;
  t->out->limits = box->limits;
  pthread_mutex_lock(&box->env_mu);
  cay_status status = sb_env_copy(&t->out->env, &box->env, err);
  pthread_mutex_unlock(&box->env_mu);
  return status;
}

/* What an attempt took that was in vain. */
static void take_forget(taking *t) {
  cay_snapshot *s = t->out;
  for (size_t i = 0; i < s->session_count; i++) sb_session_copy_clear(&s->sessions[i]);
  mem_free(s->sessions);
  s->sessions = NULL;
  s->session_count = 0;
}

static cay_status take_once(taking *t, cay_error *err) {
  if (!t->o.no_sessions) S_TRY(sessions_copy(t, err));
  return take_files(t, err);
}

static bool take_may_wait(const taking *t) {
  return t->o.running == CAY_RUNNING_WAIT && clock_mono_ns() < t->deadline_ns;
}

static cay_status await_rest(taking *t, cay_error *err) {
  k_lock(t->box->kernel);
  cay_status status = processes_wait(t, true, err);
  k_unlock(t->box->kernel);
  if (status != CAY_OK || t->busy == t->count) return status;
  bool taken = false;
  status = sb_session_hold(t->held[t->busy], t->deadline_ns, &taken, err);
  if (taken) sb_session_give(t->held[t->busy]);
  return status;
}

static cay_status take_all(taking *t, cay_error *err) {
  for (;;) {
    S_TRY(sessions_list(t, err));
    cay_status status = sessions_hold(t, err);
    if (status == CAY_OK) status = take_once(t, err);
    sessions_give(t);
    if (status == CAY_BUSY && take_may_wait(t))
      status = await_rest(t, err);
    else if (status == CAY_OK)
      return CAY_OK;
    sessions_drop(t);
    take_forget(t);
    S_TRY(status);
  }
}

static void take_lineage(taking *t) {
  cay_sandbox *box = t->box;
  pthread_mutex_lock(&box->runs_mu);
  memcpy(t->out->parent, box->lineage, sizeof box->lineage);
  memcpy(box->lineage, t->out->id, sizeof box->lineage);
  pthread_mutex_unlock(&box->runs_mu);
}

static int64_t take_deadline(const cay_snapshot_options *o) {
  if (o->running != CAY_RUNNING_WAIT) return 0;
  if (o->wait_ms == UINT32_MAX) return K_FOREVER;
  return clock_mono_ns() + (o->wait_ms != 0 ? o->wait_ms : WAIT_MS) * NS_PER_MS;
}

cay_status cay_snapshot_take(cay_sandbox *box, const cay_snapshot_options *options, cay_snapshot **out,
                             cay_error *err) {
  taking t = { .box = box };
  if (!sb_options_copy(&t.o, sizeof t.o, options))
    return err_set(err, CAY_INVALID, "snapshot options: from a newer version of snapshot.h");
  if (t.o.running > CAY_RUNNING_LEAVE_OUT)
    return err_set(err, CAY_INVALID, "snapshot options: there is no way %d to treat running processes",
                   (int)t.o.running);
  t.deadline_ns = take_deadline(&t.o);
  S_TRY(sb_snapshot_new(box->engine, &t.out, err));
  cay_status status = sb_snapshot_set_label(t.out, t.o.label, err);
  if (status == CAY_OK) status = take_env(&t, err);
  if (status == CAY_OK) status = take_all(&t, err);
  sessions_drop(&t);
  if (status != CAY_OK) {
    cay_snapshot_free(t.out);
    return err_prefix(err, status, "snapshot");
  }
  t.out->mono_ns = k_mono_ns(box->kernel);
  take_lineage(&t);
  *out = t.out;
  return CAY_OK;
}
