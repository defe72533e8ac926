/* vfork, posix_spawn and fork, by a program that runs itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char *self;

static int status_of(pid_t pid) {
  int status;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char **run(const char *what) {
  static char *argv[4];
  argv[0] = self, argv[1] = "child", argv[2] = (char *)what;
  return argv;
}

static void a_vfork_child_can_exit(void) {
  volatile int shared = 1;
  pid_t pid = vfork();
  if (pid == 0) {
    shared = 2;
    _exit(5);
  }
  CHECK(pid > 0 && shared == 2 && status_of(pid) == 5);
}

static void a_vfork_child_can_exec(void) {
  for (int i = 0; i < 3; i++) {
    pid_t pid = vfork();
    if (pid == 0) {
      execv(self, run("7"));
      _exit(127);
    }
    CHECK(status_of(pid) == 7);
  }
  pid_t pid = vfork();
  if (pid == 0) {
    execl("/nowhere/to/be/found", "x", (char *)0);
    _exit(errno == ENOENT ? 8 : 9);
  }
  CHECK(status_of(pid) == 8);
}

static void a_vfork_child_can_vfork(void) {
  pid_t pid = vfork();
  if (pid == 0) {
    pid_t inner = vfork();
    if (inner == 0) _exit(3);
    _exit(inner > 0 ? status_of(inner) + 1 : 99);
  }
  CHECK(status_of(pid) == 4);
}

static void spawn_reports_what_fails(void) {
  pid_t pid = 0;
  CHECK(posix_spawn(&pid, "/nowhere/to/be/found", 0, 0, run("0"), environ) == ENOENT);
  CHECK(posix_spawnp(&pid, "not-a-program-anywhere", 0, 0, run("0"), environ) == ENOENT);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, 77, 1);
  CHECK(posix_spawn(&pid, self, &actions, 0, run("0"), environ) == EBADF);
  posix_spawn_file_actions_destroy(&actions);
  CHECK(waitpid(-1, 0, WNOHANG) < 0 && errno == ECHILD);
}

static void spawn_does_as_told(void) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  sigset_t mask, ignored;
  pid_t pid;
  int fd[2];
  char text[64] = "";
  CHECK(pipe2(fd, O_CLOEXEC) == 0);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
  posix_spawn_file_actions_addchdir_np(&actions, "/tmp");
  posix_spawnattr_init(&attr);
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGHUP);
  signal(SIGHUP, SIG_IGN);
  posix_spawnattr_setsigmask(&attr, &mask);
  posix_spawnattr_setsigdefault(&attr, &ignored);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  CHECK(posix_spawn(&pid, self, &actions, &attr, run("tell"), environ) == 0);
  close(fd[1]);
  CHECK(read(fd[0], text, sizeof text - 1) > 0);
  CHECK(strcmp(text, "/tmp masked default leader\n") == 0);
  close(fd[0]);
  CHECK(status_of(pid) == 0);
  posix_spawn_file_actions_destroy(&actions);
  CHECK(system("exit 6") == 6 << 8 || access("/bin/sh", X_OK) < 0);
}

static void fork_copies_or_says_that_it_cannot(void) {
  int here = 1;
  pid_t pid = fork();
  if (pid == 0) _exit(here + 10);
  if (pid < 0)
    CHECK(errno == ENOSYS);
  else
    CHECK(status_of(pid) == 11);
}

static int tell(void) {
  sigset_t mask;
  struct sigaction hup;
  char here[100];
  sigprocmask(SIG_SETMASK, 0, &mask);
  sigaction(SIGHUP, 0, &hup);
  printf("%s %s %s %s\n", getcwd(here, sizeof here), sigismember(&mask, SIGTERM) ? "masked" : "open",
         hup.sa_handler == SIG_DFL ? "default" : "ignored", getpgrp() == getpid() ? "leader" : "member");
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 2) return strcmp(argv[2], "tell") == 0 ? tell() : atoi(argv[2]);
  self = "/proc/self/exe";
  a_vfork_child_can_exit();
  a_vfork_child_can_exec();
  a_vfork_child_can_vfork();
  spawn_reports_what_fails();
  spawn_does_as_told();
  fork_copies_or_says_that_it_cannot();
  return CHECKED();
}
