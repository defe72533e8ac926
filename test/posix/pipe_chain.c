/* pipe_chain - a row of processes joined by pipes, as a shell's pipeline: all bytes arrive, in order, and
 * each process sees the end of its input when the one before it ends. */
#include "posix.h"

enum { STAGES = 6, TOTAL = 300000 };

static void add_one(int in, int out) {
  unsigned char block[1000];
  ssize_t n;
  while ((n = MUST(read(in, block, sizeof block))) > 0) {
    for (ssize_t i = 0; i < n; i++) block[i]++;
    for (ssize_t done = 0; done < n;) done += MUST(write(out, block + done, (size_t)(n - done)));
  }
}

static void produce(int out) {
  unsigned char block[777];
  for (int sent = 0; sent < TOTAL;) {
    int n = TOTAL - sent < (int)sizeof block ? TOTAL - sent : (int)sizeof block;
    for (int i = 0; i < n; i++) block[i] = (unsigned char)((sent + i) % 251);
    for (int done = 0; done < n;) done += MUST(write(out, block + done, (size_t)(n - done)));
    sent += n;
  }
}

int main(void) {
  int in = -1;
  pid_t pids[STAGES];
  for (int i = 0; i < STAGES; i++) {
    int fd[2];
    MUST(pipe(fd));
    pids[i] = MUST(fork());
    if (pids[i] == 0) {
      close(fd[0]);
      if (i == 0)
        produce(fd[1]);
      else
        add_one(in, fd[1]);
      _exit(i);
    }
    close(fd[1]);
    if (in >= 0) close(in);
    in = fd[0];
  }
  int total = 0, wrong = 0;
  unsigned char block[4096];
  ssize_t n;
  while ((n = MUST(read(in, block, sizeof block))) > 0)
    for (ssize_t i = 0; i < n; i++, total++)
      if (block[i] != (unsigned char)(total % 251 + STAGES - 1)) wrong++;
  SHOW(total);
  SHOW(wrong);
  for (int i = 0; i < STAGES; i++) reap("stage", pids[i]);
  return 0;
}
