/* method_execute.c - Execute, ExecuteStream and ExecuteAsync: new executions. */
#include "base/alloc.h"
#include "base/clock.h"
#include "grpc/service/inner.h"
#include "grpc/service/pending.h"

typedef struct execute_how {
  bool lasting, merged, stream;
} execute_how;

/* ---- chunks of a stream ---- */

static void begin_chunk(execution *e, pb_writer *w) { pb_put_text(w, 1, e->id); }

static bool method_execute_send_chunk(call *c, pb_writer *w, int64_t until_ns) {
  pb_put_int(w, 5, wall_ms());
  bool good = w->failed == CAY_OK;
  if (good) return call_send(c, &w->out, until_ns);
  buf_free(&w->out);
  return false;
}

/* A client that does not read makes the guest sleep here, but not longer than the execution may last. What cannot be
 * sent is dropped: the call has ended, or the execution is about to. */
static void stream_output(void *ctx, execution *e, int fd, cay_slice text) {
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  begin_chunk(e, &w);
  pb_put_bytes_always(&w, fd == 2 ? 3 : 2, text);
  (void)method_execute_send_chunk(ctx, &w, e->started_ns + e->timeout_ms * NS_PER_MS);
}

static void stream_end(call *c, execution *e, int64_t offset) {
  (void)offset;
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  begin_chunk(e, &w);
  size_t result = pb_begin(&w, 4);
  execution_put_result(e, &w);
  pb_end(&w, result);
  if (method_execute_send_chunk(c, &w, CALL_NOW))
    call_finish(c, GRPC_OK, NULL);
  else
    call_finish(c, GRPC_RESOURCE_EXHAUSTED, "the result could not be sent");
}

/* ---- the answers of the other two ---- */

static void answer_response(call *c, execution *e, int64_t offset) {
  (void)offset;
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  execution_put_response(e, &w);
  call_answer(c, &w);
}

static void answer_async(call *c, execution *e) {
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  pb_put_text(&w, 1, e->id);
  pb_put_int(&w, 2, execution_state_of(e));
  call_answer(c, &w);
}

/* ---- beginning ---- */

static execution *method_execute_make(service *s, call *c, cay_slice message, const execute_how *how) {
  request r;
  execution_spec spec;
  execution *e = NULL;
  buf code = BUF_INIT(BUF_UNLIMITED);
  char *name = NULL;
  cay_error err;
  if (!request_read(c, message, REQUEST_EXECUTE, &r)) return NULL;
  if (source_of(s, c, &r, &spec, &code, &name)) {
    spec.lasting = how->lasting;
    spec.merged = how->merged;
    spec.sink = how->stream ? stream_output : NULL;
    spec.sink_ctx = c;
    cay_status status = execution_new(&spec, &e, &err);
    if (status != CAY_OK) answer_error(c, status, &err);
  }
  buf_free(&code);
  mem_free(name);
  return e;
}

static void execute(service *s, call *c, cay_slice message, const execute_how *how) {
  execution *e = method_execute_make(s, c, message, how);
  if (e == NULL) return;
  pending_options wait = { .answer = how->stream ? stream_end : answer_response,
                           .owner = true,
                           .stream = how->stream };
  (void)call_ref(c); /* the sink has it before pending_wait does */
  if (submit(s, c, e)) {
    if (how->lasting)
      answer_async(c, e);
    else
      pending_wait(s, c, e, &wait);
  }
  call_unref(c);
  execution_unref(e);
}

void method_execute(void *app, call *c, cay_slice message) {
  execute(app, c, message, &(execute_how){ .merged = true });
}

void method_execute_stream(void *app, call *c, cay_slice message) {
  execute(app, c, message, &(execute_how){ .stream = true });
}

void method_execute_async(void *app, call *c, cay_slice message) {
  execute(app, c, message, &(execute_how){ .lasting = true });
}

/* ---- tests ---- */

static void answer_test(call *c, execution *e, int64_t offset) {
  (void)offset;
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  execution_put_test(e, &w);
  call_answer(c, &w);
}

static execution *make_test(service *s, call *c, cay_slice message) {
  request r;
  execution_spec spec = {
    .client = call_client(c), .is_test = true, .merged = true, .output_max = s->options.output_max
  };
  execution *e = NULL;
  cay_error err;
  if (!request_read(c, message, REQUEST_TEST, &r)) return NULL;
  if (!s->options.runtime->has_tests)
    return call_finish(c, GRPC_UNIMPLEMENTED, "this server runs no tests: it needs a runtime of JavaScript"),
           NULL;
  if (r.tests.len == 0) return call_finish(c, GRPC_INVALID_ARGUMENT, "tests are missing"), NULL;
  if (r.tests.len > s->options.code_max || r.code.len > s->options.code_max) {
    call_finishf(c, GRPC_INVALID_ARGUMENT, "code and tests have %zu and %zu bytes; at most %zu are accepted",
                 r.code.len, r.tests.len, s->options.code_max);
    return NULL;
  }
  spec.code = r.code;
  spec.tests = r.tests;
  spec_timeout(s, &r, &spec);
  cay_status status = execution_new(&spec, &e, &err);
  if (status != CAY_OK) answer_error(c, status, &err);
  return e;
}

void method_execute_test(void *app, call *c, cay_slice message) {
  execution *e = make_test(app, c, message);
  if (e == NULL) return;
  if (submit(app, c, e)) pending_wait(app, c, e, &(pending_options){ .answer = answer_test, .owner = true });
  execution_unref(e);
}
