/* proc_secrets - /proc and /sys show nothing of the host, nor of what must stay inside the kernel. */
#include "../posix/posix.h"

#include <dirent.h>

static void try(const char *path, int flags) {
  say("%s: %s\n", path, error_name(open(path, flags) < 0 ? errno : 0));
}

int main(void) {
  static const char *const none[] = {
    "/proc/self/mem",

    "/proc/kcore",    "/proc/kallsyms", "/proc/sysrq-trigger",
    "/proc/keys",     "/proc/self/ns",  "/proc/sys/kernel/core_pattern",
    "/sys/kernel",    "/sys/class/net", "/dev/mem",
    "/dev/kmsg",      "/dev/sda",       "/dev/kvm",
    "/dev/fuse",      "/dev/shm/x",     "/var/run/docker.sock",
  };
  int opened = 0;
  for (size_t i = 0; i < COUNT_OF(none); i++)
    if (open(none[i], O_RDONLY) >= 0) {
      say("opened %s\n", none[i]);
      opened++;
    }
  SHOW(opened);
  try("/proc/self/status", O_WRONLY);
  try("/proc/self/cmdline", O_RDWR);
  char init[64];
  int fd = open("/proc/1/environ", O_RDONLY);
  IS(fd < 0 || read(fd, init, sizeof init) == 0); /* nothing of the embedder's environment */
  SAY(unlink("/proc/self/status"));
  SAY(mkdir("/proc/x", 0755));
  SAY(symlink("x", "/dev/x"));
  SAY(unlink("/dev/null"));
  SAY(rename("/dev/null", "/dev/zero"));
  SAY(mkdir("/dev/x", 0755));

  int processes = 0;
  DIR *dir = opendir("/proc");
  for (struct dirent *e; (e = readdir(dir)) != NULL;) processes += e->d_name[0] >= '0' && e->d_name[0] <= '9';
  IS(processes >= 1 && processes <= 3);
  int foreign = 0;
  for (int pid = 2; pid < 40000; pid++) foreign += pid != getpid() && pid != getppid() && kill(pid, 0) == 0;
  SHOW(foreign);
  char link[PATH_MAX];
  ssize_t n = MUST(readlink("/proc/self/exe", link, sizeof link - 1));
  link[n] = 0;
  IS(access(link, F_OK) == 0); /* a name of the guest, not of the host */
  SAY(readlink("/proc/self/root", link, sizeof link));
  return 0;
}
