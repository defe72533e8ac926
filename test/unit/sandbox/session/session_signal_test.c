/* session_signal_test.c - signals, timers and processor time in sessions. */
#include "sessions.h"

#include <string.h>
#include <unistd.h>

/* ---- signals ---- */

TEST(a_timer_interrupts_code_that_computes) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s,
              "import signal\ndef late(*_): raise TimeoutError('late')\nsignal.signal(signal.SIGALRM, late)",
              "<Handlers.SIG_DFL: 0>");
  for (int i = 0; i < 3; i++) {
    cay_value *v = eval_ms(s, "kept = 1\nsignal.setitimer(signal.ITIMER_REAL, 0.02)\nwhile True: pass", 0);
    EXPECT_EQ(v->outcome, CAY_OUTCOME_EXCEPTION);
    EXPECT_TEXT((const char *)v->error_type.data, "TimeoutError");
    EXPECT(!v->undone);
    cay_value_free(v);
    expect_repr(s, "kept", "1");
  }
  expect_repr(s,
              "ticks = 0\ndef tick(*_):\n  global ticks\n  ticks += 1\nsignal.signal(signal.SIGALRM, tick)\n"
              "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nwhile ticks < 5: pass\nticks >= 5",
              "True");
  cay_sandbox_free(box);
}

TEST(timers_of_a_cell_end_with_it) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(
      s,
      "import signal, time\nseen = []\nold = signal.signal(signal.SIGALRM, lambda *a: seen.append(a[0])); seen",
      "[]");
  cay_value_free(eval_ms(s, "signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02); None", 0));
  expect_repr(s,
              "end = time.monotonic() + 0.1\nwhile time.monotonic() < end: pass\n"
              "time.sleep(0.05); seen, signal.getitimer(0)",
              "([], (0.0, 0.0))");
  cay_sandbox_free(box);
}

TEST(handlers_that_are_due_at_the_end_of_a_cell_run_in_it) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s,
              "import signal, os\ndef stop(*_): raise LookupError('in time')\n"
              "old = signal.signal(signal.SIGALRM, stop); 1",
              "1");
  for (int i = 0; i < 10; i++) {
    cay_value *v = eval_ms(s, "signal.setitimer(signal.ITIMER_REAL, 0.0001)\nx = sum(range(3000))", 0);
    EXPECT(v->outcome == CAY_OUTCOME_VALUE ||
           strcmp((const char *)v->error_type.data, "LookupError") == 0); /* now or never */
    cay_value_free(v);
    expect_repr(s, "sum(range(200000))", "19999900000");
  }
  cay_sandbox_free(box);
}

TEST(an_interrupt_raises_KeyboardInterrupt) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  static const char *const codes[] = {
    "kept = 1\nimport os, signal\nos.kill(os.getpid(), signal.SIGINT)\nkept = 2",
    "import subprocess\np = subprocess.Popen(['sh', '-c', 'sleep 0.05; kill -INT $PPID'])\nwhile True: pass",
    "p.wait(); p = subprocess.Popen(['sh', '-c', 'sleep 0.05; kill -INT $PPID'])\nimport time; time.sleep(60)",
    "p.wait(); p = subprocess.Popen(['sh', '-c', 'sleep 0.05; kill -INT $PPID'])\nimport asyncio; await asyncio.sleep(60)",
  };
  for (size_t i = 0; i < COUNT_OF(codes); i++) {
    cay_value *v = eval_ms(s, codes[i], 0);
    EXPECT_EQ(v->outcome, CAY_OUTCOME_EXCEPTION);
    EXPECT_TEXT((const char *)v->error_type.data, "KeyboardInterrupt");
    EXPECT(!v->undone);
    cay_value_free(v);
  }
  expect_repr(s, "p.wait()\nkept", "1");
  expect_repr(s, "try:\n  signal.raise_signal(2)\nexcept KeyboardInterrupt: n = 'caught'\nn", "'caught'");
  cay_sandbox_free(box);
}

TEST(children_that_end_between_two_cells_are_noticed) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(
      s,
      "import asyncio, time\np = await asyncio.create_subprocess_exec('sh', '-c', 'sleep 0.05; exit 7')\nNone",
      "");
  usleep(150000);
  expect_repr(s, "await p.wait()", "7");
  cay_sandbox_free(box);
}

TEST(processor_time_of_a_session_is_limited_by_its_rlimit) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  expect_repr(s, "import resource, signal\nkept = 1\nresource.getrlimit(resource.RLIMIT_CPU) == (-1, -1)",
              "True");
  expect_repr(
      s,
      "def over(*_): raise MemoryError('cpu')\n_ = signal.signal(signal.SIGXCPU, over)\nresource.setrlimit(resource.RLIMIT_CPU, (1, -1)); 1",
      "1");
  expect_error(s, "while True: pass", "MemoryError");
  cay_value *v = eval_ms(s, "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass", 20000);
  EXPECT_EQ(v->end, CAY_END_SIGNAL);
  EXPECT(v->undone);
  cay_value_free(v);
  expect_repr(s, "kept", "1");
  cay_sandbox_free(box);
}
