/* pidfd - pidfd_open(2) and what takes such a descriptor: poll(2), waitid(2), pidfd_send_signal(2),
 * pidfd_getfd(2). */
#include "posix.h"

#include <poll.h>
#include <sys/syscall.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static int pidfd_of(pid_t pid, unsigned flags) { return (int)syscall(SYS_pidfd_open, pid, flags); }
static int send_to(int fd, int sig, siginfo_t *info) {
  return (int)syscall(SYS_pidfd_send_signal, fd, sig, info, 0);
}
static int take_from(int fd, int theirs) { return (int)syscall(SYS_pidfd_getfd, fd, theirs, 0); }

static int ready(int fd) {
  struct pollfd p = { fd, POLLIN, 0 };
  return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

static long long named_by(int fd) { return fdinfo_number(fd, "Pid:", 10, -2); }

static void wrong_calls(void) {
  int file = MUST(open("/dev/null", O_RDWR)), own = OK(pidfd_of(getpid(), 0));
  SAY(pidfd_of(0, 0));
  SAY(pidfd_of(-1, 0));
  SAY(pidfd_of(1 << 22, 0));
  SAY(pidfd_of(getpid(), O_APPEND));
  SAY(fcntl(own, F_GETFD));
  SAY(send_to(file, 0, NULL));
  SAY(send_to(999, 0, NULL));
  SAY(send_to(own, 1000, NULL));
  SAY(send_to(own, 0, NULL));
  SAY((int)syscall(SYS_pidfd_send_signal, own, 0, NULL, 1 << 20));
  SAY(take_from(own, 999));
  SAY(take_from(file, 0));
  siginfo_t info;
  SAY(waitid(P_PIDFD, (id_t)own, &info, WEXITED));
  SAY(waitid(P_PIDFD, (id_t)file, &info, WEXITED));
  SAY(waitid(P_PIDFD, 999, &info, WEXITED));
  char byte = 0;
  SAY(read(own, &byte, 1));
  SAY(write(own, &byte, 1));
  IS(ready(own));
  close(own);
  close(file);
}

/* The child leaves when the gate closes. */
static pid_t child_behind(int gate[2], int code) {
  MUST(pipe(gate));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    char byte;
    close(gate[1]);
    (void)!read(gate[0], &byte, 1);
    _exit(code);
  }
  close(gate[0]);
  return pid;
}

static void an_end(void) {
  int gate[2];
  pid_t pid = child_behind(gate, 7);
  int fd = OK(pidfd_of(pid, O_NONBLOCK));
  siginfo_t info = { 0 };
  IS(named_by(fd) == pid);
  IS(ready(fd));
  SAY(waitid(P_PIDFD, (id_t)fd, &info, WEXITED));
  SAY(waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG));
  SHOW(info.si_pid);
  close(gate[1]);
  struct pollfd p = { fd, POLLIN, 0 };
  SAY(poll(&p, 1, 10000));
  IS(p.revents == POLLIN);
  SAY(send_to(fd, SIGTERM, NULL)); /* a zombie is still there */
  int late = OK(pidfd_of(pid, 0));
  SAY(take_from(fd, 1));
  SAY(waitid(P_PIDFD, (id_t)fd, &info, WEXITED));
  IS(info.si_pid == pid && info.si_code == CLD_EXITED);
  SHOW(info.si_status);
  IS(ready(fd));
  IS(ready(late));
  SAY(waitid(P_PIDFD, (id_t)fd, &info, WEXITED));
  SAY(send_to(fd, 0, NULL));
  SAY(take_from(fd, 1));
  SHOW(named_by(fd));
  close(fd);
  close(late);
}

static void signals(void) {
  int gate[2];
  pid_t pid = child_behind(gate, 0);
  int fd = OK(pidfd_of(pid, 0)), copy = MUST(dup(fd));
  siginfo_t info = { 0 };
  close(fd);
  info.si_signo = SIGUSR1;
  info.si_code = SI_USER;
  SAY(send_to(copy, SIGUSR1, &info)); /* only the kernel says that a user sent it */
  info.si_code = SI_QUEUE;
  SAY(send_to(copy, SIGUSR2, &info));
  SAY(send_to(copy, SIGUSR1, &info));
  SAY(waitid(P_PIDFD, (id_t)copy, &info, WEXITED));
  IS(info.si_code == CLD_KILLED);
  SHOW(info.si_status);
  close(gate[1]);
  close(copy);
}

static void a_file_of_another(void) {
  int gate[2], ready_pipe[2];
  MUST(pipe(gate));
  MUST(pipe(ready_pipe));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    char byte;
    close(gate[1]);
    int file = open("theirs", O_RDWR | O_CREAT, 0600);
    if (dup2(file, 77) != 77 || write(77, "hello", 5) != 5 || write(ready_pipe[1], "", 1) != 1) _exit(1);
    (void)!read(gate[0], &byte, 1);
    _exit(0);
  }
  char text[6] = "";
  MUST(read(ready_pipe[0], text, 1));
  int fd = OK(pidfd_of(pid, 0)), file = OK(take_from(fd, 77));
  SAY(fcntl(file, F_GETFD));
  SHOW(lseek(file, 0, SEEK_CUR)); /* the position is shared */
  MUST(lseek(file, 0, SEEK_SET));
  SAY(read(file, text, 5));
  TEXT(text);
  close(gate[1]);
  SAY(waitid(P_PIDFD, (id_t)fd, NULL, WEXITED));
}

int main(void) {
  wrong_calls();
  an_end();
  signals();
  a_file_of_another();
  return 0;
}
