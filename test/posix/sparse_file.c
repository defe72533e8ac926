/* sparse_file - a gap that was never written reads as zeros and costs no space (lseek(2), stat(2)). */
#include "posix.h"

enum { MIB = 1 << 20 };

static bool all_zero(const char *bytes, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (bytes[i] != 0) return false;
  return true;
}

int main(void) {
  static char block[65536];
  struct stat st;
  int fd = MUST(open("sparse", O_RDWR | O_CREAT, 0644));
  SAY(lseek(fd, 100 * MIB, SEEK_SET));
  SAY(file_size("sparse"));
  SAY(write(fd, "end", 3));
  SAY(file_size("sparse"));
  MUST(fstat(fd, &st));
  IS(st.st_blocks * 512 < MIB);

  memset(block, 'x', sizeof block);
  SAY(pread(fd, block, sizeof block, 50 * MIB));
  IS(all_zero(block, sizeof block));
  SAY(pread(fd, block, sizeof block, 100 * MIB - 10));
  IS(all_zero(block, 10));
  say("%.3s\n", block + 10);

  SAY(pwrite(fd, "middle", 6, 30 * MIB + 1));
  SAY(pread(fd, block, 8, 30 * MIB));
  IS(block[0] == 0 && block[7] == 0);
  say("%.6s\n", block + 1);

  SAY(ftruncate(fd, 5));
  SAY(ftruncate(fd, 200 * MIB));
  SAY(pread(fd, block, sizeof block, 100 * MIB));
  IS(all_zero(block, sizeof block));
  MUST(fstat(fd, &st));
  IS(st.st_blocks * 512 < MIB);
  SAY(lseek(fd, -1, SEEK_SET));
  SAY(lseek(fd, -300 * MIB, SEEK_END));
  SAY(lseek(fd, 5LL * 1024 * MIB, SEEK_SET));
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(read(fd, block, 1));
  return 0;
}
