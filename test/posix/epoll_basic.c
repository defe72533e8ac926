/* epoll_basic - epoll(7): level, edge and one-shot, changes and removal, and what cannot be watched. */
#include "posix.h"

#include <sys/epoll.h>

static int ep;

static void ask(void) {
  struct epoll_event e[4];
  int n = epoll_wait(ep, e, 4, 0);
  say("epoll_wait = %d", n);
  for (int i = 0; i < n; i++)
    say(" [%d%s%s%s]", e[i].data.fd, e[i].events & EPOLLIN ? " IN" : "", e[i].events & EPOLLOUT ? " OUT" : "",
        e[i].events & EPOLLHUP ? " HUP" : "");
  say("\n");
}

int main(void) {
  int p[2], q[2];
  ep = OK(epoll_create1(EPOLL_CLOEXEC));
  MUST(pipe(p));
  MUST(pipe(q));
  struct epoll_event in = { .events = EPOLLIN, .data.fd = 100 };
  SAY(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &in));
  SAY(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &in));
  SAY(epoll_ctl(ep, EPOLL_CTL_MOD, q[0], &in));
  SAY(epoll_ctl(ep, EPOLL_CTL_DEL, q[0], NULL));
  ask();
  MUST(write(p[1], "abc", 3));
  ask();
  ask();
  char byte;
  MUST(read(p[0], &byte, 1));
  ask();

  in.events = EPOLLIN | EPOLLET;
  SAY(epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &in));
  ask();
  ask();
  MUST(write(p[1], "d", 1));
  ask();
  ask();

  in.events = EPOLLIN | EPOLLONESHOT;
  SAY(epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &in));
  ask();
  ask();
  SAY(epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &in));
  ask();
  SAY(epoll_ctl(ep, EPOLL_CTL_DEL, p[0], NULL));
  ask();

  in = (struct epoll_event){ .events = EPOLLIN, .data.fd = 200 };
  SAY(epoll_ctl(ep, EPOLL_CTL_ADD, q[0], &in));
  MUST(close(q[1]));
  ask();
  put("f", "");
  int file = MUST(open("f", O_RDONLY));
  SAY(epoll_ctl(ep, EPOLL_CTL_ADD, file, &in));
  SAY(epoll_ctl(ep, EPOLL_CTL_ADD, ep, &in));
  SAY(epoll_ctl(ep, EPOLL_CTL_ADD, 99, &in));
  SAY(epoll_ctl(ep, 77, q[0], &in));
  SAY(epoll_wait(ep, &in, 0, 0));
  SAY(epoll_wait(file, &in, 1, 0));
  MUST(close(q[0]));
  ask();
  SAY(epoll_wait(ep, &in, 1, 5));
  return 0;
}
