/* unix_names - unix(7): names in the file tree and abstract ones, permission to connect, the file that is left when one
 * goes. */
#include "posix.h"

#include <sys/socket.h>
#include <sys/un.h>

static socklen_t name(struct sockaddr_un *a, const char *path) {
  *a = (struct sockaddr_un){ .sun_family = AF_UNIX };
  strcpy(a->sun_path, path);
  return sizeof *a;
}

static socklen_t abstract(struct sockaddr_un *a, const char *text) {
  *a = (struct sockaddr_un){ .sun_family = AF_UNIX };
  a->sun_path[0] = 0;
  int len = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "%s-%d", text, getpid());
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static void show_name(const char *what, int fd, int (*get)(int, struct sockaddr *, socklen_t *)) {
  struct sockaddr_un a = { 0 };
  socklen_t len = sizeof a;
  if (get(fd, (struct sockaddr *)&a, &len) < 0)
    say("%s: %s\n", what, error_name(errno));
  else
    say("%s: family %d, %d bytes, \"%s\"\n", what, a.sun_family, (int)len, len > 2 ? a.sun_path : "");
}

static void streams(void) {
  struct sockaddr_un a;
  struct stat st;
  char buf[32] = "";
  socklen_t len = name(&a, "door");
  int l = MUST(socket(AF_UNIX, SOCK_STREAM, 0)), c = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
  SAY(connect(c, (void *)&a, len));
  SAY(listen(l, 1));
  mode_t old = umask(027);
  SAY(bind(l, (void *)&a, len));
  umask(old);
  SAY(bind(l, (void *)&a, len));
  SAY(bind(c, (void *)&a, len));
  MUST(stat("door", &st));
  IS(S_ISSOCK(st.st_mode));
  say("mode %o\n", st.st_mode & 0777);
  SAY(open("door", O_RDWR));
  SAY(connect(c, (void *)&a, len));
  SAY(accept(c, NULL, NULL));
  SAY(listen(l, 1));
  int on = -1;
  socklen_t size = sizeof on;
  SAY(getsockopt(l, SOL_SOCKET, SO_ACCEPTCONN, &on, &size));
  SHOW(on);
  SAY(connect(c, (void *)&a, len));
  SAY(connect(c, (void *)&a, len));
  SAY(connect(l, (void *)&a, len));
  SAY(send(c, "early", 5, 0));
  int s = OK(accept4(l, NULL, NULL, SOCK_CLOEXEC));
  SHOW(fcntl(s, F_GETFD));
  SAY(recv(s, buf, sizeof buf, 0));
  TEXT(buf);
  show_name("listener", l, getsockname);
  show_name("server", s, getsockname);
  show_name("server's peer", s, getpeername);
  show_name("client", c, getsockname);
  show_name("client's peer", c, getpeername);
  show_name("listener's peer", l, getpeername);
  struct ucred cred;
  size = sizeof cred;
  MUST(getsockopt(s, SOL_SOCKET, SO_PEERCRED, &cred, &size));
  IS(cred.pid == getpid() && cred.uid == getuid() && cred.gid == getgid());
  SAY(sendto(c, "x", 1, 0, (void *)&a, len));

  MUST(rename("door", "gate"));
  int again = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
  SAY(connect(again, (void *)&a, len));
  len = name(&a, "gate");
  SAY(connect(again, (void *)&a, len));
  MUST(close(l));
  SAY(recv(again, buf, sizeof buf, 0));
  SAY(recv(again, buf, sizeof buf, 0));
  int stale = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
  SAY(connect(stale, (void *)&a, len));
  SAY(bind(stale, (void *)&a, len));
  SAY(unlink("gate"));
  SAY(connect(stale, (void *)&a, len));
  SAY(bind(stale, (void *)&a, len));
  MUST(listen(stale, 1));
  int wrong = MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  SAY(connect(wrong, (void *)&a, len));
  put("plain", "");
  len = name(&a, "plain");
  SAY(connect(wrong, (void *)&a, len));
  MUST(chmod("gate", 0555));
  len = name(&a, "gate");
  SAY(connect(again, (void *)&a, len));
  int fresh = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
  SAY(connect(fresh, (void *)&a, len));
  SAY(send(fresh, "x", 1, MSG_NOSIGNAL));
  SAY(recv(fresh, buf, 1, 0));
  SAY(send(s, "back", 4, 0));
  SAY(close(s));
  SAY(recv(c, buf, sizeof buf, 0));
  SAY(recv(c, buf, sizeof buf, 0));
  SAY(send(c, "x", 1, MSG_NOSIGNAL));
}

static void backlog(void) {
  struct sockaddr_un a;
  socklen_t len = name(&a, "narrow");
  int l = MUST(socket(AF_UNIX, SOCK_STREAM, 0)), c[4];
  MUST(bind(l, (void *)&a, len));
  MUST(listen(l, 1));
  for (int i = 0; i < 4; i++) {
    c[i] = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    SAY(connect(c[i], (void *)&a, len));
  }
  pid_t pid = MUST(fork());
  if (pid == 0) { /* sleeps until there is room */
    int s = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    MUST(connect(s, (void *)&a, len));
    MUST(write(s, "late", 4));
    _exit(0);
  }
  int first = OK(accept(l, NULL, NULL)), second = OK(accept(l, NULL, NULL)),
      third = OK(accept(l, NULL, NULL));
  char buf[8] = "";
  SAY(read(third, buf, 4));
  TEXT(buf);
  reap("late", pid);
  (void)first, (void)second;
  MUST(fcntl(l, F_SETFL, O_NONBLOCK));
  SAY(accept(l, NULL, NULL));
}

static void abstracts(void) {
  struct sockaddr_un a;
  socklen_t len = abstract(&a, "cay-posix");
  char buf[16] = "";
  int l = MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0)), other = MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  SAY(bind(l, (void *)&a, len));
  SAY(bind(other, (void *)&a, len));
  SAY(bind(other, (void *)&a, len - 1));
  MUST(listen(l, 4));
  int c = MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  SAY(recv(c, buf, 1, 0));
  SAY(send(c, "x", 1, MSG_NOSIGNAL));
  SAY(connect(c, (void *)&a, len));
  int s = MUST(accept(l, NULL, NULL));
  SAY(write(c, "one", 3));
  SAY(write(c, "three", 5));
  SAY(read(s, buf, sizeof buf));
  SAY(recv(s, buf, 2, MSG_TRUNC));
  MUST(close(c));
  SAY(read(s, buf, sizeof buf));
  MUST(close(l));
  c = MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  SAY(connect(c, (void *)&a, len));
  SAY(bind(c, (void *)&a, len));

  struct sockaddr_un given = { .sun_family = AF_UNIX };
  int nameless = MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
  SAY(bind(nameless, (void *)&given, sizeof given.sun_family));
  len = sizeof given;
  MUST(getsockname(nameless, (void *)&given, &len));
  SHOW(len);
  IS(given.sun_path[0] == 0);
}

static void errors(void) {
  struct sockaddr_un a;
  socklen_t len = name(&a, "missing/name");
  int s = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
  SAY(bind(s, (void *)&a, len));
  SAY(connect(s, (void *)&a, len));
  SAY(bind(s, (void *)&a, 1));
  SAY(bind(s, (void *)&a, sizeof a + 1));
  SAY(connect(s, (void *)&a, 200));
  SAY(bind(s, WILD, len));
  a.sun_family = AF_INET;
  SAY(bind(s, (void *)&a, len));
  SAY(connect(s, (void *)&a, len));
  SAY(listen(1, 1));
  SAY(bind(99, (void *)&a, len));
  SAY(accept(s, NULL, NULL));
  SAY(recv(s, &a, 1, 0));
  SAY(send(s, &a, 1, MSG_NOSIGNAL));
  SAY(accept4(s, NULL, NULL, 1));
  SAY(socket(AF_UNIX, 77, 0));
  SAY(socket(AF_UNIX, SOCK_STREAM, 99));
  SAY(socket(12345, SOCK_STREAM, 0));
}

int main(void) {
  streams();
  backlog();
  abstracts();
  errors();
  return 0;
}
