/* pty_sessions - credentials(7), tcsetpgrp(3): a controlling terminal, signals by keys, the background,
 * hang-ups. */
#include "posix.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <utmp.h>

static volatile sig_atomic_t got;
static void note(int sig) { got = sig; }

static void on(int sig, int flags) {
  struct sigaction a = { .sa_handler = note, .sa_flags = flags };
  sigaction(sig, &a, NULL);
}

/* Lines of a child, around its terminal. Children alone can write, so a child that ends early ends the reading. */
static int report[2];

static void report_open(void) {
  if (report[0] > 0) close(report[0]);
  MUST(pipe(report));
}

static void tell(const char *format, ...) {
  char line[200];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  MUST(write(report[1], line, (size_t)n + 1));
}

static void told(void) {
  char line[200];
  size_t n = 0;
  while (n < sizeof line && read(report[0], line + n, 1) == 1 && line[n] != 0) n++;
  bool whole = n > 0 && n < sizeof line;
  line[n < sizeof line ? n : 0] = 0;
  say("  %s\n", whole ? line : "(no line)");
}

static pid_t in_terminal(int *master, void (*body)(void)) {
  report_open();
  pid_t pid = MUST(forkpty(master, NULL, NULL, NULL));
  close(report[pid != 0]);
  if (pid != 0) return pid;
  body();
  _exit(0);
}

static void type(int master, const char *keys) { MUST(write(master, keys, strlen(keys))); }

/* ---- bodies ---- */

static void looks(void) {
  tell("leads: %d, session of it: %d, foreground: %d", getsid(0) == getpid(), tcgetsid(0) == getpid(),
       tcgetpgrp(0) == getpid());
  int fd = open("/dev/tty", O_RDWR);
  tell("/dev/tty: %d, terminal: %d, same group: %d", fd >= 0, isatty(fd), tcgetpgrp(fd) == getpgrp());
  tell("again: %s", error_name(ioctl(0, TIOCSCTTY, 0) < 0 ? errno : 0));
  tell("no such group: %s", error_name(tcsetpgrp(0, 1 << 20) < 0 ? errno : 0));
  tell("negative group: %s", error_name(tcsetpgrp(0, -5) < 0 ? errno : 0));
  tell("group of another session: %s", error_name(tcsetpgrp(0, getppid()) < 0 ? errno : 0));
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    setsid();
    _exit(open("/dev/tty", O_RDWR) < 0 && errno == ENXIO && tcgetpgrp(0) < 0 && errno == ENOTTY ? 3 : 4);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  tell("leads a group, so no new session: %d", WEXITSTATUS(status));
  pid = fork();
  if (pid == 0) {
    setsid();
    bool none = open("/dev/tty", O_RDWR) < 0 && errno == ENXIO && tcgetpgrp(0) < 0 && errno == ENOTTY;
    _exit(none && ioctl(0, TIOCSCTTY, 0) < 0 && errno == EPERM ? 3 : 4);
  }
  waitpid(pid, &status, 0);
  tell("another session: %d", WEXITSTATUS(status));
}

static void waits_for_signals(void) {
  on(SIGINT, 0);
  on(SIGQUIT, SA_RESTART);
  on(SIGWINCH, SA_RESTART);
  char bytes[20];
  tell("ready");
  ssize_t n = read(0, bytes, sizeof bytes);
  tell("read %zd %s, signal %s", n, error_name(n < 0 ? errno : 0), signal_name(got));
  n = read(0, bytes, sizeof bytes);
  tell("read %zd, signal %s", n, signal_name(got));
  tell("resized");
  while (got != SIGWINCH) sleep_ms(5);
  struct winsize w;
  ioctl(0, TIOCGWINSZ, &w);
  tell("%d x %d", w.ws_row, w.ws_col);
}

static void reads_in_background(void) {
  signal(SIGTTOU, SIG_IGN);
  pid_t pid = fork();
  if (pid == 0) {
    char bytes[20];
    setpgid(0, 0);
    ssize_t n = read(0, bytes, sizeof bytes);
    tell("in the background read %zd \"%.*s\"", n, n > 0 ? (int)n - 1 : 0, bytes);
    _exit(0);
  }
  setpgid(pid, pid);
  int status;
  waitpid(pid, &status, WUNTRACED);
  tell("reader: stopped %d by %s", WIFSTOPPED(status), signal_name(WSTOPSIG(status)));
  tell("tcsetpgrp: %s", error_name(tcsetpgrp(0, pid) < 0 ? errno : 0));
  kill(-pid, SIGCONT);
  waitpid(pid, &status, 0);
  tell("reader: exit %d", WEXITSTATUS(status));
  tell("tcsetpgrp: %s", error_name(tcsetpgrp(0, getpgrp()) < 0 ? errno : 0));
}

static int run_in_group(void (*body)(void)) {
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    body();
    _exit(0);
  }
  setpgid(pid, pid);
  waitpid(pid, &status, WUNTRACED);
  if (WIFSTOPPED(status)) {
    int sig = WSTOPSIG(status);
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    return sig;
  }
  return WIFEXITED(status) ? 1000 + WEXITSTATUS(status) : -WTERMSIG(status);
}

static void writes(void) { _exit(write(1, "bg", 2) == 2 ? 0 : errno == EIO ? 5 : 9); }
static void reads_deaf(void) {
  char byte;
  signal(SIGTTIN, SIG_IGN);
  _exit(read(0, &byte, 1) < 0 && errno == EIO ? 5 : 9);
}
static void reads_blocked(void) {
  char byte;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTTIN);
  sigprocmask(SIG_BLOCK, &set, NULL);
  _exit(read(0, &byte, 1) < 0 && errno == EIO ? 5 : 9);
}
static void reads_handled(void) {
  char byte;
  on(SIGTTIN, 0);
  ssize_t n = read(0, &byte, 1);
  _exit(n < 0 && errno == EINTR && got == SIGTTIN ? 5 : 9);
}
static void sets(void) {
  struct termios t;
  if (tcgetattr(0, &t) < 0) _exit(9);
  _exit(tcsetattr(0, TCSANOW, &t) < 0 ? 5 : 6);
}
static void sets_deaf(void) {
  signal(SIGTTOU, SIG_IGN);
  sets();
}

static void background_rules(void) {
  struct termios t;
  tell("writes: %d", run_in_group(writes));
  tcgetattr(0, &t);
  t.c_lflag |= TOSTOP;
  tcsetattr(0, TCSANOW, &t);
  tell("writes with TOSTOP: %s", signal_name(run_in_group(writes)));
  tell("ignores SIGTTIN: %d", run_in_group(reads_deaf));
  tell("blocks SIGTTIN: %d", run_in_group(reads_blocked));
  tell("handles SIGTTIN: %d", run_in_group(reads_handled));
  tell("tcsetattr: %s", signal_name(run_in_group(sets)));
  tell("tcsetattr, ignores SIGTTOU: %d", run_in_group(sets_deaf));
}

/* Its parent dies: no process could continue it, so it is not stopped. */
static void orphan(void) {
  int go[2];
  MUST(pipe(go));
  pid_t middle = fork();
  if (middle == 0) {
    if (fork() == 0) {
      char byte;
      close(go[1]);
      setpgid(0, 0);
      MUST(read(go[0], &byte, 1) + 1);
      sleep_ms(30);
      ssize_t n = read(0, &byte, 1);
      tell("orphan read: %s", error_name(n < 0 ? errno : 0));
      _exit(0);
    }
    sleep_ms(50);
    _exit(0);
  }
  waitpid(middle, NULL, 0);
  close(go[1]);
  sleep_ms(200);
}

static void stops_by_key(void) {
  int status;
  signal(SIGTTOU, SIG_IGN);
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    tcsetpgrp(0, getpid());
    signal(SIGTTOU, SIG_DFL);
    tell("ready");
    for (;;) sleep_ms(5);
  }
  setpgid(pid, pid);
  waitpid(pid, &status, WUNTRACED);
  tell("stopped %d by %s", WIFSTOPPED(status), signal_name(WSTOPSIG(status)));
  kill(-pid, SIGCONT);
  waitpid(pid, &status, WCONTINUED);
  tell("continued %d", WIFCONTINUED(status));
  tell("ready");
  waitpid(pid, &status, 0);
  tell("killed by %s", signal_name(WTERMSIG(status)));
}

static void hears_hang_up(void) {
  on(SIGHUP, 0);
  on(SIGCONT, SA_RESTART);
  char byte;
  tell("ready");
  ssize_t n = read(0, &byte, 1);
  while (got == 0) sleep_ms(5);
  tell("read %zd %s", n, error_name(n < 0 && errno != EINTR ? errno : 0));
  sleep_ms(20);
  tell("then read %zd", read(0, &byte, 1));
  tell("/dev/tty: %s", error_name(open("/dev/tty", O_RDWR) < 0 ? errno : 0));
}

static void leaves_foreground(void) {
  signal(SIGTTOU, SIG_IGN);
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGHUP, SIG_DFL);
    setpgid(0, 0);
    on(SIGHUP, 0);
    tell("child ready");
    while (got == 0) sleep_ms(5);
    ssize_t n = write(1, "x", 1);
    tell("child: %s, write %s", signal_name(got), error_name(n < 0 ? errno : 0));
    tell("/dev/tty: %s", error_name(open("/dev/tty", O_RDWR) < 0 ? errno : 0));
    _exit(0);
  }
  setpgid(pid, pid);
  tcsetpgrp(0, pid);
  sleep_ms(100);
  _exit(0);
}

static void gives_up(void) {
  on(SIGHUP, 0);
  tell("TIOCNOTTY: %s", error_name(ioctl(0, TIOCNOTTY) < 0 ? errno : 0));
  sleep_ms(20);
  tell("signal %s", signal_name(got));
  tell("/dev/tty: %s", error_name(open("/dev/tty", O_RDWR) < 0 ? errno : 0));
  tell("TIOCNOTTY again: %s", error_name(ioctl(0, TIOCNOTTY) < 0 ? errno : 0));
  tell("TIOCSCTTY: %s", error_name(ioctl(0, TIOCSCTTY, 0) < 0 ? errno : 0));
  tell("foreground: %d", tcgetpgrp(0) == getpgrp());
}

static void member_gives_up(void) {
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    bool gone = ioctl(0, TIOCNOTTY) == 0 && open("/dev/tty", O_RDWR) < 0 && errno == ENXIO;
    _exit(gone ? 3 : 4);
  }
  waitpid(pid, &status, 0);
  tell("member: %d, leader: %d", WEXITSTATUS(status), open("/dev/tty", O_RDWR) >= 0);
}

static void run_body(const char *who, void (*body)(void), int lines) {
  int master;
  say("-- %s\n", who);
  pid_t pid = in_terminal(&master, body);
  for (int i = 0; i < lines; i++) told();
  reap("it", pid);
  close(master);
}

int main(void) {
  int master, slave;
  run_body("a session of its own", looks, 8);

  say("-- signals by keys\n");
  pid_t pid = in_terminal(&master, waits_for_signals);
  told();
  sleep_ms(30);
  type(master, "lost\003");
  told();
  type(master, "lost too\034kept\n");
  told();
  told();
  struct winsize w = { .ws_row = 7, .ws_col = 9 };
  MUST(ioctl(master, TIOCSWINSZ, &w));
  told();
  reap("it", pid);
  close(master);

  say("-- a reader in the background\n");
  pid = in_terminal(&master, reads_in_background);
  told();
  told();
  sleep_ms(30);
  type(master, "for it\n");
  told();
  told();
  told();
  reap("it", pid);
  close(master);
  run_body("what the background may do", background_rules, 7);
  run_body("an orphan", orphan, 1);

  say("-- stopped by a key\n");
  pid = in_terminal(&master, stops_by_key);
  told();
  type(master, "\032");
  told();
  told();
  told();
  type(master, "\003");
  told();
  reap("it", pid);
  close(master);

  say("-- the master is closed\n");
  pid = in_terminal(&master, hears_hang_up);
  told();
  sleep_ms(30);
  close(master);
  told();
  told();
  told();
  reap("it", pid);

  say("-- the leader exits\n");
  pid = in_terminal(&master, leaves_foreground);
  told();
  reap("leader", pid);
  told();
  told();
  char byte;
  SAY(read(master, &byte, 1));
  sleep_ms(50);
  SAY(read(master, &byte, 1));
  close(master);
  run_body("a leader gives it up", gives_up, 6);
  run_body("a member gives it up", member_gives_up, 1);

  say("-- login_tty\n");
  MUST(openpty(&master, &slave, NULL, NULL, NULL));
  report_open();
  pid = MUST(fork());
  close(report[pid != 0]);
  if (pid == 0) {
    close(master);
    int r = login_tty(slave);
    tell("login_tty %d, foreground %d", r, tcgetpgrp(0) == getpid());
    _exit(0);
  }
  told();
  reap("it", pid);
  return 0;
}
