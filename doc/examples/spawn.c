/* spawn.c - talks with a program while it runs: input is written, output arrives in a callback.
 *
 *   cc spawn.c -lcay -o spawn && ./spawn
 *
 * It prints:
 *   >> 3 + 4
 *   7
 *   >> 6 * 7
 *   42
 *   ended: exit 0
 */
#include <cay/cay.h>

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

/* Comes on a thread of the library, as soon as there is something. The guest sleeps until it returns. */
static void on_output(void *ctx, int fd, cay_slice bytes) {
  (void)fwrite(bytes.data, 1, bytes.len, fd == 1 ? stdout : stderr);
  if (memchr(bytes.data, '\n', bytes.len) != NULL) (void)sem_post(ctx);
}

int main(void) {
  cay_engine *engine = NULL;
  cay_sandbox *box = NULL;
  cay_process *process = NULL;
  cay_result *result = NULL;
  cay_error err = { 0 };
  sem_t answered;
  if (sem_init(&answered, 0, 0) != 0) return 1;

  cay_run_options options = {
    .size = sizeof options,
    .command = "while read -r sum; do echo $((sum)); done",
    .input_open = true,
    .no_capture = true,
    .output = on_output,
    .output_ctx = &answered,
  };
  cay_status s = cay_engine_new(NULL, &engine, &err);
  if (s == CAY_OK) s = cay_sandbox_new(engine, NULL, &box, &err);
  if (s == CAY_OK) s = cay_spawn(box, &options, &process, &err);

  static const char *const sums[] = { "3 + 4\n", "6 * 7\n" };
  for (int i = 0; i < 2 && s == CAY_OK; i++) {
    printf(">> %s", sums[i]);
    s = cay_process_write(process, (cay_slice){ sums[i], strlen(sums[i]) }, &err);
    if (s == CAY_OK) (void)sem_wait(&answered);
  }
  if (process != NULL) cay_process_close_input(process);
  if (s == CAY_OK) s = cay_process_wait(process, 10000, &result, &err);
  if (s == CAY_OK)
    printf("ended: %s %d\n", cay_end_name(result->end), result->code);
  else
    fprintf(stderr, "%s: %s\n", cay_status_name(s), err.message);

  cay_result_free(result);
  cay_process_free(process);
  cay_sandbox_free(box); /* from here on no callback comes */
  cay_engine_free(engine);
  (void)sem_destroy(&answered);
  return s == CAY_OK ? 0 : 1;
}
