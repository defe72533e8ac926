/* sendmsg_iov - sendmsg(2): pieces are gathered and scattered. */
#include "posix.h"

#include <sys/socket.h>
#include <sys/uio.h>

int main(void) {
  int s[2];
  char a[4] = "", b[16] = "";
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  struct iovec out[3] = { { (char *)"one", 3 }, { (char *)"", 0 }, { (char *)"-two", 4 } };
  struct msghdr m = { .msg_iov = out, .msg_iovlen = 3 };
  SAY(sendmsg(s[0], &m, 0));
  struct iovec in[2] = { { a, 3 }, { b, 15 } };
  m = (struct msghdr){ .msg_iov = in, .msg_iovlen = 2 };
  SAY(recvmsg(s[1], &m, 0));
  TEXT(a);
  TEXT(b);

  struct iovec one;
  struct iovec bytes[8];
  for (size_t i = 0; i < COUNT_OF(bytes); i++) bytes[i] = (struct iovec){ (char *)"abcdefgh" + i, 1 };
  m = (struct msghdr){ .msg_iov = bytes, .msg_iovlen = COUNT_OF(bytes) };
  SAY(sendmsg(s[0], &m, MSG_DONTWAIT));
  memset(b, 0, sizeof b);
  one = (struct iovec){ b, sizeof b };
  m = (struct msghdr){ .msg_iov = &one, .msg_iovlen = 1 };
  SAY(recvmsg(s[1], &m, MSG_PEEK));
  SAY(recvmsg(s[1], &m, MSG_DONTWAIT));
  TEXT(b);
  SHOW(m.msg_flags);
  SAY(recvmsg(s[1], &m, MSG_DONTWAIT));
  m.msg_iovlen = 0;
  SAY(sendmsg(s[0], &m, 0));
  m.msg_iovlen = IOV_MAX + 1;
  SAY(sendmsg(s[0], &m, 0));
  SAY(sendmsg(99, &m, 0));
  SAY(close(s[1]));
  m.msg_iovlen = 1;
  SAY(sendmsg(s[0], &m, MSG_NOSIGNAL));
  return 0;
}
