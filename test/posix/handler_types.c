/* handler_types - signal handlers as old programs write them: without a parameter, with a result, in K&R style. A
 * call with other arguments than the function has works. */
#include "posix.h"

static int seen;

static void without_parameters() { seen += 1; }
static int with_result(int sig) { return seen += sig == SIGUSR1 ? 10 : 0; }
static int with_result_alone() { return seen += 100; }
static void with_code(int sig, int code) {
  (void)code;
  seen += sig == SIGUSR1 ? 1000 : 0;
}
static void with_info(int sig, siginfo_t *info, void *context) {
  (void)context;
  seen += info->si_signo == sig ? 10000 : 0;
}

static void deliver(const char *name, void *handler, int flags) {
  struct sigaction action = { .sa_flags = flags };
  memcpy(&action.sa_handler, &handler, sizeof handler);
  MUST(sigaction(SIGUSR1, &action, NULL));
  MUST(raise(SIGUSR1));
  say("%s: %d\n", name, seen);
}

int main(void) {
  deliver("without parameters", (void *)without_parameters, 0);
  deliver("with a result", (void *)with_result, 0);
  deliver("with a result alone", (void *)with_result_alone, 0);
  deliver("with a code", (void *)with_code, 0);
  deliver("with information", (void *)with_info, SA_SIGINFO);
  deliver("without parameters, for information", (void *)without_parameters, SA_SIGINFO);
  return 0;
}
