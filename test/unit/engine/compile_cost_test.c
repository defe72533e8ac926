/* compile_cost_test.c - no module costs the compiler more than its weight promises (wasm_weight.h).
 *
 * Each module is compiled in a process of its own, whose processor time and memory are compared with the bounds. */
#include "engine/wasm_weight.h"
#include "wat.h"
#include "worst.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  NS_PER_UNIT = 8000,             /* twice the promise: processors share caches with other work */
  BYTES_PER_UNIT = 64,            /* of a module, */
  BYTES_PER_FUNCTION_UNIT = 1024, /* and more for its heaviest function */
  SLACK_NS = 100000000,           /* what any module costs, */
  SLACK_BYTES = 16 << 20,
  CPU_LIMIT_S = 60,
};

struct kind {
  const char *name;
  buf (*make)(uint32_t count);
  uint32_t count; /* enough to outweigh the slack, few enough for a second at most */
};
#define KIND(name, count) { #name, worst_##name, count }

static const struct kind kinds[] = {
  KIND(types, 3000),
  KIND(same_types, 10000),
  KIND(wide_types, 20),
  KIND(imports, 3000),
  KIND(wide_imports, 300),
  KIND(imported_globals, 20000),
  KIND(functions, 3000),
  KIND(functions_in_table, 3000),
  KIND(wide_functions_in_table, 20),
  KIND(local_runs, 50000),
  KIND(empty_local_runs, 100000),
  KIND(far_elements, 4),
  KIND(elements, 10000),
  KIND(dynamic_elements, 5000),
  KIND(passive_elements, 5000),
  KIND(items, 20000),
  KIND(expression_items, 50000),
  KIND(globals, 50000),
  KIND(reference_globals, 20000),
  KIND(global_sums, 30000),
  KIND(expressions, 50000),
  KIND(tags, 100000),
  KIND(wide_tags, 100),
  KIND(exports, 20000),
  KIND(wide_exports, 300),
  KIND(memory_exports, 20000),
  KIND(data, 10000),
  KIND(dynamic_data, 5000),
  KIND(passive_data, 20000),
  KIND(far_data, 1),
  KIND(names, 100000),
  KIND(conversions, 50000),
  KIND(calls, 100000),
  KIND(indirect_calls, 3500),
  KIND(nested_loops, 2700),
  KIND(loops, 3500),
  KIND(branches, 100),
  KIND(live_values, 2500),
  KIND(atomic_additions, 30000),
  KIND(atomic_unions, 30000),
  KIND(atomic_exchanges, 30000),
  KIND(atomic_stores, 30000),
  KIND(notifications, 20000),
  KIND(atomic_waits, 10000),
};

static enum eng_flow do_nothing(eng_instance *i, void *ctx, eng_val *values) {
  (void)i, (void)ctx, (void)values;
  return ENG_CONTINUE;
}
static const eng_import list[] = { { "m", "f", ":", do_nothing } };
static const eng_imports imports = { list, 1 };

/* ---- one compilation, in a process of its own ---- */

typedef struct cost {
  eng_weight weight;
  uint64_t len, ns, bytes;
  char message[64];
} cost;

static uint64_t ns_of(struct timeval t) {
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static uint64_t used_ns(const struct rusage *u) { return ns_of(u->ru_utime) + ns_of(u->ru_stime); }

static cay_status compile_made(eng_engine *engine, buf m, cay_error *err) {
  eng_module *module = NULL;
  cay_status status = eng_module_load(engine, m.data, m.len, NULL, ENG_STOP_FUEL, &imports, &module, err);
  if (status == CAY_OK) eng_module_unref(module);
  return status;
}

static cost measure(const struct kind *k) {
  cost c = { .weight = { 0 } };
  cay_error err = { .message = "" };
  struct rusage before, after;
  eng_engine *engine = fresh_engine(NULL);
  EXPECT_EQ(compile_made(engine, worst_functions(8), &err), CAY_OK); /* the compiler's threads and tables */
  buf m = k->make(k->count);
  EXPECT_EQ(eng_weigh(m.data, m.len, &c.weight, &err), CAY_OK);
  c.len = m.len;
  getrusage(RUSAGE_SELF, &before);
  (void)compile_made(engine, m, &err);
  getrusage(RUSAGE_SELF, &after);
  c.ns = used_ns(&after) - used_ns(&before);
  c.bytes = (uint64_t)(after.ru_maxrss - before.ru_maxrss) << 10;
  (void)snprintf(c.message, sizeof c.message, "%.60s", err.message);
  return c;
}

/* This program again, for one kind: a child that is only forked has none of the compiler's threads. */
#define ONE_KIND "CAY_TEST_COST_OF"

__attribute__((constructor)) static void measure_one_kind(void) {
  const char *index = getenv(ONE_KIND);
  if (index == NULL) return;
  (void)setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_LIMIT_S, CPU_LIMIT_S });
  cost c = measure(&kinds[strtoul(index, NULL, 10)]);
  _exit(write(STDOUT_FILENO, &c, sizeof c) != sizeof c);
}

static pid_t spawn_for(size_t kind, int output) {
  char index[16], *program[] = { "unit-engine", NULL };
  (void)snprintf(index, sizeof index, "%zu", kind);
  pid_t pid = fork();
  if (pid != 0) return pid;
  (void)setenv(ONE_KIND, index, 1);
  (void)dup2(output, STDOUT_FILENO);
  (void)execv("/proc/self/exe", program);
  _exit(127);
}

static cost measure_apart(size_t kind) {
  int ends[2], how = 0;
  cost c = { .weight = { 0 } };
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  pid_t pid = spawn_for(kind, ends[1]);
  close(ends[1]);
  ssize_t n = read(ends[0], &c, sizeof c);
  close(ends[0]);
  EXPECT_EQ(waitpid(pid, &how, 0), pid);
  if (n != sizeof c) fprintf(stderr, "%s: ended with status 0x%x\n", kinds[kind].name, how);
  EXPECT_EQ(n, sizeof c);
  return c;
}

/* The figures of README.md are these lines. */
static void show(const struct kind *k, const cost *c) {
  if (getenv("CAY_SHOW_COSTS") == NULL) return;
  printf(
      "%-24s %7u items %8llu bytes  weight %8llu %7llu  %7.3f s %7.1f MiB  %.2f us and %4.0f bytes a unit  %s\n",
      k->name, k->count, (unsigned long long)c->len, (unsigned long long)c->weight.module,
      (unsigned long long)c->weight.function, (double)c->ns / 1e9, (double)c->bytes / (1 << 20),
      (double)c->ns / 1e3 / (double)c->weight.module, (double)c->bytes / (double)c->weight.module,
      c->message);
}

static void expect_within_bounds(const struct kind *k, const cost *c) {
  uint64_t ns = c->weight.module * NS_PER_UNIT + SLACK_NS;
  uint64_t bytes =
      c->weight.module * BYTES_PER_UNIT + c->weight.function * BYTES_PER_FUNCTION_UNIT + SLACK_BYTES;
  if (c->ns > ns || c->bytes > bytes)
    fprintf(stderr, "%s took %llu ns and %llu bytes, of %llu and %llu\n", k->name, (unsigned long long)c->ns,
            (unsigned long long)c->bytes, (unsigned long long)ns, (unsigned long long)bytes);
  EXPECT(c->ns <= ns && c->bytes <= bytes);
}

/* With fuel, since counting it is the most that is compiled into a module. */
TEST(compiling_costs_no_more_than_the_weight_promises) {
  for (size_t i = 0; i < COUNT_OF(kinds); i++) {
    cost c = measure_apart(i);
    show(&kinds[i], &c);
    expect_within_bounds(&kinds[i], &c);
  }
}
