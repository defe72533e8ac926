/* getpw_getgr - getpwuid(3), getgrgid(3): the user and root can be looked up both ways; strangers cannot. */
#include "posix.h"

#include <grp.h>
#include <pwd.h>

int main(void) {
  struct passwd *pw = getpwuid(getuid());
  IS(pw != NULL && pw->pw_uid == getuid());
  if (pw != NULL) {
    char name[64];
    snprintf(name, sizeof name, "%s", pw->pw_name);
    IS(name[0] != 0 && pw->pw_dir[0] == '/' && pw->pw_shell[0] == '/');
    IS(getpwnam(name) != NULL && getpwnam(name)->pw_uid == getuid());
  }
  struct group *gr = getgrgid(getgid());
  IS(gr != NULL && gr->gr_gid == getgid());
  TEXT(getpwuid(0)->pw_name);
  SHOW(getpwnam("root")->pw_uid);
  TEXT(getpwnam("root")->pw_dir);
  TEXT(getgrgid(0)->gr_name);
  IS(getpwnam("no-such-user-here") == NULL);
  IS(getpwuid(3999999) == NULL);
  IS(getgrnam("no-such-group-here") == NULL);
  int count = 0;
  bool root = false;
  setpwent();
  while ((pw = getpwent()) != NULL) {
    count++;
    root |= pw->pw_uid == 0;
  }
  endpwent();
  IS(count >= 2);
  IS(root);
  SAY(getgroups(0, NULL) <= 1);
  struct passwd space, *result;
  char buffer[1024];
  SAY(getpwuid_r(0, &space, buffer, sizeof buffer, &result));
  TEXT(result->pw_name);
  say("%s\n", error_name(getpwuid_r(0, &space, buffer, 2, &result)));
  return 0;
}
