/* Reading, writing, positions, lengths, times and flags of a file. */
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

static void show_size(__wasi_fd_t fd) {
  __wasi_filestat_t st;
  __wasi_errno_t e = __wasi_fd_filestat_get(fd, &st);
  printf("stat: %s, type %u, size %llu, links %llu\n", error_name(e), st.filetype,
         (unsigned long long)st.size, (unsigned long long)st.nlink);
}

int main(int argc, char **argv) {
  (void)argc;
  __wasi_fd_t work = work_dir(argv), fd, again;
  __wasi_size_t n = 0;
  __wasi_filesize_t pos = 0;
  uint8_t buf[16] = { 0 };
  say("not there", open_file(work, "f", 0, 0, &fd));
  say("creat", open_file(work, "f", __WASI_OFLAGS_CREAT, 0, &fd));
  say("creat excl", open_file(work, "f", __WASI_OFLAGS_CREAT | __WASI_OFLAGS_EXCL, 0, &again));
  put(fd, "hello world");
  seek(fd, 0, __WASI_WHENCE_SET);
  get(fd, 23);
  get(fd, 23);
  seek(fd, -5, __WASI_WHENCE_END);
  get(fd, 4);
  seek(fd, -2, __WASI_WHENCE_CUR);
  seek(fd, -100, __WASI_WHENCE_CUR);
  seek(fd, -1, __WASI_WHENCE_SET);
  say("tell", __wasi_fd_tell(fd, &pos));
  printf("%llu\n", (unsigned long long)pos);
  __wasi_iovec_t in = { buf, 4 };
  say("pread", __wasi_fd_pread(fd, &in, 1, 6, &n));
  printf("%.*s\n", (int)n, buf);
  say("pread behind the end", __wasi_fd_pread(fd, &in, 1, 600, &n));
  printf("%u\n", (unsigned)n);
  __wasi_ciovec_t out = { (const uint8_t *)"HE", 2 };
  say("pwrite", __wasi_fd_pwrite(fd, &out, 1, 0, &n));
  say("pwrite far", __wasi_fd_pwrite(fd, &out, 1, 20, &n));
  show_size(fd);
  say("set_size", __wasi_fd_filestat_set_size(fd, 5));
  show_size(fd);
  say("set_size up", __wasi_fd_filestat_set_size(fd, 9));
  seek(fd, 0, __WASI_WHENCE_SET);
  __wasi_iovec_t all = { buf, sizeof buf };
  say("read all", __wasi_fd_read(fd, &all, 1, &n));
  printf("%u %d\n", (unsigned)n, memcmp(buf, "HEllo\0\0\0\0", 9));
  say("advise", __wasi_fd_advise(fd, 0, 10, __WASI_ADVICE_WILLNEED));
  say("sync", __wasi_fd_sync(fd));
  say("datasync", __wasi_fd_datasync(fd));
  say("set_times",
      __wasi_fd_filestat_set_times(fd, 1000000000, 2000000000, __WASI_FSTFLAGS_ATIM | __WASI_FSTFLAGS_MTIM));
  __wasi_filestat_t st;
  (void)!__wasi_fd_filestat_get(fd, &st);
  printf("%llu %llu\n", (unsigned long long)st.atim, (unsigned long long)st.mtim);
  say("path times", __wasi_path_filestat_set_times(work, 1, "f", 0, 3000000000, __WASI_FSTFLAGS_MTIM));
  say("path stat", __wasi_path_filestat_get(work, 1, "f", &st));
  printf("%llu %llu\n", (unsigned long long)st.atim, (unsigned long long)st.mtim);
  say("close", __wasi_fd_close(fd));
  say("trunc", open_file(work, "f", __WASI_OFLAGS_TRUNC, 0, &fd));
  show_size(fd);
  (void)!__wasi_fd_close(fd);
  say("read only", open_to_read(work, "f", 1, &fd));
  __wasi_errno_t e = __wasi_fd_write(fd, &out, 1, &n);
  printf("write refused: %d\n", e == __WASI_ERRNO_BADF || e == __WASI_ERRNO_NOTCAPABLE);
  return 0;
}
