/* fallocate - holes punched into a file, space beyond its end, and the refusals. */
#include "posix.h"

#ifndef FALLOC_FL_KEEP_SIZE
#define FALLOC_FL_KEEP_SIZE 1
#define FALLOC_FL_PUNCH_HOLE 2
#endif
enum { MIB = 1 << 20, KEEP = FALLOC_FL_KEEP_SIZE, PUNCH = FALLOC_FL_PUNCH_HOLE };

static char bytes[MIB];

static long long size_of(int fd) {
  struct stat st;
  MUST(fstat(fd, &st));
  return st.st_size;
}

static int count_of(int fd, char wanted) {
  int count = 0;
  MUST(pread(fd, bytes, sizeof bytes, 0));
  for (int i = 0; i < MIB; i++) count += bytes[i] == wanted;
  return count;
}

int main(void) {
  int fd = MUST(open("f", O_CREAT | O_RDWR, 0644)), ends[2];
  memset(bytes, 'x', sizeof bytes);
  MUST(write(fd, bytes, sizeof bytes));
  SAY(fallocate(fd, PUNCH | KEEP, 100, 200));
  SHOW(count_of(fd, 0));
  SAY(fallocate(fd, PUNCH | KEEP, 65536, 3 * 65536));
  SHOW(count_of(fd, 0));
  SHOW(count_of(fd, 'x'));
  SHOW(lseek(fd, 65536, SEEK_DATA));
  SHOW(lseek(fd, 0, SEEK_HOLE));
  SAY(fallocate(fd, PUNCH | KEEP, MIB - 10, 4 * MIB));
  SHOW(size_of(fd));
  SAY(fallocate(fd, PUNCH | KEEP, 8 * MIB, MIB));
  SHOW(size_of(fd));
  SHOW(count_of(fd, 0));
  MUST(pwrite(fd, "yy", 2, 70000));
  SHOW(count_of(fd, 'y'));
  SAY(fallocate(fd, KEEP, 0, 2 * MIB));
  SHOW(size_of(fd));
  SAY(fallocate(fd, 0, 0, MIB + 7));
  SHOW(size_of(fd));
  SAY(fallocate(fd, 0, 0, 10));
  SHOW(size_of(fd));

  SAY(fallocate(fd, PUNCH, 0, 10));
  SAY(fallocate(fd, 0, -1, 10));
  SAY(fallocate(fd, 0, 0, 0));
  SAY(fallocate(fd, 0, LLONG_MAX, 10));
  SAY(fallocate(-1, 0, 0, 10));
  int in = MUST(open("f", O_RDONLY));
  SAY(fallocate(in, 0, 0, 10));
  MUST(pipe(ends));
  SAY(fallocate(ends[1], 0, 0, 10));
  int null = MUST(open("/dev/null", O_WRONLY));
  SAY(fallocate(null, 0, 0, 10));
  return 0;
}
