/* getrlimit_nofile - getrlimit(2): RLIMIT_NOFILE bounds the numbers given, is inherited, and does not close
 * anything. */
#include "posix.h"

#include <sys/resource.h>

int main(int argc, char **argv) {
  (void)argv;
  struct rlimit l;
  if (argc > 1) {
    SAY(getrlimit(RLIMIT_NOFILE, &l));
    SHOW(l.rlim_cur);
    SHOW(l.rlim_max);
    return 0;
  }
  SAY(getrlimit(RLIMIT_NOFILE, &l));
  IS(l.rlim_cur <= l.rlim_max && l.rlim_cur >= 64);
  MUST(dup2(0, 50));
  l = (struct rlimit){ 32, 48 };
  SAY(setrlimit(RLIMIT_NOFILE, &l));
  int count = 0, last = -1;
  for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0; count++) last = fd;
  say("%s after %d, the last is %d\n", error_name(errno), count, last);
  SAY(dup(0));
  SAY(dup2(0, 31));
  SAY(dup2(0, 32));
  SAY(fcntl(0, F_DUPFD, 32));
  int p[2];
  SAY(pipe(p));
  SAY(fcntl(50, F_GETFD));
  close(30);
  SAY(pipe(p));
  SAY(open("/dev/null", O_RDONLY));
  SHOW(sysconf(_SC_OPEN_MAX));
  l = (struct rlimit){ 48, 48 };
  SAY(setrlimit(RLIMIT_NOFILE, &l));
  SAY(dup(0));
  l = (struct rlimit){ 49, 48 };
  SAY(setrlimit(RLIMIT_NOFILE, &l));
  l = (struct rlimit){ 48, 49 };
  SAY(setrlimit(RLIMIT_NOFILE, &l));
  for (int fd = 3; fd < 48; fd++) close(fd);
  l = (struct rlimit){ 40, 44 };
  SAY(setrlimit(RLIMIT_NOFILE, &l));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    execl(SELF, "again", "x", (char *)NULL);
    _exit(127);
  }
  reap("child", pid);
  SAY(getrlimit((__typeof__(RLIMIT_NOFILE))99, &l));
  return 0;
}
