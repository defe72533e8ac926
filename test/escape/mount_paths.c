/* mount_paths - no name leads out of a mounted directory: symlinks of the host mean the guest's own names,
 * ".." ends at the guest's root, and no host path is ever shown. */
#include "../posix/posix.h"

static void try(const char *path) {
  char text[256];
  int fd = open(path, O_RDONLY);
  if (fd < 0) {
    say("%s: %s\n", path, error_name(errno));
    return;
  }
  ssize_t n = read(fd, text, sizeof text - 1);
  say("%s: %s\n", path, n < 0 ? error_name(errno) : "read");
  text[n < 0 ? 0 : n] = 0;
  if (strstr(text, "SECRET") != NULL) say("ESCAPED: %s\n", text);
  close(fd);
}

int main(void) {
  char text[PATH_MAX];
  try("/shared/file");
  try("/shared/dir/inside");
  try("/shared/../outside/secret");
  try("/shared/../../../../../../outside/secret");
  try("/shared/dir/../../outside/secret");
  try("/shared/link-to-secret");
  try("/shared/link-up/secret");
  try("/shared/link-up");
  try("/shared/link-to-host-root/etc/shadow");
  try("/shared/dir/link-up-two/secret");
  try("/shared/link-inside");
  try("/shared/link-proc/status");
  SAY(chdir("/shared/dir"));
  SAY(chdir("../../outside"));
  SAY(chdir(".."));
  SAY(chdir(".."));
  TEXT(getcwd(text, sizeof text));

  int dir = MUST(open("/shared/dir", O_RDONLY | O_DIRECTORY));
  SAY(openat(dir, "../../outside/secret", O_RDONLY));
  SAY(openat(dir, "../../../../../outside", O_RDONLY));
  struct stat root, up;
  MUST(stat("/", &root));
  MUST(fstatat(dir, "../..", &up, 0));
  IS(root.st_ino == up.st_ino && root.st_dev == up.st_dev);
  int link = OK(open("/shared/link-up", O_PATH | O_NOFOLLOW));
  SAY(openat(link, "secret", O_RDONLY));

  SAY(symlink("../outside/secret", "/shared/made-here"));
  try("/shared/made-here");
  SAY(symlink("/proc/self/root/../outside/secret", "/shared/made-proc"));
  try("/shared/made-proc");
  SAY(rename("/shared/link-to-secret", "/tmp/taken"));
  SAY(linkat(AT_FDCWD, "/shared/link-to-secret", AT_FDCWD, "/shared/hard", AT_SYMLINK_FOLLOW));
  SAY(truncate("/shared/link-to-secret", 0));
  SAY(open("/shared/link-to-secret", O_WRONLY | O_CREAT, 0644) >= 0);
  SAY(chmod("/shared/link-up/secret", 0666));

  MUST(mkdir("/shared/deep", 0755));
  MUST(chdir("/shared/deep"));
  SAY(rename("/shared/deep", "/shared/dir/deep")); /* ".." of the working directory changes under us */
  SAY(chdir("../../.."));
  TEXT(getcwd(text, sizeof text));

  int fd = MUST(open("/shared/file", O_RDONLY));
  snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
  ssize_t n = MUST(readlink(text, text, sizeof text - 1));
  text[n] = 0;
  TEXT(text);
  return 0;
}
