/* pipe_atomicity - pipe(7): a write of up to PIPE_BUF bytes is never mixed with another writer's, and a
 * non-blocking one is all or nothing. */
#include "posix.h"

enum { WRITERS = 4, RECORDS = 40 };

static void write_records(int fd, char letter) {
  char record[PIPE_BUF];
  memset(record, letter, sizeof record);
  for (int i = 0; i < RECORDS; i++) MUST(write(fd, record, sizeof record));
}

static bool read_record(int fd, char *record) {
  size_t have = 0;
  while (have < PIPE_BUF) {
    ssize_t n = MUST(read(fd, record + have, PIPE_BUF - have));
    if (n == 0) return false;
    have += (size_t)n;
  }
  return true;
}

static void writers_do_not_mix(void) {
  int fd[2];
  MUST(pipe(fd));
  for (int i = 0; i < WRITERS; i++) {
    if (MUST(fork()) == 0) {
      close(fd[0]);
      write_records(fd[1], (char)('a' + i));
      _exit(0);
    }
  }
  close(fd[1]);

  char record[PIPE_BUF];
  int whole[WRITERS] = { 0 }, mixed = 0;
  while (read_record(fd[0], record)) {
    if (memcmp(record, record + 1, sizeof record - 1) != 0)
      mixed++;
    else
      whole[record[0] - 'a']++;
  }
  close(fd[0]);
  for (int i = 0; i < WRITERS; i++) say("writer %c: %d whole records\n", 'a' + i, whole[i]);
  SHOW(mixed);
  while (wait(NULL) > 0) {}
}

static void a_small_write_is_all_or_nothing(void) {
  int fd[2];
  static char block[PIPE_BUF];
  MUST(pipe2(fd, O_NONBLOCK));
  while (write(fd[1], block, sizeof block) == sizeof block) {}
  SAY(write(fd[1], block, sizeof block));
  SAY(read(fd[0], block, PIPE_BUF - 1));
  SAY(write(fd[1], block, PIPE_BUF));
  while (read(fd[0], block, sizeof block) > 0) {}
  SAY(write(fd[1], block, PIPE_BUF));
}

int main(void) {
  SHOW(PIPE_BUF);
  writers_do_not_mix();
  a_small_write_is_all_or_nothing();
  return 0;
}
