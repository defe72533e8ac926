/* sendmsg_iov - sendmsg(2): pieces are gathered and scattered, and a descriptor can be handed over. */
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

  put("f", "through a descriptor");
  int file = MUST(open("f", O_RDONLY));
  union {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int))];
  } control = { 0 };
  struct iovec one = { (char *)"!", 1 };
  m = (struct msghdr){
    .msg_iov = &one, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(c), &file, sizeof file);
  SAY(sendmsg(s[0], &m, 0));
  MUST(close(file));
  memset(&control, 0, sizeof control);
  one = (struct iovec){ a, 1 };
  m = (struct msghdr){
    .msg_iov = &one, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  SAY(recvmsg(s[1], &m, 0));
  c = CMSG_FIRSTHDR(&m);
  IS(c != NULL && c->cmsg_type == SCM_RIGHTS);
  if (c == NULL) return 0;
  int got;
  memcpy(&got, CMSG_DATA(c), sizeof got);
  memset(b, 0, sizeof b);
  SAY(read(got, b, 7));
  TEXT(b);
  return 0;
}
