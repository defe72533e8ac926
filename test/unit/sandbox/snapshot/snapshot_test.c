/* snapshot_test.c - whole sandboxes taken, restored and forked, in memory. */
#include "snapshots.h"

#include "base/clock.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <unistd.h>

static cay_sandbox *forked(cay_sandbox *box) {
  cay_sandbox *copy = NULL;
  cay_error err = { .message = "" };
  if (cay_sandbox_fork(box, NULL, NULL, &copy, &err) != CAY_OK)
    test_fail_text(__FILE__, __LINE__, "fork", "", err.message);
  return copy;
}

static cay_session *resumed(cay_sandbox *box, const cay_session *like) {
  cay_session *s = NULL;
  EXPECT_EQ(cay_session_resume(box, cay_session_id(like), &s, NULL), CAY_OK);
  return s;
}

static void eval_ok(cay_session *s, const char *code) { cay_value_free(eval_ms(s, code, 0)); }

static void expect_prints(cay_sandbox *box, const char *command, const char *text) {
  cay_result *r = NULL;
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = command), &r, NULL), CAY_OK);
  char out[512];
  snprintf(out, sizeof out, "%.*s", (int)r->out.len, (const char *)r->out.data);
  EXPECT_TEXT(out, text);
  cay_result_free(r);
}

/* ---- files, environment, limits ---- */

TEST(a_snapshot_stays_as_it_was_and_its_copies_go_their_own_ways) {
  cay_sandbox *box = box_new();
  put_text(box, "/home/agent/a", "one");
  cay_snapshot *s = taken(box);
  put_text(box, "/home/agent/a", "two");
  cay_sandbox *copy = restored(s), *other = restored(s);
  put_text(copy, "/home/agent/a", "three");
  put_text(copy, "/home/agent/b", "new");
  EXPECT(has_text(box, "/home/agent/a", "two"));
  EXPECT(has_text(copy, "/home/agent/a", "three"));
  EXPECT(has_text(other, "/home/agent/a", "one"));
  EXPECT(!has_text(other, "/home/agent/b", "new"));
  cay_sandbox_free(box);
  cay_sandbox_free(copy);
  cay_sandbox *late = restored(s); /* the sandbox that it was taken of is gone */
  EXPECT(has_text(late, "/home/agent/a", "one"));
  cay_snapshot_free(s);
  expect_prints(late, "cat a; echo x > a; cat a", "onex\n");
  cay_sandbox_free(late);
  cay_sandbox_free(other);
}

TEST(a_copy_runs_programs_and_keeps_modes_times_links_and_owners) {
  cay_sandbox *box = box_new();
  expect_prints(box,
                "mkdir -p d/e; echo text > d/f; ln d/f d/g; ln -s f d/l; chmod 750 d/e; chmod u+s d/f; "
                "touch -d @1234567890 d/f d/e; mkfifo d/p; rm /etc/motd 2>/dev/null; echo ok",
                "ok\n");
  static const char look[] = "cd d; stat -c '%n %f %h %Y %u' e f g l p; readlink l";
  cay_result *r = NULL;
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = look), &r, NULL), CAY_OK);
  char want[512];
  snprintf(want, sizeof want, "%.*s", (int)r->out.len, (const char *)r->out.data);
  cay_result_free(r);
  EXPECT(strstr(want, "1234567890") != NULL);
  cay_sandbox *copy = forked(box);
  expect_prints(copy, look, want);
  expect_prints(copy, "echo more >> d/f; cat d/g", "text\nmore\n");
  cay_sandbox_free(box);
  cay_sandbox_free(copy);
}

TEST(environment_and_limits_go_along_and_can_be_changed) {
  cay_limits limits = CAY_INIT(cay_limits, .disk = 1 << 20, .wall_ms = 12345);
  const char *const env[] = { "A=1", "B=2", NULL };
  cay_sandbox *box = NULL, *copy = NULL;
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits, .env = env), &box,
                            NULL),
            CAY_OK);
  EXPECT_EQ(cay_sandbox_setenv(box, "HOME", "/tmp", NULL), CAY_OK);
  EXPECT_EQ(cay_sandbox_setenv(box, "LANG", NULL, NULL), CAY_OK);
  cay_snapshot *s = taken(box);
  cay_limits other = CAY_INIT(cay_limits, .disk = 2 << 20);
  const char *const more[] = { "B=3", "C=4", NULL };
  EXPECT_EQ(
      cay_snapshot_restore(s, &CAY_INIT(cay_sandbox_options, .limits = &other, .env = more), &copy, NULL),
      CAY_OK);
  expect_prints(copy, "echo $A$B$C $HOME ${LANG-none}", "134 /tmp none\n");
  cay_sandbox_free(copy);
  other.disk = 1;
  put_text(box, "/tmp/f", "text");
  cay_snapshot *larger = taken(box);
  cay_error err;
  EXPECT_EQ(cay_snapshot_restore(larger, &CAY_INIT(cay_sandbox_options, .limits = &other), &copy, &err),
            CAY_LIMIT);
  EXPECT(strstr(err.message, "bytes in files") != NULL);
  cay_snapshot_free(larger);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

TEST(a_copy_is_charged_for_the_files_it_has) {
  cay_limits limits = CAY_INIT(cay_limits, .disk = 1 << 20);
  cay_sandbox *box = NULL;
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, NULL),
            CAY_OK);
  expect_prints(box, "head -c 900000 /dev/zero > f; echo $?", "0\n");
  cay_sandbox *copy = forked(box);
  cay_usage before, after;
  cay_sandbox_usage(box, &before);
  cay_sandbox_usage(copy, &after);
  EXPECT_EQ(after.disk, before.disk);
  EXPECT_EQ(after.files, before.files);
  expect_prints(
      copy,
      "head -c 900000 /dev/zero > g 2>/dev/null; echo $?; rm f g; head -c 900000 /dev/zero > h; echo $?",
      "1\n0\n");
  cay_sandbox_free(copy);
  cay_sandbox_free(box);
}

TEST(randomness_is_made_anew_unless_a_seed_is_given) {
  cay_sandbox *box = NULL;
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .seed = 5), &box, NULL), CAY_OK);
  cay_session *py = session(box);
  expect_repr(py, "import random, os", "");
  cay_sandbox *one = forked(box), *two = forked(box);
  cay_session *a = resumed(one, py), *b = resumed(two, py);
  static const char code[] = "open('/tmp/r', 'w').write(f'{random.random()} {os.urandom(8)}')";
  eval_ok(a, code);
  eval_ok(b, code);
  cay_buf first = { 0 }, second = { 0 };
  EXPECT_EQ(cay_file_read(one, "/tmp/r", &first, NULL), CAY_OK);
  EXPECT_EQ(cay_file_read(two, "/tmp/r", &second, NULL), CAY_OK);
  EXPECT(first.len != second.len || memcmp(first.data, second.data, first.len) != 0);
  cay_buf_free(&first);
  cay_buf_free(&second);
  cay_sandbox_free(one);
  cay_sandbox_free(two);
  cay_sandbox_free(box);
}

/* ---- sessions ---- */

TEST(sessions_go_along_with_variables_directory_and_open_files) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box), *idle = session(box);
  expect_repr(py, "import os; os.chdir('/tmp'); os.environ['SAID'] = 'yes'; x = [1, 2]", "");
  expect_repr(py, "f = open('log', 'w+'); f.write('one two'), f.flush(), f.seek(4)", "(7, None, 4)");
  expect_repr(py, "g = (i * i for i in range(10)); next(g), next(g)", "(0, 1)");
  cay_sandbox *copy = forked(box);
  expect_repr(py, "x.append(3); f.read(), next(g)", "('two', 4)");
  cay_session *same = resumed(copy, py);
  expect_repr(same, "x, f.read(), next(g), os.getcwd(), os.environ['SAID']",
              "([1, 2], 'two', 4, '/tmp', 'yes')");
  expect_repr(same, "f.write(' three'), f.flush(), open('/tmp/log').read()", "(6, None, 'one two three')");
  expect_repr(py, "open('/tmp/log').read()", "'one two'");
  expect_repr(resumed(copy, idle), "1 + 1", "2");
  cay_session *none = NULL;
  EXPECT_EQ(cay_session_resume(copy, cay_session_id(py), &none, NULL), CAY_EXISTS);
  EXPECT_EQ(cay_session_resume(copy, 77, &none, NULL), CAY_NOT_FOUND);
  cay_session *fresh = session(copy);
  EXPECT(cay_session_id(fresh) > cay_session_id(idle));
  cay_sandbox_free(box);
  expect_repr(same, "x", "[1, 2]");
  cay_sandbox_free(copy);
}

TEST(the_monotonic_clock_goes_on_in_a_copy) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box);
  expect_repr(py, "import time; time.sleep(0.3); before = time.monotonic()", "");
  cay_sandbox *copy = forked(box);
  expect_repr(resumed(copy, py), "time.monotonic() >= before", "True");
  cay_sandbox_free(box);
  cay_sandbox_free(copy);
}

TEST(a_session_of_a_copy_is_undone_to_the_state_of_the_snapshot) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box);
  expect_repr(py, "import os; x = 1", "");
  cay_sandbox *copy = forked(box);
  cay_session *same = resumed(copy, py);
  cay_value *v = eval_ms(same, "x = 2; os._exit(1)", 0);
  EXPECT_EQ(v->outcome, CAY_OUTCOME_STOPPED);
  EXPECT(v->undone);
  cay_value_free(v);
  expect_repr(same, "x", "1");
  expect_repr(same, "x += 5; x", "6");
  cay_sandbox *third = forked(copy);
  expect_repr(resumed(third, py), "x", "6");
  cay_sandbox_free(third);
  cay_sandbox_free(copy);
  cay_sandbox_free(box);
}

TEST(javascript_goes_along_too) {
  cay_sandbox *box = box_new();
  cay_session *js = NULL;
  EXPECT_EQ(cay_session_new(box, &CAY_INIT(cay_session_options, .language = "javascript"), &js, NULL),
            CAY_OK);
  expect_repr(js, "let x = new Map([[1, 2]]); const f = () => x.get(1)", "");
  cay_sandbox *copy = forked(box);
  expect_repr(js, "x.set(1, 3); f()", "3");
  expect_repr(resumed(copy, js), "f()", "2");
  cay_sandbox_free(copy);
  cay_sandbox_free(box);
}

TEST(a_copy_of_a_copy_has_sessions_that_were_never_resumed) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box);
  expect_repr(py, "x = 'deep'", "");
  cay_sandbox *one = forked(box), *two = forked(one), *three = forked(two);
  cay_sandbox_free(box);
  cay_sandbox_free(one);
  cay_sandbox_free(two);
  cay_session *s = NULL;
  EXPECT_EQ(cay_session_resume(three, 1, &s, NULL), CAY_OK);
  expect_repr(s, "x", "'deep'");
  cay_sandbox_free(three);
}

TEST(a_snapshot_tells_of_its_sessions) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box);
  expect_repr(py, "import os; os.chdir('/tmp')", "");
  cay_snapshot *s = NULL;
  EXPECT_EQ(cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .label = "here"), &s, NULL), CAY_OK);
  cay_snapshot_session info;
  EXPECT_EQ(cay_snapshot_sessions(s, 0, &info), 1);
  EXPECT_EQ(info.id, cay_session_id(py));
  EXPECT_TEXT(info.language, "python");
  EXPECT_TEXT(info.cwd, "/tmp");
  EXPECT(info.own > 0 && info.own < info.memory);
  cay_snapshot *without = NULL;
  EXPECT_EQ(cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .no_sessions = true), &without, NULL),
            CAY_OK);
  EXPECT_EQ(cay_snapshot_sessions(without, 0, NULL), 0);
  cay_snapshot_free(without);
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

/* ---- running processes and sessions ---- */

TEST(a_running_process_is_named_waited_for_or_left_out) {
  cay_sandbox *box = box_new();
  const char *const argv[] = { "cat", NULL };
  cay_process *p = NULL;
  cay_snapshot *s = NULL;
  cay_error err;
  EXPECT_EQ(cay_spawn(box, &CAY_INIT(cay_run_options, .argv = argv, .input_open = true), &p, NULL), CAY_OK);
  EXPECT_EQ(cay_snapshot_take(box, NULL, &s, &err), CAY_BUSY);
  EXPECT(strstr(err.message, "(cat) is running") != NULL);
  cay_snapshot_options wait = CAY_INIT(cay_snapshot_options, .running = CAY_RUNNING_WAIT, .wait_ms = 30);
  EXPECT_EQ(cay_snapshot_take(box, &wait, &s, NULL), CAY_BUSY);
  EXPECT(s == NULL);
  cay_snapshot_options leave = CAY_INIT(cay_snapshot_options, .running = CAY_RUNNING_LEAVE_OUT);
  EXPECT_EQ(cay_snapshot_take(box, &leave, &s, NULL), CAY_OK);
  cay_snapshot_free(s);
  cay_process_close_input(p);
  wait.wait_ms = 0;
  EXPECT_EQ(cay_snapshot_take(box, &wait, &s, NULL), CAY_OK);
  cay_snapshot_free(s);
  cay_process_free(p);
  cay_sandbox_free(box);
}

struct asleep {
  cay_session *py;
  _Atomic bool done;
};

static void sleep_a_while(void *ctx) {
  struct asleep *a = ctx;
  eval_ok(a->py, "import time; open('/tmp/started', 'w').close(); time.sleep(0.3); x = 'slept'");
  a->done = true;
}

static void await_file(cay_sandbox *box, const char *path) {
  while (!has_text(box, path, "")) usleep(1000);
}

TEST(a_session_that_evaluates_is_waited_for_or_left_out) {
  cay_sandbox *box = box_new();
  struct asleep a = { .py = session(box) };
  pthread_t thread;
  cay_snapshot *s = NULL;
  cay_error err;
  EXPECT_EQ(thread_start("eval", 0, sleep_a_while, &a, &thread, NULL), CAY_OK);
  await_file(box, "/tmp/started");
  if (cay_snapshot_take(box, NULL, &s, &err) == CAY_BUSY)
    EXPECT(strstr(err.message, "session 1 is evaluating") != NULL);
  cay_snapshot_free(s);
  s = NULL;
  EXPECT_EQ(
      cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .running = CAY_RUNNING_LEAVE_OUT), &s, NULL),
      CAY_OK);
  EXPECT(cay_snapshot_sessions(s, 0, NULL) == 0 || a.done);
  cay_snapshot_free(s);
  EXPECT_EQ(cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .running = CAY_RUNNING_WAIT), &s, NULL),
            CAY_OK);
  cay_sandbox *copy = restored(s);
  expect_repr(resumed(copy, a.py), "x", "'slept'");
  cay_snapshot_free(s);
  thread_join(thread);
  cay_sandbox_free(copy);
  cay_sandbox_free(box);
}

static void take_inside(void *ctx, cay_callback_call *call, const char *name, cay_slice args) {
  cay_snapshot *s = NULL;
  (void)name, (void)args;
  bool busy = cay_snapshot_take(ctx, &CAY_INIT(cay_snapshot_options, .running = CAY_RUNNING_WAIT), &s,
                                NULL) == CAY_BUSY;
  cay_callback_answer(call, busy ? CAY_TEXT("\"busy\"") : CAY_TEXT("\"taken\""));
  cay_snapshot_free(s);
}

TEST(a_callback_does_not_wait_for_its_own_evaluation) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box);
  EXPECT_EQ(cay_callback_add(
                box, &CAY_INIT(cay_callback_options, .name = "take", .fn = take_inside, .ctx = box), NULL),
            CAY_OK);
  expect_repr(py, "await take()", "'busy'");
  cay_sandbox *copy = forked(box);
  cay_session *same = resumed(copy, py);
  cay_value *v = eval_ms(same, "await take()", 0); /* callbacks are not inside */
  EXPECT_EQ(v->outcome, CAY_OUTCOME_EXCEPTION);
  cay_value_free(v);
  cay_sandbox_free(copy);
  cay_sandbox_free(box);
}

/* ---- many, at once, and without memory ---- */

TEST(many_forks_of_one_parent_share_what_they_do_not_change) {
  enum { FORKS = 50 };
  cay_sandbox *box = box_new(), *copies[FORKS];
  cay_session *py = session(box);
  expect_repr(py, "x = 1", "");
  put_text(box, "/tmp/f", "parent");
  for (int i = 0; i < FORKS; i++) copies[i] = forked(box);
  for (int i = 0; i < FORKS; i += 7) {
    char code[64], text[16];
    snprintf(code, sizeof code, "x += %d; open('/tmp/f', 'w').write(str(x)); x", i);
    snprintf(text, sizeof text, "%d", i + 1);
    expect_repr(resumed(copies[i], py), code, text);
    EXPECT(has_text(copies[i], "/tmp/f", text));
  }
  EXPECT(has_text(copies[1], "/tmp/f", "parent"));
  expect_repr(py, "x", "1");
  for (int i = 0; i < FORKS; i++) cay_sandbox_free(copies[i]);
  cay_sandbox_free(box);
}

struct worker {
  cay_snapshot *snapshot;
  cay_sandbox *parent;
  int wrong;
};

static void fork_and_change(void *ctx) {
  struct worker *w = ctx;
  for (int i = 0; i < 15; i++) {
    cay_sandbox *a = NULL, *b = NULL;
    w->wrong += cay_snapshot_restore(w->snapshot, NULL, &a, NULL) != CAY_OK;
    w->wrong += cay_sandbox_fork(w->parent, &CAY_INIT(cay_snapshot_options, .running = CAY_RUNNING_WAIT),
                                 NULL, &b, NULL) != CAY_OK;
    cay_session *py = NULL;
    w->wrong += cay_session_resume(a, 1, &py, NULL) != CAY_OK;
    cay_value *v = eval_ms(py, "x + 1", 0);
    w->wrong += v->repr.len != 1 || *(const char *)v->repr.data != '2';
    cay_value_free(v);
    w->wrong += cay_file_write(a, "/tmp/f", CAY_TEXT("mine"), 0644, NULL) != CAY_OK;
    w->wrong += !has_text(a, "/tmp/f", "mine");
    cay_sandbox_free(a);
    cay_sandbox_free(b);
  }
}

TEST(threads_restore_one_snapshot_and_fork_one_parent) {
  cay_sandbox *box = box_new();
  cay_session *py = session(box);
  expect_repr(py, "x = 1", "");
  put_text(box, "/tmp/f", "parent");
  struct worker workers[3];
  pthread_t threads[3];
  cay_snapshot *s = taken(box);
  for (int i = 0; i < 3; i++) {
    workers[i] = (struct worker){ s, box, 0 };
    EXPECT_EQ(thread_start("fork", 0, fork_and_change, &workers[i], &threads[i], NULL), CAY_OK);
  }
  for (int i = 0; i < 3; i++) {
    thread_join(threads[i]);
    EXPECT_EQ(workers[i].wrong, 0);
  }
  cay_snapshot_free(s);
  EXPECT(has_text(box, "/tmp/f", "parent"));
  cay_sandbox_free(box);
}

TEST(options_that_make_no_sense_are_refused) {
  cay_sandbox *box = box_new();
  cay_snapshot *s = NULL;
  char label[300];
  memset(label, 'x', sizeof label - 1);
  label[sizeof label - 1] = '\0';
  EXPECT_EQ(cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .label = label), &s, NULL), CAY_INVALID);
  EXPECT_EQ(cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .label = "\xff"), &s, NULL), CAY_INVALID);
  EXPECT_EQ(cay_snapshot_take(box, &CAY_INIT(cay_snapshot_options, .running = 9), &s, NULL), CAY_INVALID);
  EXPECT(s == NULL);
  cay_sandbox_free(box);
}
