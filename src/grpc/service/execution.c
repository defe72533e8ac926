/* execution.c - one execution: its states and watches, its output as UTF-8, and its fields in answers
 * (execution.h). */
#include "grpc/service/execution.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* ---- life ---- */

/* A version 4 UUID (RFC 9562). */
static cay_status make_id(char out[static EXECUTION_ID], cay_error *err) {
  uint8_t b[16];
  S_TRY(random_bytes(b, sizeof b, err));
  b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
  b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
  (void)snprintf(out, EXECUTION_ID, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                 b[14], b[15]);
  return CAY_OK;
}

/* The bytes of the first EXECUTION_PREVIEW characters. */
static size_t preview_len(cay_slice code) {
  const uint8_t *at = code.data;
  size_t chars = 0;
  for (size_t i = 0; i < code.len; i++)
    if ((at[i] & 0xc0) != 0x80 && chars++ == EXECUTION_PREVIEW) return i;
  return code.len;
}

static cay_status copy_spec(execution *e, const execution_spec *spec) {
  cay_slice shown = spec->is_test ? spec->tests : spec->code;
  S_TRY(buf_append(&e->code, spec->code.data, spec->code.len));
  S_TRY(buf_append(&e->tests, spec->tests.data, spec->tests.len));
  S_TRY(buf_append(&e->preview, shown.data, preview_len(shown)));
  if (spec->cached_name == NULL) return CAY_OK;
  e->cached_name = mem_strdup(spec->cached_name);
  return e->cached_name != NULL ? CAY_OK : CAY_NO_MEMORY;
}

int64_t wall_ms(void) { return clock_real_ns() / NS_PER_MS; }

static void execution_init(execution *e, const execution_spec *spec) {
  atomic_init(&e->refs, 1);
  (void)snprintf(e->client, sizeof e->client, "%s", spec->client);
  e->code = e->tests = e->preview = e->error = e->report = e->entry = BUF_INIT(BUF_UNLIMITED);
  e->out = e->err = BUF_INIT(spec->output_max);
  e->is_test = spec->is_test;
  e->merged = spec->merged;
  e->lasting = spec->lasting;
  e->timeout_ms = spec->timeout_ms;
  e->sink = spec->sink;
  e->sink_ctx = spec->sink_ctx;
  e->state = EXECUTION_PENDING;
  e->created_ms = wall_ms();
  cancel_init(&e->cancel);
  list_init(&e->in_queue);
  list_init(&e->in_table);
  list_init(&e->in_order);
  list_init(&e->watches);
  (void)pthread_mutex_init(&e->mu, NULL);
}

cay_status execution_new(const execution_spec *spec, execution **out, cay_error *err) {
  execution *e = mem_zalloc(sizeof *e);
  if (e == NULL) return err_no_memory(err);
  execution_init(e, spec);
  cay_status status = make_id(e->id, err);
  if (status == CAY_OK && copy_spec(e, spec) != CAY_OK) status = err_no_memory(err);
  if (status != CAY_OK) {
    execution_unref(e);
    return status;
  }
  *out = e;
  return CAY_OK;
}

execution *execution_ref(execution *e) {
  atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
  return e;
}

void execution_unref(execution *e) {
  if (e == NULL || atomic_fetch_sub(&e->refs, 1) != 1) return;
  buf *all[] = { &e->code, &e->tests, &e->preview, &e->out, &e->err, &e->error, &e->report, &e->entry };
  for (size_t i = 0; i < COUNT_OF(all); i++) buf_free(all[i]);
  mem_free(e->cached_name);
  cancel_end(&e->cancel);
  (void)pthread_mutex_destroy(&e->mu);
  mem_free(e);
}

/* ---- states ---- */

bool execution_start(execution *e) {
  (void)pthread_mutex_lock(&e->mu);
  bool starts = e->state == EXECUTION_PENDING;
  if (starts) {
    e->state = EXECUTION_RUNNING;
    e->started_ms = wall_ms();
    e->started_ns = clock_mono_ns();
  }
  (void)pthread_mutex_unlock(&e->mu);
  return starts;
}

enum execution_state execution_state_of(execution *e) {
  (void)pthread_mutex_lock(&e->mu);
  enum execution_state state = e->state;
  (void)pthread_mutex_unlock(&e->mu);
  return state;
}

static void call_watches(execution *e) {
  for (;;) {
    (void)pthread_mutex_lock(&e->mu);
    execution_watch *watch =
        list_empty(&e->watches) ? NULL : CONTAINER_OF(e->watches.next, execution_watch, node);
    if (watch != NULL) list_remove(&watch->node);
    (void)pthread_mutex_unlock(&e->mu);
    if (watch == NULL) return;
    watch->fn(watch->ctx, e);
  }
}

static void flush_carry(execution *e);

bool execution_finish(execution *e, execution_result *result) {
  flush_carry(e);
  (void)pthread_mutex_lock(&e->mu);
  bool first = !execution_is_final(e->state);
  if (first) {
    e->state = result->state;
    e->finished_ms = wall_ms();
    if (e->started_ns != 0) e->took_ms = (clock_mono_ns() - e->started_ns) / NS_PER_MS;
    e->error = result->error;
    e->report = result->report;
    e->entry = result->entry;
    *result = (execution_result){ .state = result->state };
    buf_free(&e->code);
    buf_free(&e->tests);
  }
  (void)pthread_mutex_unlock(&e->mu);
  if (!first) buf_free(&result->error), buf_free(&result->report), buf_free(&result->entry);
  return first;
}

void execution_tell(execution *e) {
  (void)pthread_mutex_lock(&e->mu);
  e->told = true;
  (void)pthread_mutex_unlock(&e->mu);
  call_watches(e);
}

void execution_watch_add(execution *e, execution_watch *watch) {
  list_init(&watch->node);
  (void)pthread_mutex_lock(&e->mu);
  bool waits = !e->told;
  if (waits) list_push(&e->watches, &watch->node);
  (void)pthread_mutex_unlock(&e->mu);
  if (!waits) watch->fn(watch->ctx, e);
}

bool execution_watch_remove(execution *e, execution_watch *watch) {
  (void)pthread_mutex_lock(&e->mu);
  bool waits = list_linked(&watch->node);
  list_remove(&watch->node);
  (void)pthread_mutex_unlock(&e->mu);
  return waits;
}

/* ---- output ---- */

/* e->mu. Text that does not fit is dropped from its first character on, and all that follows. */
static void execution_keep_text(execution *e, int fd, cay_slice text) {
  buf *to = fd == 2 && !e->merged ? &e->err : &e->out;
  bool *cut = &e->cut[to == &e->err];
  if (*cut) return;
  size_t room = to->max - to->len;
  if (text.len > room) *cut = true;
  size_t len = *cut ? utf8_valid_len(text.data, room) : text.len;
  if (buf_append(to, text.data, len) != CAY_OK) *cut = true;
}

static void emit(execution *e, int fd, const void *bytes, size_t len) {
  char stack[4096];
  char *clean = len <= sizeof stack ? stack : mem_alloc(len);
  if (clean == NULL) return;
  utf8_copy_clean(clean, bytes, len);
  cay_slice text = { clean, len };
  (void)pthread_mutex_lock(&e->mu);
  execution_keep_text(e, fd, text);
  (void)pthread_mutex_unlock(&e->mu);
  if (e->sink != NULL) e->sink(e->sink_ctx, e, fd, text);
  if (clean != stack) mem_free(clean);
}

/* The beginning of a character waits for its rest. */
void execution_output(execution *e, int fd, cay_slice bytes) {
  int which = fd == 2;
  uint8_t *carry = e->carry[which];
  const uint8_t *at = bytes.data;
  size_t len = bytes.len;
  while (e->carried[which] != 0 && len != 0) {
    carry[e->carried[which]++] = *at++;
    len--;
    if (e->carried[which] < 4 && utf8_whole_len(carry, e->carried[which]) != e->carried[which]) continue;
    emit(e, fd, carry, e->carried[which]);
    e->carried[which] = 0;
  }
  size_t whole = utf8_whole_len(at, len);
  if (whole != 0) emit(e, fd, at, whole);
  if (len != whole) memcpy(carry, at + whole, len - whole);
  if (len != whole) e->carried[which] = len - whole;
}

static void flush_carry(execution *e) {
  for (int which = 0; which < 2; which++) {
    size_t len = e->carried[which];
    e->carried[which] = 0;
    if (len != 0) emit(e, which + 1, e->carry[which], len);
  }
}

/* ---- as messages ---- */

static cay_slice slice_of(const buf *b) { return (cay_slice){ b->data, b->len }; }

void execution_put_response(execution *e, pb_writer *w) {
  (void)pthread_mutex_lock(&e->mu);
  bool success = e->state == EXECUTION_COMPLETED;
  pb_put_int(w, 1, success);
  pb_put_bytes(w, 2, slice_of(&e->out));
  if (!success) pb_put_bytes_always(w, 3, slice_of(&e->error));
  pb_put_int(w, 4, e->took_ms);
  if (e->entry.len != 0) pb_put_bytes_always(w, 5, slice_of(&e->entry));
  (void)pthread_mutex_unlock(&e->mu);
}

/* e->mu */
static void service_execution_put_result(execution *e, pb_writer *w) {
  bool success = e->state == EXECUTION_COMPLETED;
  pb_put_int(w, 1, success);
  if (!success) pb_put_bytes_always(w, 2, slice_of(&e->error));
  pb_put_int(w, 3, e->took_ms);
  pb_put_int(w, 4, e->state);
  if (e->entry.len != 0) pb_put_bytes_always(w, 5, slice_of(&e->entry));
}

void execution_put_result(execution *e, pb_writer *w) {
  (void)pthread_mutex_lock(&e->mu);
  service_execution_put_result(e, w);
  (void)pthread_mutex_unlock(&e->mu);
}

/* The report of a runtime has fields 1 to 3; without one `success` is false. */
void execution_put_test(execution *e, pb_writer *w) {
  (void)pthread_mutex_lock(&e->mu);
  if (w->failed == CAY_OK) w->failed = buf_append(&w->out, e->report.data, e->report.len);
  pb_put_bytes(w, 4, slice_of(&e->out));
  pb_put_int(w, 5, e->took_ms);
  if (e->state != EXECUTION_COMPLETED) pb_put_bytes_always(w, 6, slice_of(&e->error));
  (void)pthread_mutex_unlock(&e->mu);
}

/* What stands behind `offset`, which is moved back to the beginning of its character. */
static cay_slice rest_of(const buf *b, int64_t offset) {
  size_t from = offset < 0 ? 0 : (uint64_t)offset > b->len ? b->len : (size_t)offset;
  while (from > 0 && from < b->len && (b->data[from] & 0xc0) == 0x80) from--;
  return (cay_slice){ b->data != NULL ? b->data + from : NULL, b->len - from };
}

void execution_put_get(execution *e, int64_t offset, pb_writer *w) {
  (void)pthread_mutex_lock(&e->mu);
  pb_put_text(w, 1, e->id);
  pb_put_int(w, 2, e->state);
  pb_put_bytes(w, 3, rest_of(&e->out, offset));
  pb_put_bytes(w, 4, rest_of(&e->err, offset));
  pb_put_int(w, 5, (int64_t)e->out.len);
  pb_put_int(w, 6, (int64_t)e->err.len);
  if (execution_is_final(e->state)) {
    size_t result = pb_begin(w, 7);
    service_execution_put_result(e, w);
    pb_end(w, result);
  }
  (void)pthread_mutex_unlock(&e->mu);
}

void execution_put_info(execution *e, uint32_t number, pb_writer *w) {
  (void)pthread_mutex_lock(&e->mu);
  size_t info = pb_begin(w, number);
  pb_put_text(w, 1, e->id);
  pb_put_int(w, 2, e->state);
  pb_put_int(w, 3, e->started_ms);
  if (execution_is_final(e->state)) pb_put_int_always(w, 4, e->finished_ms);
  pb_put_bytes(w, 5, slice_of(&e->preview));
  pb_put_int(w, 6, e->cached_name != NULL);
  if (e->cached_name != NULL) pb_put_text(w, 7, e->cached_name);
  pb_end(w, info);
  (void)pthread_mutex_unlock(&e->mu);
}
