/* threads - threads that are made wrongly, that are too many, that pull descriptors and memory away from each other: errors
 * by name, or the end of that process alone. */
#include "../posix/posix.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define IMPORT(name) __attribute__((import_module("linux"), import_name(#name)))
IMPORT(syscall) int linux_syscall(long n, long a, long b, long c, long d, long e, long f);

enum { CLONE = 2008, FLAG = 2009, ROUNDS = 4000 };

static void *sleeps(void *unused) {
  pause();
  return unused;
}

static void *spins(void *unused) {
  while (true) continue;
  return unused;
}

static void flood(void) {
  pthread_t t;
  int count = 0, failed = 0;
  while ((failed = pthread_create(&t, NULL, count % 2 ? spins : sleeps, NULL)) == 0) count++;
  say("pthread_create: %s, some were made: %s\n", error_name(failed), count > 5 ? "yes" : "no");
  say("fork: %s\n", fork() < 0 ? error_name(errno) : "made");
}

static void *makes_more(void *unused) {
  pthread_t t;
  while (true) {
    if (pthread_create(&t, NULL, makes_more, NULL) != 0) sched_yield();
  }
  return unused;
}

static void bomb(void) {
  alarm(1);
  makes_more(NULL);
}

static int nothing(void *unused) { return unused != NULL; }

static void clone_without_function(void) {
  static char stack[65536] __attribute__((aligned(16)));
  int r = linux_syscall(CLONE, (long)(uintptr_t)(stack + sizeof stack), (long)(uintptr_t)stack, -1, 0, 0, 0);
  say("clone %s\n", r > 0 ? "made" : "refused");
  pause();
}

static void clone_without_stack(void) {
  static char variables[65536] __attribute__((aligned(16)));
  int r = linux_syscall(CLONE, 0, (long)(uintptr_t)variables, (long)(uintptr_t)nothing, 0, 0, 0);
  say("clone %s\n", r > 0 ? "made" : "refused");
  sleep_ms(200);
}

static void clone_wild(void) {
  say("clone %s\n", error_name(-linux_syscall(CLONE, 4096, 4096, 64, 0, -4, 0)));
  say("flag %s\n", error_name(-linux_syscall(FLAG, -4, 0, 0, 0, 0, 0)));
  say("flag %s\n", error_name(-linux_syscall(FLAG, 4097, 0, 0, 0, 0, 0)));
}

static long futex(long addr, long op, long value, long time, long second, long third) {
  return linux_syscall(SYS_futex, addr, op, value, time, second, third);
}

static void futex_wild(void) {
  static int word;
  long at = (long)(uintptr_t)&word;
  say("wait %s\n", error_name((int)-futex(-4, FUTEX_WAIT, 0, 0, 0, 0)));
  say("wait %s\n", error_name((int)-futex(at + 1, FUTEX_WAIT, 0, 0, 0, 0)));
  say("wait %s\n", error_name((int)-futex(at, FUTEX_WAIT, 0, -8, 0, 0)));
  say("wake %s\n", error_name((int)-futex(-4, FUTEX_WAKE, -1, 0, 0, 0)));
  say("requeue %s\n", error_name((int)-futex(at, FUTEX_REQUEUE, 1, 1, -4, 0)));
  say("requeue %s\n", error_name((int)-futex(at, FUTEX_REQUEUE, -1, 1, at, 0)));
  say("lock_pi %s\n", error_name((int)-futex(at, FUTEX_LOCK_PI, 0, 0, 0, 0)));
  say("bitset %s\n", error_name((int)-futex(at, FUTEX_WAIT_BITSET, 0, 0, 0, 0)));
}

/* ---- descriptors and memory that others take away ---- */

static volatile bool over;

static void *closes(void *seed) {
  unsigned n = (unsigned)(uintptr_t)seed;
  while (!over) {
    n = n * 1664525 + 1013904223;
    close(3 + (int)(n >> 16) % 24);
    sched_yield();
  }
  return NULL;
}

static void *uses(void *seed) {
  char bytes[64];
  unsigned n = (unsigned)(uintptr_t)seed;
  for (int i = 0; i < ROUNDS; i++) {
    n = n * 1664525 + 1013904223;
    int fd = 3 + (int)(n >> 16) % 24, pair[2];
    struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = fd + 1, .events = POLLOUT } };
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct iovec iov[2] = { { bytes, 8 }, { bytes + 8, 8 } };
    switch (n >> 28) {
    case 0: (void)!pipe(pair); break;
    case 1: (void)!pipe2(pair, O_NONBLOCK); break;
    case 2: (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, pair); break;
    case 3: (void)!open("file", O_CREAT | O_RDWR, 0600); break;
    case 4: (void)!fcntl(fd, F_SETLKW, &lock); break;
    case 5: (void)!flock(fd, LOCK_EX); break;
    case 6:
    case 7: (void)!poll(p, 2, 1); break;
    case 8: (void)!write(fd, bytes, sizeof bytes); break;
    case 9: (void)!readv(fd, iov, 2); break;
    case 10: (void)!dup2(fd, 3 + (int)(n >> 8) % 24); break;
    default: (void)!read(fd, bytes, sizeof bytes);
    }
  }
  return NULL;
}

static void *frees_memory(void *unused) {
  while (!over) {
    void *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) munmap(at, 1 << 20);
    free(malloc(100000));
  }
  return unused;
}

static void storm(void) {
  pthread_t t[6];
  signal(SIGPIPE, SIG_IGN);
  for (uintptr_t i = 0; i < 3; i++) MUST(pthread_create(&t[i], NULL, uses, (void *)(i + 1)));
  MUST(pthread_create(&t[3], NULL, closes, (void *)7));
  MUST(pthread_create(&t[4], NULL, closes, (void *)9));
  MUST(pthread_create(&t[5], NULL, frees_memory, NULL));
  sleep_ms(1500);
  over = true;
  say("through the storm\n");
  _exit(5);
}

static char *volatile last; /* or the compiler does without the memory */

static void *eats(void *unused) {
  while (true) {
    char *more = last = malloc(1 << 20);
    if (more == NULL) return unused;
    memset(more, 1, 1 << 20);
  }
}

static void memory(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++) MUST(pthread_create(&t[i], NULL, eats, NULL));
  for (int i = 0; i < 3; i++) MUST(pthread_join(t[i], NULL));
  say("malloc: %s\n", (last = malloc(64 << 20)) == NULL ? error_name(errno) : "more");
}

static void killed(void) {
  pid_t child = MUST(fork());
  if (child == 0) {
    pthread_t t;
    for (int i = 0; i < 4; i++) MUST(pthread_create(&t, NULL, i % 2 ? spins : sleeps, NULL));
    spins(NULL);
  }
  sleep_ms(50);
  MUST(kill(child, SIGKILL));
  reap("a process of many", child);
}

int main(void) {
  reap_child("flood", flood);
  reap_child("bomb", bomb);
  reap_child("clone_without_function", clone_without_function);
  reap_child("clone_without_stack", clone_without_stack);
  reap_child("clone_wild", clone_wild);
  reap_child("futex_wild", futex_wild);
  reap_child("storm", storm);
  reap_child("memory", memory);
  reap_child("killed", killed);
  return 0;
}
