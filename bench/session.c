/* session.c - what a program that uses libcay pays for Python: `session WHAT [COUNT]`, a figure a line.
 *
 * - new: microseconds for a new sandbox, print(1) in a session of it, and its end
 * - eval: microseconds for `x += 1` in a session that is there; the embedder does something else for 50
 *   microseconds in between
 * - loop: the same, one after the other
 * - callback: microseconds for a callback that is answered at once, awaited in a loop
 * - gather: milliseconds for 100 callbacks that each take 10 ms
 * - freeze: milliseconds for an image of a session with a list of a million integers
 * - restore: milliseconds for going back to it
 * - fork: milliseconds for a copy of a session that holds 50 MB, once it is at rest
 * - idle: private bytes for each of COUNT sessions after one evaluation
 * - stop: milliseconds beyond 100 ms until `while True: pass` has ended */
#include "bench.h"

#include <cay/session.h>

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static cay_engine *engine;
static cay_error err;

static void must(cay_status status) {
  if (status == CAY_OK) return;
  fprintf(stderr, "session: %s\n", err.message);
  exit(1);
}

static cay_sandbox *box_new(void) {
  cay_sandbox *box = NULL;
  cay_limits limits = CAY_INIT(cay_limits, .memory = UINT64_C(1) << 30);
  must(cay_sandbox_new(engine, &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, &err));
  return box;
}

static cay_session *session_new(cay_sandbox *box) {
  cay_session *s = NULL;
  must(cay_session_new(box, NULL, &s, &err));
  return s;
}

static cay_value *evaluate(cay_session *s, const char *code, uint32_t wall_ms) {
  cay_value *v = NULL;
  must(cay_session_eval(s, &CAY_INIT(cay_eval_options, .code = { code, strlen(code) }, .wall_ms = wall_ms),
                        &v, &err));
  return v;
}

static void eval(cay_session *s, const char *code) {
  cay_value *v = evaluate(s, code, 0);
  if (v->outcome != CAY_OUTCOME_VALUE) {
    fprintf(stderr, "session: %s\n", (const char *)v->error_text.data);
    exit(1);
  }
  cay_value_free(v);
}

static double since(uint64_t start) { return (double)(now_ns() - start) / 1e3; }

static void fresh(unsigned long count) {
  for (unsigned long i = 0; i < count; i++) {
    uint64_t start = now_ns();
    cay_sandbox *box = box_new();
    eval(session_new(box), "print(1)");
    cay_sandbox_free(box);
    answer(since(start));
  }
}

static void again(unsigned long count, uint64_t gap_ns) {
  cay_sandbox *box = box_new();
  cay_session *s = session_new(box);
  eval(s, "x = 0");
  for (unsigned long i = 0; i < count; i++) {
    uint64_t start = now_ns();
    eval(s, "x += 1");
    answer(since(start));
    for (start = now_ns(); now_ns() - start < gap_ns;) {}
  }
  cay_sandbox_free(box);
}

/* ---- callbacks ---- */

static void at_once(void *ctx, cay_callback_call *request, const char *name, cay_slice args) {
  (void)ctx, (void)name;
  cay_callback_answer(request, args);
}

static void callback(unsigned long count) {
  cay_sandbox *box = box_new();
  cay_session *s = session_new(box);
  char code[200];
  must(cay_callback_add(box, &CAY_INIT(cay_callback_options, .name = "echo", .fn = at_once), &err));
  snprintf(code, sizeof code, "for i in range(%lu): await invoke('echo', '{}')", count);
  eval(s, "1");
  uint64_t start = now_ns();
  eval(s, code);
  answer(since(start) / (double)count);
  cay_sandbox_free(box);
}

enum { GATHERED = 100 };
struct waiting {
  cay_callback_call *requests[GATHERED];
  uint64_t due_ns[GATHERED];
  unsigned asked, answered;
  pthread_mutex_t mu;
};

static void after_10_ms(void *ctx, cay_callback_call *request, const char *name, cay_slice args) {
  struct waiting *w = ctx;
  (void)name, (void)args;
  pthread_mutex_lock(&w->mu);
  w->due_ns[w->asked] = now_ns() + 10000000;
  w->requests[w->asked++] = request;
  pthread_mutex_unlock(&w->mu);
}

static void *answer_them(void *ctx) {
  struct waiting *w = ctx;
  while (w->answered < GATHERED) {
    pthread_mutex_lock(&w->mu);
    bool due = w->answered < w->asked && w->due_ns[w->answered] <= now_ns();
    cay_callback_call *request = due ? w->requests[w->answered++] : NULL;
    pthread_mutex_unlock(&w->mu);
    if (due)
      cay_callback_answer(request, (cay_slice){ "1", 1 });
    else
      usleep(50);
  }
  return NULL;
}

static void gather(unsigned long count) {
  cay_sandbox *box = box_new();
  cay_session *s = session_new(box);
  struct waiting w = { .mu = PTHREAD_MUTEX_INITIALIZER };
  pthread_t thread;
  must(cay_callback_add(box, &CAY_INIT(cay_callback_options, .name = "slow", .fn = after_10_ms, .ctx = &w),
                        &err));
  eval(s, "import asyncio\nasync def f(): pass\nawait asyncio.gather(f())");
  for (unsigned long i = 0; i < count; i++) {
    w.asked = w.answered = 0;
    pthread_create(&thread, NULL, answer_them, &w);
    uint64_t start = now_ns();
    eval(s, "await asyncio.gather(*(invoke('slow', '{}') for i in range(100)))");
    answer(since(start) / 1e3);
    pthread_join(thread, NULL);
  }
  cay_sandbox_free(box);
}

/* ---- images ---- */

static void at_rest(void) { usleep(150000); }

static void image(const char *what) {
  cay_sandbox *box = box_new();
  cay_session *s = session_new(box), *copy = NULL;
  cay_image *made = NULL;
  bool is_fork = strcmp(what, "fork") == 0;
  eval(s, is_fork ? "data = [bytes([i % 256]) * 1000000 for i in range(50)]" : "data = list(range(1000000))");
  at_rest();
  uint64_t start = now_ns();
  must(cay_session_freeze(s, &made, &err));
  if (is_fork) must(cay_session_new(box, &CAY_INIT(cay_session_options, .image = made), &copy, &err));
  if (strcmp(what, "restore") == 0) {
    eval(s, "data = None");
    start = now_ns();
    must(cay_session_restore(s, made, &err));
  }
  answer(since(start) / 1e3);
  eval(is_fork ? copy : s, "len(data)");
  cay_image_free(made);
  cay_sandbox_free(box);
}

/* ---- at rest ---- */

static double private_bytes(void) {
  char line[256];
  double total = 0;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    unsigned long kib = 0;
    if (sscanf(line, "Private_Clean: %lu", &kib) == 1 || sscanf(line, "Private_Dirty: %lu", &kib) == 1)
      total += (double)kib * 1024;
  }
  if (file != NULL) fclose(file);
  return total;
}

static void idle(unsigned long count) {
  eval(session_new(box_new()), "x = 1");
  at_rest();
  double before = private_bytes();
  for (unsigned long i = 0; i < count; i++) eval(session_new(box_new()), "x = 1");
  at_rest();
  at_rest();
  answer((private_bytes() - before) / (double)count);
  _exit(fflush(stdout)); /* freeing them is not measured */
}

static void stop(void) {
  cay_sandbox *box = box_new();
  cay_session *s = session_new(box);
  eval(s, "1");
  uint64_t start = now_ns();
  cay_value *v = evaluate(s, "while True: pass", 100);
  answer(since(start) / 1e3 - 100);
  if (v->end != CAY_END_TIME) exit(1);
  cay_value_free(v);
  eval(s, "1");
  cay_sandbox_free(box);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  unsigned long count = count_of(argc - 1, argv + 1, 1000);
  must(cay_engine_new(NULL, &engine, &err));
  if (strcmp(what, "new") == 0)
    fresh(count);
  else if (strcmp(what, "eval") == 0)
    again(count, 50000);
  else if (strcmp(what, "loop") == 0)
    again(count, 0);
  else if (strcmp(what, "callback") == 0)
    callback(count);
  else if (strcmp(what, "gather") == 0)
    gather(count);
  else if (strcmp(what, "freeze") == 0 || strcmp(what, "restore") == 0 || strcmp(what, "fork") == 0)
    image(what);
  else if (strcmp(what, "idle") == 0)
    idle(count);
  else if (strcmp(what, "stop") == 0)
    stop();
  else
    return 2;
  cay_engine_free(engine);
  return 0;
}
