/* mmap_shared - mmap(2) with MAP_SHARED, msync(2), mremap(2): bytes written to the memory are in the file
 * and the other way round, for this process at any time, for another after munmap, msync, exec or exit. */
#include "posix.h"

#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 5, LEN = PAGES * PAGE - 100 };

static char got[PAGES * PAGE];

static const char *at(int fd, off_t off, size_t len) {
  memset(got, 0, sizeof got);
  MUST(pread(fd, got, len, off));
  return got;
}

static int make(const char *name, int flags) {
  int fd = MUST(open(name, O_RDWR | O_CREAT | O_TRUNC | flags, 0644));
  for (int i = 0; i < LEN; i++) got[i] = (char)('a' + i / PAGE);
  MUST(write(fd, got, LEN));
  return fd;
}

static char *map(int fd, size_t len, off_t off) {
  char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
  IS(p != MAP_FAILED);
  return p;
}

static void one_process_sees_both(void) {
  int fd = make("both", 0);
  char *p = map(fd, LEN, 0);
  memcpy(p + PAGE - 2, "WXYZ", 4);
  say("read: %.6s\n", at(fd, PAGE - 3, 6));
  MUST(lseek(fd, PAGE, SEEK_SET));
  MUST(write(fd, "12", 2));
  say("after write: %.5s\n", p + PAGE - 2);
  p[PAGE + 2] = '3';
  MUST(pwrite(fd, "4", 1, PAGE + 3));
  say("both in a page: %.5s\n", p + PAGE);
  say("and in the file: %.5s\n", at(fd, PAGE, 5));
  int other = MUST(open("both", O_RDWR | O_APPEND));
  p[2 * PAGE] = '!';
  MUST(write(other, "appended", 8));
  say("the last page goes on: %.8s\n", p + LEN);
  say("other descriptor: %.2s\n", at(other, 2 * PAGE, 2));
  SAY(ftruncate(fd, 3 * PAGE + 10));
  say("cut: %d %d\n", p[3 * PAGE + 9], p[3 * PAGE + 10]);
  SAY(ftruncate(fd, LEN));
  p[PAGES * PAGE - 1] = 'x'; /* beyond the end: in no file */
  SAY(munmap(p, LEN));
  struct stat st;
  MUST(fstat(fd, &st));
  say("size %ld\n", (long)st.st_size);
  close(other);
  close(fd);
}

static void the_descriptor_may_be_closed(void) {
  int fd = make("closed", 0);
  char *p = map(fd, 2 * PAGE, PAGE);
  close(fd);
  memcpy(p, "first", 5);
  memcpy(p + PAGE, "second", 6);
  SAY(unlink("closed"));
  fd = make("closed", 0); /* another file of the name, with the number it had */
  SAY(munmap(p, 2 * PAGE));
  say("the new file has %.3s\n", at(fd, PAGE, 3));
  close(fd);
}

static void through_append(void) {
  int fd = make("append", O_APPEND);
  char *p = map(fd, PAGE, 0);
  p[0] = 'A';
  SAY(msync(p, PAGE, MS_SYNC));
  say("%.2s, size %ld, still appending: %d\n", at(fd, 0, 2), (long)lseek(fd, 0, SEEK_END),
      (fcntl(fd, F_GETFL) & O_APPEND) != 0);
  SAY(munmap(p, PAGE));
  close(fd);
}

static void parts_are_unmapped(void) {
  int fd = make("parts", 0);
  char *p = map(fd, PAGES * PAGE, 0);
  for (int i = 0; i < PAGES; i++) p[i * PAGE] = (char)('0' + i);
  SAY(munmap(p + 2 * PAGE, PAGE));
  p[0] = 'F', p[4 * PAGE] = 'L';
  SAY(munmap(p, PAGE));
  p[PAGE] = 'S', p[3 * PAGE] = 'T';
  SAY(munmap(p + 4 * PAGE, PAGE));
  SAY(msync(p + PAGE, PAGE, MS_SYNC));
  SAY(msync(p + 3 * PAGE, PAGE, MS_ASYNC));
  for (int i = 0; i < PAGES; i++) say("%c", at(fd, i * PAGE, 1)[0]);
  say("\n");
  IS(msync(p, PAGE, MS_SYNC) == -1 && errno == ENOMEM);
  IS(msync(p + PAGE, PAGE, MS_SYNC | MS_ASYNC) == -1 && errno == EINVAL);
  IS(msync(p + PAGE + 1, PAGE, MS_SYNC) == -1 && errno == EINVAL);
  char *fixed = mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  IS(fixed == p + PAGE && fixed[0] == 0);
  fixed[0] = 'N';
  say("mapped over: %c\n", at(fd, PAGE, 1)[0]);
  SAY(munmap(p, PAGES * PAGE));
  close(fd);
}

static void it_grows_and_shrinks(void) {
  int fd = make("grows", 0);
  char *p = map(fd, PAGE, 0);
  p[1] = 'B';
  p = mremap(p, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
  IS(p != MAP_FAILED);
  say("%.3s %c %c\n", p, p[PAGE], p[2 * PAGE]);
  p[PAGE - 1] = 'R'; /* in the page, though not in a length that is asked for */
  p = mremap(p, 2 * PAGE + 1, 300 * PAGE, MREMAP_MAYMOVE);
  IS(p != MAP_FAILED && p[PAGE - 1] == 'R' && p[2 * PAGE + 7] == 'c');
  p = mremap(p, 300 * PAGE, 3 * PAGE, 0);
  p[2 * PAGE] = 'C';
  p = mremap(p, 3 * PAGE, 2 * PAGE, 0);
  IS(p != MAP_FAILED);
  say("%c\n", at(fd, 2 * PAGE, 1)[0]);
  SAY(ftruncate(fd, 600 * PAGE));
  p = mremap(p, 2 * PAGE, 600 * PAGE, MREMAP_MAYMOVE);
  IS(p != MAP_FAILED);
  say("%d\n", p[599 * PAGE]);
  p[599 * PAGE] = 'E';
  p[PAGE] = 'M';
  SAY(munmap(p, 600 * PAGE));
  say("%.1s%.1s\n", at(fd, 599 * PAGE, 1), "");
  say("%.1s\n", at(fd, PAGE, 1));
  close(fd);
}

static void children(void) {
  int fd = make("children", 0);
  char *p = map(fd, LEN, 0);
  p[0] = 'P';
  pid_t child = MUST(fork());
  if (!child) {
    int own = MUST(open("children", O_RDONLY));
    say("the child reads %.1s\n", at(own, 0, 1));
    p[PAGE] = 'C';
    exit(0);
  }
  MUST(waitpid(child, NULL, 0));
  say("after its exit: %.1s%.1s\n", at(fd, 0, 1), "");
  say("%.1s\n", at(fd, PAGE, 1));
  p[2] = 'E';
  fflush(stdout);
  if (!(child = MUST(fork()))) {
    p[3] = 'X';
    execlp("dd", "dd", "if=children", "bs=4", "count=1", "status=none", (char *)NULL);
    _exit(1);
  }
  MUST(waitpid(child, NULL, 0));
  say("\n");
  SAY(munmap(p, LEN));
  close(fd);
}

static void rights(void) {
  close(make("rights", 0));
  int r = MUST(open("rights", O_RDONLY)), w = MUST(open("rights", O_RDWR));
  IS(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r, 0) == MAP_FAILED && errno == EACCES);
  char *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, r, 0);
  IS(p != MAP_FAILED && p[0] == 'a');
  char *q = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, w, 0);
  MUST(pwrite(w, "Q", 1, 0));
  say("seen through a mapping to read: %c\n", q[0]);
  SAY(mprotect(q, PAGE, PROT_READ | PROT_WRITE));
  q[1] = 'R';
  say("%.2s\n", at(r, 0, 2));
  SAY(munmap(p, PAGE));
  SAY(munmap(q, PAGE));
  close(r);
  close(w);
}

static void many(void) {
  static char *maps[200]; /* more than a table holds */
  int fd = make("many", 0);
  for (int i = 0; i < 200; i++) maps[i] = map(fd, PAGE, (i % PAGES) * PAGE);
  for (int i = 0; i < 200; i++) {
    maps[i][i] = '*';
    MUST(munmap(maps[i], PAGE));
  }
  for (int i = 0; i < PAGES; i++) {
    const char *page = at(fd, i * PAGE, 200);
    int stars = 0;
    for (int k = 0; k < 200; k++) stars += page[k] == '*';
    say("%d ", stars);
  }
  say("\n");
  close(fd);
}

int main(void) {
  one_process_sees_both();
  the_descriptor_may_be_closed();
  through_append();
  parts_are_unmapped();
  it_grows_and_shrinks();
  children();
  rights();
  many();
  return 0;
}
