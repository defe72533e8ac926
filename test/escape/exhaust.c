/* exhaust - each thing there is a limit of, taken until there is no more: an error by name, and room again
 * after. The limit of processes is reached before that of memory.
 * options: --memory 1G */
#include "../posix/posix.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

static void processes(void) {
  gate hold = gate_new();
  int count = 0;
  for (pid_t pid; (pid = fork()) >= 0; count++)
    if (pid == 0) {
      close(hold.fd[1]);
      gate_wait(hold);
      _exit(0);
    }
  say("fork: %s, some were made: %s\n", error_name(errno), count > 5 ? "yes" : "no");
  gate_free(hold);
  while (wait(NULL) > 0) {}
  pid_t pid = MUST(fork());
  if (pid == 0) _exit(0);
  reap("room again", pid);
}

static void descriptors(void) {
  int count = 0;
  while (open("/dev/null", O_RDONLY) >= 0) count++;
  say("open: %s, many: %s\n", error_name(errno), count > 100 ? "yes" : "no");
  int p[2];
  SAY(pipe(p));
  SAY(dup(0));
  SAY(socketpair(AF_UNIX, SOCK_STREAM, 0, p));
  SAY(epoll_create1(0));
  SAY(eventfd(0, 0));
  for (int fd = 3; fd < count + 3; fd++) close(fd);
  SAY(pipe(p));
}

static void memory(void) {
  int count = 0;
  void *last = NULL;
  for (void **p; (p = malloc(1 << 20)) != NULL; count++) {
    *p = last;
    last = p;
  }
  say("malloc: %s, many: %s\n", error_name(errno), count > 10 ? "yes" : "no");
  while (last != NULL) {
    void *next = *(void **)last;
    free(last);
    last = next;
  }
  void *p = malloc(10 << 20);
  IS(p != NULL);
  IS(mmap(NULL, (size_t)3 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
     errno == ENOMEM);
}

static void disk(void) {
  static char block[1 << 16];
  int fd = MUST(open("big", O_RDWR | O_CREAT, 0644));
  while (write(fd, memset(block, 'x', sizeof block), sizeof block) > 0) {}
  say("write: %s\n", error_name(errno));
  SAY(pwrite(fd, block, 100, (off_t)1 << 40) == -1);
  SAY(ftruncate(fd, LLONG_MAX));
  MUST(ftruncate(fd, 0));
  SAY(write(fd, block, sizeof block));
  close(fd);
  unlink("big");
}

static void pipes(void) {
  static char block[1 << 16];
  int p[2], count = 0;
  for (; pipe2(p, O_NONBLOCK) == 0; count++)
    while (write(p[1], block, sizeof block) > 0) {}
  say("pipe: %s, many: %s\n", error_name(errno), count > 40 ? "yes" : "no");
}

static void inodes(void) {
  char name[32];
  int count = 0;
  for (;; count++) {
    snprintf(name, sizeof name, "f%d", count);
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    if (fd < 0) break;
    close(fd);
  }
  say("create: %s, many: %s\n", error_name(errno), count > 1000 ? "yes" : "no");
  SAY(mkdir("d", 0755));
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "f%d", i);
    unlink(name);
  }
  SAY(mkdir("d", 0755));
}

int main(void) {
  reap_child("processes", processes);
  reap_child("descriptors", descriptors);
  reap_child("memory", memory);
  reap_child("disk", disk);
  reap_child("pipes", pipes);
  reap_child("inodes", inodes);
  return 0;
}
