/* copy_file_range - copy_file_range(2): within the kernel, by offsets of its own or given. */
#include "posix.h"

int main(void) {
  put("in", "0123456789");
  int in = MUST(open("in", O_RDONLY)), out = MUST(open("out", O_RDWR | O_CREAT, 0644));
  SAY(copy_file_range(in, NULL, out, NULL, 4, 0));
  SAY(lseek(in, 0, SEEK_CUR));
  SAY(lseek(out, 0, SEEK_CUR));
  off_t from = 8, to = 6;
  SAY(copy_file_range(in, &from, out, &to, 100, 0));
  SHOW(from);
  SHOW(to);
  SAY(lseek(in, 0, SEEK_CUR));
  SAY(file_size("out"));
  char text[16] = "";
  SAY(pread(out, text, 15, 0));
  say("%.4s|%d|%d|%s\n", text, text[4], text[5], text + 6);
  SAY(copy_file_range(in, &from, out, &to, 100, 0));
  SAY(copy_file_range(in, NULL, out, NULL, 1, 77));
  SAY(copy_file_range(out, NULL, in, NULL, 1, 0));
  SAY(copy_file_range(99, NULL, out, NULL, 1, 0));
  int dir = MUST(open(".", O_RDONLY)), p[2];
  SAY(copy_file_range(dir, NULL, out, NULL, 1, 0));
  MUST(pipe(p));
  SAY(copy_file_range(p[0], NULL, out, NULL, 1, 0));
  return 0;
}
