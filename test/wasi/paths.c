/* Paths stay below the directory that they start from, and are resolved as on Linux. */
#include "wasi_test.h"

static void try_open(__wasi_fd_t dir, const char *path) {
  __wasi_fd_t fd;
  __wasi_errno_t e = open_to_read(dir, path, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, &fd);
  say(path, e);
  if (e == 0) (void)!__wasi_fd_close(fd);
}

int main(int argc, char **argv) {
  (void)argc;
  __wasi_fd_t work = work_dir(argv), inner, fd;
  static const char *const paths[] = {
    "d/e/f",
    "./d/.//e/../../d/e/../e///./f",
    "d/e/f/",
    "d/e/f/.",
    "d/e/f/..",
    "d/../..",
    "d/../../x",
    "..",
    "../",
    "../../etc/passwd",
    "/etc/passwd",
    "/",
    "",
    ".",
    "d",
    "d/",
    "d/e/.",
    "d/e/..",
    "d/e/../..",
    "nothing",
    "nothing/..",
    "d/nothing/../e/f",
    "inside",
    "outside",
    "absolute",
    "loop",
    "dangling",
    "updown",
    "inside/",
    "todir",
    "todir/f",
    "todir/../x",
  };
  say("mkdir d", __wasi_path_create_directory(work, "d"));
  say("mkdir d/e", __wasi_path_create_directory(work, "d/e"));
  say("mkdir d/e/", __wasi_path_create_directory(work, "d/e/"));
  say("mkdir x/y", __wasi_path_create_directory(work, "x/y"));
  say("mkdir d/e/g/", __wasi_path_create_directory(work, "d/e/g/"));
  make_file(work, "d/e/f", "text");
  say("symlink inside", __wasi_path_symlink("d/e/f", work, "inside"));
  say("symlink outside", __wasi_path_symlink("../../../../../etc/passwd", work, "outside"));
  say("symlink absolute", __wasi_path_symlink("/etc/passwd", work, "absolute"));
  say("symlink loop", __wasi_path_symlink("loop", work, "loop"));
  say("symlink dangling", __wasi_path_symlink("nothing", work, "dangling"));
  say("symlink updown", __wasi_path_symlink("d/../d/e/f", work, "updown"));
  say("symlink todir", __wasi_path_symlink("d/e", work, "todir"));
  say("symlink again", __wasi_path_symlink("d", work, "todir"));
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) try_open(work, paths[i]);

  say("open d", open_dir(work, "d", &inner));
  try_open(inner, "e/f");
  try_open(inner, "../d/e/f");
  try_open(inner, "..");
  try_open(inner, "e/../..");
  say("mkdir ../y", __wasi_path_create_directory(inner, "../y"));
  say("unlink ../inside", __wasi_path_unlink_file(inner, "../inside"));
  say("rmdir ../d/e", __wasi_path_remove_directory(inner, "../d/e"));
  say("symlink ../z", __wasi_path_symlink("x", inner, "../z"));
  say("rename out", __wasi_path_rename(inner, "e/f", inner, "../f"));
  say("link out", __wasi_path_link(inner, 0, "e/f", inner, "../f"));
  __wasi_filestat_t st;
  say("stat ..", __wasi_path_filestat_get(inner, 1, "..", &st));
  uint8_t text[64];
  __wasi_size_t n = 0;
  say("readlink", __wasi_path_readlink(work, "inside", text, sizeof text, &n));
  printf("%.*s\n", (int)n, text);
  say("readlink of a file", __wasi_path_readlink(work, "d/e/f", text, sizeof text, &n));
  say("readlink out", __wasi_path_readlink(inner, "../inside", text, sizeof text, &n));
  say("nofollow link", open_to_read(work, "inside", 0, &fd));
  say("nofollow file", open_to_read(work, "d/e/f", 0, &fd));
  say("a file as directory", open_dir(work, "d/e/f", &fd));
  say("a path below a file", open_to_read(fd, "x", 1, &fd));
  char longest[300];
  memset(longest, 'a', sizeof longest);
  longest[sizeof longest - 1] = 0;
  say("a long name", open_to_read(work, longest, 1, &fd));
  say("a closed directory", open_to_read(77, "d", 1, &fd));
  return 0;
}
