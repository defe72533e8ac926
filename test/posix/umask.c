/* umask - umask(2): taken from each mode at creation, kept over fork and exec. */
#include "posix.h"

static void mode(const char *path) {
  struct stat st;
  MUST(stat(path, &st));
  say("%s %04o\n", path, st.st_mode & 07777);
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    say("after exec %04o\n", umask(0));
    return 0;
  }
  say("at start %04o\n", umask(0));
  say("now %04o\n", umask(027));
  MUST(open("f", O_CREAT | O_WRONLY, 0666));
  MUST(mkdir("d", 0777));
  MUST(mkfifo("p", 0666));
  MUST(mknod("n", S_IFREG | 0777, 0));
  mode("f");
  mode("d");
  mode("p");
  mode("n");
  MUST(chmod("f", 0777));
  mode("f");
  say("high bits %04o\n", (umask(07777), umask(0)));
  MUST(open("g", O_CREAT | O_WRONLY, 06755));
  mode("g");
  MUST(mkdir("sticky", 01777));
  mode("sticky");

  umask(035);
  pid_t pid = MUST(fork());
  if (pid == 0) {
    say("after fork %04o\n", umask(031));
    execl(SELF, "again", "x", (char *)NULL);
    _exit(127);
  }
  reap("child", pid);
  say("the parent's %04o\n", umask(0));
  return 0;
}
