/* pty_lines - termios(3): lines are edited and echoed, special characters, end of file, raw bytes. */
#include "posix.h"

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

static int master, slave;

static void show(const char *who, const char *bytes, ssize_t n) {
  char text[4096], *end = text;
  if (n < 0) {
    say("%s: %s\n", who, error_name(errno));
    return;
  }
  for (ssize_t i = 0; i < n && i < 900; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (c >= ' ' && c < 0x7f && c != '\\')
      *end++ = (char)c;
    else
      end += sprintf(end, "\\%03o", c);
  }
  *end = 0;
  say("%s: %zd \"%s\"\n", who, n, text);
}

static bool has_input(int fd, int ms) {
  struct pollfd one = { .fd = fd, .events = POLLIN };
  return poll(&one, 1, ms) > 0 && (one.revents & POLLIN) != 0;
}

/* What a terminal would show by now. A thread of the host's kernel does the echo, late on a busy machine. */
static void screen(void) {
  char bytes[4096];
  ssize_t n = 0;
  while (n < (ssize_t)sizeof bytes && has_input(master, n == 0 ? 2000 : 100)) {
    ssize_t r = read(master, bytes + n, sizeof bytes - (size_t)n);
    if (r <= 0) break;
    n += r;
  }
  show("  screen", bytes, n);
}

static void type(const char *keys) {
  show("type", keys, (ssize_t)strlen(keys));
  MUST(write(master, keys, strlen(keys)));
  screen();
}

/* Everything that can be read without waiting. */
static void reads(size_t len) {
  char bytes[4096];
  int flags = fcntl(slave, F_GETFL);
  fcntl(slave, F_SETFL, flags | O_NONBLOCK);
  for (int i = 0; i < 8; i++) {
    ssize_t n = read(slave, bytes, len);
    show("  read", bytes, n);
    if (n < 0) break;
  }
  fcntl(slave, F_SETFL, flags);
}

static struct termios settings(void) {
  struct termios t;
  MUST(tcgetattr(slave, &t));
  return t;
}

static void set(tcflag_t on, tcflag_t off) {
  struct termios t = settings();
  t.c_lflag = (t.c_lflag | on) & ~off;
  MUST(tcsetattr(slave, TCSANOW, &t));
}

static void set_input(tcflag_t on, tcflag_t off) {
  struct termios t = settings();
  t.c_iflag = (t.c_iflag | on) & ~off;
  MUST(tcsetattr(slave, TCSANOW, &t));
}

static void defaults(void) {
  struct termios t = settings();
  say("iflag %o oflag %o cflag %o lflag %o\n", t.c_iflag, t.c_oflag, t.c_cflag & ~(tcflag_t)CBAUD, t.c_lflag);
  for (int i = 0; i < 17; i++) say("%o ", t.c_cc[i]);
  say("\n");
  SHOW(cfgetospeed(&t) == B38400);
}

static void editing(void) {
  say("-- editing\n");
  type("abc\x7f\x7fx\n");
  reads(100);
  type("one two three\x17\x17two\n");
  reads(100);
  type("gone\x15here\n");
  reads(100);
  type("a\tb\x7f\x7f|\n");
  reads(100);
  type("\001\002\x7f\033\n");
  reads(100);
  type("x\x16\x03y\x16\x7f\n");
  reads(100);
  type("reprint\x12\n");
  reads(100);
  type("\x7f\x15\x17\n");
  reads(100);
  set(0, ECHOE);
  type("ab\x7f\n");
  set(0, ECHOKE);
  type("ab\x15"
       "c\n");
  set(ECHOE | ECHOPRT, 0);
  type("abcd\x7f\x7f"
       "ef\n");
  set(ECHOE, ECHOPRT | ECHOCTL);
  type("\001\n");
  reads(100);
  set(ECHONL, ECHO);
  type("hidden\x7f\n");
  set(ECHO | ECHOE | ECHOKE | ECHOCTL, ECHONL);
  reads(100);
}

static void utf8(void) {
  say("-- bytes of a character\n");
  type("\303\251\x7f\n");
  reads(10);
  set_input(IUTF8, 0);
  type("a\303\251\x7f\342\202\254\x7f"
       "b\n");
  reads(10);
  set_input(0, IUTF8);
}

static void ends(void) {
  say("-- ends of lines\n");
  type("half\x04");
  reads(100);
  type("\x04");
  reads(100);
  type("abc\x04");
  reads(3);
  type("long line\nnext\n");
  reads(4);
  struct termios t = settings();
  t.c_cc[VEOL] = ';';
  t.c_cc[VEOL2] = '!';
  MUST(tcsetattr(slave, TCSANOW, &t));
  type("a;b!c\n");
  reads(100);
  type("cr\rand\n");
  reads(100);
  set_input(INLCR | IGNCR, 0);
  type("\r\n\n");
  reads(100);
  set_input(0, INLCR | IGNCR);
  set_input(0, ICRNL);
  type("cr\r\n");
  reads(100);
  set_input(ICRNL, 0);
  int n = -1;
  type("1;2\n34");
  SAY(ioctl(slave, FIONREAD, &n));
  SHOW(n);
  SAY(tcflush(slave, TCIFLUSH));
  reads(100);
}

static void long_line(void) {
  static char line[5000];
  memset(line, 'x', sizeof line);
  say("-- a line that is too long\n");
  set(0, ECHO);
  for (int i = 0; i < 5; i++) MUST(write(master, line, 1000));
  MUST(write(master, "\n", 1));
  has_input(slave, 2000);
  int flags = fcntl(slave, F_GETFL);
  fcntl(slave, F_SETFL, flags | O_NONBLOCK);
  ssize_t n = read(slave, line, sizeof line);
  SHOW(n);
  SHOW(line[n - 1]);
  fcntl(slave, F_SETFL, flags);
  set(ECHO, 0);
}

static void modes(void) {
  say("-- from lines to bytes and back\n");
  set(0, ECHO);
  type("line\nhalf");
  set(0, ICANON);
  reads(100);
  type("bytes");
  set(ICANON, 0);
  reads(100);
  set(ECHO, 0);
}

static void output(void) {
  say("-- output\n");
  MUST(write(slave, "a\nb\tc\r", 6));
  screen();
  struct termios t = settings();
  t.c_oflag |= XTABS;
  MUST(tcsetattr(slave, TCSADRAIN, &t));
  MUST(write(slave, "\rab\tc\b\b\tx\n", 10));
  screen();
  t.c_oflag = OPOST | OCRNL | ONLRET;
  MUST(tcsetattr(slave, TCSADRAIN, &t));
  MUST(write(slave, "a\rb\n", 4));
  screen();
  t.c_oflag = OPOST | ONOCR | OLCUC;
  MUST(tcsetattr(slave, TCSADRAIN, &t));
  MUST(write(slave, "\rabc\r\rd\n", 8));
  screen();
  t.c_oflag = 0;
  MUST(tcsetattr(slave, TCSADRAIN, &t));
  MUST(write(slave, "\t\n\r", 3));
  screen();
}

int main(void) {
  MUST(openpty(&master, &slave, NULL, NULL, NULL));
  IS(isatty(master));
  IS(isatty(slave));
  SAY(read(slave, NULL, 0));
  defaults();
  editing();
  utf8();
  ends();
  long_line();
  modes();
  output();
  return 0;
}
