/* readv_writev - readv(2): pieces in order, short counts, empty pieces, too many pieces. */
#include "posix.h"

#include <sys/uio.h>

int main(void) {
  char a[4] = "", b[4] = "", c[16] = "";
  int fd = MUST(open("f", O_RDWR | O_CREAT, 0644));
  struct iovec out[4] = {
    { (char *)"one", 3 }, { (char *)"", 0 }, { (char *)"two", 3 }, { (char *)"three", 5 }
  };
  SAY(writev(fd, out, 4));
  get("f");
  SAY(writev(fd, out, 0));
  volatile int count = -1; /* volatile: the compiler must not see that these are wrong */
  SAY(writev(fd, out, count));
  count = IOV_MAX + 1;
  SAY(writev(fd, out, count));
  SAY(lseek(fd, 0, SEEK_SET));
  struct iovec in[3] = { { a, 3 }, { b, 3 }, { c, 15 } };
  SAY(readv(fd, in, 3));
  TEXT(a);
  TEXT(b);
  TEXT(c);
  SAY(readv(fd, in, 3));
  SAY(preadv(fd, in, 2, 3));
  TEXT(a);
  TEXT(b);
  SAY(pwritev(fd, out, 1, 1));
  get("f");
  SAY(lseek(fd, 0, SEEK_CUR));

  static struct iovec many[IOV_MAX];
  for (int i = 0; i < IOV_MAX; i++) many[i] = (struct iovec){ (char *)"x", 1 };
  SAY(ftruncate(fd, 0));
  SAY(lseek(fd, 0, SEEK_SET));
  SAY(writev(fd, many, IOV_MAX));
  SAY(file_size("f"));
  int pipes[2];
  MUST(pipe(pipes));
  SAY(writev(pipes[1], out, 4));
  memset(c, 0, sizeof c);
  SAY(read(pipes[0], c, sizeof c));
  TEXT(c);
  return 0;
}
