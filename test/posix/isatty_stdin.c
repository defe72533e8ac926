/* isatty_stdin - isatty(3), tcgetattr(3): a pipe, a file and /dev/null are no terminals. */
#include "posix.h"

#include <sys/ioctl.h>
#include <termios.h>

static void ask(const char *who, int fd) {
  struct termios t;
  struct winsize w;
  errno = 0;
  int tty = isatty(fd);
  say("%s: isatty %d %s,", who, tty, error_name(errno));
  say(" tcgetattr %s,", error_name(tcgetattr(fd, &t) < 0 ? errno : 0));
  say(" TIOCGWINSZ %s,", error_name(ioctl(fd, TIOCGWINSZ, &w) < 0 ? errno : 0));
  say(" ttyname %s\n", ttyname(fd) == NULL ? error_name(errno) : "a name");
}

int main(void) {
  int p[2];
  char byte;
  MUST(pipe(p));
  put("f", "");
  ask("pipe", p[0]);
  ask("file", MUST(open("f", O_RDWR)));
  ask("/dev/null", MUST(open("/dev/null", O_RDWR)));
  ask("directory", MUST(open(".", O_RDONLY)));
  ask("closed", 99);
  SAY(read(0, &byte, 1));
  SAY(ioctl(p[0], 0xdead, 0));
  SAY(open("/dev/tty", O_RDWR));
  return 0;
}
