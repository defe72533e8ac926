/* session_test.c - Python that keeps its variables, through the public interface (cay/session.h). */
#include "sandbox/session/session.h"
#include "sessions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* ---- values ---- */

TEST(variables_stay) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "x = 20", "");
  expect_repr(s, "x + 1", "21");
  expect_repr(s, "def f(a):\n  return a * x\nf(2)", "40");
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(a_value_is_told_as_repr_and_as_json) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  cay_value *v =
      eval_ms(s, "print('out'); import sys; print('err', file=sys.stderr)\n{'a': [1, None, True, 'é']}", 0);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_VALUE);
  EXPECT_TEXT((const char *)v->out.data, "out\n");
  EXPECT_TEXT((const char *)v->err.data, "err\n");
  EXPECT_TEXT((const char *)v->repr.data, "{'a': [1, None, True, 'é']}");
  EXPECT(strstr((const char *)v->json.data, "[1, null, true, ") != NULL);
  cay_value_free(v);
  v = eval_ms(s, "{1, 2}", 0);
  EXPECT_TEXT((const char *)v->repr.data, "{1, 2}");
  EXPECT_EQ(v->json.len, 0);
  cay_value_free(v);
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(exceptions_are_results_with_the_lines_of_the_user) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  cay_value *v = eval_ms(s, "def f():\n  return 1 / 0\n\nf()\n", 0);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_EXCEPTION);
  EXPECT_TEXT((const char *)v->error_type.data, "ZeroDivisionError");
  EXPECT_TEXT((const char *)v->error_text.data, "division by zero");
  const char *trace = v->traceback.data;
  EXPECT(strstr(trace, "line 4, in <module>") != NULL && strstr(trace, "line 2, in f") != NULL);
  EXPECT(strstr(trace, "return 1 / 0") != NULL);
  cay_value_free(v);
  expect_error(s, "x = = 1", "SyntaxError");
  expect_error(s, "undefined", "NameError");
  expect_repr(s, "1", "1");
  v = eval_ms(s, "import sys; sys.exit(7)", 0);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_EXIT);
  EXPECT_EQ(v->exit_code, 7);
  cay_value_free(v);
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(sessions_share_files_and_nothing_else) {
  cay_sandbox *box = box_new();
  cay_session *a = session(box), *b = session(box);
  expect_repr(a, "x = 1; open('/tmp/f', 'w').write('shared')", "6");
  expect_error(b, "x", "NameError");
  expect_repr(b, "open('/tmp/f').read()", "'shared'");
  expect_repr(b, "import os; os.chdir('/tmp'); os.environ['A'] = 'b'", "");
  expect_repr(a, "import os; os.getcwd(), os.environ.get('A')", "('/home/agent', None)");
  cay_session_free(a);
  expect_repr(b, "os.getcwd()", "'/tmp'");
  cay_sandbox_free(box); /* and with it the session that is left */
}

TEST(input_is_read_or_ends) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  cay_value *v = NULL;
  EXPECT_EQ(cay_session_eval(s,
                             &CAY_INIT(cay_eval_options, .code = { "input() + input()", 17 },
                                       .input = { "one\ntwo\n", 8 }),
                             &v, NULL),
            CAY_OK);
  EXPECT_TEXT((const char *)v->repr.data, "'onetwo'");
  cay_value_free(v);
  expect_error(s, "input()", "EOFError");
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(code_that_is_no_text_is_refused) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  cay_value *v = NULL;
  EXPECT_EQ(cay_session_eval(s, &CAY_INIT(cay_eval_options, .code = { "a\xff", 2 }), &v, NULL), CAY_INVALID);
  EXPECT_EQ(
      cay_session_eval(s, &CAY_INIT(cay_eval_options, .code = { "1", 1 }, .trace = CAY_TRACE_LINE), &v, NULL),
      CAY_INVALID);
  expect_repr(s, "1", "1");
  cay_session_free(s);
  cay_sandbox_free(box);
}

/* ---- output ---- */

struct heard {
  char text[200];
  size_t len;
  bool whole;
};

static void hear(void *ctx, int fd, cay_slice bytes) {
  struct heard *h = ctx;
  const uint8_t *first = bytes.data;
  if ((first[0] & 0xc0) == 0x80) h->whole = false;
  h->len += (size_t)snprintf(h->text + h->len, sizeof h->text - h->len, "%d:%.*s|", fd, (int)bytes.len,
                             (const char *)bytes.data);
}

TEST(output_comes_in_order_and_in_whole_characters) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  struct heard h = { .whole = true };
  cay_value *v = NULL;
  const char *code = "import os, sys\nprint('a'); print('b', file=sys.stderr); print('c')\n"
                     "sys.stdout.flush()\nfor byte in 'é€'.encode(): os.write(1, bytes([byte]))\n";
  EXPECT_EQ(cay_session_eval(
                s,
                &CAY_INIT(cay_eval_options, .code = { code, strlen(code) }, .output = hear, .output_ctx = &h),
                &v, NULL),
            CAY_OK);
  EXPECT_TEXT(h.text, "1:a\n|2:b\n|1:c\n|1:é|1:€|");
  EXPECT(h.whole);
  EXPECT_TEXT((const char *)v->out.data, "a\nc\né€");
  cay_value_free(v);
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(too_much_output_is_cut) {
  cay_sandbox *box = NULL;
  cay_limits limits = CAY_INIT(cay_limits, .output = 1000);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  cay_session *s = session(box);
  cay_value *v = eval_ms(s, "print('é' * 5000)", 0);
  EXPECT(v->out_cut && v->out.len <= 1000 && v->out.len > 990);
  cay_value_free(v);
  cay_session_free(s);
  cay_sandbox_free(box);
}

/* ---- limits ---- */

static void expect_stopped(cay_session *s, const char *code, uint32_t ms, bool undone) {
  cay_value *v = eval_ms(s, code, ms);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_STOPPED);
  EXPECT_EQ(v->end, CAY_END_TIME);
  EXPECT_EQ(v->undone, undone);
  cay_value_free(v);
}

TEST(a_deadline_is_an_exception_that_leaves_the_session_as_it_is) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_stopped(s, "x = 1\nwhile True: pass", 100, false);
  expect_stopped(s, "import time\ntime.sleep(100)", 100, false);
  expect_stopped(s, "import re\nre.match('(a+)+$', 'a' * 40 + 'b')", 100, false);
  expect_stopped(s, "import subprocess\nsubprocess.run('sleep 100', shell=True)", 100, false);
  expect_repr(s, "x", "1");
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(code_that_ignores_it_is_undone) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "x = [1]; import os", "");
  const char *stubborn = "x.append(2); f = open('/tmp/new', 'w'); os.chdir('/')\n"
                         "while True:\n  try:\n    while True: pass\n  except BaseException: pass";
  for (int i = 0; i < 3; i++) {
    expect_stopped(s, stubborn, 500, true); /* it must have come to its loop by then */
    expect_repr(s, "x, os.getcwd(), len(os.listdir('/proc/self/fd'))", "([1], '/home/agent', 4)");
  }
  expect_error(s, "f", "NameError");
  cay_session_free(s);
  cay_sandbox_free(box);
}

/* Small evaluations in a row are not saved but made again. */
TEST(undo_keeps_earlier_small_evaluations) {
  enum { ROWS = 40 };
  const char *stubborn = "while True:\n  try:\n    while True: pass\n  except BaseException: pass";
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "import random; n, all, numbers = 0, [], iter(range(1000))", "");
  for (int round = 1; round <= 3; round++) {
    for (int i = 0; i < ROWS; i++)
      expect_repr(s, "n += 1; all.append((next(numbers), object(), random.random()))", "");
    cay_value *before = eval_ms(s, "n, len(all), id(all[-1]), hash(str(all))", 0);
    expect_stopped(s, stubborn, 200, true);
    expect_repr(s, "n, len(all), id(all[-1]), hash(str(all))", (const char *)before->repr.data);
    cay_value_free(before);
    expect_error(s, "1 / 0", "ZeroDivisionError");
    expect_stopped(s,
                   "n = -1; print(n)\n" /* not small: it is saved, or undone */
                   "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
                   20, true);
    char count[32];
    snprintf(count, sizeof count, "(%d, %d)", round * ROWS, round * ROWS);
    expect_repr(s, "n, len(all)", count);
  }
  expect_repr(s, "next(numbers)", "120");
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(a_session_whose_first_evaluation_was_undone_knows_its_environment) {
  cay_sandbox *box = box_new();
  cay_session *s = NULL;
  cay_error err = { 0 };
  const char *const env[] = { "COLOUR=green", NULL };
  if (cay_session_new(box, &CAY_INIT(cay_session_options, .env = env), &s, &err) != CAY_OK)
    EXPECT_TEXT(err.message, "a session");
  expect_stopped(s, "while True:\n  try:\n    while True: pass\n  except BaseException: pass", 20, true);
  expect_repr(s, "import os; os.environ['COLOUR']", "'green'");
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(an_interpreter_that_ends_itself_is_undone) {
  static const struct {
    const char *code;
    cay_end end;
    int32_t code_number;
  } ends[] = { { "import os; x = 2; os._exit(3)", CAY_END_EXIT, 3 },
               { "import os; x = 2; os.kill(os.getpid(), 9)", CAY_END_SIGNAL, 9 },
               { "import os; x = 2; os.abort()", CAY_END_SIGNAL, 6 } };
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "x = 1", "");
  for (size_t i = 0; i < COUNT_OF(ends); i++) {
    cay_value *v = eval_ms(s, ends[i].code, 0);
    EXPECT_EQ(v->outcome, CAY_OUTCOME_STOPPED);
    EXPECT(v->undone);
    if (i < 2) {
      EXPECT_EQ(v->end, ends[i].end);
      EXPECT_EQ(v->exit_code, ends[i].code_number);
    }
    cay_value_free(v);
    expect_repr(s, "x", "1");
  }
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(too_deep_is_an_exception) {
  static const char *const deep[] = {
    "def f(): return f()\nf()",
    "import json; json.loads('[' * 100000)",
    "l = []\nfor i in range(100000): l = [l]\nrepr(l)",
    "import ast; ast.parse('(' * 100000 + ')' * 100000)",
    "compile('-' * 100000 + '1', 'f', 'eval')",
    "import pickle\nl = []\nfor i in range(100000): l = [l]\npickle.dumps(l)",
    "class A:\n  def __getattr__(self, n): return getattr(self, n + 'x')\nA().y",
    "class B:\n  def __eq__(self, o): return [self] == [o]\nB() == B()",
    "import copy\nl = []\nfor i in range(100000): l = [l]\ncopy.deepcopy(l)",
  };
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  for (size_t i = 0; i < COUNT_OF(deep); i++) {
    cay_value *v = eval_ms(s, deep[i], 20000);
    if (v->outcome != CAY_OUTCOME_EXCEPTION)
      fprintf(stderr, "%s: %s, %s\n", deep[i], cay_end_name(v->end), (const char *)v->detail.data);
    EXPECT_EQ(v->outcome, CAY_OUTCOME_EXCEPTION);
    cay_value_free(v);
  }
  expect_repr(s, "1 + 1", "2");
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(memory_runs_out_as_an_exception) {
  cay_sandbox *box = NULL;
  cay_limits limits = CAY_INIT(cay_limits, .memory = 64 << 20);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  cay_session *s = session(box);
  expect_error(s, "'a' * 10**9", "MemoryError");
  expect_error(s, "l = []\nwhile True: l.append('x' * 100000)", "MemoryError");
  expect_repr(s, "l = None; 1", "1");
  cay_session_free(s);
  cay_sandbox_free(box);
}

static void *cancel_soon(void *ctx) {
  usleep(100000);
  cay_session_cancel(ctx);
  return NULL;
}

TEST(an_evaluation_can_be_cancelled) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, cancel_soon, s), 0);
    cay_value *v = eval_ms(s, i == 0 ? "while True: pass" : "import time; time.sleep(100)", 0);
    EXPECT_EQ(v->end, CAY_END_CANCELLED);
    EXPECT(!v->undone);
    cay_value_free(v);
    pthread_join(thread, NULL);
  }
  cay_session_cancel(s); /* nothing runs: no effect, on the next one neither */
  expect_repr(s, "1", "1");
  cay_session_free(s);
  cay_sandbox_free(box);
}

static void expect_no_evaluation_begins(cay_session *s) {
  for (int i = 0; i < 50; i++) {
    cay_value *v = eval_ms(s, "x += 1\nprint(x)", 0);
    EXPECT_EQ(v->outcome, CAY_OUTCOME_STOPPED);
    EXPECT_EQ(v->end, CAY_END_TIME);
    EXPECT(!v->undone);
    EXPECT_EQ(v->out.len, 0);
    EXPECT(strstr((const char *)v->detail.data, "cpu_ms 300") != NULL);
    cay_value_free(v);
  }
  cay_buf bytes = { 0 };
  cay_error err = { 0 };
  EXPECT_EQ(cay_session_save_state(s, &bytes, &err), CAY_TIMEOUT);
  EXPECT(strstr(err.message, "cpu_ms 300") != NULL);
}

TEST(with_the_processors_time_used_up_no_evaluation_however_short_begins) {
  const cay_limits limits = CAY_INIT(cay_limits, .cpu_ms = 300, .wall_ms = UINT32_MAX);
  for (int by_itself = 0; by_itself < 2; by_itself++) {
    cay_sandbox *box = NULL;
    EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
              CAY_OK);
    cay_session *s = session(box), *other = session(box);
    expect_repr(s, "x = 1; x", "1");
    cay_value *v = eval_ms(by_itself ? s : other, "while True: pass", 0);
    EXPECT_EQ(v->end, CAY_END_TIME);
    EXPECT(strstr((const char *)v->detail.data, "cpu_ms 300") != NULL);
    cay_value_free(v);
    expect_no_evaluation_begins(s);
    cay_session_free(s);
    cay_session_free(other);
    cay_sandbox_free(box);
  }
}

static void *free_soon(void *ctx) {
  usleep(50000);
  cay_sandbox_interrupt(ctx);
  return NULL;
}

TEST(an_interrupt_of_the_sandbox_reaches_its_sessions) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, free_soon, box), 0);
  cay_value *v = eval_ms(s, "while True: pass", 0);
  EXPECT_EQ(v->end, CAY_END_CANCELLED);
  cay_value_free(v);
  pthread_join(thread, NULL);
  cay_sandbox_free(box);
}

TEST(children_that_compute_can_be_killed) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "import subprocess, sys", "");
  static const char *const loops[] = { "['bash', '-c', 'while :; do :; done']",
                                       "[sys.executable, '-c', 'while True: pass']",
                                       "['jq', '-n', '[limit(1e9; repeat(1))]']" };
  for (size_t i = 0; i < COUNT_OF(loops); i++) {
    char code[300];
    snprintf(
        code, sizeof code,
        "p = subprocess.Popen(%s)\ntry:\n  p.wait(0.1)\nexcept subprocess.TimeoutExpired:\n  p.kill()\np.wait()",
        loops[i]);
    expect_repr(s, code, "-9");
  }
  cay_session_free(s);
  cay_sandbox_free(box);
}

/* ---- grants ---- */

static void echo(void *ctx, cay_callback_call *request, const char *name, cay_slice args) {
  atomic_fetch_add((atomic_int *)ctx, 1);
  (void)name;
  cay_callback_answer(request, args);
}

static void refuse(void *ctx, cay_callback_call *request, const char *name, cay_slice args) {
  (void)ctx, (void)name, (void)args;
  cay_callback_fail(request, "not today");
}

struct later {
  pthread_mutex_t mu;
  cay_callback_call *kept[200];
  int count;
};

static void keep(void *ctx, cay_callback_call *request, const char *name, cay_slice args) {
  struct later *l = ctx;
  (void)name, (void)args;
  pthread_mutex_lock(&l->mu);
  l->kept[l->count++] = request;
  pthread_mutex_unlock(&l->mu);
}

static void grant(cay_sandbox *box, const char *name, const char *schema, cay_callback_fn *fn, void *ctx) {
  EXPECT_EQ(
      cay_callback_add(
          box, &CAY_INIT(cay_callback_options, .name = name, .schema = schema, .fn = fn, .ctx = ctx), NULL),
      CAY_OK);
}

TEST(a_grant_is_a_function) {
  cay_sandbox *box = box_new();
  atomic_int calls = 0;
  grant(box, "http.get",
        "{\"type\":\"object\",\"properties\":{\"url\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}},"
        "\"required\":[\"url\"],\"additionalProperties\":false}",
        echo, &calls);
  grant(box, "refuse", NULL, refuse, NULL);
  cay_session *s = session(box);
  expect_repr(s, "await http.get(url='u', n=2)", "{'url': 'u', 'n': 2}");
  expect_repr(s, "await http.get('v')", "{'url': 'v'}");
  expect_repr(s, "await invoke('http.get', '{\"url\": \"w\"}')", "'{\"url\": \"w\"}'");
  EXPECT_EQ(calls, 3);
  expect_error(s, "await http.get(url=3)", "cay.CallbackError");
  expect_error(s, "await http.get(url='u', other=1)", "cay.CallbackError");
  expect_error(s, "await invoke('http.get', 'no json')", "cay.CallbackError");
  EXPECT_EQ(calls, 3); /* what the schema refuses never gets here */
  expect_error(s, "await refuse()", "cay.CallbackError");
  expect_repr(s, "sorted(c['name'] for c in list_callbacks())", "['http.get', 'refuse']");
  EXPECT_EQ(cay_callback_remove(box, "refuse", NULL), CAY_OK);
  EXPECT_EQ(cay_callback_remove(box, "refuse", NULL), CAY_NOT_FOUND);
  expect_repr(s, "[c['name'] for c in list_callbacks()]", "['http.get']");
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(names_and_schemas_of_grants_are_checked) {
  static const char *const bad[] = { "", ".a", "a.", "a..b", "a b", "a/b", "é" };
  cay_sandbox *box = box_new();
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    EXPECT_EQ(cay_callback_add(box, &CAY_INIT(cay_callback_options, .name = bad[i], .fn = refuse), NULL),
              CAY_INVALID);
  EXPECT_EQ(
      cay_callback_add(
          box, &CAY_INIT(cay_callback_options, .name = "a", .schema = "{\"type\":1}", .fn = refuse), NULL),
      CAY_INVALID);
  cay_sandbox_free(box);
}

static void *answer_backwards(void *ctx) {
  struct later *l = ctx;
  for (;;) {
    pthread_mutex_lock(&l->mu);
    int count = l->count;
    pthread_mutex_unlock(&l->mu);
    if (count == 100) break;
    usleep(1000);
  }
  for (int i = 99; i >= 0; i--) {
    char text[16];
    snprintf(text, sizeof text, "%d", i);
    cay_callback_answer(l->kept[i], (cay_slice){ text, strlen(text) });
  }
  return NULL;
}

TEST(answers_may_come_later_from_elsewhere_and_in_any_order) {
  cay_sandbox *box = box_new();
  struct later l = { .mu = PTHREAD_MUTEX_INITIALIZER };
  grant(box, "later", NULL, keep, &l);
  cay_session *s = session(box);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, answer_backwards, &l), 0);
  expect_repr(s, "import asyncio\nawait asyncio.gather(*(later() for i in range(100))) == list(range(100))",
              "True");
  pthread_join(thread, NULL);
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(a_question_without_an_answer_ends_with_the_deadline_and_a_late_answer_goes_nowhere) {
  cay_sandbox *box = box_new();
  struct later l = { .mu = PTHREAD_MUTEX_INITIALIZER };
  grant(box, "never", NULL, keep, &l);
  cay_session *s = session(box);
  expect_stopped(s, "await never()", 100, false);
  expect_repr(s, "1", "1");
  EXPECT_EQ(l.count, 1);
  cay_callback_answer(l.kept[0], (cay_slice){ "1", 1 });
  expect_stopped(s, "await never()", 100, false);
  cay_session_free(s);
  cay_sandbox_free(box);
  EXPECT(cay_callback_cancelled(l.kept[1]));
  cay_callback_fail(l.kept[1], "late"); /* after the sandbox */
}

/* ---- traces ---- */

struct trace {
  int lines[64];
  int count;
};

static void note_line(void *ctx, uint32_t line, cay_slice event, cay_slice context) {
  struct trace *t = ctx;
  (void)context;
  if (t->count < 64 && memmem(event.data, event.len, "\"line\"", 6) != NULL) t->lines[t->count++] = (int)line;
}

TEST(a_trace_tells_the_lines_of_the_user) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  struct trace t = { .count = 0 };
  cay_value *v = NULL;
  const char *code = "x = 0\nfor i in range(2):\n  x += i\ny = str(x)\n";
  EXPECT_EQ(cay_session_eval(s,
                             &CAY_INIT(cay_eval_options, .code = { code, strlen(code) },
                                       .trace = CAY_TRACE_LINE, .on_trace = note_line, .trace_ctx = &t),
                             &v, NULL),
            CAY_OK);
  const int want[] = { 1, 2, 3, 2, 3, 2, 4 };
  EXPECT_EQ(v->trace_events, t.count);
  EXPECT_EQ(t.count, COUNT_OF(want));
  for (size_t i = 0; i < COUNT_OF(want); i++) EXPECT_EQ(t.lines[i], want[i]);
  cay_value_free(v);
  t.count = 0;
  const char *loop = "for i in range(100000):\n  pass";
  EXPECT_EQ(
      cay_session_eval(s,
                       &CAY_INIT(cay_eval_options, .code = { loop, strlen(loop) }, .trace = CAY_TRACE_LINE,
                                 .trace_max = 10, .on_trace = note_line, .trace_ctx = &t),
                       &v, NULL),
      CAY_OK);
  EXPECT_EQ(v->trace_events, 10);
  cay_value_free(v);
  expect_repr(s, "1", "1");
  EXPECT_EQ(t.count, 10);
  cay_session_free(s);
  cay_sandbox_free(box);
}

/* ---- state and images ---- */

TEST(state_is_saved_and_loaded) {
  cay_sandbox *box = box_new();
  cay_session *a = session(box), *b = session(box);
  cay_buf state = { 0 };
  cay_error err;
  expect_repr(a, "def f(x): return x + k\nclass C:\n  def __init__(self): self.v = 3\nk = 4\nc = C()", "");
  EXPECT_EQ(cay_session_save_state(a, &state, NULL), CAY_OK);
  EXPECT_EQ(cay_session_load_state(b, (cay_slice){ state.data, state.len }, NULL), CAY_OK);
  expect_repr(b, "f(1) + c.v, k", "(8, 4)");
  uint8_t *bytes = state.data;
  for (size_t at = 0; at < state.len; at += 7) {
    bytes[at] ^= 0x55;
    EXPECT_EQ(cay_session_load_state(b, (cay_slice){ state.data, state.len }, NULL), CAY_CORRUPT);
    bytes[at] ^= 0x55;
  }
  for (size_t len = 0; len < state.len; len += 11)
    EXPECT_EQ(cay_session_load_state(b, (cay_slice){ state.data, len }, NULL), CAY_CORRUPT);
  expect_repr(b, "k", "4");
  cay_buf_free(&state);
  expect_repr(a, "g = (i for i in range(3))", "");
  EXPECT_EQ(cay_session_save_state(a, &state, &err), CAY_UNSUPPORTED);
  EXPECT(strstr(err.message, "g") != NULL);
  EXPECT_EQ(cay_session_clear_state(b, NULL), CAY_OK);
  expect_error(b, "k", "NameError");
  cay_sandbox_free(box);
}

TEST(an_image_keeps_everything) {
  cay_sandbox *box = box_new(), *other = box_new();
  cay_session *s = session(box), *copy = NULL;
  cay_image *image = NULL;
  expect_repr(s, "k = 5; f = lambda: k; g = (i * i for i in range(10)); next(g); next(g)", "1");
  EXPECT_EQ(cay_session_freeze(s, &image, NULL), CAY_OK);
  expect_repr(s, "k = 6; next(g)", "4");
  EXPECT_EQ(cay_session_new(other, &CAY_INIT(cay_session_options, .image = image), &copy, NULL), CAY_OK);
  expect_repr(copy, "f(), next(g)", "(5, 4)");
  expect_repr(s, "f(), next(g)", "(6, 9)");
  EXPECT_EQ(cay_session_restore(s, image, NULL), CAY_OK);
  expect_repr(s, "f(), next(g)", "(5, 4)");
  char path[] = "/tmp/cay-image-XXXXXX";
  int fd = mkstemp(path);
  EXPECT(fd >= 0);
  close(fd);
  EXPECT_EQ(cay_image_save(image, path, NULL), CAY_OK);
  cay_image_free(image);
  EXPECT_EQ(cay_image_load(box_engine(), NULL, path, &image, NULL), CAY_OK);
  EXPECT_EQ(cay_session_restore(copy, image, NULL), CAY_OK);
  expect_repr(copy, "f(), next(g)", "(5, 4)");
  EXPECT_EQ(truncate(path, 100000), 0);
  cay_image *cut = NULL;
  EXPECT(cay_image_load(box_engine(), NULL, path, &cut, NULL) != CAY_OK);
  EXPECT_EQ(cay_image_load(box_engine(), NULL, "/nowhere", &cut, NULL), CAY_NOT_FOUND);
  unlink(path);
  cay_image_free(image);
  cay_sandbox_free(box);
  cay_sandbox_free(other);
}

TEST(copies_of_an_image_are_different_by_chance) {
  cay_sandbox *a = box_new(), *b = box_new();
  cay_session *s = session(a), *t = session(b);
  const char *code =
      "import random, uuid, secrets\n(random.random(), str(uuid.uuid4()), secrets.token_hex(8))";
  cay_value *v = eval_ms(s, code, 0), *w = eval_ms(t, code, 0);
  EXPECT(strcmp((const char *)v->repr.data, (const char *)w->repr.data) != 0);
  EXPECT(strncmp((const char *)v->repr.data, (const char *)w->repr.data, 12) != 0);
  cay_value_free(v);
  cay_value_free(w);
  cay_sandbox_free(a);
  cay_sandbox_free(b);
}

/* OpenSSL has generators of its own, which are seeded when they are first used: here before an image is made,
 * of an interpreter and of a session. */
TEST(copies_of_an_image_that_has_drawn_from_openssl_are_different_too) {
  const char *draw = "import ssl\nssl.RAND_bytes(8)";
  cay_image *image = NULL;
  EXPECT_EQ(cay_image_build(box_engine(), &CAY_INIT(cay_image_options, .code = draw), &image, NULL), CAY_OK);
  cay_sandbox *a = box_new(), *b = box_new();
  cay_session *s = NULL, *t = NULL;
  EXPECT_EQ(cay_session_new(a, &CAY_INIT(cay_session_options, .image = image), &s, NULL), CAY_OK);
  EXPECT_EQ(cay_session_new(b, &CAY_INIT(cay_session_options, .image = image), &t, NULL), CAY_OK);
  cay_image_free(image);
  for (int round = 0; round < 2; round++) {
    cay_value *v = eval_ms(s, draw, 0), *w = eval_ms(t, draw, 0);
    EXPECT(strcmp((const char *)v->repr.data, (const char *)w->repr.data) != 0);
    cay_value_free(v);
    cay_value_free(w);
    image = NULL;
    EXPECT_EQ(cay_session_freeze(s, &image, NULL), CAY_OK);
    EXPECT_EQ(cay_session_restore(s, image, NULL), CAY_OK);
    EXPECT_EQ(cay_session_restore(t, image, NULL), CAY_OK);
    cay_image_free(image);
  }
  cay_sandbox_free(a);
  cay_sandbox_free(b);
}

TEST(an_image_is_built_with_what_it_has_imported) {
  cay_image *image = NULL;
  cay_error err;
  EXPECT_EQ(
      cay_image_build(box_engine(), &CAY_INIT(cay_image_options, .code = "import fractions"), &image, &err),
      CAY_OK);
  cay_sandbox *box = box_new();
  cay_session *s = NULL;
  EXPECT_EQ(cay_session_new(box, &CAY_INIT(cay_session_options, .image = image), &s, NULL), CAY_OK);
  expect_repr(s, "'fractions' in __import__('sys').modules", "True");
  uint64_t stored = 0;
  EXPECT(cay_image_memory(image, &stored) < 64 << 20);
  EXPECT(stored > 0);
  cay_image_free(image);
  image = NULL;
  EXPECT_EQ(cay_image_build(box_engine(), &CAY_INIT(cay_image_options, .code = "import nothing_of_that_name"),
                            &image, &err),
            CAY_INVALID);
  EXPECT(strstr(err.message, "nothing_of_that_name") != NULL);
  cay_sandbox_free(box);
}

TEST(preimported_modules_cost_little) {
  cay_image *image = NULL;
  EXPECT_EQ(cay_image_build(box_engine(), NULL, &image, NULL), CAY_OK);
  uint64_t stored = 0;
  EXPECT(cay_image_memory(image, &stored) < 32 << 20);
  EXPECT(stored > 1 << 20 && stored < 12 << 20);
  cay_image_free(image);
}

/* ---- several at once ---- */

static void *many(void *ctx) {
  for (int i = 0; i < 30; i++) {
    cay_sandbox *box = box_new();
    cay_session *s = session(box);
    expect_repr(s, "sum(range(100))", "4950");
    if (i % 2 == 0) cay_session_free(s);
    cay_sandbox_free(box);
  }
  return ctx;
}

TEST(sandboxes_with_sessions_come_and_go_on_several_threads) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) EXPECT_EQ(pthread_create(&threads[i], NULL, many, NULL), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

TEST(a_session_that_runs_is_busy) {
  cay_sandbox *box = box_new();
  struct later l = { .mu = PTHREAD_MUTEX_INITIALIZER };
  cay_session *s = session(box);
  pthread_t thread;
  cay_value *v = NULL;
  grant(box, "wait", NULL, keep, &l);
  EXPECT_EQ(pthread_create(&thread, NULL, cancel_soon, s), 0);
  v = eval_ms(s, "await wait()", 5000); /* cancelled by the thread */
  EXPECT_EQ(v->end, CAY_END_CANCELLED);
  pthread_join(thread, NULL);
  cay_value_free(v);
  cay_callback_fail(l.kept[0], "late");
  cay_sandbox_free(box);
}

/* ---- waiting in line ---- */

struct queued {
  cay_session *session;
  int number;
  pthread_t thread;
  const bool *cancelled;
  cay_status status;
  cay_outcome outcome;
  cay_end end;
};

static void *append_one(void *ctx) {
  struct queued *q = ctx;
  cay_value *v = NULL;
  char code[40];
  snprintf(code, sizeof code, "order.append(%d)", q->number);
  cay_eval_options o = CAY_INIT(cay_eval_options, .code = { code, strlen(code) }, .cancelled = q->cancelled);
  q->status = cay_session_eval(q->session, &o, &v, NULL);
  if (q->status != CAY_OK) return NULL;
  q->outcome = v->outcome;
  q->end = v->end;
  cay_value_free(v);
  return NULL;
}

static void await_kept(struct later *l) {
  for (;;) {
    pthread_mutex_lock(&l->mu);
    int count = l->count;
    pthread_mutex_unlock(&l->mu);
    if (count != 0) return;
    usleep(1000);
  }
}

static void await_waiters(cay_session *s, uint64_t count) {
  for (;;) {
    pthread_mutex_lock(&s->slot.mu);
    uint64_t waiting = s->slot.last_ticket - s->slot.turn;
    pthread_mutex_unlock(&s->slot.mu);
    if (waiting == count) return;
    usleep(1000);
  }
}

static void begin_in_line(struct queued *q, cay_session *s, int number, const bool *cancelled) {
  *q = (struct queued){ .session = s, .number = number, .cancelled = cancelled };
  EXPECT_EQ(pthread_create(&q->thread, NULL, append_one, q), 0);
  await_waiters(s, (uint64_t)number + 1);
}

static void *wait_for_a_callback(void *ctx) {
  cay_value *v = eval_ms(ctx, "order = []\nawait wait()", 0);
  cay_value_free(v);
  return NULL;
}

TEST(evaluations_of_one_session_wait_in_line) {
  enum { COUNT = 8 };
  cay_sandbox *box = box_new();
  struct later l = { .mu = PTHREAD_MUTEX_INITIALIZER };
  cay_session *s = session(box);
  struct queued all[COUNT];
  bool cancelled = false;
  pthread_t first;
  cay_value *v = NULL;
  grant(box, "wait", NULL, keep, &l);
  EXPECT_EQ(pthread_create(&first, NULL, wait_for_a_callback, s), 0);
  await_kept(&l);
  for (int i = 0; i < COUNT; i++) begin_in_line(&all[i], s, i, i == 3 ? &cancelled : NULL);
  EXPECT_EQ(
      cay_session_eval(s, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("1"), .no_wait = true), &v, NULL),
      CAY_BUSY);
  __atomic_store_n(&cancelled, true, __ATOMIC_RELEASE);
  cay_callback_answer(l.kept[0], (cay_slice){ "1", 1 });
  pthread_join(first, NULL);
  for (int i = 0; i < COUNT; i++) {
    pthread_join(all[i].thread, NULL);
    EXPECT_EQ(all[i].status, CAY_OK);
    EXPECT_EQ(all[i].outcome, i == 3 ? CAY_OUTCOME_STOPPED : CAY_OUTCOME_VALUE);
    EXPECT_EQ(all[i].end, i == 3 ? CAY_END_CANCELLED : CAY_END_EXIT);
  }
  expect_repr(s, "order", "[0, 1, 2, 4, 5, 6, 7]");
  cay_sandbox_free(box);
}

TEST(evaluations_that_wait_for_a_session_that_ends_are_cancelled) {
  cay_sandbox *box = box_new();
  struct later l = { .mu = PTHREAD_MUTEX_INITIALIZER };
  cay_session *s = session(box);
  struct queued all[4];
  pthread_t first;
  grant(box, "wait", NULL, keep, &l);
  EXPECT_EQ(pthread_create(&first, NULL, wait_for_a_callback, s), 0);
  await_kept(&l);
  for (int i = 0; i < 4; i++) begin_in_line(&all[i], s, i, NULL);
  cay_session_free(s);
  for (size_t i = 0; i < COUNT_OF(all); i++) {
    pthread_join(all[i].thread, NULL);
    EXPECT_EQ(all[i].status, CAY_CANCELLED);
  }
  pthread_join(first, NULL);
  cay_callback_fail(l.kept[0], "late");
  cay_sandbox_free(box);
}

TEST(a_session_whose_first_evaluation_was_cancelled_before_it_began_knows_its_environment) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  bool cancelled = true;
  struct queued one = { .session = s, .cancelled = &cancelled };
  append_one(&one);
  EXPECT_EQ(one.end, CAY_END_CANCELLED);
  cay_value_free(eval_ms(s, "import os; os._exit(1)", 0));
  expect_repr(s, "import os; os.getcwd(), 'HOME' in os.environ", "('/home/agent', True)");
  cay_sandbox_free(box);
}

static void eval_inside(void *ctx, cay_callback_call *request, const char *name, cay_slice args) {
  cay_value *v = NULL;
  (void)name, (void)args;
  cay_status status = cay_session_eval(ctx, &CAY_INIT(cay_eval_options, .code = CAY_TEXT("1")), &v, NULL);
  cay_callback_answer(request, status == CAY_BUSY ? CAY_TEXT("\"busy\"") : CAY_TEXT("null"));
}

TEST(an_evaluation_in_a_callback_of_the_same_session_does_not_wait_for_itself) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  grant(box, "again", NULL, eval_inside, s);
  expect_repr(s, "await again()", "'busy'");
  cay_sandbox_free(box);
}

TEST(a_session_without_undo_is_over_when_it_is_ended) {
  cay_sandbox *box = box_new();
  cay_session *s = NULL;
  cay_value *v = NULL;
  EXPECT_EQ(cay_session_new(box, &CAY_INIT(cay_session_options, .no_undo = true), &s, NULL), CAY_OK);
  expect_repr(s, "x = 1; x", "1");
  v = eval_ms(s, "import os; os._exit(1)", 0);
  EXPECT(!v->undone);
  cay_value_free(v);
  EXPECT_EQ(cay_session_eval(s, &CAY_INIT(cay_eval_options, .code = { "1", 1 }), &v, NULL), CAY_INTERNAL);
  cay_session_free(s);
  EXPECT_EQ(cay_session_new(box, &CAY_INIT(cay_session_options, .language = "cobol"), &s, NULL),
            CAY_NOT_FOUND);
  cay_sandbox_free(box);
}

/* ---- fuel ---- */

static cay_value *eval_fuel(cay_session *s, const char *code, uint64_t fuel) {
  cay_value *v = NULL;
  cay_error err = { 0 };
  cay_eval_options o = CAY_INIT(cay_eval_options, .code = { code, strlen(code) }, .fuel = fuel);
  if (cay_session_eval(s, &o, &v, &err) != CAY_OK) EXPECT_TEXT(err.message, "a value");
  return v;
}

TEST(fuel_ends_an_evaluation_and_undoes_it) {
  cay_sandbox *box = box_new();
  cay_session *s = NULL;
  cay_error err = { 0 };
  if (cay_session_new(box, &CAY_INIT(cay_session_options, .count_fuel = true), &s, &err) != CAY_OK)
    EXPECT_TEXT(err.message, "a session");
  expect_repr(s, "x = 1", "");
  cay_value *v = eval_fuel(s, "x = 2\nwhile True: pass", 20000000);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_STOPPED);
  EXPECT_EQ(v->end, CAY_END_FUEL);
  EXPECT(v->undone);
  EXPECT_EQ(v->fuel, 20000000);
  cay_value_free(v);
  expect_repr(s, "x", "1");
  uint64_t used[2];
  for (int i = 0; i < 2; i++) { /* equal work costs the same, but for hashes and caches */
    v = eval_fuel(s, "sum(range(100000))", 1000000000);
    EXPECT_EQ(v->outcome, CAY_OUTCOME_VALUE);
    used[i] = v->fuel;
    cay_value_free(v);
  }
  EXPECT(used[0] > 1000000 && used[1] > used[0] / 2 && used[1] < used[0] * 2);
  v = eval_ms(s, "while True: pass", 50); /* the clock goes on */
  EXPECT_EQ(v->end, CAY_END_TIME);
  cay_value_free(v);
  expect_repr(s, "x", "1");
  cay_session_free(s);
  cay_sandbox_free(box);
}

TEST(processes_of_an_evaluation_draw_on_its_fuel) {
  cay_limits limits = CAY_INIT(cay_limits, .fuel = 500000000);
  cay_sandbox *box = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, &err),
            CAY_OK);
  cay_session *s = session(box);
  cay_value *v = eval_fuel(s, "import subprocess\nsubprocess.run(['sh', '-c', 'while :; do :; done'])", 0);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_STOPPED);
  EXPECT_EQ(v->end, CAY_END_FUEL);
  cay_value_free(v);
  v = eval_fuel(s, "import subprocess\nsubprocess.Popen(['sh', '-c', 'while :; do :; done']).pid > 1", 0);
  EXPECT(v->outcome == CAY_OUTCOME_VALUE || v->end == CAY_END_FUEL);
  cay_value_free(v);
  cay_session_free(s); /* its background process goes on, and draws on fuel that is not freed */
  usleep(20000);
  cay_sandbox_free(box);
}

TEST(fuel_is_counted_only_when_the_session_was_made_so) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box), *counting = NULL;
  cay_error err = { 0 };
  cay_value *v = NULL;
  cay_eval_options o = CAY_INIT(cay_eval_options, .code = { "1", 1 }, .fuel = 1000);
  EXPECT_EQ(cay_session_eval(s, &o, &v, &err), CAY_UNSUPPORTED);
  expect_repr(s, "g = (n * n for n in range(9)); next(g); next(g)", "1");
  cay_image *image = NULL;
  EXPECT_EQ(cay_session_freeze(s, &image, &err), CAY_OK);
  cay_session_options counted = CAY_INIT(cay_session_options, .image = image, .count_fuel = true);
  if (cay_session_new(box, &counted, &counting, &err) != CAY_OK) EXPECT_TEXT(err.message, "a session");
  expect_repr(counting, "next(g)", "4"); /* an image of the one is one of the other */
  EXPECT_EQ(cay_session_restore(counting, image, &err), CAY_OK);
  v = eval_fuel(counting, "next(g)", 100000000);
  EXPECT_TEXT((const char *)v->repr.data, "4");
  EXPECT(v->fuel > 0);
  cay_value_free(v);
  cay_image *back = NULL;
  EXPECT_EQ(cay_session_freeze(counting, &back, &err), CAY_OK);
  cay_session_free(counting);
  EXPECT_EQ(cay_session_restore(s, back, &err), CAY_OK);
  expect_repr(s, "next(g)", "9");
  cay_image_free(image);
  cay_image_free(back);
  expect_repr(s, "next(g)", "16");
  cay_session_free(s);
  cay_sandbox_free(box);
}
