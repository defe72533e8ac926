/* pthread_task - /proc/self/task (proc(5)): a folder for each thread, with its own number, mask and state. */
#include "posix.h"

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

static sem_t begun, go;
static pid_t tids[3];

static void *live(void *n) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1 + 2 * (int)(intptr_t)n);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  tids[(intptr_t)n] = (pid_t)syscall(SYS_gettid);
  sem_post(&begun);
  sem_wait(&go);
  return NULL;
}

static int tasks(void) {
  DIR *d = opendir("/proc/self/task");
  int count = 0, before = 0;
  bool rising = true;
  if (d == NULL) return -1;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    rising = rising && atoi(e->d_name) > before;
    before = atoi(e->d_name);
    count++;
  }
  closedir(d);
  IS(rising);
  return count;
}

static long long field(pid_t tid, const char *key, int base) {
  char path[64], line[256];
  long long value = -1;
  snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
  FILE *f = fopen(path, "r");
  if (f == NULL) return -1;
  while (fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) value = strtoll(line + strlen(key), NULL, base);
  fclose(f);
  return value;
}

static void thread_of(pid_t tid) {
  char path[64], text[256] = "";
  IS(field(tid, "Pid:", 10) == tid);
  IS(field(tid, "Tgid:", 10) == getpid());
  SHOW(field(tid, "Threads:", 10));
  SHOW(field(tid, "SigBlk:", 16));
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  int fd = MUST(open(path, O_RDONLY));
  MUST(read(fd, text, sizeof text - 1));
  IS(atoi(text) == tid);
  close(fd);
}

int main(void) {
  pthread_t t[3];
  char path[64];
  struct stat st;
  SHOW(tasks());
  sem_init(&begun, 0, 0);
  sem_init(&go, 0, 0);
  for (intptr_t i = 0; i < 3; i++) {
    MUST(pthread_create(&t[i], NULL, live, (void *)i));
    sem_wait(&begun);
  }
  SHOW(tasks());
  thread_of(getpid());
  for (int i = 0; i < 3; i++) thread_of(tids[i]);
  snprintf(path, sizeof path, "/proc/self/task/%d", tids[1]);
  SHOW(stat(path, &st));
  IS(S_ISDIR(st.st_mode));
  SAY(access("/proc/self/task/999999999", F_OK));
  SAY(access("/proc/self/task/x", F_OK));
  SAY(access("/proc/self/task/0", F_OK));
  int folder = MUST(open(path, O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 3; i++) sem_post(&go);
  for (int i = 0; i < 3; i++) MUST(pthread_join(t[i], NULL));
  SAY(access(path, F_OK));
  SAY(openat(folder, "status", O_RDONLY));
  SHOW(tasks());
  return 0;
}
