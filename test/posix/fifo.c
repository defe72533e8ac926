/* fifo - fifo(7): opening waits for the other side, O_NONBLOCK does not, and the name is only a meeting
 * place. */
#include "posix.h"

int main(void) {
  char text[16] = "";
  struct stat st;
  SAY(mkfifo("f", 0640));
  SAY(mkfifo("f", 0640));
  SAY(mkfifo("none/f", 0640));
  MUST(stat("f", &st));
  IS(S_ISFIFO(st.st_mode));
  say("mode %o\n", st.st_mode & 0777);

  SAY(open("f", O_WRONLY | O_NONBLOCK));
  int r = OK(open("f", O_RDONLY | O_NONBLOCK));
  SAY(read(r, text, sizeof text));
  int w = OK(open("f", O_WRONLY | O_NONBLOCK));
  SAY(read(r, text, sizeof text));
  SAY(write(w, "hello", 5));
  SAY(read(r, text, sizeof text));
  TEXT(text);
  MUST(close(w));
  SAY(read(r, text, sizeof text));
  w = MUST(open("f", O_WRONLY));
  SAY(read(r, text, sizeof text));
  SAY(lseek(w, 0, SEEK_CUR));
  MUST(close(w));
  MUST(close(r));

  pid_t pid = MUST(fork());
  if (pid == 0) {
    int fd = MUST(open("f", O_WRONLY));
    MUST(write(fd, "from child", 10));
    _exit(0);
  }
  r = MUST(open("f", O_RDONLY));
  memset(text, 0, sizeof text);
  SAY(read(r, text, sizeof text));
  TEXT(text);
  SAY(read(r, text, sizeof text));
  reap("child", pid);
  MUST(close(r));

  r = OK(open("f", O_RDWR));
  SAY(write(r, "self", 4));
  SAY(unlink("f"));
  memset(text, 0, sizeof text);
  SAY(read(r, text, sizeof text));
  TEXT(text);

  /* A blocked open is interrupted by a signal without SA_RESTART. */
  MUST(mkfifo("g", 0600));
  pid = MUST(fork());
  if (pid == 0) {
    open("g", O_RDONLY);
    _exit(0);
  }
  sleep_ms(20);
  MUST(kill(pid, SIGTERM));
  reap("blocked in open", pid);
  return 0;
}
