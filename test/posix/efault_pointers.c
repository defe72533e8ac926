/* efault_pointers - a wild pointer given to a system call answers EFAULT and harms nothing. Raw calls: the
 * library must not touch the pointers first. */
#include "posix.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifdef SYS_truncate64 /* the names on 32 bits */
#define SYS_truncate SYS_truncate64
#define SYS_sendfile SYS_sendfile64
#define SYS_fcntl SYS_fcntl64
#endif

#define RAW(name, ...) say_result(#name, (errno = 0, syscall(SYS_##name, __VA_ARGS__)))

static long raw(const char *name, long result) {
  say("%s = %s\n", name, result < 0 ? error_name(errno) : "ok");
  return result;
}

#ifdef SYS_clock_gettime64 /* 32-bit guests have the calls with 64-bit times only */
enum {
  n_clock_gettime = SYS_clock_gettime64,
  n_clock_getres = SYS_clock_getres_time64,
  n_ppoll = SYS_ppoll_time64,
  n_utimensat = SYS_utimensat_time64,
  n_nanosleep = SYS_clock_nanosleep_time64
};
#else
enum {
  n_clock_gettime = SYS_clock_gettime,
  n_clock_getres = SYS_clock_getres,
  n_ppoll = SYS_ppoll,
  n_utimensat = SYS_utimensat,
  n_nanosleep = SYS_clock_nanosleep
};
#endif

int main(void) {
  put("f", "some text");
  int fd = MUST(open("f", O_RDWR)), here = MUST(open(".", O_RDONLY)), pipes[2], sockets[2];
  MUST(pipe(pipes));
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
  MUST(write(pipes[1], "x", 1));
  MUST(write(sockets[1], "x", 1));

  RAW(read, fd, WILD, 5);
  RAW(write, fd, WILD, 5);
  RAW(read, pipes[0], WILD, 1);
  RAW(write, pipes[1], WILD, 1);
  RAW(pread64, fd, WILD, 5, 0, 0);
  RAW(pwrite64, fd, WILD, 5, 0, 0);
  RAW(readv, fd, WILD, 2);
  RAW(writev, fd, WILD, 2);
  struct iovec bad = { WILD, 10 };
  RAW(readv, fd, &bad, 1);
  RAW(writev, fd, &bad, 1);
  RAW(writev, pipes[1], &bad, 1);

  RAW(openat, AT_FDCWD, WILD, O_RDONLY, 0);
  RAW(openat, AT_FDCWD, WILD, O_CREAT | O_WRONLY, 0644);
  RAW(mkdirat, AT_FDCWD, WILD, 0755);
  RAW(mknodat, AT_FDCWD, WILD, S_IFREG | 0644, 0);
  RAW(unlinkat, AT_FDCWD, WILD, 0);
  RAW(unlinkat, AT_FDCWD, WILD, AT_REMOVEDIR);
  RAW(linkat, AT_FDCWD, WILD, AT_FDCWD, "x", 0);
  RAW(linkat, AT_FDCWD, "f", AT_FDCWD, WILD, 0);
  RAW(symlinkat, WILD, AT_FDCWD, "x");
  RAW(symlinkat, "x", AT_FDCWD, WILD);
  RAW(renameat2, AT_FDCWD, WILD, AT_FDCWD, "x", 0);
  RAW(renameat2, AT_FDCWD, "f", AT_FDCWD, WILD, 0);
  RAW(readlinkat, AT_FDCWD, WILD, WILD, 10);
  RAW(readlinkat, AT_FDCWD, "/proc/self", WILD, 10);
  RAW(fchmodat, AT_FDCWD, WILD, 0644);
  RAW(fchownat, AT_FDCWD, WILD, -1, -1, 0);
  RAW(faccessat, AT_FDCWD, WILD, 0);
  RAW(chdir, WILD);
  RAW(truncate, WILD, 0, 0);
  RAW(statx, AT_FDCWD, WILD, 0, STATX_BASIC_STATS, WILD);
  RAW(statx, AT_FDCWD, "f", 0, STATX_BASIC_STATS, WILD);
  RAW(getdents64, here, WILD, 1024);
  RAW(getcwd, WILD, 1024);
  raw("utimensat", syscall(n_utimensat, AT_FDCWD, "f", WILD, 0));

  RAW(pipe2, WILD, 0);
  RAW(sendfile, fd, fd, WILD, 1);
  raw("ppoll", syscall(n_ppoll, WILD, 1, 0, 0, 8));
  struct pollfd p = { fd, POLLIN, 0 };
  raw("ppoll", syscall(n_ppoll, &p, 1, WILD, 0, 8));
  RAW(socketpair, AF_UNIX, SOCK_STREAM, 0, WILD);
  RAW(sendto, sockets[0], WILD, 1, 0, 0, 0);
  RAW(recvfrom, sockets[0], WILD, 1, 0, 0, 0);
  RAW(sendmsg, sockets[0], WILD, 0);
  RAW(recvmsg, sockets[0], WILD, 0);

  RAW(rt_sigaction, SIGUSR1, WILD, 0, 8);
  RAW(rt_sigaction, SIGUSR1, 0, WILD, 8);
  RAW(rt_sigprocmask, SIG_BLOCK, WILD, 0, 8);
  RAW(rt_sigprocmask, SIG_BLOCK, 0, WILD, 8);
  RAW(rt_sigpending, WILD, 8);
  RAW(rt_sigsuspend, WILD, 8);
  RAW(setitimer, 0, WILD, 0);
  RAW(getitimer, 0, WILD);
  raw("clock_gettime", syscall(n_clock_gettime, CLOCK_REALTIME, WILD));
  raw("clock_getres", syscall(n_clock_getres, CLOCK_REALTIME, WILD));
  raw("clock_nanosleep", syscall(n_nanosleep, CLOCK_REALTIME, 0, WILD, 0));
  RAW(uname, WILD);
  RAW(times, WILD);
  RAW(getrusage, 0, WILD);
  RAW(sysinfo, WILD);
  RAW(getrandom, WILD, 10, 0);
  RAW(prlimit64, 0, 7, 0, WILD);
  RAW(prlimit64, 0, 7, WILD, 0);
  RAW(getresuid, WILD, WILD, WILD);

  RAW(execve, WILD, 0, 0);
  RAW(execve, SELF, WILD, 0);
  char *argv[] = { WILD, NULL };
  RAW(execve, SELF, argv, 0);
  char *fine[] = { (char *)"x", NULL };
  RAW(execve, SELF, fine, WILD);

  pid_t pid = MUST(fork());
  if (pid == 0) _exit(3);
  RAW(wait4, pid, WILD, 0, 0); /* the child is gone all the same */
  SAY(waitpid(pid, NULL, 0));
  pid = MUST(fork());
  if (pid == 0) _exit(4);
  RAW(waitid, P_PID, pid, WILD, WEXITED, 0);
  RAW(fcntl, fd, F_GETLK, WILD);
  RAW(ioctl, pipes[0], 0x541B /* FIONREAD */, WILD);

  get("f");
  char byte;
  SAY(read(sockets[0], &byte, 1));
  return 0;
}
