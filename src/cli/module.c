/* module.c - the detection of a WebAssembly file among the words of a command, and its loading (module.h). */
#include "cli/module.h"

#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t largest = 1 << 30;

static bool ends_in_wasm(const char *word) {
  size_t len = strlen(word);
  return len > 5 && strcmp(word + len - 5, ".wasm") == 0;
}

static bool has_magic(int fd) {
  char magic[4];
  return pread(fd, magic, sizeof magic, 0) == sizeof magic && memcmp(magic, "\0asm", sizeof magic) == 0;
}

bool module_is_file(const char *word) {
  if (strchr(word, '/') == NULL && !ends_in_wasm(word)) return false;
  int fd = open(word, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  struct stat st;
  bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && has_magic(fd);
  if (fd >= 0) (void)close(fd);
  return is;
}

static bool module_read_whole(int fd, char *data, size_t len) {
  for (size_t done = 0; done < len;) {
    ssize_t n = read(fd, data + done, len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO; /* shorter than it just was */
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

bool module_load(const char *path, cay_slice *out) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st = { 0 };
  bool opened = fd >= 0 && fstat(fd, &st) == 0;
  if (opened && st.st_size > largest) errno = EFBIG;
  char *data = opened && st.st_size <= largest ? malloc((size_t)st.st_size) : NULL;
  bool loaded = data != NULL && module_read_whole(fd, data, (size_t)st.st_size);
  if (!loaded) {
    say("%s: %s", path, strerror(errno));
    free(data);
  }
  if (fd >= 0) (void)close(fd);
  if (loaded) *out = (cay_slice){ .data = data, .len = (size_t)st.st_size };
  return loaded;
}
