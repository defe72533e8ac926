/* run.c - one command, its output and how it ended.
 *
 *   cc run.c -lcay -o run && ./run
 *
 * It prints:
 *   exit 3
 *   stdout: 5 files
 *   stderr: not all is well
 */
#include <cay/cay.h>

#include <stdio.h>

int main(void) {
  cay_engine *engine = NULL;
  cay_sandbox *box = NULL;
  cay_result *result = NULL;
  cay_error err;

  /* The engine is made once in a program; it owns the code of bash and all others. */
  if (cay_engine_new(NULL, &engine, &err) != CAY_OK || cay_sandbox_new(engine, NULL, &box, &err) != CAY_OK) {
    fprintf(stderr, "cannot start: %s\n", err.message);
    return 1;
  }

  const char *line = "touch a b c d e; echo \"$(ls | wc -l) files\"; echo 'not all is well' >&2; exit 3";
  cay_status s = cay_run(box, &CAY_INIT(cay_run_options, .command = line), &result, &err);
  if (s == CAY_OK) {
    /* A program that fails is no failure of cay_run: the result says how it ended. */
    printf("%s %d\n", cay_end_name(result->end), result->code);
    printf("stdout: %.*s", (int)result->out.len, (const char *)result->out.data);
    printf("stderr: %.*s", (int)result->err.len, (const char *)result->err.data);
  } else {
    fprintf(stderr, "%s: %s\n", cay_status_name(s), err.message);
  }

  cay_result_free(result);
  cay_sandbox_free(box);
  cay_engine_free(engine);
  return s == CAY_OK ? 0 : 1;
}
