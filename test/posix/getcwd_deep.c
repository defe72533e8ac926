/* getcwd_deep - getcwd(3): far below, after a rename above it, and with too small a buffer. */
#include "posix.h"

int main(void) {
  char start[PATH_MAX], now[PATH_MAX];
  IS(getcwd(start, sizeof start) == start);
  size_t base = strlen(start);
  for (int i = 0; i < 150; i++) {
    MUST(mkdir("level", 0755));
    MUST(chdir("level"));
  }
  IS(getcwd(now, sizeof now) == now);
  SHOW(strlen(now) - base);
  IS(strncmp(now, start, base) == 0);
  IS(getcwd(now, 10) == NULL && errno == ERANGE);
  IS(getcwd(now, 0) == NULL && errno == EINVAL);
  char *own = getcwd(NULL, 0);
  IS(own != NULL && strlen(own) == base + 150 * 6);
  free(own);

  MUST(chdir(start));
  MUST(chdir("level/level"));
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/moved", start);
  own = strdup(path);
  snprintf(path, sizeof path, "%s/level", start);
  SAY(rename(path, own));
  IS(getcwd(now, sizeof now) == now);
  TEXT(now + base);
  SAY(chdir(".."));
  IS(getcwd(now, sizeof now) == now);
  TEXT(now + base);
  MUST(chdir("/"));
  TEXT(getcwd(now, sizeof now));
  SAY(chdir("/.."));
  TEXT(getcwd(now, sizeof now));
  SAY(chdir("//tmp///."));
  TEXT(getcwd(now, sizeof now));
  free(own);
  return 0;
}
