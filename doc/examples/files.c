/* files.c - puts files into a sandbox and takes results out, without a command or while one runs.
 *
 *   cc files.c -lcay -o files && ./files
 *
 * It prints:
 *   work/sorted.txt: apple, cherry, pear
 *   in work: fruit.txt (18 bytes)
 *   in work: sorted.txt (18 bytes)
 *   ENOENT is errno 2
 */
#include <cay/cay.h>

#include <stdio.h>
#include <string.h>

static bool show(void *ctx, const char *name, const cay_stat *stat) {
  (void)ctx;
  printf("in work: %s (%llu bytes)\n", name, (unsigned long long)stat->len);
  return true;
}

static cay_status sort_fruit(cay_sandbox *box, cay_error *err) {
  static const char fruit[] = "pear\napple\ncherry\n";
  cay_result *result = NULL;
  cay_buf sorted = { 0 };

  /* Parents are made as needed. */
  cay_status s =
      cay_file_write(box, "/home/agent/work/fruit.txt", (cay_slice){ fruit, strlen(fruit) }, 0, err);
  if (s != CAY_OK) return s;
  s = cay_run(box, &CAY_INIT(cay_run_options, .command = "cd work && sort fruit.txt > sorted.txt"), &result,
              err);
  cay_result_free(result);
  if (s != CAY_OK) return s;

  s = cay_file_read(box, "/home/agent/work/sorted.txt", &sorted, err);
  if (s != CAY_OK) return s;
  char first[16], second[16], third[16];
  int lines = sscanf(sorted.data, "%15s %15s %15s", first, second, third); /* a NUL follows the contents */
  if (lines == 3) printf("work/sorted.txt: %s, %s, %s\n", first, second, third);
  cay_buf_free(&sorted);
  return cay_file_list(box, "/home/agent/work", show, NULL, err);
}

int main(void) {
  cay_engine *engine = NULL;
  cay_sandbox *box = NULL;
  cay_error err = { 0 };
  cay_status s = cay_engine_new(NULL, &engine, &err);
  if (s == CAY_OK) s = cay_sandbox_new(engine, NULL, &box, &err);
  if (s == CAY_OK) s = sort_fruit(box, &err);
  if (s != CAY_OK) fprintf(stderr, "%s: %s\n", cay_status_name(s), err.message);

  /* A failure of this family carries the errno that a program in the sandbox would see. */
  cay_stat stat;
  cay_error missing = { 0 };
  if (s == CAY_OK && cay_file_stat(box, "/home/agent/nothing", &stat, &missing) == CAY_NOT_FOUND)
    printf("%.6s is errno %d\n", missing.message, missing.os_errno);

  cay_sandbox_free(box);
  cay_engine_free(engine);
  return s == CAY_OK ? 0 : 1;
}
