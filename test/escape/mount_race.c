/* mount_race - while the host and the guest swap a directory with a symlink to the outside, no open gets out.
 */
#include "../posix/posix.h"

static int look(int rounds, int *opened) {
  int leaks = 0;
  char text[64];
  for (int i = 0; i < rounds; i++) {
    static const char *const paths[] = { "/shared/swap/secret", "/shared/mine/secret",
                                         "/shared/swap/../secret" };
    int fd = open(paths[i % 3], O_RDONLY);
    if (fd < 0) continue;
    (*opened)++;
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = 0;
    leaks += strstr(text, "SECRET") != NULL;
    close(fd);
  }
  return leaks;
}

static void swap_for_ever(void) {
  for (;;) {
    rename("/shared/mine", "/shared/mine-dir");
    symlink("../outside", "/shared/mine");
    unlink("/shared/mine");
    rename("/shared/mine-dir", "/shared/mine");
  }
}

int main(void) {
  MUST(mkdir("/shared/mine", 0755));
  put("/shared/mine/secret", "harmless");
  pid_t pid = MUST(fork());
  if (pid == 0) swap_for_ever();
  int opened = 0, leaks = look(20000, &opened);
  IS(opened > 0);
  SHOW(leaks);
  MUST(kill(pid, SIGKILL));
  reap("swapper", pid);
  return 0;
}
