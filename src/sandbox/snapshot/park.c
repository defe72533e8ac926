/* park.c - sandboxes that are not used for a while (cay_sandbox_park). */
#include "kernel/vfs/mount.h"
#include "sandbox/snapshot/snapshot.h"

/* The one with the least number above `id`, entered; NULL: there is none. */
static cay_session *park_next(cay_sandbox *box, uint32_t id) {
  cay_session *next = NULL;
  pthread_mutex_lock(&box->runs_mu);
  LIST_EACH (s, &box->sessions, cay_session, in_box)
    if (s->id > id && (next == NULL || s->id < next->id)) next = s;
  if (next != NULL) sb_session_enter(next);
  pthread_mutex_unlock(&box->runs_mu);
  return next;
}

/* Names of files that were only looked at hold some hundred bytes each. */
static void park_trim(cay_sandbox *box) {
  k_lock(box->kernel);
  memfs_trim(vfs_mounts_root(box->kernel));
  k_unlock(box->kernel);
}

/* Sessions that are at rest now, one after the other. The first failure is answered, and the others are parked. */
static cay_status park_all(cay_sandbox *box, sb_park_place *place, cay_error *err) {
  cay_status status = CAY_OK;
  cay_session *s;
  for (uint32_t id = 0; (s = park_next(box, id)) != NULL; sb_session_leave(s)) {
    bool taken = false;
    id = s->id;
    if (sb_session_hold(s, 0, &taken, NULL) != CAY_OK || !taken) continue;
    cay_status parked = sb_session_park(s, place, status == CAY_OK ? err : NULL);
    sb_session_give(s);
    if (status == CAY_OK) status = parked;
  }
  park_trim(box);
  return status;
}

cay_status cay_sandbox_park(cay_sandbox *box, cay_error *err) { return park_all(box, NULL, err); }

cay_status cay_sandbox_park_to(cay_sandbox *box, const char *path, cay_error *err) {
  OWNED(sb_park_place_unref) sb_park_place *place = NULL;
  S_TRY(sb_park_place_file(path, &place, err));
  cay_status status = park_all(box, place, err);
  sb_park_place_done(place);
  return status;
}
