/* many_fds - two hundred open files at once: each keeps its own offset, numbers are reused lowest first. */
#include "posix.h"

#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { FILES = 200 };

int main(void) {
  static int fd[FILES];
  char name[16], text[16];
  int right = 0, wrong = 0;
  for (int i = 0; i < FILES; i++) {
    snprintf(name, sizeof name, "f%d", i);
    fd[i] = MUST(open(name, O_RDWR | O_CREAT, 0644));
    wrong += fd[i] != i + 3;
  }
  SHOW(wrong);
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < FILES; i++) {
      int len = snprintf(text, sizeof text, "%d.", i);
      MUST(write(fd[i], text, (size_t)len));
    }
  for (int i = 0; i < FILES; i++) {
    char want[32];
    snprintf(want, sizeof want, "%d.%d.%d.", i, i, i);
    memset(text, 0, sizeof text);
    MUST(pread(fd[i], text, sizeof text - 1, 0));
    right += strcmp(text, want) == 0;
  }
  SHOW(right);
  close(fd[100]);
  close(fd[50]);
  close(fd[150]);
  IS(open("f1", O_RDONLY) == fd[50]);
  IS(open("f1", O_RDONLY) == fd[100]);
  IS(open("f1", O_RDONLY) == fd[150]);
  IS(open("f1", O_RDONLY) == fd[FILES - 1] + 1);
  SAY(syscall(SYS_close_range, 100, ~0u, 0)); /* not every C library has a function for it */
  SAY(fcntl(99, F_GETFD));
  SAY(fcntl(100, F_GETFD));
  SAY(fcntl(150, F_GETFD));
  return 0;
}
