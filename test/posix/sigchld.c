/* sigchld - SIGCHLD tells of a child that ended; SIG_IGN and SA_NOCLDWAIT leave no zombie; SA_NOCLDSTOP is
 * quiet. */
#include "posix.h"

static volatile sig_atomic_t told;

static void on_child(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  told++;
  say("SIGCHLD: code %s status %d\n",
      info->si_code == CLD_EXITED    ? "exited"
      : info->si_code == CLD_KILLED  ? "killed"
      : info->si_code == CLD_STOPPED ? "stopped"
                                     : "other",
      info->si_status);
}

static void install(int flags) {
  struct sigaction sa = { .sa_sigaction = on_child, .sa_flags = SA_SIGINFO | flags };
  sigemptyset(&sa.sa_mask);
  MUST(sigaction(SIGCHLD, &sa, NULL));
}

static pid_t child_exits(int code) {
  pid_t pid = MUST(fork());
  if (pid == 0) _exit(code);
  return pid;
}

static void wait_until_told(int count) {
  while (told < count) sleep_ms(2);
}

int main(void) {
  install(SA_RESTART);
  pid_t pid = child_exits(5);
  wait_until_told(1);
  reap("child", pid);

  pid = MUST(fork());
  if (pid == 0) {
    kill(getpid(), SIGKILL);
    pause();
  }
  wait_until_told(2);
  reap("child", pid);

  install(SA_NOCLDSTOP);
  pid = MUST(fork());
  if (pid == 0) {
    raise(SIGSTOP);
    _exit(1);
  }
  int status;
  while (waitpid(pid, &status, WUNTRACED) != pid) {}
  say_status("child", status);
  SHOW(told);
  MUST(kill(pid, SIGCONT));
  wait_until_told(3);
  reap("child", pid);

  signal(SIGCHLD, SIG_IGN);
  pid = child_exits(6);
  SAY(waitpid(pid, NULL, 0));

  install(SA_NOCLDWAIT);
  pid = child_exits(7);
  while (waitpid(pid, NULL, 0) != -1 || errno != ECHILD) {}
  wait_until_told(4);
  SAY(waitpid(-1, NULL, WNOHANG));

  signal(SIGCHLD, SIG_DFL);
  pid = child_exits(8);
  reap("child", pid);
  SHOW(told);
  return 0;
}
