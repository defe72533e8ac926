/* limits.c - what happens at each limit: always an outcome, and the sandbox goes on.
 *
 *   cc limits.c -lcay -o limits && ./limits
 *
 * It prints:
 *   an endless loop: time, 124
 *   a file too large: exit, 1
 *   too much output: exit, 0, cut at 4096 bytes
 *   too many processes: exit, 2
 *   too much memory: signal or exit, not 0
 *   afterwards: exit, 0
 */
#include <cay/cay.h>

#include <stdio.h>

static cay_sandbox *box;
static cay_error err;

static cay_result *run(const char *line, uint32_t wall_ms) {
  cay_result *result = NULL;
  cay_run_options options = { .size = sizeof options, .command = line, .wall_ms = wall_ms };
  if (cay_run(box, &options, &result, &err) != CAY_OK) fprintf(stderr, "%s\n", err.message);
  return result;
}

static void show(const char *what, const char *line, uint32_t wall_ms) {
  cay_result *result = run(line, wall_ms);
  if (result == NULL) return;
  printf("%s: %s, %d", what, cay_end_name(result->end), cay_result_exit_code(result));
  if (result->out_cut) printf(", cut at %zu bytes", result->out.len);
  printf("\n");
  cay_result_free(result);
}

int main(void) {
  cay_engine *engine = NULL;
  cay_limits limits =
      CAY_INIT(cay_limits, .memory = 64 << 20, .disk = 1 << 20, .output = 4096, .processes = 16);
  cay_sandbox_options options = CAY_INIT(cay_sandbox_options, .limits = &limits);
  if (cay_engine_new(NULL, &engine, &err) != CAY_OK ||
      cay_sandbox_new(engine, &options, &box, &err) != CAY_OK) {
    fprintf(stderr, "cannot start: %s\n", err.message);
    return 1;
  }

  show("an endless loop", "while :; do :; done", 200);
  show("a file too large", "yes 2>/dev/null > big; s=$?; rm big; exit $s", 0);
  show("too much output", "seq 100000", 0);
  show("too many processes", "exec sh -c 'for i in $(seq 40); do sleep 60 & done' 2>/dev/null", 0);
  cay_sandbox_interrupt(box); /* what that left in the background */

  cay_result *memory = run("cat /dev/zero | tail", 0);
  if (memory != NULL && cay_result_exit_code(memory) != 0) printf("too much memory: signal or exit, not 0\n");
  cay_result_free(memory);

  show("afterwards", "echo all is well", 0);
  cay_sandbox_free(box);
  cay_engine_free(engine);
  return 0;
}
