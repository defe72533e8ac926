/* sync_errors - fsync(2), fdatasync(2), posix_fadvise(3), readahead(2) on files without storage. */
#include "posix.h"

#include <sys/socket.h>

static void look(const char *name, int fd) {
  say("%s\n", name);
  SAY(fsync(fd));
  SAY(fdatasync(fd));
  SAY(sync_file_range(fd, 0, 1, 0));
  SAY(sync_file_range(fd, 0, 1, 1u << 20));
  SHOW(posix_fadvise(fd, 0, 1, POSIX_FADV_NORMAL));
  SHOW(posix_fadvise(fd, 0, 1, 77));
  SAY(readahead(fd, 0, 1));
}

int main(void) {
  int ends[2], sockets[2];
  MUST(pipe(ends));
  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
  MUST(mkfifo("fifo", 0644));
  look("file", MUST(open("f", O_CREAT | O_RDWR, 0644)));
  look("pipe", ends[0]);
  look("fifo", MUST(open("fifo", O_RDWR)));
  look("none", -1);
  SAY(fsync(sockets[0]));
  SAY(fsync(MUST(open("/dev/null", O_RDWR))));
  SAY(fsync(MUST(open("/dev/zero", O_RDWR))));
  SAY(fsync(MUST(open(".", O_RDONLY | O_DIRECTORY))));
  SAY(fsync(MUST(open("f", O_PATH))));
  return 0;
}
