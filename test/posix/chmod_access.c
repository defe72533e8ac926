/* chmod_access - chmod(2), access(2): the owner's bits decide, search and read of a directory are two things.
 */
#include "posix.h"

#include <dirent.h>

static void try(const char *path) {
  say("access %c%c%c", access(path, R_OK) == 0 ? 'r' : '-', access(path, W_OK) == 0 ? 'w' : '-',
      access(path, X_OK) == 0 ? 'x' : '-');
  int fd = open(path, O_RDONLY);
  say(", read %s", error_name(fd < 0 ? errno : 0));
  fd = open(path, O_WRONLY);
  say(", write %s\n", error_name(fd < 0 ? errno : 0));
}

int main(void) {
  put("f", "text");
  static const mode_t modes[] = { 0, 0100, 0200, 0400, 0600, 0700, 0077, 0477 };
  for (size_t i = 0; i < COUNT_OF(modes); i++) {
    MUST(chmod("f", modes[i]));
    say("%04o: ", modes[i]);
    try("f");
  }
  MUST(chmod("f", 0600));
  int fd = MUST(open("f", O_RDWR));
  MUST(chmod("f", 0));
  char byte;
  SAY(read(fd, &byte, 1)); /* rights are those of the opening */
  SAY(fchmod(fd, 0644));

  MUST(mkdir("d", 0700));
  put("d/f", "inside");
  MUST(chmod("d", 0600));
  get("d/f");
  SAY(access("d/f", F_OK));
  IS(opendir("d") != NULL);
  MUST(chmod("d", 0100));
  get("d/f");
  IS(opendir("d") == NULL && errno == EACCES);
  SAY(open("d/new", O_CREAT | O_WRONLY, 0644));
  SAY(unlink("d/f"));
  SAY(chdir("d"));
  SAY(chdir(".."));
  MUST(chmod("d", 0500));
  SAY(mkdir("d/x", 0755));
  SAY(rename("d/f", "g"));
  SAY(rename("f", "d/g"));
  SAY(link("f", "d/h"));
  SAY(symlink("f", "d/s"));
  SAY(rmdir("d"));
  MUST(chmod("d", 0200));
  SAY(chdir("d"));
  MUST(chmod("d", 0700));
  SAY(unlink("d/f"));
  SAY(rmdir("d"));

  SAY(chmod("none", 0644));
  SAY(access("f", 99));
  SAY(access("", F_OK));
  SAY(faccessat(AT_FDCWD, "f", R_OK, AT_EACCESS));
  SAY(fchmodat(AT_FDCWD, "f", 0640, 0));
  SAY(chmod("f", 07777));
  struct stat st;
  MUST(stat("f", &st));
  say("%05o\n", st.st_mode & 07777);
  put("f", "writing clears set-id");
  MUST(stat("f", &st));
  say("%05o\n", st.st_mode & 07777);
  return 0;
}
