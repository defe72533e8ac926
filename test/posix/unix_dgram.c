/* unix_dgram - unix(7): datagrams between named sockets, with and without connect(2). */
#include "posix.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

static socklen_t name(struct sockaddr_un *a, const char *path) {
  *a = (struct sockaddr_un){ .sun_family = AF_UNIX };
  strcpy(a->sun_path, path);
  return sizeof *a;
}

static int bound(const char *path) {
  struct sockaddr_un a;
  int s = MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
  socklen_t len = name(&a, path);
  MUST(bind(s, (void *)&a, len));
  return s;
}

static void receive(int s) {
  char buf[16] = "";
  struct sockaddr_un from = { 0 };
  socklen_t len = sizeof from;
  ssize_t n = recvfrom(s, buf, sizeof buf - 1, MSG_DONTWAIT, (void *)&from, &len);
  if (n < 0)
    say("nothing: %s\n", error_name(errno));
  else
    say("\"%s\" from %d bytes \"%s\"\n", buf, (int)len, len > 2 ? from.sun_path : "");
}

int main(void) {
  struct sockaddr_un to, unspec = { .sun_family = AF_UNSPEC };
  int a = bound("a"), b = bound("b"), nameless = MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
  socklen_t len = name(&to, "b");
  SAY(sendto(a, "one", 3, 0, (void *)&to, len));
  SAY(sendto(nameless, "two", 3, 0, (void *)&to, len));
  SAY(sendto(a, "", 0, 0, (void *)&to, len));
  receive(b);
  receive(b);
  receive(b);
  receive(b);
  SAY(send(a, "x", 1, 0));
  SAY(connect(a, (void *)&to, len));
  SAY(send(a, "three", 5, 0));
  receive(b);
  len = name(&to, "a");
  SAY(sendto(b, "back", 4, 0, (void *)&to, len));
  receive(a);
  SAY(sendto(nameless, "no", 2, 0, (void *)&to, len));
  SAY(connect(nameless, (void *)&to, len));
  SAY(connect(a, (void *)&unspec, sizeof unspec));
  SAY(sendto(nameless, "yes", 3, 0, (void *)&to, len));
  receive(a);

  struct iovec pieces[2] = { { "ab", 2 }, { "cd", 2 } };
  len = name(&to, "b");
  struct msghdr m = { .msg_name = &to, .msg_namelen = len, .msg_iov = pieces, .msg_iovlen = 2 };
  SAY(sendmsg(a, &m, 0));
  char small[3] = "";
  struct iovec room = { small, 2 };
  struct sockaddr_un from;
  m = (struct msghdr){ .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &room, .msg_iovlen = 1 };
  SAY(recvmsg(b, &m, 0));
  TEXT(small);
  IS((m.msg_flags & MSG_TRUNC) != 0);
  SHOW(m.msg_namelen);

  /* A full receiver makes senders wait, and poll reports it to connected ones. */
  MUST(connect(a, (void *)&to, len));
  MUST(fcntl(a, F_SETFL, O_NONBLOCK));
  static char block[4096];
  int sent = 0;
  while (send(a, block, sizeof block, 0) > 0 && sent < 100000) sent++;
  say("full: %s\n", error_name(errno));
  IS(sent > 2);
  struct pollfd p = { .fd = a, .events = POLLOUT };
  SAY(poll(&p, 1, 0));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    MUST(fcntl(a, F_SETFL, 0));
    MUST(send(a, "late", 4, 0));
    _exit(0);
  }
  for (int i = 0; i < sent; i++) MUST(recv(b, block, sizeof block, 0));
  SAY(recv(b, block, sizeof block, 0));
  reap("late", pid);
  SAY(poll(&p, 1, 0));
  MUST(close(b));
  SAY(send(a, "x", 1, 0));
  SAY(sendto(nameless, "x", 1, 0, (void *)&to, len));
  SAY(send(a, "x", 1, 0));
  SAY(listen(a, 1));
  SAY(accept(a, NULL, NULL));
  SAY(shutdown(nameless, SHUT_WR));
  len = name(&to, "a");
  SAY(sendto(nameless, "x", 1, MSG_NOSIGNAL, (void *)&to, len));
  return 0;
}
