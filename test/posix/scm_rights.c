/* scm_rights - unix(7), cmsg(3): descriptors go through sockets, as far as there is room for them. */
#include "posix.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { MOST = 300 };

typedef union control {
  struct cmsghdr head;
  char bytes[CMSG_SPACE(MOST * sizeof(int))];
} control;

static ssize_t give(int s, const char *text, size_t len, const int *fds, size_t count) {
  static control c;
  struct iovec part = { (void *)text, len };
  struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &c };
  memset(&c, 0, sizeof c);
  m.msg_controllen = CMSG_SPACE(count * sizeof(int));
  c.head.cmsg_len = CMSG_LEN(count * sizeof(int));
  c.head.cmsg_level = SOL_SOCKET;
  c.head.cmsg_type = SCM_RIGHTS;
  memcpy(CMSG_DATA(&c.head), fds, count * sizeof(int));
  return sendmsg(s, &m, MSG_NOSIGNAL);
}

typedef struct got {
  int fds[MOST];
  size_t count;
  int flags;
  char text[64];
} got;

/* With room for so many; -1: no room for the head either. */
static ssize_t take(int s, size_t len, int room, int flags, got *g) {
  static control c;
  struct iovec part = { g->text, len };
  struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
  memset(g, 0, sizeof *g);
  if (room >= 0) {
    m.msg_control = &c;
    m.msg_controllen = CMSG_LEN((size_t)room * sizeof(int));
  }
  ssize_t n = recvmsg(s, &m, flags);
  if (n < 0) return n;
  g->flags = m.msg_flags;
  for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL; h = CMSG_NXTHDR(&m, h)) {
    g->count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(g->fds, CMSG_DATA(h), g->count * sizeof(int));
  }
  return n;
}

static void drop(const got *g) {
  for (size_t i = 0; i < g->count; i++) MUST(close(g->fds[i]));
}

static bool same_pipe(int a, int b) {
  struct stat x, y;
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static void one_way(int type) {
  int s[2], p[2];
  got g;
  char byte;
  MUST(socketpair(AF_UNIX, type, 0, s));
  MUST(pipe(p));
  SAY(give(s[0], "a", 1, &p[1], 1));
  MUST(close(p[1]));
  SAY(take(s[1], 8, 4, 0, &g));
  SHOW(g.count);
  IS(g.flags & MSG_CTRUNC);
  SAY(fcntl(g.fds[0], F_GETFD));
  SAY(write(g.fds[0], "x", 1));
  SAY(read(p[0], &byte, 1));
  drop(&g);
  SAY(read(p[0], &byte, 1)); /* its end: the last descriptor is closed */
  say("closed on exec\n");
  MUST(give(s[0], "b", 1, p, 1));
  SAY(take(s[1], 8, 4, MSG_CMSG_CLOEXEC, &g));
  SAY(fcntl(g.fds[0], F_GETFD));
  IS(same_pipe(g.fds[0], p[0]));
  drop(&g);
  say("looked at first\n");
  MUST(give(s[0], "c", 1, p, 1));
  SAY(take(s[1], 8, 4, MSG_PEEK, &g));
  IS(g.count == 1 && same_pipe(g.fds[0], p[0]));
  drop(&g);
  SAY(take(s[1], 8, 4, 0, &g));
  IS(g.count == 1 && same_pipe(g.fds[0], p[0]));
  drop(&g);
}

static void short_of_room(void) {
  int s[2], p[2], three[3];
  got g;
  char byte;
  MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
  MUST(pipe(p));
  three[0] = three[1] = three[2] = p[1];
  say("-- room for two of three\n");
  MUST(give(s[0], "a", 1, three, 3));
  SAY(take(s[1], 8, 2, 0, &g));
  SHOW(g.count);
  IS(g.flags & MSG_CTRUNC);
  drop(&g);
  say("-- room for a head\n");
  MUST(give(s[0], "b", 1, three, 3));
  SAY(take(s[1], 8, 0, 0, &g));
  SHOW(g.count);
  IS(g.flags & MSG_CTRUNC);
  say("-- no room\n");
  MUST(give(s[0], "c", 1, three, 3));
  SAY(take(s[1], 8, -1, 0, &g));
  SHOW(g.count);
  IS(g.flags & MSG_CTRUNC);
  say("-- read(2) and recv(2) let them go\n");
  MUST(give(s[0], "d", 1, three, 3));
  SAY(read(s[1], g.text, 8));
  MUST(give(s[0], "e", 1, three, 3));
  SAY(recv(s[1], g.text, 8, 0));
  MUST(close(p[1]));
  SAY(read(p[0], &byte, 1));
  say("-- no descriptors left\n");
  MUST(give(s[0], "f", 1, p, 1));
  three[0] = three[1] = three[2] = p[0];
  MUST(give(s[0], "g", 1, three, 3));
  int last = MUST(dup(0));
  struct rlimit few = { (rlim_t)last + 2, (rlim_t)last + 2 };
  close(last);
  MUST(setrlimit(RLIMIT_NOFILE, &few));
  SAY(take(s[1], 8, 4, 0, &g));
  SHOW(g.count);
  drop(&g);
  SAY(take(s[1], 8, 4, 0, &g));
  SHOW(g.count);
  IS(g.flags & MSG_CTRUNC);
  drop(&g);
}

static void borders_of_a_stream(void) {
  int s[2];
  got g;
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  MUST(write(s[0], "ab", 2));
  MUST(give(s[0], "cd", 2, s, 1));
  MUST(write(s[0], "ef", 2));
  SAY(take(s[1], 1, 4, 0, &g));
  SHOW(g.count);
  SAY(take(s[1], 32, 4, 0, &g)); /* not beyond the data they came with */
  TEXT(g.text);
  SHOW(g.count);
  drop(&g);
  SAY(take(s[1], 32, 4, 0, &g));
  TEXT(g.text);
  SHOW(g.count);
  MUST(give(s[0], "gh", 2, s, 1));
  MUST(write(s[0], "ij", 2));
  SAY(take(s[1], 1, 4, 0, &g)); /* they come with the first byte */
  SHOW(g.count);
  drop(&g);
  SAY(take(s[1], 32, 4, 0, &g));
  TEXT(g.text);
  SHOW(g.count);
  MUST(give(s[0], "kl", 2, s, 1));
  MUST(give(s[0], "mn", 2, s, 1));
  SAY(take(s[1], 32, 4, MSG_WAITALL, &g));
  TEXT(g.text);
  drop(&g);
  SAY(take(s[1], 32, 4, 0, &g));
  TEXT(g.text);
  drop(&g);
  SAY(give(s[0], "", 0, s, 1)); /* no byte, nothing that they could go with */
  SAY(take(s[1], 8, 4, MSG_DONTWAIT, &g));
}

static void refusals(void) {
  int s[2], u[2], many[MOST];
  got g;
  control c = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
  struct iovec part = { (void *)"x", 1 };
  struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &c };
  MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
  u[0] = 0, u[1] = 99;
  SAY(give(s[0], "x", 1, u, 2));
  u[1] = -1;
  SAY(give(s[0], "x", 1, u, 2));
  for (size_t i = 0; i < MOST; i++) many[i] = s[0];
  SAY(give(s[0], "x", 1, many, 253));
  SAY(give(s[0], "x", 1, many, 254));
  SAY(take(s[1], 8, MOST, 0, &g));
  SHOW(g.count);
  drop(&g);
  say("-- malformed\n");
  m.msg_controllen = CMSG_LEN(sizeof(int));
  c.head.cmsg_len = CMSG_LEN(0) - 1;
  SAY(sendmsg(s[0], &m, 0));
  c.head.cmsg_len = CMSG_LEN(sizeof(int)) + 1;
  SAY(sendmsg(s[0], &m, 0));
  c.head.cmsg_len = CMSG_LEN(sizeof(int));
  c.head.cmsg_type = 77;
  SAY(sendmsg(s[0], &m, 0));
  c.head.cmsg_level = 77; /* for somebody else */
  SAY(sendmsg(s[0], &m, 0));
  m.msg_control = WILD;
  SAY(sendmsg(s[0], &m, 0));
  m.msg_control = &c;
  m.msg_controllen = 4; /* no head: nothing */
  SAY(sendmsg(s[0], &m, 0));
  say("-- without a receiver\n");
  MUST(close(s[1]));
  SAY(give(s[0], "x", 1, s, 1));
}

static void to_a_child(void) {
  int s[2], status;
  got g;
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  put("file", "its contents");
  pid_t child = MUST(fork());
  if (child == 0) {
    char text[32] = { 0 };
    close(s[0]);
    MUST(take(s[1], 1, 1, 0, &g));
    MUST(read(g.fds[0], text, 4)); /* the position is shared */
    TEXT(text);
    _exit(0);
  }
  int fd = MUST(open("file", O_RDONLY));
  MUST(give(s[0], "!", 1, &fd, 1));
  MUST(waitpid(child, &status, 0));
  say_status("child", status);
  SAY(lseek(fd, 0, SEEK_CUR));
}

/* A socket that only its own queue holds must not stay for ever: nothing to see here but that it works. */
static void in_its_own_queue(void) {
  for (int i = 0; i < 300; i++) {
    int s[2], fds[2];
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
    fds[0] = s[0], fds[1] = s[1];
    MUST(give(s[0], "x", 1, fds, 2));
    MUST(give(s[1], "x", 1, fds, 2));
    MUST(close(s[0]));
    MUST(close(s[1]));
  }
  say("cycles are let go\n");
}

int main(void) {
  say("-- stream\n");
  one_way(SOCK_STREAM);
  say("-- datagrams\n");
  one_way(SOCK_DGRAM);
  say("-- packets\n");
  one_way(SOCK_SEQPACKET);
  say("-- borders\n");
  borders_of_a_stream();
  say("-- refused\n");
  refusals();
  say("-- another process\n");
  to_a_child();
  in_its_own_queue();
  short_of_room();
  return 0;
}
