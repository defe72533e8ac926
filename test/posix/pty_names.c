/* pty_names - pts(4), pty(7): opening, names, the lock, sizes, closing either side. */
#include "posix.h"

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

static void says(const char *who, int fd) {
  struct pollfd one = { .fd = fd, .events = POLLIN | POLLOUT };
  MUST(poll(&one, 1, 0));
  say("%s:%s%s%s%s\n", who, one.revents & POLLIN ? " in" : "", one.revents & POLLOUT ? " out" : "",
      one.revents & POLLHUP ? " hup" : "", one.revents & POLLERR ? " err" : "");
}

static void opening(void) {
  int master = OK(posix_openpt(O_RDWR | O_NOCTTY)), number = -1;
  SAY(ioctl(master, TIOCGPTN, &number));
  IS(number >= 0);
  char name[64];
  SAY(ptsname_r(master, name, sizeof name));
  IS(strncmp(name, "/dev/pts/", 9) == 0);
  SAY(open(name, O_RDWR | O_NOCTTY));
  SAY(grantpt(master));
  SAY(unlockpt(master));
  says("master, no slave yet", master);
  int slave = OK(open(name, O_RDWR | O_NOCTTY));
  struct stat a, b;
  SAY(stat(name, &a));
  SAY(fstat(slave, &b));
  IS(S_ISCHR(a.st_mode) && a.st_rdev == b.st_rdev && a.st_ino == b.st_ino && a.st_dev == b.st_dev);
  SHOW(a.st_rdev >> 8);
  IS(strcmp(ttyname(slave), name) == 0);
  SAY(lseek(slave, 0, SEEK_SET));
  SAY(ioctl(slave, TIOCGPTN, &number));
  SAY(ioctl(slave, 0xdead, 0));

  struct winsize w = { 1, 2, 3, 4 };
  SAY(ioctl(slave, TIOCGWINSZ, &w));
  say("%d %d %d %d\n", w.ws_row, w.ws_col, w.ws_xpixel, w.ws_ypixel);
  w = (struct winsize){ 24, 80, 640, 480 };
  SAY(ioctl(master, TIOCSWINSZ, &w));
  memset(&w, 0, sizeof w);
  SAY(ioctl(slave, TIOCGWINSZ, &w));
  say("%d %d %d %d\n", w.ws_row, w.ws_col, w.ws_xpixel, w.ws_ypixel);
  pid_t group = -1;
  SAY(ioctl(slave, TIOCGPGRP, &group));
  SAY(ioctl(master, TIOCGPGRP, &group));
  SHOW(group);
  SAY(ioctl(slave, TIOCGSID, &group));
  SAY(tcsetpgrp(slave, getpgrp()));

  MUST(write(slave, "last words", 10));
  sleep_ms(20);
  close(slave);
  char bytes[20];
  says("master, slave closed", master);
  SAY(read(master, bytes, sizeof bytes));
  SAY(read(master, bytes, sizeof bytes));
  says("master, all read", master);
  MUST(write(master, "typed before\n", 13));
  sleep_ms(20);
  slave = OK(open(name, O_RDWR | O_NOCTTY));
  says("master, slave again", master);
  SAY(read(slave, bytes, sizeof bytes));
  int other = OK(dup(slave));
  close(slave);
  says("master, one of two closed", master);
  MUST(read(master, bytes, sizeof bytes)); /* the echo */
  close(master);
  says("slave, master closed", other);
  SAY(read(other, bytes, 1));
  SAY(write(other, "x", 1));
  SAY(tcflush(other, TCIFLUSH));
  SAY(ioctl(other, TIOCGWINSZ, &w));
  SAY(tcsetpgrp(other, getpgrp()));
  SAY(stat(name, &a));
  SAY(open(name, O_RDWR | O_NOCTTY));
  close(other);
}

static void waiting(void) {
  int master, slave, status;
  MUST(openpty(&master, &slave, NULL, NULL, NULL));
  gate g = gate_new();
  pid_t pid = MUST(fork());
  if (pid == 0) {
    char byte;
    close(master);
    gate_open(g);
    ssize_t n = read(slave, &byte, 1);
    _exit(n < 0 && errno == EIO ? 7 : 8);
  }
  gate_wait(g);
  sleep_ms(30);
  close(master);
  waitpid(pid, &status, 0);
  say_status("reader of a terminal that is hung up", status);
  MUST(openpty(&master, &slave, NULL, NULL, NULL));
  pid = MUST(fork());
  if (pid == 0) {
    char byte;
    close(slave);
    gate_open(g);
    ssize_t n = read(master, &byte, 1);
    _exit(n < 0 && errno == EIO ? 7 : 8);
  }
  gate_wait(g);
  sleep_ms(30);
  close(slave);
  waitpid(pid, &status, 0);
  say_status("reader of a master whose slave is closed", status);
}

int main(void) {
  setsid();
  opening();
  waiting();
  SAY(open("/dev/tty", O_RDWR));
  return 0;
}
