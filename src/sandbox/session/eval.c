/* eval.c - code in, a value out (cay_session_eval, cay_session_start). */
#include "base/alloc.h"
#include "base/utf8.h"
#include "sandbox/scrub.h"
#include "sandbox/session/language.h"
#include "sandbox/session/value.h"

#include <string.h>

enum { TRACE_MAX = 100000, DISPLAY_MAX = 16 << 20 };

typedef struct evaluation {
  const cay_eval_options *options;
  cay_sandbox *box;
  sb_scrubber scrubbers[2];
  sb_gathered got;
  uint64_t events_max;
  size_t display_room;     /* bytes that may still be displayed */
  uint64_t grants_version; /* that the session knew before */
} evaluation;

/* ---- output ---- */

static void capture(sb_stream *s, const void *data, size_t len) {
  size_t room = s->captured.max - s->captured.len, take = len < room ? len : room;
  if (take != 0 && buf_append(&s->captured, data, take) != CAY_OK) take = 0; /* no memory: it is cut here */
  if (take < len) s->cut = true;
}

static void hand_on(evaluation *e, int fd, const void *data, size_t len) {
  if (len != 0) e->options->output(e->options->output_ctx, fd, (cay_slice){ data, len });
}

/* The beginning of a character is kept until its end comes. */
static void hand_on_whole(evaluation *e, int fd, const uint8_t *data, size_t len) {
  sb_stream *s = &e->got.streams[fd - 1];
  while (s->rest_len > 0 && len > 0) {
    uint8_t joined[4];
    memcpy(joined, s->rest, s->rest_len);
    joined[s->rest_len] = *data;
    size_t joined_len = s->rest_len + 1;
    data++, len--;
    if (joined_len < sizeof joined && utf8_whole_len(joined, joined_len) < joined_len) {
      s->rest[s->rest_len++] = joined[joined_len - 1];
      continue;
    }
    s->rest_len = 0;
    hand_on(e, fd, joined, joined_len);
  }
  size_t whole = utf8_whole_len(data, len);
  hand_on(e, fd, data, whole);
  if (whole == len) return;
  memcpy(s->rest, data + whole, len - whole);
  s->rest_len = len - whole;
}

static void eval_give(evaluation *e, int fd, const void *data, size_t len) {
  if (!e->options->no_capture) capture(&e->got.streams[fd - 1], data, len);
  if (e->options->output != NULL) hand_on_whole(e, fd, data, len);
}

static void eval_scrub(evaluation *e, int fd, const void *data, size_t len, bool last) {
  OWNED(buf_free) buf clean = BUF_INIT(BUF_UNLIMITED);
  if (!sb_scrubber_pass(&e->scrubbers[fd - 1], data, len, last, &clean)) e->got.streams[fd - 1].cut = true;
  if (clean.len > 0) eval_give(e, fd, clean.data, clean.len);
}

/* k_output_fn: one at a time for this evaluation. */
static void on_output(void *ctx, int fd, const void *data, size_t len) {
  evaluation *e = ctx;
  if (sb_scrubs(e->box))
    eval_scrub(e, fd, data, len, false);
  else
    eval_give(e, fd, data, len);
}

static void flush(evaluation *e) {
  for (int fd = 1; fd <= 2 && sb_scrubs(e->box); fd++) eval_scrub(e, fd, NULL, 0, true);
  for (int fd = 1; fd <= 2 && e->options->output != NULL; fd++) {
    sb_stream *s = &e->got.streams[fd - 1];
    hand_on(e, fd, s->rest, s->rest_len);
    s->rest_len = 0;
  }
}

/* ---- traces ---- */

static k_ret on_event(void *ctx, uint32_t line, const void *event, size_t event_len, const void *context,
                      size_t context_len) {
  evaluation *e = ctx;
  if (e->got.events == e->events_max) return -K_ENOSPC;
  OWNED(buf_free) buf copies = BUF_INIT(BUF_UNLIMITED);
  cay_slice what = { event, event_len }, where = { context, context_len };
  if (sb_scrubs(e->box)) {
    if (buf_append(&copies, event, event_len) != CAY_OK ||
        buf_append(&copies, context, context_len) != CAY_OK)
      return -K_ENOMEM;
    what.data = copies.data;
    where.data = copies.data + event_len;
    sb_scrub_slice(e->box, what);
    sb_scrub_slice(e->box, where);
  }
  e->got.events++;
  e->options->on_trace(e->options->trace_ctx, line, what, where);
  return 0;
}

/* ---- displays ---- */

static k_ret on_display(void *ctx, const void *bundle, size_t len) {
  evaluation *e = ctx;
  if (len > e->display_room) return -K_ENOSPC;
  e->display_room -= len;
  OWNED(buf_free) buf copy = BUF_INIT(BUF_UNLIMITED);
  cay_slice shown = { bundle, len };
  if (sb_scrubs(e->box)) {
    if (buf_append(&copy, bundle, len) != CAY_OK) return -K_ENOMEM;
    shown.data = copy.data;
    sb_scrub_slice(e->box, shown);
  }
  e->options->display(e->options->display_ctx, shown);
  return 0;
}

static uint32_t display_max_of(const cay_eval_options *o) {
  return o->display == NULL ? 0 : o->display_max != 0 ? o->display_max : DISPLAY_MAX;
}

static uint32_t flags_of(const cay_eval_options *o, bool grants_changed) {
  return (o->no_json ? 0u : TALK_WANT_JSON) | (o->drain ? TALK_DRAIN : 0u) |
         (grants_changed ? TALK_CALLBACKS_CHANGED : 0u) |
         ((o->trace & CAY_TRACE_LINE) != 0 ? TALK_TRACE_LINES : 0u) |
         ((o->trace & CAY_TRACE_CALL) != 0 ? TALK_TRACE_CALLS : 0u) |
         ((o->trace & CAY_TRACE_RETURN) != 0 ? TALK_TRACE_RETURNS : 0u) |
         ((o->trace & CAY_TRACE_EXCEPTION) != 0 ? TALK_TRACE_EXCEPTIONS : 0u) |
         ((o->trace & CAY_TRACE_LOCALS) != 0 ? TALK_TRACE_WITH_LOCALS : 0u);
}

/* ---- one evaluation ---- */

static cay_status check(const cay_eval_options *o, cay_error *err) {
  if (o->code.len > INT32_MAX / 2) return err_set(err, CAY_LIMIT, "the code is longer than 1 GiB");
  if (utf8_valid_len(o->code.data, o->code.len) != o->code.len)
    return err_set(err, CAY_INVALID, "the code is not UTF-8 (at byte %zu)",
                   utf8_valid_len(o->code.data, o->code.len));
  if (o->value_max > SB_VALUE_MAX)
    return err_set(err, CAY_INVALID, "value_max is more than %d bytes", SB_VALUE_MAX);
  if (o->display_max > SB_VALUE_MAX)
    return err_set(err, CAY_INVALID, "display_max is more than %d bytes", SB_VALUE_MAX);
  if (o->trace != 0 && o->on_trace == NULL) return err_set(err, CAY_INVALID, "a trace needs on_trace");
  return CAY_OK;
}

static cay_status write_request(buf *to, cay_session *s, const cay_eval_options *o) {
  uint64_t version = sb_callbacks_version(s->box->callbacks);
  S_TRY(talk_put(to, TALK_CODE, o->code.data, o->code.len));
  if (o->name != NULL) S_TRY(talk_put_text(to, TALK_NAME, o->name));
  if (o->value_max != 0) S_TRY(talk_put_u32(to, TALK_VALUE_MAX, o->value_max));
  if (o->display != NULL) S_TRY(talk_put_u32(to, TALK_DISPLAY_MAX, display_max_of(o)));
  S_TRY(talk_put_u32(to, TALK_FLAGS, s->language->flags | flags_of(o, version != s->grants_version)));
  if (o->trace_filter != NULL) S_TRY(talk_put_text(to, TALK_TRACE_FILTER, o->trace_filter));
  s->grants_version = version;
  return CAY_OK;
}

static cay_status on_reply(void *ctx, const talk_reply *reply, cay_error *err) {
  evaluation *e = ctx;
  return sb_gather(&e->got, reply, err);
}

static sb_request eval_request(cay_session *s, evaluation *e) {
  const cay_eval_options *o = e->options;
  uint32_t limit = s->box->limits.wall_ms;
  uint64_t fuel = s->box->limits.fuel;
  return (sb_request){
    .session = s,
    .op = TALK_EXECUTE,
    .grants_version = e->grants_version,
    .fields = BUF_INIT(INT32_MAX),
    .input = o->input,
    .wall_ms = o->wall_ms != 0 && o->wall_ms < limit ? o->wall_ms : limit,
    .fuel = o->fuel != 0 && (fuel == 0 || o->fuel < fuel) ? o->fuel : fuel,
    .cancelled = o->cancelled,
    .output = on_output,
    .output_ctx = e,
    .event = o->trace != 0 ? on_event : NULL,
    .event_ctx = e,
    .display = o->display != NULL ? on_display : NULL,
    .display_ctx = e,
    .on_reply = on_reply,
    .ctx = e,
  };
}

static void eval_init(evaluation *e, const cay_session *s, const cay_eval_options *o) {
  uint64_t cap = s->box->limits.output;
  *e = (evaluation){
    .options = o,
    .box = s->box,
    .scrubbers = { { .box = s->box }, { .box = s->box } },
    .grants_version = s->grants_version,
    .got = { .streams = { { .captured = BUF_INIT(cap) }, { .captured = BUF_INIT(cap) } } },
    .display_room = display_max_of(o),
    .events_max = o->trace_max != 0 ? o->trace_max : TRACE_MAX,
  };
}

static void eval_clear(evaluation *e) {
  sb_scrubber_free(&e->scrubbers[0]);
  sb_scrubber_free(&e->scrubbers[1]);
  buf_free(&e->got.streams[0].captured);
  buf_free(&e->got.streams[1].captured);
  buf_free(&e->got.texts);
}

static cay_status eval_finish(const sb_request *q, evaluation *e, cay_value **out, cay_error *err) {
  flush(e);
  return sb_value_new(q, e->box, &e->got, out, err);
}

static cay_status evaluate(cay_session *s, evaluation *e, cay_value **out, cay_error *err) {
  sb_request q = eval_request(s, e);
  if (write_request(&q.fields, s, e->options) != CAY_OK) {
    buf_free(&q.fields);
    sb_session_give(s);
    return err_no_memory(err);
  }
  cay_status status = sb_session_ask(&q, err);
  buf_free(&q.fields);
  return status == CAY_OK ? eval_finish(&q, e, out, err) : status;
}

/* The session is taken on success. */
static cay_status eval_take(cay_session *s, const cay_eval_options *options, bool may_wait,
                            cay_eval_options *out, cay_error *err) {
  if (!sb_options_copy(out, sizeof *out, options))
    return err_set(err, CAY_INVALID, "evaluation options: from a newer version of session.h");
  S_TRY(check(out, err));
  if (out->fuel != 0 && s->fuel == NULL)
    return err_set(err, CAY_UNSUPPORTED,
                   "fuel: the session counts none, because its sandbox was made without a limit of fuel");
  return may_wait ? sb_session_take(s, out->no_wait, err) : sb_session_try(s, err);
}

cay_status cay_session_eval(cay_session *s, const cay_eval_options *options, cay_value **out,
                            cay_error *err) {
  cay_eval_options o;
  evaluation e;
  S_TRY(eval_take(s, options, true, &o, err));
  eval_init(&e, s, &o);
  cay_status status = evaluate(s, &e, out, err);
  eval_clear(&e);
  return status;
}

/* ---- without waiting ---- */

typedef struct started {
  evaluation evaluation;
  cay_eval_options options;
  sb_request request;
  buf input;
  cay_eval_done_fn *done;
  void *ctx;
} started;

static void started_free(started *a) {
  eval_clear(&a->evaluation);
  buf_free(&a->request.fields);
  buf_free(&a->input);
  mem_free(a);
}

/* On the session's thread. */
static void started_on_done(sb_request *q) {
  started *a = CONTAINER_OF(q, started, request);
  cay_value *value = NULL;
  cay_error err = q->err;
  cay_status status = q->status;
  if (status == CAY_OK) status = eval_finish(q, &a->evaluation, &value, &err);
  a->done(a->ctx, status, value, &err);
  started_free(a);
}

static cay_status started_fill(started *a, cay_session *s, const cay_eval_options *o) {
  a->options = *o;
  a->input = BUF_INIT(BUF_UNLIMITED);
  if (o->input.len != 0) S_TRY(buf_append(&a->input, o->input.data, o->input.len));
  a->options.input = (cay_slice){ a->input.data, a->input.len };
  eval_init(&a->evaluation, s, &a->options);
  a->request = eval_request(s, &a->evaluation);
  a->request.on_done = started_on_done;
  return write_request(&a->request.fields, s, o);
}

cay_status cay_session_start(cay_session *s, const cay_eval_options *options, cay_eval_done_fn *done,
                             void *ctx, cay_error *err) {
  cay_eval_options o;
  S_TRY(eval_take(s, options, false, &o, err));
  started *a = mem_zalloc(sizeof *a);
  if (a == NULL || started_fill(a, s, &o) != CAY_OK) {
    if (a != NULL) started_free(a);
    sb_session_give(s);
    return err_no_memory(err);
  }
  a->done = done;
  a->ctx = ctx;
  cay_status status = sb_session_send(&a->request, err);
  if (status != CAY_OK) started_free(a);
  return status;
}
