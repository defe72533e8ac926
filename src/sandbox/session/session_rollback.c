/* session_rollback.c - the state that a session can be put back to: checkpoints, and requests made again. */
#include "sandbox/session/session_inner.h"

enum {
  LONG_RUN_NS = 2000000,
  AGAIN_MS = 10000, /* a request that took a fraction of this, made again on a machine that is busy */
};

/* ---- back ---- */

static cay_status reply_ignore(void *ctx, const talk_reply *reply, cay_error *err) {
  (void)ctx, (void)reply, (void)err;
  return CAY_OK;
}

static bool session_run_again(cay_session *s, enum talk_op op, cay_slice fields) {
  sb_request q = { .session = s, .op = op, .wall_ms = AGAIN_MS, .on_reply = reply_ignore };
  q.fields = (buf){ .data = (uint8_t *)(uintptr_t)fields.data, .len = fields.len }; /* only read */
  q.start_ns = clock_mono_ns();
  sb_request_run(&q);
  return q.status == CAY_OK && q.returned && abi_resident_was_alone(s->resident);
}

static bool session_undo(cay_session *s) {
  if (abi_resident_undo(s->resident, NULL) != CAY_OK) return false;
  if (s->served == 0) s->greeted = false; /* it is the image again, which was not greeted */
  enum talk_op op;
  cay_slice fields;
  for (size_t at = 0; sb_replay_next(&s->replay, &at, &op, &fields);)
    if (!session_run_again(s, op, fields)) return false;
  return true;
}

bool sb_session_put_back(sb_request *q) {
  cay_session *s = q->session;
  q->undone = !s->no_undo && session_undo(s);
  if (q->undone && q->op == TALK_EXECUTE) s->grants_version = q->grants_version; /* it has forgotten */
  return q->undone;
}

/* ---- saving ---- */

/* The stacks of threads cannot be saved. Undo goes back to before the first of them was started. */
bool sb_session_save(cay_session *s) {
  s->unsaved = false;
  if (abi_resident_threads(s->resident) > 0) return true;
  sb_replay_clear(&s->replay);
  return abi_resident_checkpoint(s->resident, NULL) == CAY_OK;
}

int64_t sb_session_computed_ns(const cay_session *s) {
  const k_process *p = abi_resident_process(s->resident);
  return p->user_ns + p->system_ns;
}

enum sb_saving sb_session_choose_saving(const sb_request *q, int64_t run_ns) {
  cay_session *s = q->session;
  if (s->served == 0 || run_ns > LONG_RUN_NS) return SB_SAVE_LATER;
  if (q->status != CAY_OK || q->input.len != 0 || !abi_resident_was_alone(s->resident)) return SB_SAVE_NOW;
  cay_slice fields = { q->fields.data, q->fields.len };
  return sb_replay_add(&s->replay, q->op, fields, run_ns) ? SB_SAVE_REPLAY : SB_SAVE_NOW;
}
