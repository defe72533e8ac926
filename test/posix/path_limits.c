/* path_limits - path_resolution(7): a name has at most NAME_MAX bytes, a path PATH_MAX with its end. */
#include "posix.h"

static char path[3 * PATH_MAX];

static const char *name_of_length(size_t len) {
  memset(path, 'n', len);
  path[len] = 0;
  return path;
}

/* "./././ ... f" of exactly this length */
static const char *path_of_length(size_t len) {
  size_t i = 0;
  if (len % 2 == 0) path[i++] = '.', path[i++] = '/', path[i++] = '/';
  for (; i + 2 < len; i += 2) memcpy(path + i, "./", 2);
  path[len - 1] = 'f';
  path[len] = 0;
  return path;
}

int main(void) {
  struct stat st;
  char link[PATH_MAX];
  SHOW(NAME_MAX);
  SHOW(PATH_MAX);
  SAY(mkdir(name_of_length(NAME_MAX), 0755));
  SAY(stat(name_of_length(NAME_MAX), &st));
  SAY(rmdir(name_of_length(NAME_MAX)));
  SAY(mkdir(name_of_length(NAME_MAX + 1), 0755));
  SAY(open(name_of_length(NAME_MAX + 1), O_RDONLY));
  SAY(open(name_of_length(NAME_MAX + 1), O_WRONLY | O_CREAT, 0644));
  SAY(symlink("x", name_of_length(NAME_MAX + 1)));
  SAY(unlink(name_of_length(NAME_MAX + 1)));
  SAY(rename(name_of_length(NAME_MAX + 1), "x"));
  SAY(chdir(name_of_length(NAME_MAX + 1)));
  SAY(stat(name_of_length(PATH_MAX), &st));

  put("f", "found");
  SAY(stat(path_of_length(PATH_MAX - 2), &st));
  SAY(stat(path_of_length(PATH_MAX - 1), &st));
  SAY(stat(path_of_length(PATH_MAX), &st));
  SAY(stat(path_of_length(PATH_MAX + 1), &st));
  SAY(open(path_of_length(2 * PATH_MAX), O_RDONLY));
  SAY(chdir(path_of_length(2 * PATH_MAX)));
  SAY(readlink(path_of_length(2 * PATH_MAX), link, sizeof link));
  SAY(rename("f", path_of_length(2 * PATH_MAX)));
  SAY(symlink(path_of_length(PATH_MAX), "s"));
  SAY(symlink(path_of_length(PATH_MAX - 1), "s"));
  SAY(readlink("s", link, sizeof link));
  get("s");

  SAY(mkdir("\xff\xfe\x01 \n", 0755));
  SAY(access("\xff\xfe\x01 \n", F_OK));
  SAY(mkdir("...", 0755));
  SAY(mkdir(" ", 0755));
  SAY(access("... ", F_OK));
  return 0;
}
