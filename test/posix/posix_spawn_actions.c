/* posix_spawn_actions - posix_spawn(3): file actions in order, attributes, and errors as the return value. */
#include "posix.h"

#include <spawn.h>

extern char **environ;

static int child(void) {
  char text[32] = "", cwd[PATH_MAX];
  sigset_t mask;
  struct sigaction usr1;
  ssize_t n = read(0, text, sizeof text - 1);
  sigprocmask(SIG_SETMASK, NULL, &mask);
  sigaction(SIGUSR1, NULL, &usr1);
  say("child: input %d \"%s\", 20 %s, 21 %s\n", (int)n, text, fcntl(20, F_GETFD) < 0 ? "closed" : "open",
      fcntl(21, F_GETFD) < 0 ? "closed" : "open");
  say("child: HUP %s, USR1 %s, %s group, in %s\n", sigismember(&mask, SIGHUP) ? "blocked" : "open",
      usr1.sa_handler == SIG_IGN ? "ignored" : "default", getpgrp() == getpid() ? "own" : "parent's",
      getcwd(cwd, sizeof cwd) != NULL && strcmp(strrchr(cwd, '/'), "/d") == 0 ? "d" : "start");
  return 5;
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) return child();
  pid_t pid;
  char *args[] = { (char *)"again", (char *)"x", NULL };
  put("in", "from a file");
  MUST(mkdir("d", 0755));
  MUST(dup2(MUST(open("in", O_RDONLY)), 20));
  signal(SIGUSR1, SIG_IGN);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "in", O_RDONLY, 0);
  int failed = posix_spawn(&pid, SELF, &actions, NULL, args, environ);
  reap("with input", pid);
  SHOW(failed);

  posix_spawn_file_actions_addopen(&actions, 1, "out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 20, 21);
  posix_spawn_file_actions_addclose(&actions, 20);
  posix_spawn_file_actions_addchdir_np(&actions, "d");

  posix_spawnattr_t attr;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  posix_spawnattr_init(&attr);
  posix_spawnattr_setsigmask(&attr, &set);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  posix_spawnattr_setsigdefault(&attr, &set);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  SHOW(posix_spawn(&pid, SELF, &actions, &attr, args, environ));
  reap("with everything", pid);
  get("out");
  IS(fcntl(20, F_GETFD) == 0);

  say("%s\n", error_name(posix_spawn(&pid, "./none", NULL, NULL, args, environ)));
  say("%s\n", error_name(posix_spawn(&pid, "in", NULL, NULL, args, environ)));
  posix_spawn_file_actions_addopen(&actions, 3, "none/none", O_RDONLY, 0);
  say("%s\n", error_name(posix_spawn(&pid, SELF, &actions, NULL, args, environ)));
  say("%s\n", error_name(posix_spawnp(&pid, "no-such-program-here", NULL, NULL, args, environ)));
  SAY(waitpid(-1, NULL, 0));

  char *sh[] = { (char *)"sh", (char *)"-c", (char *)"exit 12", NULL };
  SHOW(posix_spawnp(&pid, "sh", NULL, NULL, sh, environ));
  reap("sh", pid);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attr);
  return 0;
}
