/* locks_fcntl - fcntl(2), "Advisory record locking": by process and range, gone when any descriptor is
 * closed. */
#include "posix.h"

static int lock(int fd, int command, short type, off_t from, off_t len) {
  struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = len };
  return fcntl(fd, command, &l);
}

static void query(int fd, off_t from, off_t len) {
  struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = len };
  MUST(fcntl(fd, F_GETLK, &l));
  if (l.l_type == F_UNLCK)
    say("[%lld, +%lld) is free\n", (long long)from, (long long)len);
  else
    say("[%lld, +%lld) is held: %s [%lld, +%lld) by %s\n", (long long)from, (long long)len,
        l.l_type == F_RDLCK ? "read" : "write", (long long)l.l_start, (long long)l.l_len,
        l.l_pid == getppid() ? "the parent" : "another");
}

static void in_child(void (*fn)(int)) {
  pid_t pid = MUST(fork());
  if (pid == 0) {
    int fd = MUST(open("f", O_RDWR));
    fn(fd);
    _exit(0);
  }
  int status;
  MUST(waitpid(pid, &status, 0));
}

static void look(int fd) {
  query(fd, 0, 10);
  query(fd, 10, 10);
  query(fd, 25, 100);
  query(fd, 0, 0);
}

static void try_locks(int fd) {
  SAY(lock(fd, F_SETLK, F_RDLCK, 0, 5));
  SAY(lock(fd, F_SETLK, F_WRLCK, 0, 5));
  SAY(lock(fd, F_SETLK, F_WRLCK, 20, 5));
  SAY(lock(fd, F_SETLK, F_RDLCK, 32, 1));
}

int main(void) {
  put("f", "0123456789");
  int fd = MUST(open("f", O_RDWR)), read_only = MUST(open("f", O_RDONLY));
  SAY(lock(fd, F_SETLK, F_RDLCK, 0, 10));
  SAY(lock(fd, F_SETLK, F_WRLCK, 30, 10));
  SAY(lock(read_only, F_SETLK, F_WRLCK, 50, 10));
  in_child(look);
  in_child(try_locks);
  SAY(lock(fd, F_SETLK, F_UNLCK, 33, 3)); /* splits the lock in two */
  in_child(look);
  SAY(lock(fd, F_SETLK, F_WRLCK, 5, 10));
  in_child(look);
  SAY(close(read_only)); /* any descriptor of the file: all locks of the process go */
  in_child(look);

  gate held = gate_new(), refused = gate_new();
  pid_t pid = MUST(fork());
  if (pid == 0) {
    int mine = MUST(open("f", O_RDWR));
    MUST(lock(mine, F_SETLK, F_WRLCK, 0, 0));
    gate_open(held);
    gate_wait(refused);
    sleep_ms(20);
    say("the child ends\n");
    _exit(0);
  }
  gate_wait(held);
  SAY(lock(fd, F_SETLK, F_WRLCK, 0, 1));
  gate_open(refused);
  SAY(lock(fd, F_SETLKW, F_WRLCK, 0, 1));
  reap("child", pid);
  SAY(lock(fd, F_SETLK, 99, 0, 1));
  SAY(lock(fd, F_SETLK, F_RDLCK, -1, 1));
  SAY(lseek(fd, 4, SEEK_SET));
  SAY(lockf(fd, F_TLOCK, 2));
  in_child(look);
  return 0;
}
