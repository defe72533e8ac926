/* sigpipe - write(2), pipe(7): writing without a reader kills, or answers EPIPE when the signal is ignored
 * or caught. */
#include "posix.h"

#include <poll.h>
#include <sys/socket.h>

static void handler(int sig) { say("handler: %s\n", signal_name(sig)); }

int main(void) {
  int fd[2];
  MUST(pipe(fd));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    close(fd[0]);
    sleep_ms(10);
    for (;;) MUST(write(fd[1], "x", 1));
  }
  close(fd[0]);
  close(fd[1]);
  reap("writer", pid);

  MUST(pipe(fd));
  close(fd[0]);
  signal(SIGPIPE, SIG_IGN);
  SAY(write(fd[1], "x", 1));
  SAY(write(fd[1], "", 0));
  signal(SIGPIPE, handler);
  SAY(write(fd[1], "x", 1));

  int pair[2];
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  close(pair[0]);
  SAY(send(pair[1], "x", 1, 0));
  SAY(send(pair[1], "x", 1, MSG_NOSIGNAL));

  /* A blocked writer wakes up when the reader goes away. */
  MUST(pipe(fd));
  signal(SIGPIPE, SIG_DFL);
  pid = MUST(fork());
  if (pid == 0) {
    static char block[1 << 20];
    close(fd[0]);
    signal(SIGPIPE, SIG_IGN);
    ssize_t n = write(fd[1], block, sizeof block);
    say("blocked write: %s\n", n > 0 && n < (ssize_t)sizeof block ? "cut short"
                               : n < 0                            ? error_name(errno)
                                                                  : "all");
    SAY(write(fd[1], block, 1));
    _exit(0);
  }
  close(fd[1]);
  poll(&(struct pollfd){ fd[0], POLLIN, 0 }, 1, -1); /* now it is within its write */
  close(fd[0]);
  reap("blocked writer", pid);
  return 0;
}
