/* environ - getenv(3), setenv(3), putenv(3): set, replaced, removed, and given to a child. */
#include "posix.h"

extern char **environ;

static void show(const char *name) {
  const char *value = getenv(name);
  say("%s=%s\n", name, value == NULL ? "(none)" : value);
}

int main(void) {
  SAY(clearenv());
  IS(environ == NULL || environ[0] == NULL);
  SAY(setenv("A", "1", 0));
  SAY(setenv("A", "2", 0));
  show("A");
  SAY(setenv("A", "3", 1));
  show("A");
  SAY(setenv("", "x", 1));
  SAY(setenv("B=C", "x", 1));
  static char mine[] = "B=mine";
  SAY(putenv(mine));
  show("B");
  mine[2] = 'w';
  show("B");
  SAY(setenv("EMPTY", "", 1));
  show("EMPTY");
  SAY(unsetenv("A"));
  SAY(unsetenv("A"));
  show("A");
  SAY(unsetenv("X=Y"));
  char name[16];
  for (int i = 0; i < 100; i++) {
    snprintf(name, sizeof name, "V%d", i);
    MUST(setenv(name, name, 1));
  }
  int count = 0;
  for (char **e = environ; *e != NULL; e++) count++;
  SHOW(count);
  show("V73");
  fflush(NULL);
  SHOW(WEXITSTATUS(system("test \"$B\" = wine && test \"$V99\" = V99 && test -z \"$A\"")));
  return 0;
}
