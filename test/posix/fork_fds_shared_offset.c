/* fork_fds_shared_offset - fork(2): parent and child share open file descriptions, not the descriptor table.
 */
#include "posix.h"

int main(void) {
  char text[8] = "";
  put("f", "abcdefghij");
  int fd = MUST(open("f", O_RDWR));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    MUST(read(fd, text, 3));
    MUST(fcntl(fd, F_SETFL, O_APPEND));
    MUST(fcntl(fd, F_SETFD, FD_CLOEXEC));
    MUST(dup2(fd, 20));
    close(fd);
    _exit(0);
  }
  reap("child", pid);
  SAY(lseek(fd, 0, SEEK_CUR));
  IS(fcntl(fd, F_GETFL) & O_APPEND);
  SAY(fcntl(fd, F_GETFD));
  SAY(fcntl(20, F_GETFD));

  int out = MUST(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644));
  for (int i = 0; i < 5; i++) {
    pid = MUST(fork());
    if (pid == 0) {
      char digit = (char)('0' + i);
      MUST(write(out, &digit, 1));
      _exit(0);
    }
    MUST(waitpid(pid, NULL, 0));
  }
  MUST(write(out, "!", 1));
  get("out");

  for (int i = 0; i < 4; i++)
    if (MUST(fork()) == 0) {
      for (int k = 0; k < 100; k++) MUST(write(out, "x", 1));
      _exit(0);
    }
  while (wait(NULL) > 0) {}
  SAY(file_size("out"));

  int p[2];
  MUST(pipe(p));
  pid = MUST(fork());
  if (pid == 0) {
    close(p[0]);
    MUST(write(p[1], "data", 4));
    _exit(0);
  }
  SAY(read(p[0], text, 4));
  reap("child", pid);
  close(p[1]);
  SAY(read(p[0], text, 4));
  return 0;
}
