/* rlimit_fsize - getrlimit(2): RLIMIT_FSIZE cuts a write short and raises SIGXFSZ; other limits can be read
 * and lowered. */
#include "posix.h"

#include <sys/resource.h>

static void handler(int sig) { say("handler: %s\n", signal_name(sig)); }

int main(void) {
  struct rlimit l = { 100, 200 };
  static char block[150];
  signal(SIGXFSZ, handler);
  SAY(setrlimit(RLIMIT_FSIZE, &l));
  int fd = MUST(open("f", O_RDWR | O_CREAT, 0644));
  SAY(write(fd, block, 60));
  SAY(write(fd, block, 60));
  SAY(write(fd, block, 60));
  SAY(file_size("f"));
  SAY(pwrite(fd, block, 1, 99));
  SAY(pwrite(fd, block, 1, 100));
  SAY(ftruncate(fd, 101));
  SAY(ftruncate(fd, 50));
  signal(SIGXFSZ, SIG_IGN);
  SAY(pwrite(fd, block, 1, 100));
  SAY(file_size("f"));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    signal(SIGXFSZ, SIG_DFL);
    SAY(pwrite(fd, block, 1, 100));
    _exit(0);
  }
  reap("child", pid);
  SAY(getrlimit(RLIMIT_CPU, &l));
  SAY(getrlimit(RLIMIT_DATA, &l));
  SAY(getrlimit(RLIMIT_STACK, &l));
  SAY(getrlimit(RLIMIT_CORE, &l));
  SAY(getrlimit(RLIMIT_NPROC, &l));
  SAY(getrlimit(RLIMIT_NOFILE, &l));
  SAY(getrlimit(RLIMIT_AS, &l));
  l = (struct rlimit){ 0, 0 };
  SAY(setrlimit(RLIMIT_CORE, &l));
  SAY(getrlimit(RLIMIT_CORE, &l));
  SHOW(l.rlim_max);
  l = (struct rlimit){ 0, 1 };
  SAY(setrlimit(RLIMIT_CORE, &l));
  return 0;
}
