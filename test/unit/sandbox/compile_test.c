/* compile_test.c - guests that bring modules of their own, made to keep the compiler busy. */
#include "box.h"
#include "engine/wasm_weight.h"
#include "module.h"
#include "sandbox/sandbox.h"

#include <unistd.h>

/* Seconds of a processor, in functions that are almost too heavy to be taken. */
enum { FUNCTIONS = 12, DEPTH = 2700 };

typedef struct world {
  cay_engine *engine;
  cay_sandbox *box;
  char trace[1 << 16];
} world;

static void keep_trace(void *ctx, const char *line) {
  world *w = ctx;
  size_t len = strlen(w->trace);
  if (strncmp(line, "[", 1) == 0 && strstr(line, "exec: ") != NULL)
    snprintf(w->trace + len, sizeof w->trace - len, "%s\n", line);
}

/* An engine of its own: modules of other tests are not at hand. */
static world *world_with(uint64_t code, const char *cache_dir) {
  world *w = mem_zalloc(sizeof *w);
  cay_limits limits = CAY_INIT(cay_limits, .code = code);
  EXPECT(w != NULL);
  EXPECT_EQ(cay_engine_new(&CAY_INIT(cay_engine_options, .guest_dir = box_guests(), .cache_dir = cache_dir),
                           &w->engine, NULL),
            CAY_OK);
  EXPECT_EQ(
      cay_sandbox_new(w->engine,
                      &CAY_INIT(cay_sandbox_options, .limits = &limits, .trace = keep_trace, .trace_ctx = w),
                      &w->box, NULL),
      CAY_OK);
  return w;
}

static world *world_new(uint64_t code) { return world_with(code, NULL); }

static void world_free(world *w) {
  cay_sandbox_free(w->box);
  cay_engine_free(w->engine);
  mem_free(w);
}

static void put_program(world *w, const char *path, buf m) {
  cay_error err = { .message = "" };
  EXPECT_EQ(cay_file_write(w->box, path, (cay_slice){ m.data, m.len }, 0755, &err), CAY_OK);
  buf_free(&m);
}

static uint64_t weight_of(const buf *m) {
  eng_weight w = { 0 };
  EXPECT_EQ(eng_weigh(m->data, m->len, &w, NULL), CAY_OK);
  return w.module;
}

static void put_slow(world *w, const char *path, uint32_t salt) {
  put_program(w, path, module_slow(FUNCTIONS, DEPTH, salt));
}

static uint64_t compiled(const world *w) { return eng_engine_cache_stats(w->engine->wasm).compiled; }

/* True: so many were compiled within a minute. */
static bool await_compiled(const world *w, uint64_t count) {
  for (int i = 0; i < 6000 && compiled(w) < count; i++) usleep(10000);
  return compiled(w) == count;
}

static cay_result *run(world *w, cay_run_options options) {
  cay_result *r = NULL;
  cay_error err = { .message = "" };
  options.size = sizeof options;
  cay_status status = cay_run(w->box, &options, &r, &err);
  if (status != CAY_OK) fprintf(stderr, "%s\n", err.message);
  EXPECT_EQ(status, CAY_OK);
  return r;
}

static void expect_end(world *w, cay_run_options options, cay_end end, int code) {
  cay_result *r = run(w, options);
  if (r->end != end || (end == CAY_END_EXIT && r->code != code))
    fprintf(stderr, "%.*s%.*s", (int)r->out.len, (const char *)r->out.data, (int)r->err.len,
            (const char *)r->err.data);
  EXPECT_EQ(r->end, end);
  if (end == CAY_END_EXIT) EXPECT_EQ(r->code, code);
  cay_result_free(r);
}

static void expect_prints(world *w, const char *command, const char *out) {
  cay_result *r = run(w, (cay_run_options){ .command = command });
  EXPECT_TEXT((const char *)r->out.data, out);
  EXPECT_EQ(r->end, CAY_END_EXIT);
  cay_result_free(r);
}

static const char *const slow[] = { "/tmp/slow", NULL };

TEST(a_deadline_does_not_wait_for_the_compiler_and_what_it_makes_is_kept) {
  world *w = world_new(0);
  put_slow(w, "/tmp/slow", 0);
  expect_end(w, (cay_run_options){ .argv = slow, .wall_ms = 50 }, CAY_END_TIME, 0);
  EXPECT_EQ(compiled(w), 0);
  EXPECT_EQ(cay_engine_compiling(w->engine), 1);
  EXPECT(await_compiled(w, 1));
  expect_end(w, (cay_run_options){ .argv = slow }, CAY_END_EXIT, 0);
  EXPECT_EQ(compiled(w), 1);
  EXPECT_EQ(cay_engine_compiling(w->engine), 0);
  world_free(w);
}

TEST(a_deadline_of_a_shell_does_not_wait_for_the_compiler) {
  world *w = world_new(0);
  put_slow(w, "/tmp/slow", 0);
  expect_end(w, (cay_run_options){ .command = "/tmp/slow; echo not here", .wall_ms = 300 }, CAY_END_TIME, 0);
  EXPECT_EQ(compiled(w), 0);
  EXPECT(await_compiled(w, 1));
  world_free(w);
}

TEST(a_process_that_waits_for_the_compiler_can_be_killed) {
  world *w = world_new(0);
  put_slow(w, "/tmp/slow", 0);
  expect_prints(w, "/tmp/slow & sleep 0.1; kill -9 $!; wait $!; echo $?", "137\n");
  EXPECT_EQ(compiled(w), 0);
  EXPECT(await_compiled(w, 1));
  expect_prints(w, "/tmp/slow; echo $?", "0\n");
  EXPECT_EQ(compiled(w), 1);
  world_free(w);
}

TEST(a_signal_ends_the_wait_for_a_turn) {
  world *w = world_new(0);
  put_slow(w, "/tmp/slow", 0);
  put_program(w, "/tmp/quick", module_slow(1, 3, 0));
  expect_prints(w, "/tmp/slow & sleep 0.1; /tmp/quick & sleep 0.1; kill $!; wait $!; echo $?; kill -9 %1",
                "143\n");
  EXPECT_EQ(compiled(w), 0);
  EXPECT(await_compiled(w, 1));
  world_free(w);
}

TEST(one_sandbox_has_one_module_compiled_at_a_time) {
  world *w = world_new(0);
  const char *const quick[] = { "/tmp/quick", NULL };
  put_slow(w, "/tmp/slow", 0);
  put_program(w, "/tmp/quick", module_slow(1, 3, 0));
  expect_end(w, (cay_run_options){ .argv = slow, .wall_ms = 50 }, CAY_END_TIME, 0);
  expect_end(w, (cay_run_options){ .argv = quick, .wall_ms = 50 }, CAY_END_TIME, 0);
  EXPECT_EQ(compiled(w), 0);
  expect_end(w, (cay_run_options){ .argv = quick }, CAY_END_EXIT, 0);
  EXPECT_EQ(compiled(w), 2);
  world_free(w);
}

TEST(same_module_is_compiled_once) {
  world *w = world_new(0);
  put_program(w, "/tmp/a", module_slow(2, DEPTH, 0));
  put_program(w, "/tmp/b", module_slow(2, DEPTH, 0));
  expect_prints(w, "/tmp/a & /tmp/a & /tmp/b & /tmp/b & for p in $(jobs -p); do wait $p || echo failed; done",
                "");
  EXPECT_EQ(compiled(w), 1);
  world_free(w);
}

TEST(a_sandbox_does_not_wait_for_the_compiler_to_be_freed) {
  world *w = world_new(0);
  put_slow(w, "/tmp/slow", 0);
  cay_process *p = NULL;
  EXPECT_EQ(cay_spawn(w->box, &CAY_INIT(cay_run_options, .command = "/tmp/slow & /tmp/slow"), &p, NULL),
            CAY_OK);
  usleep(200000); /* or less far: then it is freed before */
  cay_process_free(p);
  cay_sandbox_free(w->box);
  EXPECT_EQ(compiled(w), 0);
  EXPECT_EQ(cay_engine_compiling(w->engine), 1);
  cay_engine_free(w->engine); /* this does */
  mem_free(w);
}

TEST(interrupt_ends_wait_for_the_compiler) {
  world *w = world_new(0);
  put_slow(w, "/tmp/slow", 0);
  cay_process *p = NULL;
  cay_result *r = NULL;
  EXPECT_EQ(cay_spawn(w->box, &CAY_INIT(cay_run_options, .command = "exec /tmp/slow"), &p, NULL), CAY_OK);
  usleep(100000);
  cay_sandbox_interrupt(w->box);
  EXPECT_EQ(cay_process_wait(p, 30000, &r, NULL), CAY_OK);
  EXPECT_EQ(r->end, CAY_END_CANCELLED);
  cay_result_free(r);
  cay_process_free(p);
  world_free(w);
}

/* The budget suffices for either, and not for both. */
static world *world_with_two_programs(void) {
  buf m = module_slow(1, 100, 0);
  world *w = world_new(weight_of(&m) * 3 / 2);
  put_program(w, "/tmp/a", m);
  put_program(w, "/tmp/b", module_slow(1, 100, 1));
  return w;
}

TEST(compilation_is_charged_and_cached_code_is_free) {
  world *w = world_with_two_programs();
  expect_prints(w, "cd /tmp; ./a; echo $?; cp a again; ./again; echo $?; rm again", "0\n0\n");
  expect_prints(w, "cd /tmp; ./b 2>&1 | grep -v ^cay; ./a; echo $?",
                "bash: line 1: ./b: Disk quota exceeded\n0\n");
  EXPECT(strstr(w->trace, "of the ") != NULL &&
         strstr(w->trace, " that the sandbox may have compiled ") != NULL);
  const char *const other[] = { "/tmp/b", NULL };
  cay_result *r = NULL;
  cay_error err;
  EXPECT_EQ(cay_run(w->box, &CAY_INIT(cay_run_options, .argv = other), &r, &err), CAY_LIMIT);
  EXPECT(strncmp(err.message, "EDQUOT: /tmp/b", 14) == 0);
  world_free(w);
}

TEST(module_in_the_cache_folder_is_free) {
  char folder[300];
  snprintf(folder, sizeof folder, "%s/compiled", test_dir());
  for (int i = 0; i < 2; i++) {
    world *w = world_with(i == 0 ? 0 : 1, folder);
    put_program(w, "/tmp/a", module_slow(1, 100, 0));
    expect_prints(w, "/tmp/a; echo $?", "0\n");
    EXPECT_EQ(compiled(w), i == 0 ? 1 : 0);
    world_free(w);
  }
}

TEST(failed_compilation_is_charged) {
  buf m = module_make((module_plan){ .count = 1, .code = "\x20\7\x1a\x0b", .len = 4 }); /* no such local */
  world *w = world_new(weight_of(&m) * 3 / 2);
  put_program(w, "/tmp/a", m);
  expect_prints(w, "cd /tmp; ./a 2>/dev/null; echo $?; ./a 2>/dev/null; echo $?", "126\n126\n");
  EXPECT(strstr(w->trace, "not valid") != NULL);
  EXPECT(strstr(w->trace, "may have compiled") != NULL);
  world_free(w);
}

TEST(shell_shows_why_the_budget_refuses_a_program) {
  world *w = world_with_two_programs();
  expect_prints(
      w, "cd /tmp; ./a && ./b 2>&1 | grep -c 'cay: not executed: its weight is .* that the sandbox may'",
      "1\n");
  expect_prints(w, "cd /tmp; ./b 2>/dev/null; echo $?", "126\n");
  expect_prints(w, "cd /tmp; mkfifo p; (exec 3<p; sleep 0.1) & ./b 2>p; echo $?", "126\n");
  cay_usage used;
  cay_sandbox_usage(w->box, &used);
  EXPECT(used.code > 0);
  world_free(w);
}

TEST(another_sandbox_has_a_budget_of_its_own) {
  world *w = world_with_two_programs();
  expect_prints(w, "cd /tmp; ./a && ./b 2>/dev/null || echo no", "no\n");
  world *other = world_new(0);
  put_program(other, "/tmp/b", module_slow(1, 100, 1));
  expect_prints(other, "/tmp/b && echo yes", "yes\n");
  world_free(other);
  world_free(w);
}

TEST(a_run_that_counts_fuel_compiles_anew_and_pays_for_it) {
  buf m = module_slow(1, 100, 0);
  world *w = world_new(weight_of(&m) * 5 / 2);
  const char *const a[] = { "/tmp/a", NULL };
  put_program(w, "/tmp/a", m);
  expect_end(w, (cay_run_options){ .argv = a, .fuel = 1000000 }, CAY_END_EXIT, 0);
  EXPECT_EQ(compiled(w), 2);
  expect_end(w, (cay_run_options){ .argv = a, .fuel = 1000000 }, CAY_END_EXIT, 0);
  EXPECT_EQ(compiled(w), 2);
  put_program(w, "/tmp/b", module_slow(1, 100, 1));
  expect_prints(w, "/tmp/b 2>/dev/null; echo $?", "126\n");
  EXPECT_EQ(compiled(w), 2);
  world_free(w);
}

TEST(a_function_that_is_too_heavy_is_no_program) {
  char text[400];
  eng_weight weight = { 0 };
  world *w = world_new(0);
  buf m = module_slow(1, 5000, 0);
  EXPECT_EQ(eng_weigh(m.data, m.len, &weight, NULL), CAY_OK);
  put_program(w, "/tmp/a", m);
  (void)snprintf(
      text, sizeof text,
      "cay: not executed: function 1 would be too heavy to compile: its weight is %llu and 524288 are taken\n"
      "bash: line 1: /tmp/a: Cannot allocate memory\n126\n",
      (unsigned long long)weight.function);
  expect_prints(w, "/tmp/a 2>&1; echo $?", text);
  EXPECT(strstr(w->trace, "function 1 would be too heavy to compile") != NULL);
  EXPECT_EQ(compiled(w), 0);
  world_free(w);
}

TEST(a_module_that_is_too_heavy_as_a_whole_is_no_program) {
  world *w = world_new(0);
  put_program(w, "/tmp/a",
              module_make((module_plan){ .count = 10000, .locals = 50000, .code = "\x0b", .len = 1 }));
  expect_prints(w, "/tmp/a 2>/dev/null; echo $?", "126\n");
  EXPECT(strstr(w->trace, "the module would be too heavy to compile") != NULL);
  EXPECT_EQ(compiled(w), 0);
  world_free(w);
}
