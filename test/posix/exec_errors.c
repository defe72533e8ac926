/* exec_errors - execve(2): each of its refusals leaves the caller as it was. */
#include "posix.h"

extern char **environ;

static char *args[] = { (char *)"x", NULL };

int main(void) {
  put("text", "not a program\n");
  put("empty", "");
  MUST(mkdir("d", 0755));
  MUST(symlink("loop", "loop"));
  SAY(execve("none", args, environ));
  SAY(execve("", args, environ));
  SAY(execve("text", args, environ));
  SAY(execve("text/x", args, environ));
  SAY(execve("d", args, environ));
  SAY(execve("loop", args, environ));
  MUST(chmod("text", 0755));
  MUST(chmod("empty", 0755));
  SAY(execve("text", args, environ));
  SAY(execve("empty", args, environ));
  put("bad", "#!/no/such/interpreter\n");
  MUST(chmod("bad", 0755));
  SAY(execve("bad", args, environ));
  put("dir", "#!/tmp\n");
  MUST(chmod("dir", 0755));
  SAY(execve("dir", args, environ));
  put("nothing", "#!\n");
  MUST(chmod("nothing", 0755));
  SAY(execve("nothing", args, environ));
  char name[NAME_MAX + 2];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = 0;
  SAY(execve(name, args, environ));

  static char long_one[200000];
  memset(long_one, 'a', sizeof long_one - 1);
  char *big[] = { (char *)"x", long_one, NULL };
  SAY(execve("/bin/true", big, environ));
  SAY(fexecve(-1, args, environ) == -1);
  SAY(execlp("no-such-program-here", "x", (char *)NULL));
  SAY(execve("/dev/null", args, environ));
  return 0;
}
