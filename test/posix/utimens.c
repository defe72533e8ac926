/* utimens - utimensat(2): set, now, omit; nanoseconds are kept; what changes which time. */
#include "posix.h"

#include <sys/time.h>
#include <utime.h>

static void times_of(const char *path) {
  struct stat st;
  MUST(lstat(path, &st));
  say("%s atime %lld.%09ld mtime %lld.%09ld\n", path, (long long)st.st_atim.tv_sec, st.st_atim.tv_nsec,
      (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static bool recent(struct timespec t) { return llabs((long long)time(NULL) - (long long)t.tv_sec) < 100; }

static void set_old(const char *path) {
  struct timespec t[2] = { { 1000, 1 }, { 2000, 2 } };
  MUST(utimensat(AT_FDCWD, path, t, 0));
}

static void modified(const char *what, const char *path) {
  struct stat st;
  MUST(stat(path, &st));
  say("%s: mtime %s, ctime %s\n", what, recent(st.st_mtim) ? "now" : "old",
      recent(st.st_ctim) ? "now" : "old");
  set_old(path);
}

int main(void) {
  struct stat st;
  put("f", "text");
  MUST(symlink("f", "s"));
  struct timespec t[2] = { { 1234567890, 123456789 }, { 987654321, 999999999 } };
  SAY(utimensat(AT_FDCWD, "f", t, 0));
  times_of("f");
  t[0].tv_nsec = UTIME_OMIT;
  t[1] = (struct timespec){ 5, 0 };
  SAY(utimensat(AT_FDCWD, "f", t, 0));
  times_of("f");
  t[1].tv_nsec = UTIME_NOW;
  SAY(utimensat(AT_FDCWD, "f", t, 0));
  MUST(stat("f", &st));
  IS(recent(st.st_mtim));
  SHOW(st.st_atim.tv_sec);
  SAY(utimensat(AT_FDCWD, "f", NULL, 0));
  MUST(stat("f", &st));
  IS(recent(st.st_atim) && recent(st.st_mtim));
  IS(st.st_mtim.tv_nsec == st.st_ctim.tv_nsec && st.st_atim.tv_nsec == st.st_mtim.tv_nsec); /* one moment */
  t[0] = t[1] = (struct timespec){ 77, 7 };
  SAY(utimensat(AT_FDCWD, "s", t, AT_SYMLINK_NOFOLLOW));
  times_of("s");
  t[0].tv_nsec = 1000000000;
  SAY(utimensat(AT_FDCWD, "f", t, 0));
  SAY(utimensat(AT_FDCWD, "none", NULL, 0));
  int fd = MUST(open("f", O_RDWR));
  t[0] = t[1] = (struct timespec){ 4000000000LL, 5 };
  SAY(futimens(fd, t));
  times_of("f");
  t[0] = t[1] = (struct timespec){ -100, 5 };
  SAY(futimens(fd, t));
  times_of("f");
  struct utimbuf u = { 11, 12 };
  SAY(utime("f", &u));
  times_of("f");
  struct timeval v[2] = { { 21, 500000 }, { 22, 7 } };
  SAY(utimes("f", v));
  times_of("f");

  set_old("f");
  MUST(write(fd, "x", 1));
  modified("write", "f");
  MUST(chmod("f", 0600));
  modified("chmod", "f");
  MUST(ftruncate(fd, 1));
  modified("truncate", "f");
  MUST(link("f", "g"));
  modified("link", "f");
  MUST(mkdir("d", 0755));
  set_old("d");
  put("d/x", "");
  modified("create in a directory", "d");
  put("d/x", "text");
  modified("write in a directory", "d");
  MUST(rename("d/x", "d/y"));
  modified("rename in a directory", "d");
  MUST(unlink("d/y"));
  modified("unlink in a directory", "d");
  return 0;
}
