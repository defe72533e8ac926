/* tcp_loopback - tcp(7), ip(7) over 127.0.0.1: bind, listen, accept, connect, ends, options. */
#include "posix.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

static struct sockaddr_in at(uint32_t ip, uint16_t port) {
  return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip) };
}

static uint16_t port_of(int s) {
  struct sockaddr_in a;
  socklen_t len = sizeof a;
  MUST(getsockname(s, (void *)&a, &len));
  return ntohs(a.sin_port);
}

static int listening(uint32_t ip, uint16_t port, int backlog) {
  int s = MUST(socket(AF_INET, SOCK_STREAM, 0));
  struct sockaddr_in a = at(ip, port);
  MUST(bind(s, (void *)&a, sizeof a));
  MUST(listen(s, backlog));
  return s;
}

static void pair(int l, int *c, int *s) {
  struct sockaddr_in a = at(INADDR_LOOPBACK, port_of(l));
  *c = MUST(socket(AF_INET, SOCK_STREAM, 0));
  MUST(connect(*c, (void *)&a, sizeof a));
  *s = MUST(accept(l, NULL, NULL));
}

static void show(const char *what, int s, int (*get)(int, struct sockaddr *, socklen_t *)) {
  struct sockaddr_in a = { 0 };
  socklen_t len = sizeof a;
  char text[INET_ADDRSTRLEN];
  if (get(s, (void *)&a, &len) < 0)
    say("%s: %s\n", what, error_name(errno));
  else
    say("%s: family %d, %d bytes, %s, %s\n", what, a.sin_family, (int)len,
        inet_ntop(AF_INET, &a.sin_addr, text, sizeof text), a.sin_port ? "a port" : "no port");
}

static void ready(const char *what, int s) {
  struct pollfd p = { .fd = s, .events = POLLIN | POLLOUT | POLLRDHUP };
  MUST(poll(&p, 1, 100)); /* what arrives on the host takes a moment */
  poll(&p, 1, 0);
  say("%s is ready:%s%s%s%s%s\n", what, p.revents & POLLIN ? " in" : "", p.revents & POLLOUT ? " out" : "",
      p.revents & POLLERR ? " err" : "", p.revents & POLLHUP ? " hup" : "",
      p.revents & POLLRDHUP ? " rdhup" : "");
}

static void talking(void) {
  char buf[32] = "";
  int l = listening(INADDR_LOOPBACK, 0, 5), c, s;
  ready("listener", l);
  int raw = MUST(socket(AF_INET, SOCK_STREAM, 0));
  ready("new", raw);
  show("new", raw, getsockname);
  show("new's peer", raw, getpeername);
  pair(l, &c, &s);
  show("client", c, getsockname);
  show("client's peer", c, getpeername);
  show("server", s, getsockname);
  IS(port_of(s) == port_of(l));
  show("listener's peer", l, getpeername);
  ready("client", c);
  SAY(send(c, "hello", 5, 0));
  ready("server", s);
  int n = -1;
  SAY(ioctl(s, FIONREAD, &n));
  SHOW(n);
  SAY(recv(s, buf, 2, MSG_PEEK));
  SAY(recv(s, buf, sizeof buf, MSG_DONTWAIT));
  TEXT(buf);
  SAY(recv(s, buf, sizeof buf, MSG_DONTWAIT));
  SAY(recv(s, buf, 0, MSG_DONTWAIT));
  struct sockaddr_in from = { 0 };
  socklen_t len = sizeof from;
  MUST(send(c, "x", 1, 0));
  SAY(recvfrom(s, buf, 1, 0, (void *)&from, &len));
  SHOW(len);
  from = at(INADDR_LOOPBACK, port_of(l));
  SAY(sendto(c, "y", 1, 0, (void *)&from, sizeof from));
  SAY(recv(s, buf, 1, 0));
  SAY(connect(c, (void *)&from, sizeof from));
  SAY(connect(l, (void *)&from, sizeof from));
  SAY(shutdown(c, SHUT_WR));
  SAY(send(c, "x", 1, MSG_NOSIGNAL));
  ready("server", s);
  SAY(recv(s, buf, 1, 0));
  SAY(send(s, "half", 4, 0));
  SAY(recv(c, buf, sizeof buf, 0));
  MUST(close(s));
  ready("client", c);
  SAY(recv(c, buf, sizeof buf, 0));
  MUST(close(c));

  /* Closed with something unread. */
  pair(l, &c, &s);
  MUST(send(c, "unread", 6, 0));
  ready("server", s);
  MUST(close(s));
  ready("client", c);
  SAY(recv(c, buf, sizeof buf, 0));
  SAY(recv(c, buf, sizeof buf, 0));
  SAY(send(c, "x", 1, MSG_NOSIGNAL));
  show("client's peer", c, getpeername);
  MUST(close(c));

  pair(l, &c, &s);
  MUST(close(s));
  ready("client", c);
  SAY(send(c, "x", 1, MSG_NOSIGNAL));
  usleep(20000);
  SAY(send(c, "x", 1, MSG_NOSIGNAL));
  SAY(recv(c, buf, 1, 0));
  MUST(close(c));

  pair(l, &c, &s);
  SAY(shutdown(s, SHUT_RD));
  SAY(recv(s, buf, 1, 0));
  SAY(send(c, "x", 1, MSG_NOSIGNAL));
  SAY(shutdown(raw, SHUT_RDWR));
  MUST(close(c));
  MUST(close(s));

  /* A connection that is not accepted. */
  struct sockaddr_in a = at(INADDR_LOOPBACK, port_of(l));
  c = MUST(socket(AF_INET, SOCK_STREAM, 0));
  MUST(connect(c, (void *)&a, sizeof a));
  SAY(send(c, "lost", 4, 0));
  MUST(close(l));
  ready("client", c);
  SAY(recv(c, buf, 1, 0));
  SAY(recv(c, buf, 1, 0));
  SAY(connect(raw, (void *)&a, sizeof a));
  SAY(send(raw, "x", 1, MSG_NOSIGNAL));
  SAY(recv(raw, buf, 1, 0));

  l = listening(INADDR_LOOPBACK, 0, 5);
  pair(l, &c, &s);
  struct sockaddr unspec = { .sa_family = AF_UNSPEC };
  SAY(connect(c, &unspec, sizeof unspec));
  ready("server", s);
  SAY(recv(s, buf, 1, 0));
  show("client", c, getsockname);
  a = at(INADDR_LOOPBACK, port_of(l));
  SAY(connect(c, (void *)&a, sizeof a));
}

static void addresses(void) {
  struct sockaddr_in a = at(INADDR_LOOPBACK, 0);
  int s = MUST(socket(AF_INET, SOCK_STREAM, 0)), t = MUST(socket(AF_INET, SOCK_STREAM, 0));
  SAY(bind(s, (void *)&a, 8));
  SAY(bind(s, (void *)&a, sizeof a));
  SAY(bind(s, (void *)&a, sizeof a));
  a = at(INADDR_LOOPBACK, port_of(s));
  SAY(bind(t, (void *)&a, sizeof a));
  a = at(INADDR_ANY, port_of(s));
  SAY(bind(t, (void *)&a, sizeof a));
  a = at(INADDR_LOOPBACK + 1, port_of(s));
  SAY(bind(t, (void *)&a, sizeof a));
  int u = MUST(socket(AF_INET, SOCK_STREAM, 0)), on = 1;
  a = at(0x08080808, 0);
  SAY(bind(u, (void *)&a, sizeof a));
  a = at(INADDR_LOOPBACK, 0);
  a.sin_family = AF_INET6;
  SAY(bind(u, (void *)&a, sizeof a));
  SAY(connect(u, (void *)&a, sizeof a));
  a = at(INADDR_LOOPBACK, port_of(s));
  SAY(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  SAY(setsockopt(u, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  SAY(bind(u, (void *)&a, sizeof a));
  SAY(listen(s, 1));
  SAY(listen(u, 1));
  MUST(close(u));
  u = MUST(socket(AF_INET, SOCK_STREAM, 0));
  MUST(setsockopt(u, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  SAY(bind(u, (void *)&a, sizeof a));

  a = at(INADDR_ANY, port_of(s));
  SAY(connect(u, (void *)&a, sizeof a));
  show("client", u, getsockname);
  show("client's peer", u, getpeername);
  int wide = listening(INADDR_ANY, 0, 1);
  u = MUST(socket(AF_INET, SOCK_STREAM, 0));
  a = at(INADDR_LOOPBACK + 8, port_of(wide));
  SAY(connect(u, (void *)&a, sizeof a));
  show("client", u, getsockname);
  show("client's peer", u, getpeername);
  struct sockaddr_in from = { 0 };
  socklen_t len = 4;
  u = OK(accept(wide, (void *)&from, &len));
  SHOW(len);
  show("server", u, getsockname);
  show("listener", wide, getsockname);
  int unbound = MUST(socket(AF_INET, SOCK_STREAM, 0));
  SAY(listen(unbound, 1));
  IS(port_of(unbound) != 0);
  MUST(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  SAY(accept(t, NULL, NULL));
}

static void waiting(void) {
  int l = listening(INADDR_LOOPBACK, 0, 5), error = -1, on = 1;
  struct sockaddr_in a = at(INADDR_LOOPBACK, port_of(l));
  socklen_t len = sizeof error;
  int c = MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  SAY(connect(c, (void *)&a, sizeof a));
  ready("client", c);
  SAY(getsockopt(c, SOL_SOCKET, SO_ERROR, &error, &len));
  SHOW(error);
  SAY(connect(c, (void *)&a, sizeof a));
  SAY(connect(c, (void *)&a, sizeof a));
  int s = MUST(accept(l, NULL, NULL));
  SHOW(fcntl(s, F_GETFL) & O_NONBLOCK);
  MUST(ioctl(l, FIONBIO, &on));
  SAY(accept(l, NULL, NULL));
  MUST(close(l));

  int r = MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  SAY(connect(r, (void *)&a, sizeof a));
  ready("refused", r);
  MUST(getsockopt(r, SOL_SOCKET, SO_ERROR, &error, &len));
  TEXT(error_name(error));
  MUST(getsockopt(r, SOL_SOCKET, SO_ERROR, &error, &len));
  SHOW(error);
  SAY(connect(r, (void *)&a, sizeof a) < 0);

  struct timeval tv = { .tv_usec = 30000 }, got;
  SAY(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
  len = sizeof got;
  SAY(getsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &got, &len));
  SHOW(len == sizeof got);
  IS(got.tv_sec == 0 && got.tv_usec >= 20000 && got.tv_usec <= 40000);
  char buf[4];
  SAY(recv(s, buf, 4, 0));
  SAY(read(s, buf, 4));
  tv = (struct timeval){ .tv_usec = 1000000 };
  SAY(setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv));
  SAY(setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &tv, 1));

  /* One that sends without end is stopped, and goes on when it is read. */
  MUST(fcntl(c, F_SETFL, O_NONBLOCK));
  static char block[65536];
  long long sent = 0;
  for (ssize_t n; (n = send(c, block, sizeof block, 0)) > 0;) sent += n;
  say("full: %s\n", error_name(errno));
  struct pollfd p = { .fd = c, .events = POLLOUT };
  SAY(poll(&p, 1, 0));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    close(s);
    MUST(fcntl(c, F_SETFL, 0));
    for (int i = 0; i < 20; i++) MUST(send(c, block, sizeof block, 0));
    _exit(0);
  }
  close(c);
  long long total = 0;
  tv = (struct timeval){ 0 };
  MUST(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
  for (ssize_t n; (n = recv(s, block, sizeof block, 0)) > 0;) total += n;
  IS(total == sent + 20 * (long long)sizeof block);
  reap("sender", pid);
}

static void option(const char *what, int s, int level, int name) {
  int value = -77;
  socklen_t len = sizeof value;
  if (getsockopt(s, level, name, &value, &len) < 0)
    say("%s: %s\n", what, error_name(errno));
  else
    say("%s: %d\n", what, value);
}

static void turn_on(const char *what, int s, int level, int name) {
  int one = 1, r = setsockopt(s, level, name, &one, sizeof one);
  say("%s on: %s\n", what, r < 0 ? error_name(errno) : "ok");
}
#define OPTION(s, level, name) option(#name, s, level, name)
#define TURN_ON(s, level, name) turn_on(#name, s, level, name)

static void options(void) {
  int s = MUST(socket(AF_INET, SOCK_STREAM, 0)), local = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
  OPTION(s, SOL_SOCKET, SO_TYPE);
  OPTION(s, SOL_SOCKET, SO_DOMAIN);
  OPTION(s, SOL_SOCKET, SO_PROTOCOL);
  OPTION(s, SOL_SOCKET, SO_ACCEPTCONN);
  OPTION(s, SOL_SOCKET, SO_REUSEADDR);
  OPTION(s, SOL_SOCKET, SO_KEEPALIVE);
  TURN_ON(s, SOL_SOCKET, SO_KEEPALIVE);
  OPTION(s, SOL_SOCKET, SO_KEEPALIVE);
  OPTION(s, IPPROTO_TCP, TCP_NODELAY);
  TURN_ON(s, IPPROTO_TCP, TCP_NODELAY);
  OPTION(s, IPPROTO_TCP, TCP_NODELAY);
  OPTION(s, IPPROTO_TCP, TCP_KEEPIDLE);
  OPTION(s, IPPROTO_TCP, TCP_KEEPINTVL);
  OPTION(s, IPPROTO_TCP, TCP_KEEPCNT);
  SAY(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &(int){ 10000 }, sizeof(int)));
  OPTION(s, SOL_SOCKET, SO_RCVBUF);
  SAY(setsockopt(s, SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int)));
  OPTION(s, SOL_SOCKET, SO_SNDBUF);
  OPTION(s, SOL_SOCKET, 9999);
  SAY(setsockopt(s, SOL_SOCKET, 9999, &(int){ 1 }, sizeof(int)));
  SAY(setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, 2));
  SAY(setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, WILD, 4));
  OPTION(local, IPPROTO_TCP, TCP_NODELAY);
  TURN_ON(local, IPPROTO_TCP, TCP_NODELAY);
  OPTION(local, SOL_SOCKET, SO_PROTOCOL);
  struct linger l = { .l_onoff = 1, .l_linger = 0 };
  SAY(setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof l));
  SAY(socket(AF_INET, SOCK_SEQPACKET, 0));
  SAY(socket(AF_INET, SOCK_RAW, IPPROTO_TCP));
  SAY(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP));
  SAY(socket(AF_INET, 0, 0));

  char buf[2];
  int door = listening(INADDR_LOOPBACK, 0, 5), c, t;
  pair(door, &c, &t);
  MUST(setsockopt(t, SOL_SOCKET, SO_LINGER, &l, sizeof l));
  MUST(close(t)); /* a reset, though nothing was unread */
  ready("client", c);
  SAY(recv(c, buf, 1, 0));
}

/* Nothing that is sent is answered by nothing: only bytes are answered by a reset. */
static void nothing_sent(void) {
  int l = listening(INADDR_LOOPBACK, 0, 1), c, s;
  pair(l, &c, &s);
  MUST(close(s));
  SAY(send(c, "", 0, 0));
  SAY(send(c, "", 0, 0));
  SAY(send(c, "z", 1, 0));
  struct pollfd reset = { .fd = c, .events = POLLERR };
  MUST(poll(&reset, 1, -1));
  SAY(send(c, "", 0, 0));
  MUST(close(c));
  MUST(close(l));
}

int main(void) {
  MUST(signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -1 : 0);
  talking();
  addresses();
  waiting();
  options();
  nothing_sent();
  return 0;
}
