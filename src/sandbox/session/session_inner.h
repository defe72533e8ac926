/* session_inner.h - what the files of a session share: its stop, its turns, its requests, its rollback.
 *
 * Flow        a caller takes the session and puts its request into the slot (slot.h); the slot's thread (session_thread.c)
 *             runs it (session_request.c), answers, and then sees to the state that the session can be put back to
 *             (session_rollback.c). */
#pragma once

#include "sandbox/session/session.h"

/* ---- session_stop.c ---- */

void sb_session_stop_init(cay_session *s);
void sb_session_on_stop(void *ctx, enum k_job_stop why) K_LOCKED; /* k_job_stop_fn */

/* The interpreter is left where it stands. */
void sb_session_force(cay_session *s) K_LOCKED;

/* ---- session.c ---- */

/* In box.sessions, without a process, RUNNING. `id` 0: the next number. NULL: out of memory. */
cay_session *sb_session_alloc(cay_sandbox *box, const struct sb_language *language, uint32_t id);
cay_status sb_session_make_process(cay_session *s, const char *const *env, const char *cwd, k_process **out,
                                   cay_error *err) CHECKED;
cay_status sb_session_count_fuel(cay_session *s, cay_error *err) CHECKED;

/* `image` (NULL: the boot image) for the module that counts fuel, or the plain one, for `p`: a reference. */
cay_status sb_session_fit(cay_session *s, eng_image *image, k_process *p, eng_image **out,
                          cay_error *err) CHECKED;
cay_status sb_session_take_files(cay_session *s, const cay_image *image, cay_error *err) CHECKED;

/* ---- session_park.c ---- */

cay_status sb_session_wake(cay_session *s,
                           cay_error *err) CHECKED; /* it was parked, and still is on failure */

/* ---- session_thread.c ---- */

void sb_session_slot_init(cay_session *s); /* it is RUNNING */

/* Ends a running request without grace. Afterwards no thread uses the session. */
void sb_session_close(cay_session *s);

/* ---- session_request.c ---- */

void sb_request_run(sb_request *q);

/* ---- session_rollback.c ---- */

/* Chooses for a request that returned after `run_ns` of computing. */
enum sb_saving sb_session_choose_saving(const sb_request *q, int64_t run_ns);
int64_t sb_session_computed_ns(const cay_session *s); /* by the interpreter, since it began */

/* False: the session cannot be used any more. */
bool sb_session_save(cay_session *s);
bool sb_session_put_back(sb_request *q); /* the state before the request */
