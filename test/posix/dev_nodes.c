/* dev_nodes - null(4), full(4), random(4): the devices, their numbers, and what reading and writing them
 * does. */
#include "posix.h"

#include <sys/sysmacros.h>

static void node(const char *path) {
  struct stat st;
  MUST(stat(path, &st));
  say("%s: %s %u,%u %04o\n", path, S_ISCHR(st.st_mode) ? "character" : "other", major(st.st_rdev),
      minor(st.st_rdev), st.st_mode & 0777);
}

int main(void) {
  char text[16];
  struct stat st;
  node("/dev/null");
  node("/dev/zero");
  node("/dev/full");
  node("/dev/random");
  node("/dev/urandom");

  int fd = MUST(open("/dev/null", O_RDWR));
  SAY(read(fd, text, 1));
  SAY(write(fd, "anything", 8));
  SAY(lseek(fd, 100, SEEK_SET));
  SAY(ftruncate(fd, 0));
  OK(open("/dev/null", O_WRONLY | O_TRUNC | O_CREAT, 0644));
  SAY(isatty(fd));
  say("%s\n", error_name(errno));

  fd = MUST(open("/dev/zero", O_RDWR));
  memset(text, 'x', sizeof text);
  SAY(read(fd, text, sizeof text));
  IS(text[0] == 0 && text[15] == 0);
  SAY(write(fd, text, 5));

  fd = MUST(open("/dev/full", O_RDWR));
  memset(text, 'x', sizeof text);
  SAY(read(fd, text, 4));
  IS(text[0] == 0 && text[4] == 'x');
  SAY(write(fd, text, 1));
  SAY(write(fd, text, 0));

  fd = MUST(open("/dev/urandom", O_RDWR));
  SAY(lseek(fd, -5, SEEK_END)); /* tail -c tries it */
  SAY(lseek(fd, 100, SEEK_SET));
  SAY(pread(fd, text, 8, 1000));
  SAY(read(fd, text, 8));
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(pwrite(fd, text, 8, 1000));

  put("f", "via /dev/fd");
  MUST(dup2(MUST(open("f", O_RDONLY)), 30));
  get("/dev/fd/30");
  MUST(dup2(30, 0));
  SAY(lseek(0, 4, SEEK_SET));
  get("/dev/stdin"); /* a new description of the same file */
  MUST(stat("/dev/stdin", &st));
  IS(S_ISREG(st.st_mode));
  SAY(readlink("/dev/fd", text, sizeof text));
  SAY(open("/dev/fd/77", O_RDONLY));
  SAY(open("/dev/none", O_RDONLY));
  return 0;
}
