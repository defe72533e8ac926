/* Descriptors: their types and rights, moving and closing them. */
#include "wasi_test.h"

static void show(const char *what, __wasi_fd_t fd) {
  __wasi_fdstat_t st;
  __wasi_errno_t e = __wasi_fd_fdstat_get(fd, &st);
  printf("%s: %s", what, error_name(e));
  if (e == 0)
    printf(", type %u, can seek %d", st.fs_filetype, (st.fs_rights_base & __WASI_RIGHTS_FD_SEEK) != 0);
  printf("\n");
}

int main(int argc, char **argv) {
  (void)argc;
  __wasi_fd_t work = work_dir(argv), a, b;
  uint8_t byte;
  __wasi_iovec_t in = { &byte, 1 };
  __wasi_size_t n;
  make_file(work, "a", "A");
  make_file(work, "b", "B");
  show("directory", work);
  (void)!open_file(work, "a", 0, 0, &a);
  (void)!open_file(work, "b", 0, 0, &b);
  show("file", a);
  show("nothing", 1000);
  say("renumber", __wasi_fd_renumber(a, b));
  show("from", a);
  say("read", __wasi_fd_read(b, &in, 1, &n));
  printf("%c\n", byte);
  say("renumber from nothing", __wasi_fd_renumber(1000, b));
  say("renumber to nothing", __wasi_fd_renumber(b, 1000));
  __wasi_prestat_t pre;
  say_refused("prestat of a file", __wasi_fd_prestat_get(b, &pre));
  uint8_t name[1];
  say_refused("short name", __wasi_fd_prestat_dir_name(work, name, 1));
  say_refused("seek a directory", __wasi_fd_seek(work, 0, 0, &(__wasi_filesize_t){ 0 }));
  say("close", __wasi_fd_close(work));
  say("closed", __wasi_fd_prestat_get(work, &pre));
  return 0;
}
