/* peer.c - both ends of the network's figures: one source, compiled for this machine and for the sandbox.
 *
 *   peer serve              listens on 127.0.0.1 and prints its port; of many connections the one that asks is served, until it has its answer
 *   peer read ADDR PORT N   asks N times and prints the nanoseconds of each answer, one in a line
 *   peer write ADDR PORT N  sends 1 MiB N times, each after an answer of a byte
 *   peer idle ADDR PORT N   opens N connections, prints "open", and waits for a line */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };
static char block[SIZE];

static _Noreturn void fail(const char *what) {
  perror(what);
  exit(1);
}

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void send_all(int fd, size_t len) {
  for (size_t done = 0; done < len;) {
    ssize_t n = send(fd, block + done, len - done, 0);
    if (n <= 0) fail("send");
    done += (size_t)n;
  }
}

static void receive_all(int fd, size_t len) {
  for (size_t done = 0; done < len;) {
    ssize_t n = recv(fd, block + done, len - done, 0);
    if (n <= 0) fail("recv");
    done += (size_t)n;
  }
}

static int connect_to(const char *addr, int port) {
  struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || inet_pton(AF_INET, addr, &in.sin_addr) != 1) fail(addr);
  if (connect(fd, (struct sockaddr *)&in, sizeof in) != 0) fail("connect");
  return fd;
}

enum { CONNECTIONS = 1200 };
static struct pollfd open_fds[1 + CONNECTIONS]; /* the first is the listener */
static nfds_t open_count;

/* 'r' asks for a mebibyte, 'w' brings one. False: the connection is over. */
static int serve_one(int fd) {
  char what;
  if (recv(fd, &what, 1, 0) != 1) return 0;
  if (what == 'r') {
    send_all(fd, SIZE);
  } else {
    receive_all(fd, SIZE);
    send_all(fd, 1);
  }
  return 1;
}

static void serve_accept(int listener) {
  int fd = accept(listener, NULL, NULL);
  if (fd < 0) return;
  if (open_count > CONNECTIONS)
    close(fd);
  else
    open_fds[open_count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void serve(void) {
  struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t len = sizeof in;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&in, len) != 0 || listen(listener, CONNECTIONS) != 0) fail("listen");
  getsockname(listener, (struct sockaddr *)&in, &len);
  printf("%d\n", ntohs(in.sin_port));
  fflush(stdout);
  open_fds[open_count++] = (struct pollfd){ .fd = listener, .events = POLLIN };
  while (poll(open_fds, open_count, -1) > 0) {
    for (nfds_t i = open_count; i-- > 1;)
      if (open_fds[i].revents != 0 && !serve_one(open_fds[i].fd)) {
        close(open_fds[i].fd);
        open_fds[i] = open_fds[--open_count];
      }
    if (open_fds[0].revents != 0) serve_accept(listener);
  }
}

static void transfer(int fd, char what, int rounds) {
  for (int i = 0; i < rounds; i++) {
    long long begin = now_ns();
    if (send(fd, &what, 1, 0) != 1) fail("send");
    if (what == 'r') {
      receive_all(fd, SIZE);
    } else {
      send_all(fd, SIZE);
      receive_all(fd, 1);
    }
    printf("%lld\n", now_ns() - begin);
  }
}

static void idle(const char *addr, int port, int count) {
  for (int i = 0; i < count; i++) connect_to(addr, port);
  puts("open");
  fflush(stdout);
  (void)getchar();
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "serve") == 0) serve();
  if (argc != 5) return 2;
  int port = atoi(argv[3]), count = atoi(argv[4]);
  if (strcmp(argv[1], "idle") == 0)
    idle(argv[2], port, count);
  else
    transfer(connect_to(argv[2], port), argv[1][0], count);
  return 0;
}
