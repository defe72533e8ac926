/* session_cell_test.c - what surrounds the code of a cell: its value, its name, its streams, the event loop. */
#include "sessions.h"

#include <string.h>
#include <unistd.h>

/* ---- values that are too large ---- */

static cay_value *eval_max(cay_session *s, const char *code, uint32_t value_max) {
  cay_value *v = NULL;
  EXPECT_EQ(
      cay_session_eval(s, &CAY_INIT(cay_eval_options, .code = { code, strlen(code) }, .value_max = value_max),
                       &v, NULL),
      CAY_OK);
  return v;
}

TEST(a_value_that_is_too_large_is_told_from_none) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  static const struct {
    const char *code;
    uint32_t max;
    size_t repr, json;
    bool cut, too_large;
  } cases[] = {
    { "None", 0, 0, 0, false, false },
    { "{1, 2}", 0, 6, 0, false, false },
    { "'x' * 10", 0, 12, 12, false, false },
    { "'x' * ((1 << 20) - 2)", 0, 1 << 20, 1 << 20, false, false },
    { "'x' * ((1 << 20) - 1)", 0, 1 << 20, 0, true, true },
    { "'x' * (3 << 20)", 4 << 20, (3 << 20) + 2, (3 << 20) + 2, false, false },
    { "list(range(100))", 390, 390, 390, false, false },
    { "list(range(100))", 389, 389, 0, true, true },
    { "{*range(100)}", 100, 100, 0, true, false },
    { "'\u00e9' * 10", 12, 11, 0, true, true },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    cay_value *v = eval_max(s, cases[i].code, cases[i].max);
    EXPECT_EQ(v->repr.len, cases[i].repr);
    EXPECT_EQ(v->json.len, cases[i].json);
    EXPECT_EQ(v->repr_cut, cases[i].cut);
    EXPECT_EQ(v->json_too_large, cases[i].too_large);
    cay_value_free(v);
  }
  cay_value *v = NULL;
  EXPECT_EQ(cay_session_eval(
                s, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("1"), .value_max = (64 << 20) + 1), &v, NULL),
            CAY_INVALID);
  cay_sandbox_free(box);
}

/* ---- names of cells ---- */

static void expect_traceback(cay_session *s, const char *code, const char *part) {
  cay_value *v = eval_ms(s, code, 0);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_EXCEPTION);
  if (strstr((const char *)v->traceback.data, part) == NULL)
    EXPECT_TEXT((const char *)v->traceback.data, part);
  cay_value_free(v);
}

/* ---- displays ---- */

static void keep_display(void *ctx, cay_slice bundle) {
  char *to = ctx;
  size_t len = strlen(to);
  if (len + bundle.len < 4096) memcpy(to + len, bundle.data, bundle.len);
}

static cay_value *eval_display(cay_session *s, const char *code, char *displayed, uint32_t display_max) {
  cay_value *v = NULL;
  memset(displayed, 0, 4096);
  EXPECT_EQ(
      cay_session_eval(s,
                       &CAY_INIT(cay_eval_options, .code = { code, strlen(code) }, .display = keep_display,
                                 .display_ctx = displayed, .display_max = display_max),
                       &v, NULL),
      CAY_OK);
  return v;
}

TEST(displays_and_the_bundle_of_the_value) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  char displayed[4096];
  cay_value *v = eval_display(s, "display(1)\n'é'", displayed, 0);
  EXPECT_TEXT(displayed, "{\"kind\": \"display\", \"data\": {\"text/plain\": \"1\"}, \"metadata\": {}}");
  EXPECT_TEXT((const char *)v->bundle.data, "{\"data\": {\"text/plain\": \"'é'\"}, \"metadata\": {}}");
  EXPECT(!v->bundle_too_large);
  cay_value_free(v);
  v = eval_display(s, "display('x' * 100)", displayed, 50);
  EXPECT_TEXT((const char *)v->error_type.data, "RuntimeError");
  EXPECT_EQ(displayed[0], '\0');
  cay_value_free(v);
  v = eval_display(s, "'x' * 100", displayed, 50);
  EXPECT(v->bundle_too_large && v->bundle.len == 0 && v->repr.len == 102);
  cay_value_free(v);
  v = eval_ms(s, "display(2)\n3", 0);
  EXPECT_TEXT((const char *)v->out.data, "2\n");
  EXPECT_EQ(v->bundle.len, 0);
  cay_value_free(v);
  cay_eval_options large = CAY_INIT(cay_eval_options, .display_max = UINT32_MAX);
  cay_error err = { 0 };
  EXPECT_EQ(cay_session_eval(s, &large, &v, &err), CAY_INVALID);
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(tracebacks_show_the_lines_of_their_own_cell) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box), *other = session(box);
  cay_buf state = { 0 };
  expect_repr(s, "def f():\n  raise LookupError('deep')", "");
  expect_repr(other, "# another\n# first cell", "");
  EXPECT_EQ(cay_session_save_state(s, &state, NULL), CAY_OK);
  EXPECT_EQ(cay_session_load_state(other, (cay_slice){ state.data, state.len }, NULL), CAY_OK);
  cay_buf_free(&state);
  expect_traceback(other, "f()", "raise LookupError('deep')");
  expect_repr(other, "import inspect; inspect.getsource(f)", "\"def f():\\n  raise LookupError('deep')\\n\"");
  cay_image *image = frozen(s);
  cay_session *copy = session_of(box, image);
  expect_repr(copy, "# what a copy\n# runs first", "");
  expect_traceback(copy, "f()", "raise LookupError('deep')");
  EXPECT_EQ(cay_session_restore(other, image, NULL), CAY_OK);
  expect_repr(other, "# what a copy\n# runs first", "");
  expect_traceback(other, "f()", "raise LookupError('deep')");
  cay_value_free(eval_ms(s, "import os; os._exit(1)", 0));
  expect_traceback(s, "f()", "raise LookupError('deep')");
  cay_image_free(image);
  cay_sandbox_free(box);
}

TEST(a_stream_that_a_cell_has_closed_is_open_in_the_next) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  static const char *const closings[] = { "import sys; sys.stdout.close(); sys.stderr.close()",
                                          "import sys; sys.stdout.detach(); sys.stderr.detach(); None",
                                          "with sys.stdout, sys.stderr: pass",
                                          "import os; os.close(1); os.close(2)" };
  for (size_t i = 0; i < COUNT_OF(closings); i++) {
    cay_value_free(eval_ms(s, closings[i], 0));
    cay_value *v = eval_ms(s, "print('out \u00e9'); print('err', file=sys.stderr)", 0);
    EXPECT_TEXT((const char *)v->out.data, "out \xc3\xa9\n");
    EXPECT_TEXT((const char *)v->err.data, "err\n");
    cay_value_free(v);
  }
  cay_sandbox_free(box);
}

TEST(variables_of_60_megabytes_are_saved_in_256) {
  cay_sandbox *box = NULL;
  EXPECT_EQ(
      cay_sandbox_new(box_engine(),
                      &CAY_INIT(cay_sandbox_options, .limits = &CAY_INIT(cay_limits, .memory = 256 << 20)),
                      &box, NULL),
      CAY_OK);
  cay_session *s = session(box), *other = NULL;
  cay_buf state = { 0 };
  cay_value_free(eval_ms(s, "big = bytes(60_000_000); small = [1, 'two']", 0));
  EXPECT_EQ(cay_session_save_state(s, &state, NULL), CAY_OK);
  EXPECT(state.len > 60000000 && state.len < 61000000);
  cay_session_free(s);
  other = session(box);
  EXPECT_EQ(cay_session_load_state(other, (cay_slice){ state.data, state.len }, NULL), CAY_OK);
  expect_repr(other, "len(big), small", "(60000000, [1, 'two'])");
  cay_buf_free(&state);
  cay_sandbox_free(box);
}

/* ---- asyncio ---- */

TEST(a_session_has_one_event_loop_that_lives_on) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(
      s,
      "import asyncio\nasync def work(n):\n  await asyncio.sleep(n)\n  return n\nt = asyncio.create_task(work(0)); 1",
      "1");
  expect_repr(s, "t.done(), t.result()", "(True, 0)");
  expect_repr(s, "t = asyncio.create_task(work(0.01))\nloop = asyncio.get_event_loop(); t.done()", "False");
  expect_repr(s, "await t, asyncio.get_running_loop() is loop", "(0.01, True)");
  expect_repr(s, "asyncio.run(work(0.01))", "0.01");
  expect_repr(s, "asyncio.get_event_loop() is loop", "True");
  expect_repr(s, "loop.run_until_complete(work(0.01))", "0.01");
  expect_repr(s, "g = asyncio.gather(work(0), work(0.01)); g.done()", "False");
  expect_repr(s, "await g", "[0, 0.01]");
  expect_repr(s, "t = asyncio.ensure_future(work(0.01))", "");
  expect_repr(s, "import time; time.sleep(0.05)", "");
  expect_repr(s, "t.result()", "0.01");
  expect_repr(
      s, "async def ever():\n  while True: await asyncio.sleep(0)\nt = asyncio.create_task(ever()); 2", "2");
  expect_repr(s, "t.cancel(); 3", "3");
  expect_repr(s, "t.cancelled()", "True");
  expect_error(s, "async def bad(): 1 / 0\nawait asyncio.create_task(bad())", "ZeroDivisionError");
  expect_repr(
      s,
      "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import asyncio\\ntry: asyncio.create_task(asyncio.sleep(0))\\nexcept RuntimeError as e: print(e)'], capture_output=True, text=True).stdout",
      "'no running event loop\\n'");
  cay_sandbox_free(box);
}

TEST(the_last_value_has_a_name) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  cay_buf state = { 0 };
  expect_repr(s, "_", "");
  expect_repr(s, "6 * 7", "42");
  expect_repr(s, "None", "");
  expect_repr(s, "x = _ + 1; x", "43");
  expect_repr(s, "_, [n for n in globals() if not n.startswith('__')]", "(43, ['x'])");
  expect_error(s, "1 / 0", "ZeroDivisionError");
  expect_repr(s, "_[0]", "43");
  EXPECT_EQ(cay_session_save_state(s, &state, NULL), CAY_OK);
  EXPECT_EQ(cay_session_clear_state(s, NULL), CAY_OK);
  expect_repr(s, "_", "");
  expect_repr(s, "for _ in 'ab': pass\n1", "1");
  expect_repr(s, "_", "'b'"); /* the user's own */
  cay_buf_free(&state);
  cay_sandbox_free(box);
}
