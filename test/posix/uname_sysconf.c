/* uname_sysconf - uname(2), sysconf(3), pathconf(3): what programs ask before they start. */
#include "posix.h"

#include <sys/statvfs.h>
#include <sys/utsname.h>

int main(void) {
  struct utsname u;
  struct statvfs v;
  char name[256];
  SAY(uname(&u));
  TEXT(u.sysname);
  IS(u.release[0] >= '2' && u.release[0] <= '9');
  IS(u.nodename[0] != 0 && u.machine[0] != 0 && u.version[0] != 0);
  SAY(gethostname(name, sizeof name));
  IS(strcmp(name, u.nodename) == 0);
  IS(sysconf(_SC_PAGESIZE) >= 4096);
  IS(sysconf(_SC_NPROCESSORS_ONLN) >= 1);
  IS(sysconf(_SC_OPEN_MAX) >= 64);
  IS(sysconf(_SC_ARG_MAX) >= 4096);
  IS(sysconf(_SC_PHYS_PAGES) > 0);
  SHOW(sysconf(_SC_IOV_MAX));
  SAY(sysconf(99999));
  SHOW(pathconf(".", _PC_NAME_MAX));
  SHOW(pathconf("/", _PC_PIPE_BUF));
  SAY(statvfs(".", &v));
  IS(v.f_bsize > 0 && v.f_blocks > 0 && v.f_bfree <= v.f_blocks && v.f_namemax == 255);
  SAY(statvfs("none", &v));
  SAY(confstr(_CS_PATH, name, sizeof name) > 0);
  SAY(getpagesize() >= 4096);
  return 0;
}
