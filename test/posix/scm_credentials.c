/* scm_credentials - unix(7): with SO_PASSCRED a message carries its writer's credentials, and they cannot be forged. */
#include "posix.h"

#include <sys/socket.h>
#include <sys/uio.h>

typedef union control {
  struct cmsghdr head;
  char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
} control;

typedef struct got {
  struct ucred cred;
  bool told;
  int fd, flags;
  char text[32];
} got;

static ssize_t take(int s, size_t len, size_t room, got *g) {
  control c;
  struct iovec part = { g->text, len };
  struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = room };
  memset(g, 0, sizeof *g);
  g->fd = -1;
  ssize_t n = recvmsg(s, &m, MSG_DONTWAIT);
  if (n < 0) return n;
  g->flags = m.msg_flags;
  for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL; h = CMSG_NXTHDR(&m, h)) {
    if (h->cmsg_type == SCM_RIGHTS) memcpy(&g->fd, CMSG_DATA(h), sizeof g->fd);
    if (h->cmsg_type != SCM_CREDENTIALS) continue;
    g->told = h->cmsg_len == CMSG_LEN(sizeof g->cred);
    if (g->told) memcpy(&g->cred, CMSG_DATA(h), sizeof g->cred);
  }
  return n;
}

static ssize_t say_so(int s, pid_t pid, uid_t uid, size_t len) {
  control c;
  struct ucred cred = { .pid = pid, .uid = uid, .gid = getgid() };
  struct iovec part = { (void *)"cred", 4 };
  struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &c };
  memset(&c, 0, sizeof c);
  m.msg_controllen = CMSG_SPACE(sizeof cred);
  c.head.cmsg_len = CMSG_LEN(len);
  c.head.cmsg_level = SOL_SOCKET;
  c.head.cmsg_type = SCM_CREDENTIALS;
  memcpy(CMSG_DATA(&c.head), &cred, sizeof cred);
  return sendmsg(s, &m, 0);
}

static bool is_me(const got *g) {
  return g->told && g->cred.pid == getpid() && g->cred.uid == getuid() && g->cred.gid == getgid();
}

static void between(int type) {
  int s[2], yes = 1;
  got g;
  socklen_t len = sizeof yes;
  MUST(socketpair(AF_UNIX, type, 0, s));
  SAY(getsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &yes, &len));
  SHOW(yes);
  yes = 1;
  MUST(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes));
  MUST(write(s[0], "one", 3));
  SAY(take(s[1], 32, sizeof(control), &g));
  IS(is_me(&g));
  SAY(say_so(s[0], getpid(), getuid(), sizeof(struct ucred)));
  SAY(take(s[1], 32, sizeof(control), &g));
  IS(is_me(&g));
  say("short of room\n");
  MUST(write(s[0], "two", 3));
  SAY(take(s[1], 32, CMSG_LEN(4), &g));
  IS(g.flags & MSG_CTRUNC);
  MUST(write(s[0], "two", 3));
  SAY(take(s[1], 32, 0, &g));
  IS(g.flags & MSG_CTRUNC);
  say("as another\n");
  SAY(say_so(s[0], getppid(), getuid(), sizeof(struct ucred)));
  SAY(say_so(s[0], getpid(), getuid() + 1, sizeof(struct ucred)));
  SAY(say_so(s[0], getpid(), getuid(), 4));
}

/* Bytes of two writers are not read together. */
static void writers(void) {
  int s[2], yes = 1;
  got g;
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  MUST(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes));
  MUST(write(s[0], "mine", 4));
  pid_t child = MUST(fork());
  if (child == 0) {
    MUST(write(s[0], "yours", 5));
    MUST(write(s[0], " too", 4));
    _exit(0);
  }
  reap("child", child);
  MUST(write(s[0], "mine", 4));
  SAY(take(s[1], 32, sizeof(control), &g));
  IS(is_me(&g));
  SAY(take(s[1], 3, sizeof(control), &g));
  IS(g.told && g.cred.pid == child);
  SAY(take(s[1], 32, sizeof(control), &g));
  TEXT(g.text);
  IS(g.told && g.cred.pid == child);
  SAY(take(s[1], 32, sizeof(control), &g));
  IS(is_me(&g));
}

static void peers(void) {
  int s[2];
  struct ucred cred;
  socklen_t len = sizeof cred;
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  SAY(getsockopt(s[0], SOL_SOCKET, SO_PEERCRED, &cred, &len));
  IS(len == sizeof cred && cred.pid == getpid() && cred.uid == getuid() && cred.gid == getgid());
}

int main(void) {
  say("-- stream\n");
  between(SOCK_STREAM);
  say("-- datagrams\n");
  between(SOCK_DGRAM);
  say("-- packets\n");
  between(SOCK_SEQPACKET);
  say("-- two writers\n");
  writers();
  say("-- peers\n");
  peers();
  return 0;
}
