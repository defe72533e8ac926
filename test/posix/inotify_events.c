/* inotify_events - inotify(7): which events a change gives, to the watch of a directory and of the file itself. */
#include "posix.h"

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

static int in;

static const name_of events[] = {
  { IN_ACCESS, "ACCESS" },
  { IN_MODIFY, "MODIFY" },
  { IN_ATTRIB, "ATTRIB" },
  { IN_CLOSE_WRITE, "CLOSE_WRITE" },
  { IN_CLOSE_NOWRITE, "CLOSE_NOWRITE" },
  { IN_OPEN, "OPEN" },
  { IN_MOVED_FROM, "MOVED_FROM" },
  { IN_MOVED_TO, "MOVED_TO" },
  { IN_CREATE, "CREATE" },
  { IN_DELETE, "DELETE" },
  { IN_DELETE_SELF, "DELETE_SELF" },
  { IN_MOVE_SELF, "MOVE_SELF" },
  { IN_IGNORED, "IGNORED" },
  { IN_ISDIR, "ISDIR" },
};

/* Equal numbers for the two halves of a move. */
static unsigned cookie_of(unsigned cookie) {
  static unsigned last, count;
  if (cookie == 0) return 0;
  if (cookie != last) count++;
  last = cookie;
  return count;
}

static void say_event(const struct inotify_event *e) {
  say("  watch %d:", e->wd);
  for (size_t i = 0; i < COUNT_OF(events); i++)
    if ((e->mask & (unsigned)events[i].number) != 0) say(" %s", events[i].name);
  if (e->cookie != 0) say(" move %u", cookie_of(e->cookie));
  if (e->len != 0) say(" \"%s\" (%u)", e->name, e->len);
  say("\n");
}

static void told(const char *what) {
  static _Alignas(struct inotify_event) char buf[8192];
  ssize_t n;
  say("%s\n", what);
  while ((n = read(in, buf, sizeof buf)) > 0)
    for (ssize_t at = 0; at < n;) {
      const struct inotify_event *e = (const void *)(buf + at);
      say_event(e);
      at += (ssize_t)(sizeof *e + e->len);
    }
}

#define DO(...) ((void)MUST(__VA_ARGS__), told(#__VA_ARGS__))

static void files(void) {
  char byte;
  int fd = MUST(open("d/a", O_CREAT | O_RDWR | O_TRUNC, 0644));
  told("a new file");
  SAY(inotify_add_watch(in, "d/a", IN_ALL_EVENTS));
  DO(write(fd, "xy", 2));
  DO(pread(fd, &byte, 1, 0));
  DO(read(fd, &byte, 1));
  int other = MUST(open("d/a", O_WRONLY | O_TRUNC));
  told("opened and cut");
  DO(close(other));
  DO(ftruncate(fd, 5));
  DO(fallocate(fd, 0, 0, 100));
  DO(fchmod(fd, 0600));
  MUST(write(fd, "1", 1));
  MUST(write(fd, "2", 1));
  told("equal events are one");
  DO(unlink("d/a"));
  DO(write(fd, "z", 1));
  DO(close(fd));
  fd = MUST(open("d/quiet", O_CREAT | O_RDWR, 0644));
  told("another");
  SAY(inotify_add_watch(in, "d", IN_ALL_EVENTS | IN_EXCL_UNLINK));
  DO(unlink("d/quiet"));
  DO(close(fd));
  SAY(inotify_add_watch(in, "d", IN_ALL_EVENTS));
}

static void names(void) {
  put("d/b", "b");
  SAY(inotify_add_watch(in, "d/b", IN_ALL_EVENTS));
  told("put");
  DO(link("d/b", "d/c"));
  DO(unlink("d/b"));
  DO(rename("d/c", "d/e"));
  put("d/f", "f");
  SAY(inotify_add_watch(in, "d/f", IN_ALL_EVENTS));
  told("put");
  DO(rename("d/e", "d/f"));
  DO(unlink("d/f"));
  DO(symlink("nowhere", "d/link"));
  DO(mkfifo("d/fifo", 0600));
  DO(unlink("d/link"));
  int fd = MUST(open("d/fifo", O_RDWR));
  MUST(write(fd, "a", 1));
  DO(close(fd));
  DO(unlink("d/fifo"));
  put("outside", "o");
  DO(rename("outside", "d/inside"));
  DO(rename("d/inside", "outside"));
  MUST(unlink("outside"));
}

static void directories(void) {
  DO(mkdir("d/s", 0755));
  SAY(inotify_add_watch(in, "d/s", IN_ALL_EVENTS));
  DIR *dir = opendir("d/s");
  told("opendir");
  readdir(dir);
  told("readdir");
  closedir(dir);
  told("closedir");
  DO(chmod("d/s", 0700));
  DO(rename("d/s", "d/t"));
  DO(mkdir("d/u", 0755));
  DO((int)syscall(SYS_renameat2, AT_FDCWD, "d/t", AT_FDCWD, "d/u", 2));
  DO(rename("d/u", "d/t"));
  int fd = MUST(open("d/t", O_RDONLY | O_DIRECTORY));
  told("open");
  DO(rmdir("d/t"));
  DO(close(fd));
  DO(mkdir("d/v", 0755));
  SAY(inotify_add_watch(in, "d/v", IN_DELETE_SELF | IN_MOVE_SELF));
  DO(rmdir("d/v"));
}

static void attributes(void) {
  struct timespec both[2] = { { 1, 0 }, { 2, 0 } };
  struct timespec first[2] = { { 1, 0 }, { 0, UTIME_OMIT } }, second[2] = { { 0, UTIME_OMIT }, { 2, 0 } };
  put("d/x", "text");
  told("put");
  DO(utimensat(AT_FDCWD, "d/x", both, 0));
  DO(utimensat(AT_FDCWD, "d/x", first, 0));
  DO(utimensat(AT_FDCWD, "d/x", second, 0));
  DO(chmod("d/x", 0640));
  DO(chown("d/x", getuid(), getgid()));
  DO(truncate("d/x", 3));
  int fd = MUST(open("d/x", O_PATH));
  DO(close(fd));
  DO(access("d/x", R_OK));
  fd = MUST(open("d/x", O_RDONLY));
  int to = MUST(open("d/y", O_CREAT | O_WRONLY, 0644));
  told("two files");
  DO((int)copy_file_range(fd, NULL, to, NULL, 2, 0));
  close(to);
  DO(close(fd));
}

static void by_another_process(void) {
  pid_t pid = MUST(fork());
  if (pid == 0) {
    put("d/of_child", "c");
    _exit(0);
  }
  reap("child", pid);
  told("after its end");
}

int main(void) {
  MUST(mkdir("d", 0755));
  in = MUST(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  SAY(inotify_add_watch(in, "d", IN_ALL_EVENTS));
  files();
  names();
  directories();
  attributes();
  by_another_process();
  return 0;
}
