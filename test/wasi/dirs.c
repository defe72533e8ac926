/* Directories: listing with buffers of any size, renaming, linking, removing. */
#include "wasi_test.h"

enum { MANY = 300 };
static uint8_t seen[MANY];

/* Reads with a buffer of `cap` bytes, and counts whole entries. */
static unsigned list(__wasi_fd_t fd, __wasi_size_t cap) {
  static uint8_t buf[65536];
  __wasi_dircookie_t cookie = 0;
  unsigned count = 0;
  memset(seen, 0, sizeof seen);
  for (;;) {
    __wasi_size_t used = 0, at = 0;
    __wasi_errno_t e = __wasi_fd_readdir(fd, buf, cap, cookie, &used);
    if (e != 0) {
      say("readdir", e);
      return 0;
    }
    while (used - at >= sizeof(__wasi_dirent_t)) {
      __wasi_dirent_t d;
      memcpy(&d, buf + at, sizeof d);
      if (used - at < sizeof d + d.d_namlen) break;
      char name[256] = { 0 };
      memcpy(name, buf + at + sizeof d, d.d_namlen);
      if (name[0] == 'n') seen[atoi(name + 1)]++;
      count += name[0] != '.'; /* "." and ".." are left out by some implementations */
      at += sizeof d + d.d_namlen;
      cookie = d.d_next;
    }
    if (used < cap) return count;
  }
}

int main(int argc, char **argv) {
  (void)argc;
  __wasi_fd_t work = work_dir(argv), dir, fd;
  char name[32];
  say("mkdir", __wasi_path_create_directory(work, "many"));
  say("mkdir", __wasi_path_create_directory(work, "many"));
  say("open", open_dir(work, "many", &dir));
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "n%03d", i);
    make_file(dir, name, "");
  }
  static const __wasi_size_t sizes[] = { 40, 64, 100, 1000, 4096, 65536 };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned count = list(dir, sizes[i]), once = 0;
    for (int k = 0; k < MANY; k++) once += seen[k] == 1;
    printf("%u bytes: %u names, each once: %u\n", (unsigned)sizes[i], count, once);
  }
  make_file(work, "file", "x");
  __wasi_size_t used;
  uint8_t small[64];
  say("open file", open_to_read(work, "file", 1, &fd));
  __wasi_errno_t e = __wasi_fd_readdir(fd, small, sizeof small, 0, &used);
  printf("readdir of a file: %d\n", e != 0);

  say("rename", __wasi_path_rename(work, "file", dir, "n000"));
  say("rename missing", __wasi_path_rename(work, "file", dir, "n001"));
  say("rename dir over file", __wasi_path_rename(work, "many", work, "many/n001"));
  say("mkdir empty", __wasi_path_create_directory(work, "empty"));
  say("rename file over dir", __wasi_path_rename(dir, "n001", work, "empty"));
  say("rename dir over full dir", __wasi_path_rename(work, "empty", work, "many"));
  say("rename dir", __wasi_path_rename(work, "empty", work, "moved"));
  say("link", __wasi_path_link(dir, 0, "n000", work, "hard"));
  say("link again", __wasi_path_link(dir, 0, "n000", work, "hard"));
  say("link dir", __wasi_path_link(work, 0, "moved", work, "hard2"));
  __wasi_filestat_t st;
  say("stat", __wasi_path_filestat_get(work, 0, "hard", &st));
  printf("links %llu size %llu\n", (unsigned long long)st.nlink, (unsigned long long)st.size);
  say("rmdir full", __wasi_path_remove_directory(work, "many"));
  say("rmdir file", __wasi_path_remove_directory(work, "hard"));
  e = __wasi_path_unlink_file(work, "moved");
  printf("unlink a directory: %d\n", e == __WASI_ERRNO_ISDIR || e == __WASI_ERRNO_PERM);
  say("unlink", __wasi_path_unlink_file(work, "hard"));
  say("unlink", __wasi_path_unlink_file(work, "hard"));
  say("unlink slash", __wasi_path_unlink_file(dir, "n002/"));
  say("rmdir", __wasi_path_remove_directory(work, "moved"));
  say("rmdir slash", __wasi_path_create_directory(work, "again/"));
  say("rmdir", __wasi_path_remove_directory(work, "again"));
  say("a file in a removed directory", __wasi_path_create_directory(work, "gone/x"));
  return 0;
}
