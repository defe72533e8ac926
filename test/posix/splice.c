/* splice - bytes between pipes and files without a buffer (splice(2), tee(2)), and the refusals. */
#include "posix.h"

#include <sys/socket.h>

static char text[64];

static const char *drain(int fd) {
  ssize_t n = read(fd, text, sizeof text - 1);
  text[n > 0 ? n : 0] = 0;
  return text;
}

int main(void) {
  int a[2], b[2];
  MUST(pipe(a));
  MUST(pipe(b));
  int file = MUST(open("f", O_CREAT | O_RDWR, 0644));
  int append = MUST(open("f", O_WRONLY | O_APPEND));
  int in = MUST(open("f", O_RDONLY)), out = MUST(open("g", O_CREAT | O_RDWR, 0644));
  MUST(write(file, "0123456789", 10));

  loff_t at = 3;
  SAY(splice(file, &at, a[1], NULL, 4, 0));
  SHOW(at);
  SHOW(lseek(file, 0, SEEK_CUR));
  SAY(tee(a[0], b[1], 64, 0));
  TEXT(drain(b[0]));
  SAY(splice(a[0], NULL, out, NULL, 2, 0));
  SHOW(lseek(out, 0, SEEK_CUR));
  at = 6;
  SAY(splice(a[0], NULL, out, &at, 64, 0));
  SHOW(at);
  SHOW(lseek(out, 0, SEEK_END));
  SAY(splice(in, NULL, a[1], NULL, 100, 0));
  SHOW(lseek(in, 0, SEEK_CUR));
  SAY(splice(in, NULL, a[1], NULL, 100, 0));
  SAY(splice(a[0], NULL, b[1], NULL, 5, 0));
  TEXT(drain(b[0]));
  TEXT(drain(a[0]));
  SAY(splice(a[0], NULL, b[1], NULL, 5, SPLICE_F_NONBLOCK));
  SAY(tee(a[0], b[1], 5, SPLICE_F_NONBLOCK));

  SAY(splice(file, NULL, out, NULL, 1, 0));
  SAY(splice(a[0], &at, out, NULL, 1, 0));
  SAY(splice(in, NULL, a[1], &at, 1, 0));
  SAY(splice(a[0], NULL, a[1], NULL, 1, 0));
  SAY(splice(a[1], NULL, out, NULL, 1, 0));
  SAY(splice(a[0], NULL, in, NULL, 1, 0));
  SAY(splice(-1, NULL, a[1], NULL, 1, 0));
  SAY(splice(in, NULL, -1, NULL, 1, 0));
  SAY(splice(in, NULL, a[1], NULL, 1, 1u << 20));
  SAY(splice(-1, NULL, -1, NULL, 0, 0));
  MUST(write(a[1], "z", 1));
  SAY(splice(a[0], NULL, append, NULL, 1, 0));
  SAY(tee(a[0], a[1], 1, 0));
  SAY(tee(file, a[1], 1, 0));
  SAY(tee(a[0], -1, 1, 0));
  close(b[0]);
  signal(SIGPIPE, SIG_IGN);
  SAY(splice(a[0], NULL, b[1], NULL, 1, 0));
  close(a[1]);
  TEXT(drain(a[0]));
  SAY(splice(a[0], NULL, out, NULL, 1, 0));
  return 0;
}
