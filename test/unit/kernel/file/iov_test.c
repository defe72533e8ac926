/* iov_test.c - readv(2), writev(2), sendfile(2). */
#include "base/alloc.h"
#include "kernel/file/pipe.h"
#include "kernel/sock/socket.h"
#include "kernel/vfs/vfs.h"
#include "native_runner.h"

static int opens(k_process *p, const char *path) { return (int)native_open(p, path, K_O_RDWR); }
static k_file *file_of(k_process *p, int fd) { return p->fds.slots[fd].file; }

static int vectors(k_process *p, void *arg) {
  (void)arg;
  k_file *f = file_of(p, opens(p, "/tmp/f"));
  char a[] = "ab", b[] = "", c[] = "cde", x[4], y[8];
  k_iov out[] = { { a, 2 }, { b, 0 }, { c, 3 } }, in[] = { { x, 4 }, { y, 8 } };
  NEED_EQ(SYS(k_file_writev(p, f, out, 3, -1)), 5);
  NEED_EQ(SYS(k_file_seek(f, 0, K_SEEK_SET)), 0);
  NEED_EQ(SYS(k_file_readv(p, f, in, 2, -1)), 5);
  NEED(memcmp(x, "abcd", 4) == 0 && y[0] == 'e');
  NEED_EQ(SYS(k_file_readv(p, f, in, 2, 3)), 2);
  NEED_EQ(SYS(k_file_writev(p, f, out, 3, 10)), 5);
  NEED_EQ(f->pos, 5);
  NEED_EQ(SYS(k_file_writev(p, f, out, 0, -1)), 0);
  k_iov huge[] = { { a, SIZE_MAX }, { b, 2 } };
  NEED_EQ(SYS(k_file_writev(p, f, huge, 2, -1)), -K_EINVAL);
  NEED_EQ(SYS(k_file_readv(p, f, huge, 2, -2)), -K_EINVAL);
  return 0;
}

TEST(vectors_are_read_and_written_in_order) { EXPECT_EQ(native_run(vectors, NULL), 0); }

static int long_vector(k_process *p, void *arg) {
  (void)arg;
  static char big[3][5000];
  for (int i = 0; i < 3; i++) memset(big[i], 'a' + i, sizeof big[i]);
  k_file *f = file_of(p, opens(p, "/tmp/f"));
  k_iov out[] = { { big[0], 5000 }, { big[1], 5000 }, { big[2], 5000 } };
  NEED_EQ(SYS(k_file_writev(p, f, out, 3, -1)), 15000);
  char c[2];
  NEED_EQ(SYS(k_file_pread(p, f, c, 2, 9999)), 2);
  NEED(c[0] == 'b' && c[1] == 'c');
  return 0;
}

TEST(a_vector_longer_than_a_page_is_written_whole) { EXPECT_EQ(native_run(long_vector, NULL), 0); }

static int short_pipe(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  char a[3], b[3];
  k_iov in[] = { { a, 3 }, { b, 3 } };
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(native_write(p, fds[1], "abc", 3), 3);
  NEED_EQ(SYS(k_file_readv(p, file_of(p, fds[0]), in, 2, -1)), 3); /* does not sleep for the second part */
  return 0;
}

TEST(a_vector_read_sleeps_only_for_its_first_bytes) { EXPECT_EQ(native_run(short_pipe, NULL), 0); }

static int sends(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  static char big[100000], back[1000];
  memset(big, 'q', sizeof big);
  int from = opens(p, "/tmp/from"), to = opens(p, "/tmp/to");
  NEED_EQ(native_write(p, from, big, sizeof big), sizeof big);
  int64_t pos = 10;
  NEED_EQ(SYS(k_sendfile(p, file_of(p, to), file_of(p, from), &pos, sizeof big)), sizeof big - 10);
  NEED_EQ(pos, sizeof big);
  NEED_EQ(file_of(p, from)->pos, sizeof big);
  NEED_EQ(SYS(k_sendfile(p, file_of(p, to), file_of(p, from), NULL, 10)), 0);
  NEED_EQ(SYS(k_file_seek(file_of(p, from), 0, K_SEEK_SET)), 0);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(SYS(k_sendfile(p, file_of(p, fds[1]), file_of(p, from), NULL, 1000)), 1000);
  NEED_EQ(file_of(p, from)->pos, 1000);
  NEED_EQ(native_read(p, fds[0], back, sizeof back), 1000);
  NEED_EQ(SYS(k_sendfile(p, file_of(p, to), file_of(p, fds[0]), NULL, 10)), -K_EINVAL);
  pos = -1;
  NEED_EQ(SYS(k_sendfile(p, file_of(p, to), file_of(p, from), &pos, 10)), -K_EINVAL);
  file_of(p, to)->flags |= K_O_APPEND;
  NEED_EQ(SYS(k_sendfile(p, file_of(p, to), file_of(p, from), NULL, 10)), -K_EINVAL);
  return 0;
}

TEST(sendfile_copies_from_a_position_or_the_file_s_own) { EXPECT_EQ(native_run(sends, NULL), 0); }

static int message_vector(k_process *p, void *arg) {
  (void)arg;
  k_file *a = NULL, *b = NULL;
  char one[] = "ab", two[] = "cd", x[3], y[3];
  k_iov out[] = { { one, 2 }, { two, 2 } }, in[] = { { x, 3 }, { y, 3 } };
  NEED_EQ(SYS(k_socketpair(p, p->kernel, K_SOCK_DGRAM, 0, &a, &b)), 0);
  NEED_EQ(SYS(k_fd_add(&p->fds, a, 0, false)), 0);
  NEED_EQ(SYS(k_fd_add(&p->fds, b, 0, false)), 1);
  NEED_EQ(SYS(k_file_writev(p, a, out, 2, -1)), 4);
  NEED_EQ(SYS(k_file_readv(p, b, in, 2, -1)), 4);
  NEED(memcmp(x, "abc", 3) == 0 && y[0] == 'd');
  return 0;
}

TEST(a_vector_is_one_message) { EXPECT_EQ(native_run(message_vector, NULL), 0); }

/* The same bytes may stand in a vector a thousand times: they are not gathered to find that out. */
static int huge_message(k_process *p, void *arg) {
  (void)arg;
  enum { PIECE = 64 << 10, COUNT = 1024 };
  static char piece[PIECE];
  static k_iov iov[COUNT];
  k_file *in = NULL, *out = NULL;
  for (int i = 0; i < COUNT; i++) iov[i] = (k_iov){ .data = piece, .len = PIECE };
  NEED_EQ(SYS(k_socketpair(p, p->kernel, K_SOCK_SEQPACKET, 0, &in, &out)), 0);
  mem_fail_at(1);
  k_ret r = SYS(k_file_writev(p, out, iov, COUNT, -1));
  mem_fail_at(0);
  NEED_EQ(r, -K_EMSGSIZE);
  (void)SYS((k_file_unref(in), k_file_unref(out), 0));
  return 0;
}

TEST(a_message_that_is_too_long_is_refused_before_it_is_copied) {
  EXPECT_EQ(native_run(huge_message, NULL), 0);
}
