/* peer.c - both ends of the network's figures: one source, compiled for this machine and for the sandbox.
 *
 *   peer serve              listens on 127.0.0.1 and prints its port; each byte that comes is answered by 1 MiB
 *   peer read ADDR PORT N   asks N times and prints the nanoseconds of each answer, one in a line
 *   peer write ADDR PORT N  sends 1 MiB N times, each after an answer of a byte
 *   peer idle ADDR PORT N   opens N connections, prints "open", and waits for a line */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

/* One connection after the other: 'r' asks for a mebibyte, 'w' brings one. */
static void serve_one(int fd) {
  char what;
  while (recv(fd, &what, 1, 0) == 1) {
    if (what == 'r') {
      send_all(fd, SIZE);
    } else {
      receive_all(fd, SIZE);
      send_all(fd, 1);
    }
  }
  close(fd);
}

static void serve(void) {
  struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t len = sizeof in;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&in, len) != 0 || listen(listener, 100) != 0) fail("listen");
  getsockname(listener, (struct sockaddr *)&in, &len);
  printf("%d\n", ntohs(in.sin_port));
  fflush(stdout);
  for (;;) {
    int fd = accept(listener, NULL, NULL);
    if (fd >= 0) serve_one(fd);
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
