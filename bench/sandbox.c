/* sandbox.c - what a program that uses libcay pays for sandboxes.
 *
 *   sandbox new COUNT     microseconds for a new sandbox, `bash -c true` in it, and its end: a line each
 *   sandbox true COUNT    the same with the program `true` and no shell
 *   sandbox again COUNT   microseconds for `bash -c true` in a sandbox that is there
 *   sandbox idle COUNT    resident bytes for each of COUNT sandboxes that ran `true` and wait
 *   sandbox empty COUNT   likewise, never used                                              */
#include "bench.h"

#include <cay/cay.h>

#include <string.h>
#include <unistd.h>

static cay_engine *engine;
static cay_error err;

static cay_sandbox *make(void) {
  cay_sandbox *box = NULL;
  if (cay_sandbox_new(engine, NULL, &box, &err) == CAY_OK) return box;
  fprintf(stderr, "sandbox: %s\n", err.message);
  exit(1);
}

static void run_true(cay_sandbox *box, bool shell) {
  static const char *const words[] = { "true", NULL };
  cay_run_options options = { .size = sizeof options };
  if (shell)
    options.command = "true";
  else
    options.argv = words;
  cay_result *result = NULL;
  if (cay_run(box, &options, &result, &err) != CAY_OK || cay_result_exit_code(result) != 0) {
    fprintf(stderr, "sandbox: true failed: %s\n", err.message);
    exit(1);
  }
  cay_result_free(result);
}

static void fresh(unsigned long count, bool shell) {
  for (unsigned long i = 0; i < count; i++) {
    uint64_t start = now_ns();
    cay_sandbox *box = make();
    run_true(box, shell);
    cay_sandbox_free(box);
    answer((double)(now_ns() - start) / 1e3);
  }
}

static void again(unsigned long count) {
  cay_sandbox *box = make();
  for (unsigned long i = 0; i < count; i++) {
    uint64_t start = now_ns();
    run_true(box, true);
    answer((double)(now_ns() - start) / 1e3);
  }
  cay_sandbox_free(box);
}

static void idle(unsigned long count, bool used) {
  cay_sandbox **boxes = calloc(count, sizeof(cay_sandbox *)); /* and the first one pays for what all share */
  cay_sandbox *first = make();
  run_true(first, true);
  double before = resident();
  for (unsigned long i = 0; boxes != NULL && i < count; i++) {
    boxes[i] = make();
    if (used) run_true(boxes[i], true);
  }
  answer((resident() - before) / (double)count);
  for (unsigned long i = 0; boxes != NULL && i < count; i++) cay_sandbox_free(boxes[i]);
  cay_sandbox_free(first);
  free(boxes);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  unsigned long count = count_of(argc - 1, argv + 1, 10);
  if (cay_engine_new(NULL, &engine, &err) != CAY_OK) {
    fprintf(stderr, "sandbox: %s\n", err.message);
    return 1;
  }
  if (strcmp(what, "new") == 0)
    fresh(count, true);
  else if (strcmp(what, "true") == 0)
    fresh(count, false);
  else if (strcmp(what, "again") == 0)
    again(count);
  else if (strcmp(what, "idle") == 0 || strcmp(what, "empty") == 0)
    idle(count, what[0] == 'i');
  else
    return 2;
  cay_engine_free(engine);
  return 0;
}
