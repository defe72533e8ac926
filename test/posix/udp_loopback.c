/* udp_loopback - udp(7), ipv6(7) over 127.0.0.1 and ::1, and both families on one socket. */
#include "posix.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static struct sockaddr_in at(uint32_t ip, uint16_t port) {
  return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip) };
}

static struct sockaddr_in6 at6(const char *text, uint16_t port) {
  struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
  MUST(inet_pton(AF_INET6, text, &a.sin6_addr) - 1);
  return a;
}

static uint16_t port_of(int s) {
  struct sockaddr_in6 a;
  socklen_t len = sizeof a;
  MUST(getsockname(s, (void *)&a, &len));
  return ntohs(a.sin6_port); /* stands at the same place in both */
}

static void name(const char *what, const struct sockaddr_storage *a, socklen_t len) {
  char text[INET6_ADDRSTRLEN] = "";
  const void *ip = a->ss_family == AF_INET ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
                                           : (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;
  say("%s: family %d, %d bytes, %s\n", what, a->ss_family, (int)len,
      inet_ntop(a->ss_family, ip, text, sizeof text));
}

static void show(const char *what, int s, int (*get)(int, struct sockaddr *, socklen_t *)) {
  struct sockaddr_storage a = { 0 };
  socklen_t len = sizeof a;
  if (get(s, (void *)&a, &len) < 0)
    say("%s: %s\n", what, error_name(errno));
  else
    name(what, &a, len);
}

static void receive(int s) {
  char buf[16] = "";
  struct sockaddr_storage from = { 0 };
  socklen_t len = sizeof from;
  ssize_t n = recvfrom(s, buf, sizeof buf - 1, MSG_DONTWAIT, (void *)&from, &len);
  if (n < 0) {
    say("nothing: %s\n", error_name(errno));
    return;
  }
  say("%d bytes \"%s\"\n", (int)n, buf);
  name("from", &from, len);
}

static void plain(void) {
  struct sockaddr_in to = at(INADDR_LOOPBACK, 0);
  char buf[8] = "";
  int s = MUST(socket(AF_INET, SOCK_DGRAM, 0)), c = MUST(socket(AF_INET, SOCK_DGRAM, 0));
  struct pollfd p = { .fd = s, .events = POLLIN | POLLOUT };
  MUST(bind(s, (void *)&to, sizeof to));
  SAY(poll(&p, 1, 0));
  SHOW(p.revents);
  to = at(INADDR_LOOPBACK, port_of(s));
  SAY(send(c, "x", 1, 0));
  SAY(sendto(c, "one", 3, 0, (void *)&to, sizeof to));
  SAY(sendto(c, "", 0, 0, (void *)&to, sizeof to));
  SAY(sendto(c, "three", 5, 0, (void *)&to, sizeof to));
  SAY(poll(&p, 1, 0));
  SHOW(p.revents);
  show("sender", c, getsockname);
  receive(s);
  receive(s);
  SAY(recv(s, buf, 2, MSG_PEEK | MSG_TRUNC));
  SAY(recv(s, buf, 2, 0));
  receive(s);
  SAY(sendto(c, "x", 1, 0, (void *)&to, 4));
  static char large[70000];
  SAY(sendto(c, large, sizeof large, 0, (void *)&to, sizeof to));
  SAY(sendto(c, large, 65507, 0, (void *)&to, sizeof to));
  SAY(recv(s, large, sizeof large, 0));
  SAY(listen(s, 1));
  SAY(accept(s, NULL, NULL));
  SAY(shutdown(s, SHUT_RD));

  SAY(connect(c, (void *)&to, sizeof to));
  show("sender", c, getsockname);
  show("sender's peer", c, getpeername);
  SAY(send(c, "four", 4, 0));
  receive(s);
  int other = MUST(socket(AF_INET, SOCK_DGRAM, 0));
  struct sockaddr_in back = at(INADDR_LOOPBACK, port_of(c));
  SAY(sendto(other, "stranger", 8, 0, (void *)&back, sizeof back));
  SAY(sendto(s, "friend", 6, 0, (void *)&back, sizeof back));
  receive(c);
  receive(c);
  MUST(close(s));
  SAY(send(c, "x", 1, 0));
  SAY(recv(c, buf, 1, MSG_DONTWAIT));
  SAY(recv(c, buf, 1, MSG_DONTWAIT));
  SAY(sendto(other, "x", 1, 0, (void *)&to, sizeof to));
  SAY(sendto(other, "x", 1, 0, (void *)&to, sizeof to));
  struct sockaddr unspec = { .sa_family = AF_UNSPEC };
  SAY(connect(c, &unspec, sizeof unspec));
  show("sender's peer", c, getpeername);

  int twin = MUST(socket(AF_INET, SOCK_DGRAM, 0)), on = 1;
  back = at(INADDR_LOOPBACK, port_of(c));
  SAY(bind(twin, (void *)&back, sizeof back));
  MUST(setsockopt(c, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  MUST(setsockopt(twin, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  SAY(bind(twin, (void *)&back, sizeof back));
  int tcp = MUST(socket(AF_INET, SOCK_STREAM, 0));
  SAY(bind(tcp, (void *)&back, sizeof back));
}

static void six(void) {
  struct sockaddr_in6 a = at6("::1", 0);
  int s = socket(AF_INET6, SOCK_DGRAM, 0), c, on = 1, off = 0, value = -1;
  socklen_t len = sizeof value;
  MUST(s);
  SAY(getsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &value, &len));
  SHOW(value);
  SAY(bind(s, (void *)&a, sizeof a));
  show("bound", s, getsockname);
  SAY(setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on));
  c = MUST(socket(AF_INET6, SOCK_DGRAM, 0));
  a = at6("::1", port_of(s));
  SAY(sendto(c, "six", 3, 0, (void *)&a, sizeof a));
  receive(s);
  struct sockaddr_in four = at(INADDR_LOOPBACK, port_of(s));
  SAY(connect(c, (void *)&four, sizeof four) < 0);

  int both = MUST(socket(AF_INET6, SOCK_STREAM, 0));
  SAY(setsockopt(both, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off));
  a = at6("::", 0);
  MUST(bind(both, (void *)&a, sizeof a));
  MUST(listen(both, 4));
  four = at(INADDR_LOOPBACK, port_of(both));
  c = MUST(socket(AF_INET, SOCK_STREAM, 0));
  SAY(connect(c, (void *)&four, sizeof four));
  show("client's peer", c, getpeername);
  c = OK(accept(both, NULL, NULL));
  show("server", c, getsockname);
  show("server's peer", c, getpeername);
  c = MUST(socket(AF_INET6, SOCK_STREAM, 0));
  a = at6("::ffff:127.0.0.1", port_of(both));
  SAY(connect(c, (void *)&a, sizeof a));
  show("client", c, getsockname);
  c = MUST(socket(AF_INET6, SOCK_STREAM, 0));
  a = at6("::", port_of(both));
  SAY(connect(c, (void *)&a, sizeof a));
  show("client's peer", c, getpeername);
  c = MUST(socket(AF_INET, SOCK_STREAM, 0));
  SAY(bind(c, (void *)&four, sizeof four));
  int only = MUST(socket(AF_INET6, SOCK_STREAM, 0));
  MUST(setsockopt(only, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on));
  a = at6("::", 0);
  MUST(bind(only, (void *)&a, sizeof a));
  MUST(listen(only, 1));
  four = at(INADDR_LOOPBACK, port_of(only));
  SAY(connect(c, (void *)&four, sizeof four));
  SAY(bind(c, (void *)&four, sizeof four));
  SAY(bind(only, (void *)&a, 20));
}

int main(void) {
  plain();
  six();
  return 0;
}
