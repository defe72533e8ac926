/* symlinks - symlink(7): calls that follow a link and calls that do not, dangling links, readlink's truncation. */
#include "posix.h"

/* A slash at the end: nothing is made through it, whatever it follows. */
static void slashes(const char *path) {
  say("%s\n", path);
  SAY(open(path, O_RDONLY));
  SAY(open(path, O_WRONLY));
  SAY(open(path, O_WRONLY | O_CREAT, 0600));
  SAY(open(path, O_RDONLY | O_CREAT, 0600));
  SAY(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  SAY(utimensat(AT_FDCWD, path, NULL, 0));
}

int main(void) {
  char text[64];
  struct stat st;
  put("file", "content");
  MUST(mkdir("dir", 0755));
  put("dir/inside", "in dir");
  SAY(symlink("file", "to-file"));
  SAY(symlink("dir", "to-dir"));
  SAY(symlink("nothing", "dangling"));
  SAY(symlink("../file", "dir/up"));
  SAY(symlink("x", "file"));
  SAY(symlink("", "empty"));
  SAY(symlink("x", ""));
  SAY(symlink("x", "none/x"));

  get("to-file");
  get("to-dir/inside");
  get("to-dir/up");
  get("dangling");
  SAY(lstat("dangling", &st));
  IS(S_ISLNK(st.st_mode));
  SHOW(st.st_size);
  SHOW(st.st_mode & 0777);
  SAY(stat("dangling", &st));
  SAY(lstat("to-dir", &st));
  IS(S_ISLNK(st.st_mode));
  SAY(lstat("to-dir/", &st));
  IS(S_ISDIR(st.st_mode));
  SAY(lstat("to-file/", &st));

  memset(text, '#', sizeof text);
  SAY(readlink("to-file", text, sizeof text));
  say("%.6s\n", text);
  SAY(readlink("to-file", text, 2));
  SAY(readlink("file", text, sizeof text));
  SAY(readlink("none", text, sizeof text));

  SAY(unlink("to-dir"));
  get("dir/inside");
  SAY(rmdir("to-file"));
  SAY(open("dangling", O_CREAT | O_EXCL | O_WRONLY, 0644));
  SAY(open("dangling", O_CREAT | O_WRONLY, 0644) >= 0);
  SAY(access("nothing", F_OK));
  SAY(chmod("to-file", 0600));
  MUST(stat("file", &st));
  say("mode %o\n", st.st_mode & 0777);
  put("a-file", "");
  MUST(symlink("a-file", "link-file"));
  MUST(symlink("no-file", "to-nothing"));
  MUST(symlink("to-itself", "to-itself"));
  slashes("a-file/");
  slashes("link-file/");
  slashes("to-nothing/");
  slashes("to-itself/");
  slashes("no-file/");
  slashes("no-folder/no-file/");
  SAY(access("no-file", F_OK));
  return 0;
}
