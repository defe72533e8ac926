/* Descriptors that append, and mistakes. */
#include "wasi_test.h"

static void put(__wasi_fd_t fd, const char *text) {
  __wasi_ciovec_t v = { (const uint8_t *)text, strlen(text) };
  __wasi_size_t n = 0;
  __wasi_errno_t e = __wasi_fd_write(fd, &v, 1, &n);
  printf("write %s: %s %u\n", text, error_name(e), e == 0 ? (unsigned)n : 0);
}

static void get(__wasi_fd_t fd, __wasi_size_t len) {
  uint8_t buf[64];
  __wasi_iovec_t v = { buf, len };
  __wasi_size_t n = 0;
  __wasi_errno_t e = __wasi_fd_read(fd, &v, 1, &n);
  printf("read: %s \"%.*s\"\n", error_name(e), e == 0 ? (int)n : 0, buf);
}

static void seek(__wasi_fd_t fd, int64_t offset, uint8_t whence) {
  __wasi_filesize_t pos = 0;
  __wasi_errno_t e = __wasi_fd_seek(fd, offset, whence, &pos);
  printf("seek %lld %u: %s %llu\n", (long long)offset, whence, error_name(e),
         e == 0 ? (unsigned long long)pos : 0);
}

int main(int argc, char **argv) {
  (void)argc;
  __wasi_fd_t work = work_dir(argv), fd;
  make_file(work, "f", "hello");
  say("both times",
      __wasi_path_filestat_set_times(work, 1, "f", 0, 0, __WASI_FSTFLAGS_MTIM | __WASI_FSTFLAGS_MTIM_NOW));
  say("append", open_file(work, "f", 0, __WASI_FDFLAGS_APPEND, &fd));
  put(fd, "++");
  put(fd, "--");
  __wasi_fdstat_t fs;
  say("fdstat", __wasi_fd_fdstat_get(fd, &fs));
  printf("type %u flags %u\n", fs.fs_filetype, fs.fs_flags);
  say("no append", __wasi_fd_fdstat_set_flags(fd, 0));
  seek(fd, 0, __WASI_WHENCE_SET);
  put(fd, "AB");
  seek(fd, 0, __WASI_WHENCE_SET);
  get(fd, 31);
  uint8_t byte;
  __wasi_iovec_t in = { &byte, 1 };
  __wasi_size_t n;
  say("close", __wasi_fd_close(fd));
  say("close again", __wasi_fd_close(fd));
  say("read closed", __wasi_fd_read(fd, &in, 1, &n));
  return 0;
}
