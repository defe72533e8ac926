/* park.c - sandboxes that are not used for a while (cay_sandbox_park). */
#include "sandbox/snapshot/snapshot.h"

/* Sessions that are at rest now, one after the other. Holding runs_mu keeps them from being freed; a session that is
 * held is waited for by its cay_session_free. */
cay_status cay_sandbox_park(cay_sandbox *box, cay_error *err) {
  cay_status status = CAY_OK;
  pthread_mutex_lock(&box->runs_mu);
  LIST_EACH (s, &box->sessions, cay_session, in_box) {
    bool taken = false;
    if (sb_session_hold(s, 0, &taken, NULL) != CAY_OK || !taken) continue;
    cay_status parked = sb_session_park(s, err);
    sb_session_give(s);
    if (parked != CAY_OK) status = parked;
  }
  pthread_mutex_unlock(&box->runs_mu);
  return status;
}
