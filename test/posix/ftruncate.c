/* ftruncate - truncate(2): shorter loses, longer is zeros, the offset stays; O_TRUNC; each refusal. */
#include "posix.h"

static void bytes(const char *path) {
  unsigned char b[32];
  int fd = MUST(open(path, O_RDONLY));
  ssize_t n = MUST(read(fd, b, sizeof b));
  say("%s:", path);
  for (ssize_t i = 0; i < n; i++) say(" %02x", b[i]);
  say("\n");
  close(fd);
}

int main(void) {
  put("f", "abcdefgh");
  int fd = MUST(open("f", O_RDWR));
  SAY(lseek(fd, 6, SEEK_SET));
  SAY(ftruncate(fd, 3));
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(file_size("f"));
  SAY(write(fd, "X", 1));
  bytes("f");
  SAY(truncate("f", 10));
  bytes("f");
  SAY(ftruncate(fd, 0));
  bytes("f");
  SAY(ftruncate(fd, -1));
  SAY(truncate("f", -1));
  SAY(truncate("none", 0));
  SAY(truncate(".", 0));
  SAY(truncate("f/x", 0));
  int r = MUST(open("f", O_RDONLY));
  SAY(ftruncate(r, 0));
  SAY(ftruncate(99, 0));
  MUST(chmod("f", 0444));
  SAY(truncate("f", 0));
  MUST(chmod("f", 0644));

  put("g", "content");
  MUST(close(MUST(open("g", O_WRONLY | O_TRUNC))));
  SAY(file_size("g"));
  put("g", "content");
  MUST(close(MUST(open("g", O_WRONLY | O_CREAT, 0644))));
  SAY(file_size("g"));
  SAY(posix_fallocate(fd, 0, 100));
  SAY(file_size("f"));
  SAY(posix_fallocate(fd, 0, 50));
  SAY(file_size("f"));
  return 0;
}
