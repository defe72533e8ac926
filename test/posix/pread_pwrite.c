/* pread_pwrite - pread(2): at a place, leaving the offset; end of file, gaps, refusals. */
#include "posix.h"

int main(void) {
  char text[16] = "";
  int fd = MUST(open("f", O_RDWR | O_CREAT, 0644));
  SAY(pwrite(fd, "0123456789", 10, 0));
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(lseek(fd, 4, SEEK_SET));
  SAY(pread(fd, text, 3, 7));
  TEXT(text);
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(pread(fd, text, 10, 8));
  SAY(pread(fd, text, 10, 10));
  SAY(pread(fd, text, 10, 1000));
  SAY(pread(fd, text, 10, -1));
  SAY(pwrite(fd, "x", 1, -1));
  SAY(pwrite(fd, "end", 3, 20));
  SAY(file_size("f"));
  SAY(pread(fd, text, 4, 9));
  IS(text[0] == '9' && text[1] == 0 && text[2] == 0 && text[3] == 0);
  SAY(pwrite(fd, "", 0, 100));
  SAY(file_size("f"));
  SAY(pwrite(fd, "far", 3, 5LL << 32));
  SAY(file_size("f"));
  SAY(pread(fd, text, 3, 5LL << 32));
  say("%.3s\n", text);
  int r = MUST(open("f", O_RDONLY)), w = MUST(open("f", O_WRONLY));
  SAY(pwrite(r, "x", 1, 0));
  SAY(pread(w, text, 1, 0));
  SAY(read(w, text, 1));
  SAY(write(r, text, 1));
  SAY(pread(99, text, 1, 0));
  int dir = MUST(open(".", O_RDONLY));
  SAY(read(dir, text, 1));
  SAY(pread(dir, text, 1, 0));
  return 0;
}
