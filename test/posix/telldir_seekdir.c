/* telldir_seekdir - telldir(3): a place in a directory can be returned to. */
#include "posix.h"

#include <dirent.h>

int main(void) {
  char path[32];
  for (int i = 0; i < 50; i++) {
    snprintf(path, sizeof path, "f%02d", i);
    put(path, "");
  }
  DIR *dir = opendir(".");
  char names[64][32];
  long places[64];
  int count = 0;
  for (;;) {
    places[count] = telldir(dir);
    struct dirent *e = readdir(dir);
    if (e == NULL) break;
    snprintf(names[count++], sizeof names[0], "%.30s", e->d_name);
  }
  SHOW(count);
  int same = 0;
  for (int i = count - 1; i >= 0; i--) {
    seekdir(dir, places[i]);
    struct dirent *e = readdir(dir);
    same += e != NULL && strcmp(e->d_name, names[i]) == 0;
  }
  SHOW(same);
  seekdir(dir, places[count]);
  IS(readdir(dir) == NULL);
  IS(dirfd(dir) >= 0);
  return closedir(dir);
}
