/* urandom - getrandom(2), urandom(4): as many bytes as asked, never twice the same, evenly spread. */
#include "posix.h"

#include <sys/random.h>

static void check(const char *who, const unsigned char *bytes, int len) {
  int count[256] = { 0 }, seen = 0;
  for (int i = 0; i < len; i++) count[bytes[i]]++;
  for (int i = 0; i < 256; i++) seen += count[i] > 0;
  say("%s: %s\n", who, seen == 256 ? "every byte occurs" : "some bytes are missing");
}

int main(void) {
  static unsigned char a[65536], b[65536];
  int fd = MUST(open("/dev/urandom", O_RDONLY));
  SAY(read(fd, a, sizeof a));
  SAY(read(fd, b, sizeof b));
  check("/dev/urandom", a, sizeof a);
  IS(memcmp(a, b, sizeof a) != 0);
  SAY(getrandom(b, 256, 0));
  SAY(getrandom(b, sizeof b, 0));
  check("getrandom", b, sizeof b);
  SAY(getrandom(b, 10, GRND_NONBLOCK));
  SAY(getrandom(b, 10, 0x1000));
  SAY(getrandom(b, 0, 0));
  SAY(getentropy(b, 256));
  SAY(getentropy(b, 257));

  int p[2];
  MUST(pipe(p));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    MUST(getrandom(a, 32, 0));
    MUST(write(p[1], a, 32));
    _exit(0);
  }
  MUST(getrandom(a, 32, 0));
  MUST(read(p[0], b, 32));
  IS(memcmp(a, b, 32) != 0);
  reap("child", pid);
  return 0;
}
