/* pty_raw - termios(3): VMIN and VTIME, raw mode, flow control, flushing, poll(2), epoll(7). */
#include "posix.h"

#include <poll.h>
#include <pty.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>

static int master, slave;

static long long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void set_min(int min, int time) {
  struct termios t;
  MUST(tcgetattr(slave, &t));
  t.c_cc[VMIN] = (cc_t)min;
  t.c_cc[VTIME] = (cc_t)time;
  MUST(tcsetattr(slave, TCSANOW, &t));
}

static void type(const char *keys) {
  MUST(write(master, keys, strlen(keys)));
  sleep_ms(20); /* on the host the bytes go by way of a work queue */
}

static void reads(const char *who, size_t len) {
  char bytes[100] = "";
  ssize_t n = read(slave, bytes, len);
  if (n < 0)
    say("%s: %s\n", who, error_name(errno));
  else
    say("%s: %zd \"%.*s\"\n", who, n, (int)n, bytes);
}

static void says(const char *who, int fd) {
  struct pollfd one = { .fd = fd, .events = POLLIN | POLLOUT };
  MUST(poll(&one, 1, 0));
  say("%s:%s%s%s%s\n", who, one.revents & POLLIN ? " in" : "", one.revents & POLLOUT ? " out" : "",
      one.revents & POLLHUP ? " hup" : "", one.revents & POLLERR ? " err" : "");
}

static void type_later(const char *keys, long ms) {
  if (MUST(fork()) == 0) {
    for (; *keys != 0; keys++) {
      sleep_ms(ms);
      MUST(write(master, keys, 1));
    }
    _exit(0);
  }
}

static void vmin_vtime(void) {
  struct termios t;
  MUST(tcgetattr(slave, &t));
  cfmakeraw(&t);
  SAY(tcsetattr(slave, TCSAFLUSH, &t));
  set_min(0, 0);
  reads("0 0, nothing", 10);
  type("abc");
  reads("0 0, three", 10);
  long long begin = now_ms();
  set_min(0, 2);
  reads("0 2, nothing", 10);
  IS(now_ms() - begin >= 190);
  type_later("x", 50);
  begin = now_ms();
  set_min(0, 50);
  reads("0 50, one later", 10);
  IS(now_ms() - begin < 4000);
  wait(NULL);
  set_min(3, 0);
  type_later("abc", 30);
  reads("3 0, one by one", 10);
  wait(NULL);
  type_later("abc", 30);
  reads("3 0, two asked for", 2);
  wait(NULL);
  reads("3 0, the rest", 1);
  set_min(5, 2);
  type_later("ab", 30);
  reads("5 2, two", 10);
  wait(NULL);
  set_min(3, 0);
  type("ab");
  says("two of three", slave);
  fcntl(slave, F_SETFL, O_RDWR | O_NONBLOCK);
  reads("3 0, not blocking", 10);
  reads("3 0, not blocking, nothing", 10);
  set_min(0, 0);
  reads("0 0, not blocking, nothing", 10);
  fcntl(slave, F_SETFL, O_RDWR);
  set_min(1, 0);
  type("a\003\032\r\n\004");
  char bytes[10];
  SAY(read(slave, bytes, sizeof bytes));
  SHOW(bytes[1]);
  SHOW(bytes[3]);
}

static void readiness(void) {
  says("master, nothing", master);
  says("slave, nothing", slave);
  MUST(write(slave, "x", 1));
  sleep_ms(20);
  says("master, a byte", master);
  int n = 0, set = MUST(epoll_create1(0));
  SAY(ioctl(master, FIONREAD, &n));
  SHOW(n);
  struct epoll_event e = { .events = EPOLLIN | EPOLLET };
  MUST(epoll_ctl(set, EPOLL_CTL_ADD, master, &e));
  SAY(epoll_wait(set, &e, 1, 100));
  SAY(epoll_wait(set, &e, 1, 0));
  MUST(write(slave, "y", 1));
  SAY(epoll_wait(set, &e, 1, 1000));
  char bytes[10];
  SAY(read(master, bytes, sizeof bytes));
  close(set);
  fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
  SAY(read(master, bytes, 1));
  fcntl(master, F_SETFL, O_RDWR);
}

static void flow(void) {
  struct termios t;
  char bytes[100];
  MUST(tcgetattr(slave, &t));
  t.c_iflag |= IXON;
  t.c_lflag |= ICANON;
  MUST(tcsetattr(slave, TCSANOW, &t));
  fcntl(slave, F_SETFL, O_RDWR | O_NONBLOCK);
  type("\023");
  says("stopped", slave);
  SAY(write(slave, "stopped", 7));
  type("x"); /* without IXANY */
  SAY(write(slave, "stopped", 7));
  type("\021");
  SAY(write(slave, "started", 7));
  sleep_ms(20);
  SAY(read(master, bytes, sizeof bytes));
  SAY(tcflow(slave, TCOOFF));
  SAY(write(slave, "off", 3));
  type("\021");
  SAY(write(slave, "still off", 9));
  SAY(tcflow(slave, TCOON));
  SAY(write(slave, "on", 2));
  sleep_ms(20);
  SAY(read(master, bytes, sizeof bytes));
  SAY(tcflow(slave, TCIOFF));
  sleep_ms(20);
  SAY(read(master, bytes, sizeof bytes));
  SHOW(bytes[0]);
  SAY(tcflow(slave, 99));
  SAY(tcflush(slave, 99));
  SAY(tcdrain(slave));
  SAY(tcsendbreak(slave, 0));
  fcntl(slave, F_SETFL, O_RDWR);
}

static void flushing(void) {
  char bytes[100];
  int n = -1;
  MUST(write(slave, "abcdef", 6));
  sleep_ms(20);
  SAY(read(master, bytes, 2));
  SAY(tcflush(master, TCOFLUSH));
  SAY(read(master, bytes, 2));
  SAY(tcflush(slave, TCOFLUSH));
  SAY(ioctl(master, FIONREAD, &n));
  SHOW(n);
  SAY(tcflush(master, TCIFLUSH));
  SAY(ioctl(master, FIONREAD, &n));
  SHOW(n);
  type("typed\n");
  SAY(tcflush(master, TCIOFLUSH));
  SAY(ioctl(slave, FIONREAD, &n));
  SHOW(n);
  SAY(tcflush(slave, TCIFLUSH));
  SAY(ioctl(slave, FIONREAD, &n));
  SHOW(n);
}

int main(void) {
  MUST(openpty(&master, &slave, NULL, NULL, NULL));
  vmin_vtime();
  readiness();
  flow();
  flushing();
  return 0;
}
