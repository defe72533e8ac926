/* statx_fields - statx(2) and stat(2) agree; the kind, size and links of each kind of file. */
#include "posix.h"

#include <sys/sysmacros.h>

static void both(const char *path) {
  struct stat st;
  struct statx sx;
  MUST(lstat(path, &st));
  MUST(statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &sx));
  bool same = st.st_mode == sx.stx_mode && (uint64_t)st.st_size == sx.stx_size && st.st_ino == sx.stx_ino &&
              st.st_nlink == sx.stx_nlink && st.st_uid == sx.stx_uid &&
              st.st_mtim.tv_sec == sx.stx_mtime.tv_sec &&
              (uint32_t)st.st_mtim.tv_nsec == sx.stx_mtime.tv_nsec && major(st.st_dev) == sx.stx_dev_major &&
              (uint64_t)st.st_blocks == sx.stx_blocks;
  say("%s: mode %06o%s, basic fields %s, %s\n", path, st.st_mode, S_ISDIR(st.st_mode) ? ", directory" : "",
      (sx.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS ? "known" : "missing",
      same ? "equal" : "different");
  if (S_ISREG(st.st_mode)) say("  size %lld, links %d\n", (long long)st.st_size, (int)st.st_nlink);
  IS(st.st_blksize > 0);
}

int main(void) {
  put("file", "twelve bytes");
  put("empty", "");
  MUST(mkdir("dir", 0711));
  MUST(symlink("file", "link"));
  MUST(mkfifo("fifo", 0600));
  both("file");
  both("empty");
  both("dir");
  both("link");
  both("fifo");
  both("/dev/null");
  MUST(truncate("file", 5));
  both("file");

  struct statx sx;
  struct stat st;
  int fd = MUST(open("file", O_RDONLY));
  SAY(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &sx));
  SHOW(sx.stx_size);
  SAY(statx(fd, "", 0, STATX_SIZE, &sx));
  SAY(statx(AT_FDCWD, "none", 0, STATX_SIZE, &sx));
  SAY(statx(AT_FDCWD, "file", 0x40000000, STATX_SIZE, &sx));
  SAY(statx(AT_FDCWD, "link", 0, STATX_ALL, &sx));
  IS(S_ISREG(sx.stx_mode));
  SAY(fstatat(fd, "", &st, AT_EMPTY_PATH));
  SHOW(st.st_size);
  SAY(fstatat(fd, "x", &st, 0));
  SAY(fstatat(99, "file", &st, 0));
  SAY(fstat(99, &st));
  SAY(stat("", &st));
  SAY(stat("file/", &st));
  SAY(stat("file/.", &st));
  return 0;
}
