/* tcp_urgent - the urgent byte of tcp(7): MSG_OOB, SO_OOBINLINE, sockatmark(3), POLLPRI. */
#include "tcp_pair.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/uio.h>

/* Sleeps until one of these is there: bytes take a moment on the host. */
static void await(short events) {
  struct pollfd p = { .fd = server, .events = events };
  MUST(poll(&p, 1, -1));
}

/* An answer behind which all that was sent before has arrived: bytes of TCP come in their order. */
static void inline_for_bytes(int n) {
  int on = 1, off = 0, there = 0;
  MUST(setsockopt(server, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on));
  while (there < n) MUST(ioctl(server, FIONREAD, &there));
  MUST(setsockopt(server, SOL_SOCKET, SO_OOBINLINE, &off, sizeof off));
}

static void ready(void) {
  struct pollfd p = { .fd = server, .events = POLLIN | POLLPRI | POLLRDHUP };
  MUST(poll(&p, 1, 0));
  int n = -1;
  MUST(ioctl(server, FIONREAD, &n));
  say("ready:%s%s%s, %d bytes, mark %d\n", p.revents & POLLIN ? " in" : "", p.revents & POLLPRI ? " pri" : "",
      p.revents & POLLRDHUP ? " rdhup" : "", n, MUST(sockatmark(server)));
}

static void take(int flags) {
  char buf[64] = "";
  ssize_t n = recv(server, buf, sizeof buf - 1, flags | MSG_DONTWAIT);
  if (n < 0)
    say("recv %s\n", error_name(errno));
  else
    say("recv %d \"%s\"\n", (int)n, buf);
}

static void beside_the_others(void) {
  open_pair();
  take(MSG_OOB);
  ready();
  SAY(send(client, "abc!", 4, MSG_OOB));
  SAY(send(client, "def", 3, 0));
  inline_for_bytes(7);
  ready();
  take(MSG_OOB | MSG_PEEK);
  take(MSG_PEEK);
  take(MSG_OOB);
  take(MSG_OOB);
  ready();
  take(0);
  ready();
  take(MSG_PEEK);
  take(0);
  ready();
  take(0);
  close_pair();
}

static void passed_over(void) {
  open_pair();
  SAY(send(client, "x!", 2, MSG_OOB));
  await(POLLPRI);
  inline_for_bytes(2);
  take(0);
  ready();
  take(0); /* passes over it, and it is lost */
  take(MSG_OOB);
  ready();
  SAY(send(client, "?", 1, MSG_OOB));
  await(POLLPRI);
  ready();
  take(MSG_OOB);
  ready();
  SAY(send(client, "yz", 2, 0));
  await(POLLIN);
  inline_for_bytes(3);
  ready();
  take(0);
  ready();
  close_pair();
}

static void in_line(void) {
  int on = 1, value = 0;
  socklen_t len = sizeof value;
  open_pair();
  MUST(setsockopt(server, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on));
  MUST(getsockopt(server, SOL_SOCKET, SO_OOBINLINE, &value, &len));
  SHOW(value);
  SAY(send(client, "ab!", 3, MSG_OOB));
  SAY(send(client, "cd", 2, 0));
  int there = 0;
  while (there < 5) MUST(ioctl(server, FIONREAD, &there));
  ready();
  take(MSG_OOB);
  take(0);
  ready();
  take(MSG_PEEK);
  take(0);
  ready();
  close_pair();
}

static void twice(void) {
  open_pair();
  SAY(send(client, "a1", 2, MSG_OOB));
  SAY(send(client, "b2", 2, MSG_OOB));
  inline_for_bytes(4);
  ready();
  take(MSG_OOB);
  take(0); /* the first is an ordinary byte by now */
  ready();
  take(0);
  close_pair();
}

static void all_of_it_and_the_end(void) {
  char buf[8] = "";
  open_pair();
  SAY(send(client, "ab!", 3, MSG_OOB));
  inline_for_bytes(3);
  SAY(recv(server, buf, 5, MSG_WAITALL));
  TEXT(buf);
  MUST(shutdown(client, SHUT_WR));
  await(POLLRDHUP);
  ready();
  take(MSG_OOB);
  take(0);
  take(MSG_OOB);
  close_pair();
}

/* A read of several buffers ends at the mark, also where the mark is between two of them. */
static void between_buffers(void) {
  char one[4] = "", two[4] = "";
  struct iovec to[2] = { { one, 3 }, { two, 3 } };
  open_pair();
  SAY(send(client, "abc!", 4, MSG_OOB));
  SAY(send(client, "def", 3, 0));
  inline_for_bytes(7);
  SAY(readv(server, to, 2));
  ready();
  TEXT(one);
  TEXT(two);
  SAY(readv(server, to, 2));
  TEXT(one);
  SAY(send(client, "abc!", 4, MSG_OOB));
  SAY(send(client, "def", 3, 0));
  inline_for_bytes(7);
  struct msghdr head = { .msg_iov = to, .msg_iovlen = 2 };
  SAY(recvmsg(server, &head, MSG_WAITALL));
  TEXT(two);
  close_pair();
}

/* Far beyond what the kernel moves at one go. */
static void behind_many(void) {
  enum { BEFORE = 32768, ALL = 40000 };
  static char sent[ALL], got[ALL + 1];
  memset(sent, 'a', sizeof sent);
  open_pair();
  SAY(send(client, sent, BEFORE + 1, MSG_OOB));
  SAY(send(client, sent, ALL - BEFORE - 1, 0));
  inline_for_bytes(ALL);
  SAY(read(server, got, sizeof got));
  ready();
  take(MSG_OOB);
  SAY(read(server, got, sizeof got));
  close_pair();
}

static void told_by_others(void) {
  open_pair();
  SAY(send(client, "!", 1, MSG_OOB));
  fd_set except;
  FD_ZERO(&except);
  FD_SET(server, &except);
  SAY(select(server + 1, NULL, NULL, &except, NULL));
  SHOW(FD_ISSET(server, &except) != 0);
  int e = MUST(epoll_create1(0));
  struct epoll_event event = { .events = EPOLLPRI };
  MUST(epoll_ctl(e, EPOLL_CTL_ADD, server, &event));
  SAY(epoll_wait(e, &event, 1, -1));
  SHOW(event.events);
  char byte = 0;
  struct iovec to = { &byte, 1 };
  struct msghdr head = { .msg_iov = &to, .msg_iovlen = 1 };
  SAY(recvmsg(server, &head, MSG_OOB));
  SHOW(byte);
  SHOW(head.msg_flags & MSG_OOB);
  SAY(epoll_wait(e, &event, 1, 0));
  struct iovec from[2] = { { "ab", 2 }, { "!", 1 } };
  head = (struct msghdr){ .msg_iov = from, .msg_iovlen = 2 };
  SAY(sendmsg(client, &head, MSG_OOB));
  SAY(epoll_wait(e, &event, 1, -1));
  take(MSG_OOB);
  take(0);
  MUST(close(e));
  close_pair();
}

static void elsewhere(void) {
  int u = MUST(socket(AF_INET, SOCK_DGRAM, 0)), raw = MUST(socket(AF_INET, SOCK_STREAM, 0)), l;
  struct sockaddr_in a = { .sin_family = AF_INET,
                           .sin_port = htons(9),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  SAY(sendto(u, "x", 1, MSG_OOB, (void *)&a, sizeof a));
  SAY(recv(raw, &a, 1, MSG_OOB));
  SAY(sockatmark(raw));
  l = MUST(socket(AF_INET, SOCK_STREAM, 0));
  MUST(listen(l, 1));
  SAY(recv(l, &a, 1, MSG_OOB));
  MUST(close(u));
  MUST(close(raw));
  MUST(close(l));
}

int main(void) {
  beside_the_others();
  passed_over();
  in_line();
  twice();
  all_of_it_and_the_end();
  between_buffers();
  behind_many();
  told_by_others();
  elsewhere();
}
