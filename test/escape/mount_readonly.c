/* mount_readonly - a directory mounted for reading cannot be changed in any way. */
#include "../posix/posix.h"

#include <sys/mman.h>
#include <sys/time.h>

int main(void) {
  struct stat st;
  char text[32];
  get("/readonly/file");
  SAY(open("/readonly/file", O_WRONLY));
  SAY(open("/readonly/file", O_RDWR));
  SAY(open("/readonly/file", O_RDONLY | O_TRUNC));
  SAY(open("/readonly/file", O_WRONLY | O_APPEND));
  SAY(open("/readonly/new", O_WRONLY | O_CREAT, 0644));
  SAY(open("/readonly/new", O_RDONLY | O_CREAT | O_EXCL, 0644));
  SAY(truncate("/readonly/file", 0));
  SAY(unlink("/readonly/file"));
  SAY(rmdir("/readonly/dir"));
  SAY(mkdir("/readonly/new", 0755));
  SAY(symlink("x", "/readonly/new"));
  SAY(link("/readonly/file", "/readonly/new"));
  SAY(mkfifo("/readonly/new", 0644));
  SAY(rename("/readonly/file", "/readonly/dir/file"));
  SAY(rename("/readonly/file", "/tmp/file"));
  put("/tmp/mine", "x");
  SAY(rename("/tmp/mine", "/readonly/mine"));
  SAY(link("/readonly/file", "/tmp/file"));
  SAY(chmod("/readonly/file", 0777));
  SAY(utimes("/readonly/file", NULL));
  SAY(access("/readonly/file", W_OK));
  SAY(access("/readonly/dir", W_OK));

  int fd = MUST(open("/readonly/file", O_RDONLY));
  SAY(write(fd, "x", 1));
  SAY(ftruncate(fd, 0));
  SAY(fchmod(fd, 0777));
  SAY(futimens(fd, NULL));
  SAY(posix_fallocate(fd, 0, 100) != 0);
  snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
  SAY(open(text, O_RDWR));
  SAY(open(text, O_WRONLY | O_TRUNC));
  char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (map != MAP_FAILED) map[0] = 'X';
  IS(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);

  int dir = MUST(open("/readonly/dir", O_RDONLY | O_DIRECTORY));
  SAY(openat(dir, "new", O_WRONLY | O_CREAT, 0644));
  SAY(openat(dir, "../file", O_WRONLY));
  SAY(mkdirat(dir, "new", 0755));
  SAY(unlinkat(dir, "inside", 0));
  SAY(chdir("/readonly"));
  SAY(open("file", O_WRONLY));
  SAY(stat("file", &st));
  SHOW(st.st_size);
  get("file");
  return 0;
}
