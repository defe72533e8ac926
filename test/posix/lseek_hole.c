/* lseek_hole - lseek(2): SEEK_DATA and SEEK_HOLE find the written ranges, and each answers ENXIO past the end.
 */
#include "posix.h"

enum { MIB = 1 << 20 };

int main(void) {
  int fd = MUST(open("f", O_RDWR | O_CREAT, 0644));
  static char block[MIB];
  memset(block, 'd', sizeof block);
  SAY(lseek(fd, 0, SEEK_DATA));
  MUST(pwrite(fd, block, sizeof block, 4 * MIB));
  MUST(ftruncate(fd, 8 * MIB));
  MUST(fsync(fd));
  SAY(lseek(fd, 0, SEEK_DATA));
  SAY(lseek(fd, 0, SEEK_HOLE));
  SAY(lseek(fd, 4 * MIB, SEEK_DATA));
  SAY(lseek(fd, 4 * MIB + 77, SEEK_DATA));
  SAY(lseek(fd, 4 * MIB, SEEK_HOLE));
  SAY(lseek(fd, 5 * MIB, SEEK_DATA));
  SAY(lseek(fd, 5 * MIB + 9, SEEK_HOLE));
  SAY(lseek(fd, 8 * MIB, SEEK_DATA));
  SAY(lseek(fd, 8 * MIB, SEEK_HOLE));
  SAY(lseek(fd, -1, SEEK_DATA));
  SAY(lseek(fd, 0, 99));

  int full = MUST(open("full", O_RDWR | O_CREAT, 0644));
  MUST(write(full, block, 10));
  SAY(lseek(full, 0, SEEK_DATA));
  SAY(lseek(full, 3, SEEK_HOLE));
  SAY(lseek(full, 10, SEEK_HOLE));
  return 0;
}
