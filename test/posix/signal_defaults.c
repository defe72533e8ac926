/* signal_defaults - signal(7): what each signal does to a process that does not care. */
#include "posix.h"

static void try(int sig) {
  gate ready = gate_new(), go = gate_new();
  pid_t pid = MUST(fork());
  if (pid == 0) {
    setpgid(0, 0); /* SIGTSTP does not stop an orphaned group */
    gate_open(ready);
    gate_wait(go);
    _exit(0);
  }
  gate_wait(ready);
  MUST(kill(pid, sig));
  gate_open(go);
  int status;
  MUST(waitpid(pid, &status, WUNTRACED));
  say_status(signal_name(sig), status);
  if (WIFSTOPPED(status)) {
    MUST(kill(pid, SIGKILL));
    MUST(waitpid(pid, &status, 0));
  }
  gate_free(ready);
  gate_free(go);
}

int main(void) {
  const int signals[] = { SIGHUP,   SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,    SIGFPE,
                          SIGKILL,  SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,   SIGCHLD,
                          SIGCONT,  SIGSTOP, SIGTSTP, SIGURG,  SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF,
                          SIGWINCH, SIGIO,   SIGPWR,  SIGSYS,  SIGRTMIN };
  for (size_t i = 0; i < COUNT_OF(signals); i++) try(signals[i]);
  return 0;
}
