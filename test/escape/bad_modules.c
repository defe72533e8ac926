/* bad_modules - files that look like programs and are not: exec refuses each with an error, and the caller
 * goes on. */
#include "../posix/posix.h"

#define HEAD "\0asm\1\0\0\0"

static void try(const char *name, const void *bytes, size_t len) {
  int fd = MUST(open("x", O_WRONLY | O_CREAT | O_TRUNC, 0755));
  MUST(write(fd, bytes, len));
  close(fd);
  pid_t pid = MUST(fork());
  if (pid == 0) {
    execl("./x", "x", (char *)NULL);
    _exit(errno == ENOEXEC ? 100 : errno == ENOMEM ? 101 : errno == EINVAL ? 102 : 103);
  }
  int status;
  MUST(waitpid(pid, &status, 0));
  bool refused = WIFEXITED(status) && WEXITSTATUS(status) >= 100 && WEXITSTATUS(status) <= 102;
  say("%s: %s\n", name, refused ? "refused" : WIFSIGNALED(status) ? "ended" : "something else");
}

#define TRY(name, text) try(name, text, sizeof text - 1)

int main(void) {
  TRY("four bytes", "\0asm");
  TRY("another version", "\0asm\2\0\0\0");
  TRY("a component", "\0asm\x0d\0\1\0");
  TRY("nothing inside", HEAD);
  TRY("a section beyond the end", HEAD "\1\xff\xff\xff\x7f");
  TRY("a length that never ends", HEAD "\1\x80\x80\x80\x80\x80\x80\x80\x80");
  TRY("an unknown section", HEAD "\x7f\1\0");
  TRY("sections out of order", HEAD "\3\1\0\1\1\0");
  TRY("a memory of 4 GiB", HEAD "\5\5\1\1\x80\x80\4\x80\x80\4");
  TRY("a memory that is too big", HEAD "\5\4\1\0\x81\x80\4");
  TRY("two memories", HEAD "\5\5\2\0\1\0\1");
  TRY("an import of an unknown module", HEAD "\1\4\1\x60\0\0\2\x0b\1\3"
                                             "foo\3"
                                             "bar\0\0");
  TRY("an import of a memory", HEAD "\2\x0f\1\5linux\6memory\2\0\1");
  TRY("an import of the wrong type", HEAD "\1\4\1\x60\0\0\2\x11\1\5linux\7syscall\0\0");
  TRY("a start function", HEAD "\1\4\1\x60\0\0\3\2\1\0\x08\1\0\x0a\4\1\2\0\x0b");
  TRY("a body that lies", HEAD "\1\4\1\x60\0\0\3\2\1\0\x0a\5\1\3\0\x6a\x0b");
  TRY("a table of 2^32", HEAD "\4\7\1\x70\0\xff\xff\xff\xff\x0f");
  TRY("ELF", "\x7f"
             "ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\x3e\0\1\0\0\0");

  static char big[1 << 20] = HEAD;
  memset(big + 8, 0xff, sizeof big - 8);
  try("a megabyte of ones", big, sizeof big);
  uint32_t r = 7;
  for (int round = 0; round < 50; round++) {
    for (size_t i = 8; i < 600; i++) big[i] = (char)((r = r * 1664525u + 1013904223u) >> 24);
    int fd = MUST(open("x", O_WRONLY | O_CREAT | O_TRUNC, 0755));
    MUST(write(fd, big, 600));
    close(fd);
    pid_t pid = MUST(fork());
    if (pid == 0) {
      execl("./x", "x", (char *)NULL);
      _exit(0);
    }
    MUST(waitpid(pid, NULL, 0));
  }
  say("fifty more at random\n");

  /* A whole program, cut short at several places. */
  static char self[1 << 20];
  int fd = MUST(open(SELF, O_RDONLY));
  ssize_t len = MUST(read(fd, self, sizeof self));
  close(fd);
  int refused = 0;
  for (int part = 1; part <= 9; part++) {
    fd = MUST(open("x", O_WRONLY | O_CREAT | O_TRUNC, 0755));
    MUST(write(fd, self, (size_t)(len * part / 10)));
    close(fd);
    pid_t pid = MUST(fork());
    if (pid == 0) {
      execl("./x", "x", (char *)NULL);
      _exit(100);
    }
    int status;
    MUST(waitpid(pid, &status, 0));
    refused += WIFEXITED(status) && WEXITSTATUS(status) == 100;
  }
  SHOW(refused);
  return 0;
}
