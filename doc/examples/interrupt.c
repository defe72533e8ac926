/* interrupt.c - ends a run from another thread: politely by a signal, then by force.
 *
 *   cc interrupt.c -lcay -lpthread -o interrupt && ./interrupt
 *
 * It prints:
 *   caught SIGINT
 *   after a signal: exit 7
 *   after an interrupt: cancelled
 *   the sandbox still works: exit 0
 */
#include <cay/cay.h>

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>

static void on_output(void *ctx, int fd, cay_slice bytes) {
  (void)fd;
  if (bytes.len >= 6 && ((const char *)bytes.data)[0] == 'c')
    printf("%.*s", (int)bytes.len, (const char *)bytes.data);
  (void)sem_post(ctx);
}

/* Starts `line` and waits until it has said its first word. */
static cay_status start(cay_sandbox *box, const char *line, sem_t *spoke, cay_process **out, cay_error *err) {
  cay_run_options options = {
    .size = sizeof options, .command = line, .output = on_output, .output_ctx = spoke
  };
  cay_status s = cay_spawn(box, &options, out, err);
  if (s == CAY_OK) (void)sem_wait(spoke);
  return s;
}

/* Frees the process; the words of its end go to *name and *code. */
static cay_status finish(cay_process *process, const char **name, int *code, cay_error *err) {
  cay_result *result = NULL;
  cay_status s = cay_process_wait(process, -1, &result, err);
  if (s == CAY_OK) {
    *name = cay_end_name(result->end);
    *code = result->code;
  }
  cay_result_free(result);
  cay_process_free(process);
  return s;
}

int main(void) {
  cay_engine *engine = NULL;
  cay_sandbox *box = NULL;
  cay_process *process = NULL;
  cay_result *result = NULL;
  cay_error err = { 0 };
  const char *name = "";
  int code = 0;
  sem_t spoke;
  if (sem_init(&spoke, 0, 0) != 0) return 1;
  cay_status s = cay_engine_new(NULL, &engine, &err);
  if (s == CAY_OK) s = cay_sandbox_new(engine, NULL, &box, &err);

  /* A signal is the guest's to handle, also while it computes. */
  if (s == CAY_OK)
    s = start(box, "trap 'echo caught SIGINT; exit 7' INT; echo ready; while :; do :; done", &spoke, &process,
              &err);
  if (s == CAY_OK) {
    cay_process_signal(process, SIGINT);
    s = finish(process, &name, &code, &err);
    printf("after a signal: %s %d\n", name, code);
    (void)sem_wait(&spoke); /* the handler's line */
  }

  /* An interrupt is not: everything in the sandbox ends. */
  if (s == CAY_OK)
    s = start(box, "trap '' INT TERM; echo ready; while :; do :; done", &spoke, &process, &err);
  if (s == CAY_OK) {
    cay_sandbox_interrupt(box);
    s = finish(process, &name, &code, &err);
    printf("after an interrupt: %s\n", name);
  }

  if (s == CAY_OK) s = cay_run(box, &CAY_INIT(cay_run_options, .command = "true"), &result, &err);
  if (s == CAY_OK) printf("the sandbox still works: %s %d\n", cay_end_name(result->end), result->code);
  if (s != CAY_OK) fprintf(stderr, "%s: %s\n", cay_status_name(s), err.message);

  cay_result_free(result);
  cay_sandbox_free(box);
  cay_engine_free(engine);
  (void)sem_destroy(&spoke);
  return s == CAY_OK ? 0 : 1;
}
