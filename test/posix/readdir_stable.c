/* readdir_stable - readdir(3): every entry that is there from start to end is seen exactly once, however the
 * directory changes meanwhile; "." and ".." are listed; rewinddir sees new entries. */
#include "posix.h"

#include <dirent.h>

enum { FILES = 300 };

static int seen[FILES];

static int scan(DIR *dir, bool change) {
  int dots = 0, added = 0;
  memset(seen, 0, sizeof seen);
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    int n;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) dots++;
    if (sscanf(e->d_name, "file%d", &n) != 1) continue;
    seen[n]++;
    char path[64];
    if (!change) continue;
    snprintf(path, sizeof path, "many/new%d", added++);
    put(path, "");
    snprintf(path, sizeof path, "many/file%d", n);
    if (n % 2 == 1) MUST(unlink(path)); /* entries already seen may go */
  }
  return dots;
}

static void report(void) {
  int once = 0, more = 0;
  for (int i = 0; i < FILES; i++) {
    once += seen[i] == 1;
    more += seen[i] > 1;
  }
  say("seen once %d, more than once %d\n", once, more);
}

int main(void) {
  char path[64];
  MUST(mkdir("many", 0755));
  for (int i = 0; i < FILES; i++) {
    snprintf(path, sizeof path, "many/file%d", i);
    put(path, "");
  }
  DIR *dir = opendir("many");
  SHOW(scan(dir, true));
  report();
  rewinddir(dir);
  SHOW(scan(dir, false));
  report();
  SAY(closedir(dir));

  MUST(mkdir("kinds", 0755));
  MUST(mkdir("kinds/dir", 0755));
  put("kinds/file", "");
  MUST(symlink("file", "kinds/link"));
  MUST(mkfifo("kinds/fifo", 0644));
  struct dirent **list;
  int kinds = MUST(open("kinds", O_RDONLY | O_DIRECTORY));
  int count = scandir("kinds", &list, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    struct stat st;
    MUST(fstatat(kinds, list[i]->d_name, &st, AT_SYMLINK_NOFOLLOW));
    say("%s type %d inode %s\n", list[i]->d_name, list[i]->d_type,
        st.st_ino == list[i]->d_ino ? "same" : "other");
  }
  IS(opendir("none") == NULL && errno == ENOENT);
  IS(opendir("kinds/file") == NULL && errno == ENOTDIR);
  int fd = MUST(open("kinds/file", O_RDONLY));
  IS(fdopendir(fd) == NULL && errno == ENOTDIR);
  return 0;
}
