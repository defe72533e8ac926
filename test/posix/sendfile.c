/* sendfile - sendfile(2): from a file to anything, by its own offset or a given one. */
#include "posix.h"

#include <sys/sendfile.h>

int main(void) {
  int fd[2];
  char text[32] = "";
  put("in", "0123456789");
  int in = MUST(open("in", O_RDONLY)), out = MUST(open("out", O_RDWR | O_CREAT, 0644));
  SAY(sendfile(out, in, NULL, 4));
  SAY(lseek(in, 0, SEEK_CUR));
  off_t at = 8;
  SAY(sendfile(out, in, &at, 100));
  SHOW(at);
  SAY(lseek(in, 0, SEEK_CUR));
  SAY(sendfile(out, in, &at, 100));
  get("out");
  SAY(sendfile(out, in, NULL, 0));
  MUST(pipe(fd));
  SAY(sendfile(fd[1], in, NULL, 3));
  SAY(read(fd[0], text, sizeof text));
  TEXT(text);
  at = -1;
  SAY(sendfile(out, in, &at, 1));
  SAY(sendfile(99, in, NULL, 1));
  SAY(sendfile(out, 99, NULL, 1));
  int read_only = MUST(open("out", O_RDONLY)), write_only = MUST(open("in", O_WRONLY));
  SAY(sendfile(read_only, in, NULL, 1));
  SAY(sendfile(out, write_only, NULL, 1));
  return 0;
}
