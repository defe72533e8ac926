/* mount_kinds - FIFOs, sockets and set-uid bits of the host are seen but are of no use. */
#include "../posix/posix.h"

int main(void) {
  struct stat st;
  SAY(stat("/shared/fifo", &st));
  IS(S_ISFIFO(st.st_mode));
  SAY(open("/shared/fifo", O_RDONLY | O_NONBLOCK));
  SAY(open("/shared/fifo", O_WRONLY | O_NONBLOCK));
  SAY(stat("/shared/socket", &st));
  IS(S_ISSOCK(st.st_mode));
  SAY(open("/shared/socket", O_RDWR));
  SAY(stat("/shared/set-uid", &st));
  SHOW(st.st_mode & (S_ISUID | S_ISGID));
  IS(st.st_uid == getuid());
  SAY(chmod("/shared/file", 04777));
  SAY(stat("/shared/file", &st));
  SHOW(st.st_mode & (S_ISUID | S_ISGID));
  SAY(mknod("/shared/device", S_IFCHR | 0666, 0x103));
  SAY(chown("/shared/file", 0, 0));
  return 0;
}
