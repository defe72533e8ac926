/* socketpair_stream - socketpair(2), unix(7): a two-way byte stream, half-closed by shutdown. */
#include "posix.h"

#include <sys/socket.h>

int main(void) {
  int s[2];
  char text[32] = "";
  struct stat st;
  SAY(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  MUST(fstat(s[0], &st));
  IS(S_ISSOCK(st.st_mode));
  SAY(write(s[0], "abc", 3));
  SAY(write(s[0], "def", 3));
  SAY(send(s[1], "back", 4, 0));
  SAY(recv(s[1], text, 4, MSG_PEEK));
  TEXT(text);
  SAY(read(s[1], text, sizeof text));
  TEXT(text);
  memset(text, 0, sizeof text);
  SAY(read(s[0], text, sizeof text));
  TEXT(text);
  SAY(lseek(s[0], 0, SEEK_SET));

  int type = 0, domain = 0, error = 1;
  socklen_t len = sizeof type;
  SAY(getsockopt(s[0], SOL_SOCKET, SO_TYPE, &type, &len));
  IS(type == SOCK_STREAM);
  SAY(getsockopt(s[0], SOL_SOCKET, SO_DOMAIN, &domain, &len));
  IS(domain == AF_UNIX);
  SAY(getsockopt(s[0], SOL_SOCKET, SO_ERROR, &error, &len));
  SHOW(error);

  SAY(shutdown(s[0], SHUT_WR));
  SAY(read(s[1], text, sizeof text));
  SAY(send(s[0], "x", 1, MSG_NOSIGNAL));
  SAY(write(s[1], "still", 5));
  SAY(read(s[0], text, sizeof text));
  MUST(close(s[1]));
  SAY(read(s[0], text, sizeof text));
  SAY(shutdown(s[0], 9));

  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    close(s[0]);
    ssize_t n;
    while ((n = read(s[1], text, 1)) > 0) MUST(write(s[1], text, 1));
    _exit(0);
  }
  close(s[1]);
  for (const char *p = "echo"; *p; p++) {
    char back;
    MUST(write(s[0], p, 1));
    MUST(read(s[0], &back, 1));
    say("%c", back);
  }
  say("\n");
  close(s[0]);
  reap("echo", pid);

  SAY(socketpair(AF_INET, SOCK_STREAM, 0, s));
  SAY(socketpair(AF_UNIX, 77, 0, s));
  put("f", "");
  int file = MUST(open("f", O_RDWR));
  SAY(send(file, "x", 1, 0));
  SAY(shutdown(file, SHUT_RD));
  SAY(recv(99, text, 1, 0));
  return 0;
}
