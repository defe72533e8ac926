/* dies.c - preloaded into the server: its process ends, as by SIGKILL, at the Nth call that changes a file, in place of that call or half way through it.
 * DIES_AT is N; DIES_COUNT names a file that gets the count when the process ends in peace. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static int is_last(void) {
  const char *at = getenv("DIES_AT");
  return at != NULL && atomic_fetch_add(&calls, 1) + 1 == atol(at);
}

static void die(void) {
  (void)kill(getpid(), SIGKILL);
  for (;;) pause();
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t pwrite64(int fd, const void *from, size_t len, off64_t at) {
  REAL(pwrite64);
  if (is_last()) {
    (void)real(fd, from, len / 2, at);
    die();
  }
  return real(fd, from, len, at);
}

ssize_t pwrite(int fd, const void *from, size_t len, off_t at) { return pwrite64(fd, from, len, at); }

int fsync(int fd) {
  REAL(fsync);
  if (is_last()) die();
  return real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  if (is_last()) die();
  return real(fd);
}

int ftruncate64(int fd, off64_t len) {
  REAL(ftruncate64);
  if (is_last()) die();
  return real(fd, len);
}

int ftruncate(int fd, off_t len) { return ftruncate64(fd, len); }

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("DIES_COUNT");
  FILE *out = path != NULL ? fopen(path, "w") : NULL;
  if (out == NULL) return;
  (void)fprintf(out, "%ld\n", (long)calls);
  (void)fclose(out);
}
