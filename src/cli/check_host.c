/* check_host.c - checks of the machine for `cay doctor`. */
#include "cli/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Both are of Linux 5.13 and newer than the headers of some systems that run it. */
enum { LANDLOCK_CREATE = 444, LANDLOCK_VERSION = 1 };

void check_openat2(check *c) {
  struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
  long fd = syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
  if (fd >= 0) {
    (void)close((int)fd);
    check_says(c, CHECK_OK, "directories of this machine can be mounted safely");
    return;
  }
  check_says(c, CHECK_FAIL, "--mount cannot work: %s", strerror(errno));
  check_advises(c, errno == ENOSYS ? "use Linux 5.6 or newer"
                                   : "allow the system call openat2 in the container's seccomp profile");
}

void check_memfd(check *c) {
  int fd = memfd_create("cay-doctor", MFD_CLOEXEC);
  if (fd >= 0) {
    (void)close(fd);
    check_says(c, CHECK_OK, "memory can be shared between sandboxes");
    return;
  }
  check_says(c, CHECK_FAIL, "memfd_create: %s", strerror(errno));
  check_advises(c, "allow the system call memfd_create in the container's seccomp profile");
}

/* Each memory of a guest reserves 4 GiB of addresses and guards, which cost nothing until they are used. */
void check_address_space(check *c) {
  const size_t wanted = (size_t)64 << 30;
  void *room = mmap(NULL, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) {
    (void)munmap(room, wanted);
    check_says(c, CHECK_OK, "64 GiB can be reserved");
    return;
  }
  check_says(c, CHECK_FAIL, "cannot reserve 64 GiB: %s", strerror(errno));
  check_advises(c, "lift the limit: ulimit -v unlimited");
}

void check_mappings(check *c) {
  uint64_t count = 0;
  FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
  bool known = file != NULL && fscanf(file, "%" SCNu64, &count) == 1;
  if (file != NULL) (void)fclose(file);
  if (!known) {
    check_says(c, CHECK_NOTE, "vm.max_map_count is not known");
    return;
  }
  bool plenty = count >= 65530;
  check_says(c, plenty ? CHECK_OK : CHECK_NOTE,
             "%" PRIu64 " mappings: enough for about %" PRIu64 " processes of guests at once", count,
             count / 3);
  if (!plenty) check_advises(c, "for more: sysctl -w vm.max_map_count=262144");
}

void check_open_files(check *c) {
  struct rlimit limit = { 0 };
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  bool plenty = limit.rlim_cur >= 256;
  check_says(c, plenty ? CHECK_OK : CHECK_NOTE, "%" PRIu64 " descriptors", (uint64_t)limit.rlim_cur);
  if (!plenty) check_advises(c, "files of mounted directories need one each: ulimit -n 1024");
}

/* ---- the second wall: what a server can put around its workers ---- */

void check_landlock(check *c) {
  long version = syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
  if (version > 0)
    check_says(c, CHECK_OK, "version %ld", version);
  else
    check_says(c, CHECK_NOTE, "not available: %s", strerror(errno));
}

void check_seccomp(check *c) {
  uint32_t action = SECCOMP_RET_KILL_PROCESS;
  if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
    check_says(c, CHECK_OK, "filters can be set");
  else
    check_says(c, CHECK_NOTE, "not available: %s", strerror(errno));
}

void check_namespaces(check *c) {
  pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    check_says(c, CHECK_OK, "user namespaces without privileges");
  else
    check_says(c, CHECK_NOTE, "no user namespaces: %s",
               child > 0 && WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "the check itself failed");
}
