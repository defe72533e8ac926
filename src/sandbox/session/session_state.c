/* session_state.c - the user's variables as bytes, and back (cay_session_save_state and its like). */
#include "base/alloc.h"
#include "sandbox/session/value.h"

#include <string.h>

typedef struct transfer {
  buf bytes;
  sb_gathered got;
} transfer;

static cay_status on_reply(void *ctx, const talk_reply *reply, cay_error *err) {
  transfer *t = ctx;
  cay_slice bytes = reply->fields[TALK_BYTES];
  S_TRY(sb_gather(&t->got, reply, err));
  if (bytes.len == 0) return CAY_OK;
  if (t->bytes.len == 0)
    return buf_append(&t->bytes, bytes.data, bytes.len) == CAY_OK ? CAY_OK : err_no_memory(err);
  if (bytes.len > t->bytes.len) return err_set(err, CAY_INTERNAL, "the interpreter gave less than it says");
  memcpy(t->bytes.data, bytes.data, bytes.len); /* replaces the first pieces */
  return CAY_OK;
}

/* k_piece_fn */
static k_ret on_piece(void *ctx, const void *data, size_t len) {
  transfer *t = ctx;
  return buf_append(&t->bytes, data, len) == CAY_OK ? 0 : -K_ENOMEM;
}

static const char *text_of(const sb_gathered *got, enum talk_tag tag) {
  return got->fields[tag].len != 0 ? (const char *)got->texts.data + got->fields[tag].at : "";
}

/* What the interpreter said, as one of ours. */
static cay_status judge(const sb_request *q, const transfer *t, cay_status refused, cay_error *err) {
  if (q->stop == K_JOB_TIME && q->gone.why[0] != '\0') return err_set(err, CAY_TIMEOUT, "%s", q->gone.why);
  if (q->stop == K_JOB_TIME) return err_set(err, CAY_TIMEOUT, "longer than %u ms", q->wall_ms);
  if (q->stop == K_JOB_CANCELLED) return err_set(err, CAY_CANCELLED, "cancelled");
  if (!q->returned) return err_set(err, refused, "the interpreter ended: %.150s", q->gone.why);
  if (t->got.status == TALK_OK) return CAY_OK;
  return err_set(err, refused, "%.60s: %.170s", text_of(&t->got, TALK_ERROR_TYPE),
                 text_of(&t->got, TALK_ERROR_TEXT));
}

/* `refused`: the status when the interpreter refuses. */
static cay_status transfer_state(cay_session *s, enum talk_op op, cay_slice given, transfer *t,
                                 cay_status refused, cay_error *err) {
  sb_request q = { .session = s,
                   .op = op,
                   .fields = BUF_INIT(INT32_MAX),
                   .wall_ms = s->box->limits.wall_ms,
                   .piece = op == TALK_SAVE_STATE ? on_piece : NULL,
                   .piece_ctx = t,
                   .on_reply = on_reply,
                   .ctx = t };
  if (given.data != NULL && talk_put(&q.fields, TALK_BYTES, given.data, given.len) != CAY_OK) {
    buf_free(&q.fields);
    return err_no_memory(err);
  }
  cay_status status = sb_session_take(s, false, err);
  if (status == CAY_OK) status = sb_session_ask(&q, err);
  if (status == CAY_OK) status = judge(&q, t, refused, err);
  buf_free(&q.fields);
  return status;
}

static void drop(transfer *t) {
  buf_free(&t->bytes);
  buf_free(&t->got.texts);
}

cay_status cay_session_save_state(cay_session *session, cay_buf *out, cay_error *err) {
  transfer t = { .bytes = BUF_INIT(INT32_MAX) };
  cay_status status = transfer_state(session, TALK_SAVE_STATE, (cay_slice){ 0 }, &t, CAY_UNSUPPORTED, err);
  if (status == CAY_OK) *out = buf_take(&t.bytes);
  drop(&t);
  return status;
}

cay_status cay_session_load_state(cay_session *session, cay_slice bytes, cay_error *err) {
  transfer t = { .bytes = BUF_INIT(INT32_MAX) };
  if (bytes.len == 0 || bytes.len > INT32_MAX / 2) return err_set(err, CAY_CORRUPT, "not a saved state");
  cay_status status = transfer_state(session, TALK_LOAD_STATE, bytes, &t, CAY_CORRUPT, err);
  drop(&t);
  return status;
}

cay_status cay_session_clear_state(cay_session *session, cay_error *err) {
  transfer t = { .bytes = BUF_INIT(INT32_MAX) };
  cay_status status = transfer_state(session, TALK_CLEAR_STATE, (cay_slice){ 0 }, &t, CAY_INTERNAL, err);
  drop(&t);
  return status;
}
