/* wait_status - wait(2): every way to end is told apart, and the exit code keeps its low 8 bits. */
#include "posix.h"

static void ends(const char *who, int code, int sig) {
  pid_t pid = MUST(fork());
  if (pid == 0) {
    if (sig != 0) {
      kill(getpid(), sig);
      pause();
    }
    _exit(code);
  }
  reap(who, pid);
}

int main(void) {
  int status = 0;
  ends("0", 0, 0);
  ends("1", 1, 0);
  ends("255", 255, 0);
  ends("256", 256, 0);
  ends("-1", -1, 0);
  ends("TERM", 0, SIGTERM);
  ends("KILL", 0, SIGKILL);
  ends("USR1", 0, SIGUSR1);
  ends("HUP", 0, SIGHUP);
  ends("PIPE", 0, SIGPIPE);
  ends("ALRM", 0, SIGALRM);

  SAY(wait(&status));
  SAY(waitpid(-1, &status, WNOHANG));
  SAY(waitpid(getpid(), &status, 0));
  SAY(waitpid(1 << 22, &status, 0));
  SAY(waitpid(-1, &status, 0x10000000));

  gate g = gate_new();
  pid_t pid = MUST(fork());
  if (pid == 0) {
    gate_wait(g);
    exit(42);
  }
  SAY(waitpid(pid, &status, WNOHANG));
  gate_open(g);
  IS(waitpid(pid, &status, 0) == pid);
  say_status("gated", status);
  SAY(waitpid(pid, &status, 0));

  pid_t first = MUST(fork());
  if (first == 0) _exit(1);
  pid_t second = MUST(fork());
  if (second == 0) _exit(2);
  reap("second", second);
  reap("first", first);

  pid = MUST(fork());
  if (pid == 0) abort();
  reap("abort", pid);
  return 0;
}
