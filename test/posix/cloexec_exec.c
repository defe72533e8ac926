/* cloexec_exec - execve(2): descriptors stay open across exec unless they are close-on-exec. */
#include "posix.h"

static void after_exec(void) {
  for (int fd = 10; fd <= 15; fd++)
    say("descriptor %d: %s\n", fd, fcntl(fd, F_GETFD) < 0 ? error_name(errno) : "open");
  char text[8] = "";
  SAY(read(10, text, 3));
  TEXT(text);
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    after_exec();
    return 7;
  }
  put("f", "abcdef");
  int fd = MUST(open("f", O_RDONLY));
  char text[4];
  MUST(read(fd, text, 2));
  MUST(dup2(fd, 10));
  MUST(dup3(fd, 11, O_CLOEXEC));
  MUST(fcntl(fd, F_DUPFD_CLOEXEC, 12));
  MUST(dup2(fd, 13));
  MUST(fcntl(13, F_SETFD, FD_CLOEXEC));
  MUST(dup3(fd, 14, O_CLOEXEC));
  MUST(fcntl(14, F_SETFD, 0));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    execl(SELF, "again", "after", (char *)NULL);
    _exit(127);
  }
  reap("exec", pid);
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(fcntl(11, F_GETFD));
  SAY(fcntl(12, F_SETFD, 0));
  SAY(fcntl(12, F_GETFD));
  return 0;
}
