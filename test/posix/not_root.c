/* not_root - credentials(7): an unprivileged user stays one, and what belongs to root is safe from it. */
#include "posix.h"

#include <sys/mount.h>

int main(void) {
  struct stat st;
  IS(getuid() != 0);
  IS(getuid() == geteuid());
  IS(getgid() == getegid());
  SAY(setuid(0));
  SAY(setgid(0));
  SAY(setuid(getuid()));
  SAY(seteuid(0));
  SAY(setreuid(0, 0));
  uid_t r, e, s;
  SAY(getresuid(&r, &e, &s));
  IS(r == e && e == s && s == getuid());
  put("f", "");
  SAY(chown("f", 0, 0));
  SAY(chown("f", getuid(), getgid()));
  SAY(chown("f", (uid_t)-1, (gid_t)-1));
  MUST(stat("f", &st));
  IS(st.st_uid == getuid());
  MUST(stat("/etc/passwd", &st));
  SHOW(st.st_uid);
  SAY(open("/etc/passwd", O_WRONLY));
  SAY(open("/etc/cay-test", O_WRONLY | O_CREAT, 0644));
  SAY(unlink("/etc/passwd"));
  SAY(rename("/etc/passwd", "/etc/passwd-cay"));
  SAY(chmod("/etc/passwd", 0666));
  SAY(mkdir("/cay-test", 0755));
  SAY(rmdir("/etc"));
  SAY(open("/bin/cay-test", O_WRONLY | O_CREAT, 0755));
  SAY(mknod("null", S_IFCHR | 0666, 0x103));
  SAY(mount("none", "/tmp", "tmpfs", 0, NULL));
  SAY(umount("/proc"));
  SAY(chroot("/tmp"));
  return 0;
}
