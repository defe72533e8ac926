/* unix_socket - unix(7): a listening socket with a name in the file tree, connections, and their refusals. */
#include "posix.h"

#include <sys/socket.h>
#include <sys/un.h>

static struct sockaddr_un named(const char *path) {
  struct sockaddr_un a = { .sun_family = AF_UNIX };
  snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  return a;
}

static int at(int (*call)(int, const struct sockaddr *, socklen_t), int fd, const char *path) {
  struct sockaddr_un a = named(path);
  return call(fd, (struct sockaddr *)&a, sizeof a);
}

int main(void) {
  char text[32] = "";
  struct stat st;
  int server = OK(socket(AF_UNIX, SOCK_STREAM, 0));
  SAY(at(bind, server, "sock"));
  MUST(stat("sock", &st));
  IS(S_ISSOCK(st.st_mode));
  int client = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
  SAY(at(connect, client, "sock"));
  SAY(listen(server, 4));
  SAY(at(connect, client, "none"));
  put("file", "");
  SAY(at(connect, client, "file"));
  SAY(open("sock", O_RDWR));

  pid_t pid = MUST(fork());
  if (pid == 0) {
    int fd = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    MUST(at(connect, fd, "sock"));
    MUST(write(fd, "question", 8));
    MUST(read(fd, text, sizeof text));
    say("client got \"%s\"\n", text);
    _exit(0);
  }
  int peer = OK(accept(server, NULL, NULL));
  SAY(read(peer, text, sizeof text));
  TEXT(text);
  MUST(write(peer, "answer", 7));
  reap("client", pid);
  SAY(read(peer, text, sizeof text));

  int again = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
  SAY(at(bind, again, "sock"));
  SAY(at(bind, again, "none/x"));
  MUST(close(server));
  SAY(at(connect, client, "sock"));
  SAY(unlink("sock"));
  SAY(at(bind, again, "sock"));
  SAY(accept(client, NULL, NULL));
  SAY(write(client, "x", 1));
  return 0;
}
