/* stdio_buffering - setvbuf(3), fork(2), exit(3): buffered bytes are copied by fork, lost by _exit,
 * written by exit. */
#include "posix.h"

int main(void) {
  FILE *f = fopen("out", "w");
  fputs("once\n", f);
  fflush(f);
  fputs("buffered\n", f);
  pid_t pid = MUST(fork());
  if (pid == 0) {
    fclose(f); /* writes its copy of the buffer */
    _exit(0);
  }
  reap("child", pid);
  fclose(f);
  get("out");

  pid = MUST(fork());
  if (pid == 0) {
    f = fopen("lost", "w");
    fputs("never written", f);
    _exit(0);
  }
  reap("_exit", pid);
  get("lost");
  pid = MUST(fork());
  if (pid == 0) {
    f = fopen("kept", "w");
    fputs("written", f);
    exit(0);
  }
  reap("exit", pid);
  get("kept");

  f = fopen("modes", "w");
  static char buffer[8192];
  SAY(setvbuf(f, NULL, _IONBF, 0));
  fputs("a", f);
  SAY(file_size("modes"));
  fclose(f);
  f = fopen("modes", "w");
  SAY(setvbuf(f, buffer, _IOLBF, sizeof buffer));
  fputs("ab", f);
  SAY(file_size("modes"));
  fputs("c\nd", f);
  IS(file_size("modes") >= 4);
  fclose(f);
  SAY(file_size("modes"));
  f = fopen("modes", "w");
  SAY(setvbuf(f, buffer, _IOFBF, sizeof buffer));
  for (int i = 0; i < 100; i++) fputs("line\n", f);
  SAY(file_size("modes"));
  SAY(fflush(f));
  SAY(file_size("modes"));
  fclose(f);

  f = fopen("/dev/full", "w");
  IS(fputs("x", f) >= 0);
  SAY(fflush(f));
  IS(ferror(f));
  clearerr(f);
  IS(!ferror(f));
  setvbuf(f, NULL, _IONBF, 0);
  SAY(fputs("y", f));
  fclose(f);
  return 0;
}
