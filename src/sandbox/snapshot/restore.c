/* restore.c - sandboxes from snapshots (cay_snapshot_restore, cay_sandbox_fork, cay_session_resume). */
#include "sandbox/snapshot/snapshot.h"

#include <string.h>

/* Limits that are not given are the snapshot's. */
static cay_limits restore_limits(const cay_snapshot *s, const cay_limits *wanted) {
  cay_limits l = *wanted;
  const cay_limits *had = &s->limits;
  if (l.memory == 0) l.memory = had->memory;
  if (l.disk == 0) l.disk = had->disk;
  if (l.output == 0) l.output = had->output;
  if (l.fuel == 0) l.fuel = had->fuel;
  if (l.wall_ms == 0) l.wall_ms = had->wall_ms;
  if (l.processes == 0) l.processes = had->processes;
  if (l.files == 0) l.files = had->files;
  if (l.open_files == 0) l.open_files = had->open_files;
  if (l.code == 0) l.code = had->code;
  if (l.cpu_ms == 0) l.cpu_ms = had->cpu_ms;
  if (l.background_ms == 0) l.background_ms = had->background_ms;
  return l;
}

static cay_status restore_check(const cay_snapshot *s, const cay_limits *l, cay_error *err) {
  uint64_t disk, inodes, shm_disk = 0, shm_inodes = 0;
  mem_tree_charge(s->tree, &disk, &inodes);
  if (s->shm != NULL) mem_tree_charge(s->shm, &shm_disk, &shm_inodes);
  disk += shm_disk;
  inodes += shm_inodes;
  if (disk > l->disk)
    return err_set(err, CAY_LIMIT, "the snapshot has %llu bytes in files, the limit is %llu",
                   (unsigned long long)disk, (unsigned long long)l->disk);
  if (inodes > l->files)
    return err_set(err, CAY_LIMIT, "the snapshot has %llu files, the limit is %u", (unsigned long long)inodes,
                   l->files);
  if (s->session_count > l->processes)
    return err_set(err, CAY_LIMIT, "the snapshot has %zu sessions, the limit is %u processes",
                   s->session_count, l->processes);
  return CAY_OK;
}

static cay_status restore_sessions(const cay_snapshot *s, cay_sandbox *box, cay_error *err) {
  for (size_t i = 0; i < s->session_count; i++) S_TRY(sb_session_copy_restore(box, &s->sessions[i], err));
  return CAY_OK;
}

static cay_status restore(const cay_snapshot *s, const cay_sandbox_options *options, cay_sandbox **out,
                          cay_error *err) {
  cay_sandbox_options o;
  cay_limits wanted;
  if (!sb_options_copy(&o, sizeof o, options) || !sb_options_copy(&wanted, sizeof wanted, o.limits))
    return err_set(err, CAY_INVALID, "sandbox options: from a newer version of cay.h");
  if (o.packages != NULL)
    return err_set(err, CAY_INVALID,
                   "packages cannot be added to a snapshot; those it had are among its files");
  cay_limits limits = restore_limits(s, &wanted);
  S_TRY(restore_check(s, &limits, err));
  limits.size = sizeof limits;
  o.size = sizeof o;
  o.limits = &limits;
  cay_sandbox *box = NULL;
  S_TRY(sb_sandbox_over(s->engine, &o, s->tree, s->shm, &s->env, &box, err));
  box->kernel->boot_mono_ns -= s->mono_ns; /* no process has read the clock yet */
  memcpy(box->lineage, s->id, sizeof box->lineage);
  cay_status status = restore_sessions(s, box, err);
  if (status == CAY_OK)
    *out = box;
  else
    cay_sandbox_free(box);
  return status;
}

cay_status cay_snapshot_restore(cay_snapshot *snapshot, const cay_sandbox_options *options, cay_sandbox **out,
                                cay_error *err) {
  cay_status status = restore(snapshot, options, out, err);
  return status == CAY_OK ? status : err_prefix(err, status, "restoring a snapshot");
}

cay_status cay_sandbox_fork(cay_sandbox *box, const cay_snapshot_options *how,
                            const cay_sandbox_options *options, cay_sandbox **out, cay_error *err) {
  cay_snapshot *snapshot = NULL;
  S_TRY(cay_snapshot_take(box, how, &snapshot, err));
  cay_status status = cay_snapshot_restore(snapshot, options, out, err);
  cay_snapshot_free(snapshot);
  return status;
}

cay_status cay_session_resume(cay_sandbox *box, uint32_t id, cay_session **out, cay_error *err) {
  cay_status status = err_set(err, CAY_NOT_FOUND, "the sandbox has no session %u", id);
  pthread_mutex_lock(&box->runs_mu);
  LIST_EACH (s, &box->sessions, cay_session, in_box) {
    if (s->id != id) continue;
    status =
        s->handed ? err_set(err, CAY_EXISTS, "the handle of session %u was given out already", id) : CAY_OK;
    if (status == CAY_OK) *out = s;
    s->handed = true;
    break;
  }
  pthread_mutex_unlock(&box->runs_mu);
  return status;
}
