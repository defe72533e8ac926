/* sync_advice - fsync(2), posix_fadvise(2), sync(2), sched_yield(2), prctl(2): calls that programs make in
 * passing. */
#include "posix.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int main(void) {
  put("f", "text");
  int fd = MUST(open("f", O_RDWR)), p[2];
  SAY(fsync(fd));
  SAY(fdatasync(fd));
  SAY(fsync(99));
  MUST(pipe(p));
  SAY(fsync(p[0]));
  sync();
  SAY(fsync(MUST(open(".", O_RDONLY))));
  SHOW(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
  SAY(sched_yield());
  errno = 0;
  IS(getpriority(PRIO_PROCESS, 0) >= 0); /* what the tests themselves were started with */
  char name[17] = "";
  SAY(prctl(PR_SET_NAME, "a-new-name"));
  SAY(prctl(PR_GET_NAME, name));
  TEXT(name);
  void *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SAY(madvise(page, 65536, MADV_NORMAL));
  cpu_set_t cpus;
  SAY(sched_getaffinity(0, sizeof cpus, &cpus) >= 0);
  SAY(getsid(0) > 0);
  IS(getpid() == (pid_t)gettid());
  IS(getppid() >= 0);
  return 0;
}
