/* counting_test.c - guests of the engine in code that counts fuel: compiled ahead of time, or aside when it is first needed. */
#include "abi/linux/runner.h"
#include "box.h"
#include "module.h"
#include "sandbox/guests.h"

#include <sys/stat.h>
#include <unistd.h>

/* Slow: seconds of a processor. */
enum { QUICK_FUNCTIONS = 1, QUICK_DEPTH = 3, SLOW_FUNCTIONS = 12, SLOW_DEPTH = 2700 };

typedef struct world {
  char dir[256];
  buf module;
  cay_engine *engine;
  cay_sandbox *box;
} world;

static void path_in(const world *w, const char *name, char path[static 300]) {
  (void)snprintf(path, 300, "%s/%s", w->dir, name);
}

static void write_file(const world *w, const char *name, const void *data, size_t len) {
  char path[300];
  path_in(w, name, path);
  FILE *f = fopen(path, "we");
  EXPECT(f != NULL);
  EXPECT_EQ(fwrite(data, 1, len, f), len);
  EXPECT_EQ(fclose(f), 0);
}

static void compile_ahead(const world *w, const buf *module, enum eng_stop stop, const char *name) {
  char path[300];
  eng_engine *e = NULL;
  path_in(w, name, path);
  EXPECT_EQ(eng_engine_new(&(eng_options){ 0 }, &e, NULL), CAY_OK);
  EXPECT_EQ(eng_module_compile(e, module->data, module->len, stop, path, NULL), CAY_OK);
  eng_engine_free(e);
}

/* A folder of guests with one program, /usr/bin/p, and without its code that counts fuel. */
static world *world_new(uint32_t functions, uint32_t depth, uint32_t salt) {
  static const char list[] = "file /usr/bin/p p.wasm epoch\n";
  world *w = mem_zalloc(sizeof *w);
  EXPECT(w != NULL);
  (void)snprintf(w->dir, sizeof w->dir, "%s/guests", test_dir());
  (void)mkdir(w->dir, 0700);
  w->module = module_slow(functions, depth, salt);
  write_file(w, "p.wasm", w->module.data, w->module.len);
  write_file(w, "guest.list", list, sizeof list - 1);
  return w;
}

static void world_begin(world *w) {
  cay_limits limits = CAY_INIT(cay_limits, .wall_ms = 60000);
  EXPECT_EQ(cay_engine_new(&CAY_INIT(cay_engine_options, .guest_dir = w->dir), &w->engine, NULL), CAY_OK);
  EXPECT_EQ(cay_sandbox_new(w->engine, &CAY_INIT(cay_sandbox_options, .limits = &limits), &w->box, NULL),
            CAY_OK);
}

static void world_free(world *w) {
  char path[300];
  static const char *const names[] = { "p.wasm", "p.cwasm", "p.fuel.cwasm", "guest.list" };
  cay_sandbox_free(w->box);
  cay_engine_free(w->engine);
  buf_free(&w->module);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    path_in(w, names[i], path);
    (void)unlink(path);
  }
  mem_free(w);
}

static uint64_t compiled(const world *w) { return eng_engine_cache_stats(w->engine->wasm).compiled; }

static bool await_compiled(const world *w, uint64_t count) {
  for (int i = 0; i < 6000 && compiled(w) < count; i++) usleep(10000);
  return compiled(w) == count;
}

static cay_end run(const world *w, uint32_t wall_ms) {
  static const char *const argv[] = { "/usr/bin/p", NULL };
  cay_result *r = NULL;
  EXPECT_EQ(cay_run(w->box, &CAY_INIT(cay_run_options, .argv = argv, .fuel = 1000000, .wall_ms = wall_ms), &r,
                    NULL),
            CAY_OK);
  cay_end end = r->end;
  cay_result_free(r);
  return end;
}

TEST(code_that_counts_fuel_is_found_beside_the_module) {
  world *w = world_new(QUICK_FUNCTIONS, QUICK_DEPTH, 0);
  compile_ahead(w, &w->module, ENG_STOP_EPOCH, "p.cwasm");
  compile_ahead(w, &w->module, ENG_STOP_FUEL, "p.fuel.cwasm");
  world_begin(w);
  EXPECT_EQ(run(w, 0), CAY_END_EXIT);
  EXPECT_EQ(compiled(w), 0);
  world_free(w);
}

TEST(code_of_another_module_or_of_another_kind_is_passed_over) {
  for (int i = 0; i < 3; i++) {
    world *w = world_new(QUICK_FUNCTIONS, QUICK_DEPTH, 0);
    buf other = module_slow(QUICK_FUNCTIONS, QUICK_DEPTH, 1);
    compile_ahead(w, &w->module, ENG_STOP_EPOCH, "p.cwasm");
    if (i == 0) compile_ahead(w, &other, ENG_STOP_FUEL, "p.fuel.cwasm");
    if (i == 1) compile_ahead(w, &w->module, ENG_STOP_EPOCH, "p.fuel.cwasm");
    if (i == 2) write_file(w, "p.fuel.cwasm", "nonsense", 8);
    buf_free(&other);
    world_begin(w);
    EXPECT_EQ(run(w, 0), CAY_END_EXIT);
    EXPECT_EQ(compiled(w), 1);
    world_free(w);
  }
}

TEST(deadline_of_a_run_does_not_wait_until_a_guest_is_compiled_for_fuel) {
  world *w = world_new(SLOW_FUNCTIONS, SLOW_DEPTH, 2);
  compile_ahead(w, &w->module, ENG_STOP_EPOCH, "p.cwasm");
  world_begin(w);
  EXPECT_EQ(run(w, 50), CAY_END_TIME);
  EXPECT_EQ(compiled(w), 0);
  EXPECT_EQ(cay_engine_compiling(w->engine), 1);
  EXPECT(await_compiled(w, 1));
  EXPECT_EQ(run(w, 0), CAY_END_EXIT);
  EXPECT_EQ(compiled(w), 1);
  world_free(w);
}

static k_image *program_of(world *w) {
  k_image *program = NULL;
  cay_error err = { .message = "" };
  EXPECT_EQ(sb_guest_image(w->engine, "/usr/bin/p", &program, &err), CAY_OK);
  return program;
}

/* As for a session, whose process does not run yet. */
TEST(wait_for_a_guest_that_is_compiled_for_fuel_ends_at_its_own_deadline) {
  world *w = world_new(SLOW_FUNCTIONS, SLOW_DEPTH, 3);
  compile_ahead(w, &w->module, ENG_STOP_EPOCH, "p.cwasm");
  world_begin(w);
  k_process *p = NULL;
  eng_module *counting = NULL;
  cay_error err = { .message = "" };
  k_lock(w->box->kernel);
  EXPECT_EQ(k_process_new(w->box->kernel, NULL, &p), 0);
  k_unlock(w->box->kernel);
  EXPECT_EQ(abi_linux_image_counting(program_of(w), w->box->runner, p, clock_mono_ns() + 50 * NS_PER_MS,
                                     &counting, &err),
            CAY_TIMEOUT);
  EXPECT(counting == NULL);
  EXPECT(strstr(err.message, "still being compiled") != NULL);
  EXPECT_EQ(abi_linux_image_counting(program_of(w), w->box->runner, p, K_FOREVER, &counting, &err), CAY_OK);
  EXPECT_EQ(eng_module_stop(counting), ENG_STOP_FUEL);
  EXPECT_EQ(compiled(w), 1);
  eng_module_unref(counting);
  k_lock(w->box->kernel);
  k_process_discard(p);
  k_unlock(w->box->kernel);
  world_free(w);
}
