/* proc_self - proc(5): a process sees itself, its arguments, its working directory and its descriptors. */
#include "posix.h"

#include <dirent.h>

static const char *link_of(const char *path) {
  static char text[PATH_MAX];
  ssize_t n = readlink(path, text, sizeof text - 1);
  if (n < 0) return error_name(errno);
  text[n] = 0;
  return text;
}

static void status_line(const char *key, long long want) {
  char line[256];
  long long value = -1;
  FILE *f = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) value = atoll(line + strlen(key));
  fclose(f);
  say("status %s %s\n", key, value == want ? "right" : "wrong");
}

int main(void) {
  char path[64], cwd[PATH_MAX], text[4096];
  struct stat st;
  IS(atoi(link_of("/proc/self")) == getpid());
  getcwd(cwd, sizeof cwd);
  IS(strcmp(link_of("/proc/self/cwd"), cwd) == 0);
  IS(link_of("/proc/self/exe")[0] == '/');
  TEXT(link_of("/proc/self/root"));
  snprintf(path, sizeof path, "/proc/%d/cwd", getpid());
  IS(strcmp(link_of(path), cwd) == 0);

  put("file", "");
  int fd = MUST(open("file", O_RDONLY)), p[2];
  MUST(dup2(fd, 20));
  IS(strcmp(link_of("/proc/self/fd/20"), strcat(cwd, "/file")) == 0);
  MUST(pipe(p));
  snprintf(path, sizeof path, "/proc/self/fd/%d", p[0]);
  IS(strncmp(link_of(path), "pipe:[", 6) == 0);
  MUST(lseek(20, 5, SEEK_SET));
  FILE *info = fopen("/proc/self/fdinfo/20", "r");
  text[0] = 0;
  if (info != NULL && fgets(text, sizeof text, info) != NULL) TEXT(text);
  if (info != NULL) fclose(info);
  DIR *infos = opendir("/proc/self/fdinfo");
  bool listed = false;
  for (struct dirent *e; (e = readdir(infos)) != NULL;) listed = listed || strcmp(e->d_name, "20") == 0;
  IS(listed);
  closedir(infos);
  MUST(lstat("/proc/self/fdinfo/20", &st));
  IS(S_ISREG(st.st_mode));
  SAY(open("/proc/self/fdinfo/99", O_RDONLY));
  TEXT(link_of("/proc/self/fd/99"));
  TEXT(link_of("/proc/self/fd/x"));
  MUST(unlink("file"));
  IS(strcmp(link_of("/proc/self/fd/20"), strcat(cwd, " (deleted)")) == 0);
  MUST(write(p[1], "y", 1));
  int again = OK(open(path, O_RDONLY));
  SAY(read(again, text, 1));
  MUST(lstat("/proc/self/fd/20", &st));
  IS(S_ISLNK(st.st_mode));
  SAY(stat("/proc/self/fd/20", &st));
  SHOW(st.st_nlink);

  status_line("Pid:", getpid());
  status_line("PPid:", getppid());
  status_line("Uid:", getuid());
  status_line("Gid:", getgid());
  fd = MUST(open("/proc/self/cmdline", O_RDONLY));
  ssize_t n = MUST(read(fd, text, sizeof text));
  IS(n > 0 && text[n - 1] == 0);
  IS(strlen(text) == (size_t)n - 1);

  bool seen = false;
  DIR *dir = opendir("/proc/self/fd");
  int dots = 0, others = 0;
  for (struct dirent *e; (e = readdir(dir)) != NULL;)
    if (e->d_name[0] == '.')
      dots++;
    else if (strcmp(e->d_name, "20") == 0)
      seen = true;
    else
      others++;
  IS(seen);
  SHOW(dots);
  IS(others >= 3);
  snprintf(path, sizeof path, "%d", getpid());
  seen = false;
  dir = opendir("/proc");
  for (struct dirent *e; (e = readdir(dir)) != NULL;) seen |= strcmp(e->d_name, path) == 0;
  IS(seen);
  SAY(open("/proc/none", O_RDONLY));
  SAY(open("/proc/4194304/status", O_RDONLY));
  SAY(open("/proc/self/none", O_RDONLY));
  SAY(open("/proc/self/status", O_WRONLY));
  SAY(unlink("/proc/self"));
  return 0;
}
