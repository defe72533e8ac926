/* socketpair_dgram - unix(7): datagrams and sequenced packets keep their borders. */
#include "posix.h"

#include <sys/socket.h>
#include <sys/uio.h>

static void borders(int type) {
  int s[2];
  char text[8];
  MUST(socketpair(AF_UNIX, type, 0, s));
  SAY(send(s[0], "one", 3, 0));
  SAY(send(s[0], "second", 6, 0));
  SAY(send(s[0], "third, too long", 15, 0));
  SAY(recv(s[1], text, sizeof text, 0));
  SAY(recv(s[1], text, 2, 0));
  struct iovec part = { text, 4 };
  struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
  SAY(recvmsg(s[1], &m, 0));
  IS(m.msg_flags & MSG_TRUNC);
  SAY(recv(s[1], text, 8, MSG_DONTWAIT));
  SAY(send(s[0], "12345678", 8, 0));
  SAY(recv(s[1], text, 3, MSG_TRUNC));
  SAY(close(s[0]));
  SAY(send(s[1], "x", 1, MSG_NOSIGNAL));
}

int main(void) {
  say("-- datagrams\n");
  borders(SOCK_DGRAM);
  say("-- packets\n");
  borders(SOCK_SEQPACKET);
  int s[2];
  char text[8];
  MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s));
  MUST(send(s[0], "last", 4, 0));
  MUST(close(s[0]));
  SAY(recv(s[1], text, sizeof text, 0));
  SAY(recv(s[1], text, sizeof text, 0));
  return 0;
}
