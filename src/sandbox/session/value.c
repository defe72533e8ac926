/* value.c - the fields of an interpreter's reply, gathered and made into a cay_value (value.h). */
#include "sandbox/session/value.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "sandbox/scrub.h"

#include <string.h>

/* ---- from the reply ---- */

enum { REPLY_MAX = 4 * SB_VALUE_MAX };

static cay_status keep(sb_gathered *to, enum talk_tag tag, cay_slice bytes) {
  size_t at = to->texts.len;
  void *room = buf_room(&to->texts, bytes.len + 1);
  if (room == NULL) return CAY_NO_MEMORY;
  utf8_copy_clean(room, bytes.data, bytes.len);
  ((char *)room)[bytes.len] = '\0';
  buf_grew(&to->texts, bytes.len + 1);
  to->fields[tag].at = at;
  to->fields[tag].len = bytes.len;
  return CAY_OK;
}

cay_status sb_gather(sb_gathered *to, const talk_reply *reply, cay_error *err) {
  static const enum talk_tag texts[] = { TALK_REPR,       TALK_JSON,      TALK_BUNDLE, TALK_ERROR_TYPE,
                                         TALK_ERROR_TEXT, TALK_TRACEBACK, TALK_BYTES };
  to->answered = true;
  to->status = talk_u32(reply, TALK_STATUS, TALK_EXCEPTION);
  to->exit_code = talk_u32(reply, TALK_EXIT_CODE, 0);
  to->error_line = talk_u32(reply, TALK_ERROR_LINE, 0);
  to->too_large = talk_u32(reply, TALK_TOO_LARGE, 0);
  to->texts.max = REPLY_MAX;
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    cay_slice field = reply->fields[texts[i]];
    if (field.data == NULL || texts[i] == TALK_BYTES) continue;
    if (keep(to, texts[i], field) != CAY_OK) return err_no_memory(err);
  }
  return CAY_OK;
}

/* ---- the value ---- */

struct value {
  cay_value public;
  uint8_t bytes[];
};

static cay_slice put(uint8_t **at, const void *data, size_t len) {
  cay_slice slice = { *at, len };
  if (len != 0) memcpy(*at, data, len);
  (*at)[len] = '\0';
  *at += len + 1;
  return slice;
}

/* Output that was cut in the middle of a character ends before it. */
static cay_slice put_stream(uint8_t **at, const sb_stream *s) {
  size_t len = s->cut ? utf8_whole_len(s->captured.data, s->captured.len) : s->captured.len;
  cay_slice slice = { *at, len };
  if (len != 0) utf8_copy_clean((char *)*at, s->captured.data, len);
  (*at)[len] = '\0';
  *at += len + 1;
  return slice;
}

static cay_slice put_field(uint8_t **at, const sb_gathered *from, enum talk_tag tag) {
  return put(at, from->texts.data != NULL ? from->texts.data + from->fields[tag].at : NULL,
             from->fields[tag].len);
}

static cay_outcome outcome_of(const sb_request *q, const sb_gathered *from) {
  if (!q->returned || q->stop != K_JOB_RUNNING) return CAY_OUTCOME_STOPPED;
  switch (from->status) {
  case TALK_OK: return CAY_OUTCOME_VALUE;
  case TALK_EXIT: return CAY_OUTCOME_EXIT;
  case TALK_STOPPED: return CAY_OUTCOME_STOPPED;
  default: return CAY_OUTCOME_EXCEPTION;
  }
}

/* Reached by force or by the exception, a deadline is a deadline. */
static cay_end end_of(const sb_request *q) {
  switch (q->stop) {
  case K_JOB_TIME: return CAY_END_TIME;
  case K_JOB_FUEL: return CAY_END_FUEL;
  case K_JOB_CANCELLED: return CAY_END_CANCELLED;
  case K_JOB_RUNNING: break;
  }
  if (q->returned || (q->gone.status & 0x7f) == 0) return CAY_END_EXIT;
  return q->gone.why[0] != '\0' ? CAY_END_TRAP : CAY_END_SIGNAL;
}

static int32_t code_of(const sb_request *q, const sb_gathered *from) {
  if (q->returned) return (int32_t)from->exit_code;
  int32_t status = q->gone.status;
  return (status & 0x7f) == 0 ? status >> 8 & 0xff : status & 0x7f;
}

cay_status sb_value_new(const sb_request *q, cay_sandbox *box, const sb_gathered *from, cay_value **out,
                        cay_error *err) {
  const char *detail = q->returned && q->stop == K_JOB_RUNNING ? "" : q->gone.why;
  enum { NULS = 16 };
  size_t len =
      from->streams[0].captured.len + from->streams[1].captured.len + from->texts.len + strlen(detail) + NULS;
  struct value *v = mem_zalloc(sizeof *v + len);
  if (v == NULL) return err_no_memory(err);
  uint8_t *at = v->bytes;
  v->public = (cay_value){
    .outcome = outcome_of(q, from),
    .end = end_of(q),
    .exit_code = code_of(q, from),
    .undone = q->undone,
    .out = put_stream(&at, &from->streams[0]),
    .err = put_stream(&at, &from->streams[1]),
    .out_cut = from->streams[0].cut,
    .err_cut = from->streams[1].cut,
    .repr = put_field(&at, from, TALK_REPR),
    .json = put_field(&at, from, TALK_JSON),
    .error_type = put_field(&at, from, TALK_ERROR_TYPE),
    .error_text = put_field(&at, from, TALK_ERROR_TEXT),
    .traceback = put_field(&at, from, TALK_TRACEBACK),
    .error_line = from->error_line,
    .detail = put(&at, detail, strlen(detail)),
    .trace_events = from->events,
    .wall_ns = (uint64_t)(q->end_ns - q->start_ns),
    .fuel = q->fuel_used,
    .repr_cut = (from->too_large & TALK_REPR_CUT) != 0,
    .json_too_large = (from->too_large & TALK_JSON_LEFT_OUT) != 0,
    .bundle = put_field(&at, from, TALK_BUNDLE),
    .bundle_too_large = (from->too_large & TALK_BUNDLE_LEFT_OUT) != 0,
  };
  const cay_value *made = &v->public;
  const cay_slice texts[] = { made->repr,      made->json,   made->error_type, made->error_text,
                              made->traceback, made->detail, made->bundle };
  for (size_t i = 0; i < COUNT_OF(texts); i++) sb_scrub_slice(box, texts[i]);
  sb_usage(box, &v->public.usage);
  *out = &v->public;
  return CAY_OK;
}

void cay_value_free(cay_value *value) {
  if (value != NULL) mem_free(CONTAINER_OF(value, struct value, public));
}

const char *cay_outcome_name(cay_outcome outcome) {
  switch (outcome) {
  case CAY_OUTCOME_VALUE: return "value";
  case CAY_OUTCOME_EXCEPTION: return "exception";
  case CAY_OUTCOME_EXIT: return "exit";
  case CAY_OUTCOME_STOPPED: return "stopped";
  }
  return "unknown";
}
