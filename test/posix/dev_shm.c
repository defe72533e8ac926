/* dev_shm - /dev/shm: a directory in memory that everybody may write (shm_overview(7)). */
#include "posix.h"

#include <sys/mman.h>
#include <sys/vfs.h>

int main(void) {
  struct stat st;
  struct statfs fs;
  char name[64];
  MUST(stat("/dev/shm", &st));
  SHOW(st.st_mode & 07777);
  struct stat root;
  MUST(stat("/", &root));
  IS(st.st_dev != root.st_dev);
  MUST(statfs("/dev/shm", &fs));
  IS(fs.f_type == 0x01021994);
  snprintf(name, sizeof name, "/cay-posix-%d", (int)getpid());
  int fd = (int)OK(shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600));
  SAY(ftruncate(fd, 4096));
  SAY(pwrite(fd, "shared", 6, 0));
  SAY(shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600));
  char *mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  IS(mapped != MAP_FAILED);
  TEXT(mapped);
  SAY(shm_unlink(name));
  SAY(shm_unlink(name));
  return 0;
}
