/* file_test.c - read(2), write(2), lseek(2) and their promises, over files whose operations are here. */
#include "kernel/file/file.h"
#include "kernel/vfs/vfs.h"
#include "native_runner.h"

#include <time.h>

static char contents[64];
static size_t size;

static k_ret mem_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)f;
  if ((uint64_t)pos >= size) return 0;
  size_t n = len < size - (size_t)pos ? len : size - (size_t)pos;
  memcpy(buf, contents + pos, n);
  return (k_ret)n;
}

static k_ret mem_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  if ((f->flags & K_O_APPEND) != 0) pos = (int64_t)size;
  size_t room = sizeof contents - (size_t)pos, n = len < room ? len : room;
  if (len > 0 && n == 0) return -K_ENOSPC;
  memcpy(contents + pos, buf, n);
  if ((size_t)pos + n > size) size = (size_t)pos + n;
  return (k_ret)n;
}

static k_ret mem_size(k_file *f) {
  (void)f;
  return (k_ret)size;
}

static const k_file_ops mem_ops = { .read = mem_read, .write = mem_write, .size = mem_size };

typedef struct place {
  native *world;
  k_file *file;
} place;

static place place_new(uint32_t flags) {
  place at = { .world = native_new(NULL) };
  memset(contents, 0, sizeof contents);
  memcpy(contents, "0123456789", 10);
  size = 10;
  k_lock(native_kernel(at.world));
  EXPECT_EQ(k_file_new(native_kernel(at.world), &mem_ops, flags, NULL, NULL, &at.file), 0);
  return at;
}

static void place_free(place *at) {
  k_file_unref(at->file);
  k_unlock(native_kernel(at->world));
  native_free(at->world);
}

TEST(reading_and_writing_move_the_position) {
  place at = place_new(K_O_RDWR);
  char buf[4];
  EXPECT_EQ(k_file_read(NULL, at.file, buf, 4), 4);
  EXPECT_EQ(memcmp(buf, "0123", 4), 0);
  EXPECT_EQ(k_file_write(NULL, at.file, "AB", 2), 2);
  EXPECT_EQ(at.file->pos, 6);
  EXPECT_EQ(memcmp(contents, "0123AB6789", 10), 0);
  place_free(&at);
}

TEST(reading_at_a_position_does_not_move) {
  place at = place_new(K_O_RDWR);
  char c;
  EXPECT_EQ(k_file_pread(NULL, at.file, &c, 1, 5), 1);
  EXPECT_EQ(c, '5');
  EXPECT_EQ(k_file_pwrite(NULL, at.file, "X", 1, 5), 1);
  EXPECT_EQ(at.file->pos, 0);
  EXPECT_EQ(k_file_pread(NULL, at.file, &c, 1, -1), -K_EINVAL);
  EXPECT_EQ(k_file_pwrite(NULL, at.file, &c, 1, -1), -K_EINVAL);
  EXPECT_EQ(k_file_pread(NULL, at.file, &c, 1, 100), 0);
  place_free(&at);
}

TEST(append_writes_at_the_end_and_leaves_the_position_there) {
  place at = place_new(K_O_RDWR | K_O_APPEND);
  EXPECT_EQ(k_file_write(NULL, at.file, "AB", 2), 2);
  EXPECT_EQ(at.file->pos, 12);
  EXPECT_EQ(memcmp(contents, "0123456789AB", 12), 0);
  place_free(&at);
}

TEST(a_file_opened_one_way_refuses_the_other) {
  place at = place_new(K_O_RDONLY);
  char c;
  EXPECT_EQ(k_file_write(NULL, at.file, "x", 1), -K_EBADF);
  at.file->flags = K_O_WRONLY;
  EXPECT_EQ(k_file_read(NULL, at.file, &c, 1), -K_EBADF);
  at.file->flags = K_O_PATH;
  EXPECT_EQ(k_file_read(NULL, at.file, &c, 1), -K_EBADF);
  EXPECT_EQ(k_file_write(NULL, at.file, &c, 1), -K_EBADF);
  EXPECT_EQ(k_file_seek(at.file, 0, K_SEEK_SET), -K_EBADF);
  place_free(&at);
}

TEST(seeking_goes_by_start_position_and_end) {
  place at = place_new(K_O_RDWR);
  EXPECT_EQ(k_file_seek(at.file, 4, K_SEEK_SET), 4);
  EXPECT_EQ(k_file_seek(at.file, -1, K_SEEK_CUR), 3);
  EXPECT_EQ(k_file_seek(at.file, 5, K_SEEK_END), 15);
  EXPECT_EQ(k_file_seek(at.file, -16, K_SEEK_CUR), -K_EINVAL);
  EXPECT_EQ(k_file_seek(at.file, -1, K_SEEK_SET), -K_EINVAL);
  EXPECT_EQ(k_file_seek(at.file, INT64_MAX, K_SEEK_CUR), -K_EOVERFLOW);
  EXPECT_EQ(k_file_seek(at.file, 0, 9), -K_EINVAL);
  EXPECT_EQ(at.file->pos, 15);
  place_free(&at);
}

TEST(a_file_without_holes_is_all_data) {
  place at = place_new(K_O_RDWR);
  EXPECT_EQ(k_file_seek(at.file, 4, K_SEEK_DATA), 4);
  EXPECT_EQ(k_file_seek(at.file, 4, K_SEEK_HOLE), 10);
  EXPECT_EQ(k_file_seek(at.file, 10, K_SEEK_DATA), -K_ENXIO);
  EXPECT_EQ(k_file_seek(at.file, 10, K_SEEK_HOLE), -K_ENXIO);
  place_free(&at);
}

TEST(the_open_flags_are_not_kept) {
  place at = place_new(K_O_RDWR);
  k_file *f = NULL;
  EXPECT_EQ(k_file_new(native_kernel(at.world), &mem_ops,
                       K_O_WRONLY | K_O_CREAT | K_O_EXCL | K_O_TRUNC | K_O_CLOEXEC, NULL, NULL, &f),
            0);
  EXPECT_EQ(f->flags, K_O_WRONLY);
  k_file_unref(f);
  place_free(&at);
}

/* ---- RLIMIT_FSIZE, on a real file ---- */

static void on_xfsz(k_process *p, int sig, const k_siginfo *info) { (void)p, (void)sig, (void)info; }

static int limited(k_process *p, void *arg) {
  k_rlimit ten = { 10, 20 };
  if (arg != NULL) native_on(p, K_SIGXFSZ, on_xfsz, 0);
  int fd = (int)native_open(p, "/tmp/f", K_O_RDWR);
  NEED(fd >= 0);
  NEED_EQ(SYS(k_prlimit(p, 0, K_RLIMIT_FSIZE, &ten, NULL)), 0);
  NEED_EQ(native_write(p, fd, "0123456789abcdef", 16), 10);
  NEED_EQ(native_write(p, fd, "x", 1), -K_EFBIG);
  return 0;
}

TEST(writing_over_the_file_size_limit_is_cut_and_then_efbig) { EXPECT_EQ(native_run(limited, (void *)1), 0); }
TEST(writing_beyond_the_file_size_limit_kills_with_sigxfsz) {
  EXPECT_EQ(native_run(limited, NULL), K_SIGXFSZ);
}

/* ---- one description, two processes ---- */

static int writes_lines(k_process *p, void *arg) {
  (void)arg;
  for (int i = 0; i < 50; i++) NEED_EQ(native_write(p, 0, "line\n", 5), 5);
  return 0;
}

static int shares_position(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  NEED_EQ(native_open(p, "/tmp/f", K_O_RDWR), 0);
  for (int i = 0; i < 3; i++) NEED(native_fork(p, writes_lines, NULL) > 0);
  for (int i = 0; i < 3; i++) NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  NEED_EQ(p->fds.slots[0].file->pos, 3 * 50 * 5);
  return 0;
}

TEST(processes_that_share_a_description_share_its_position) {
  EXPECT_EQ(native_run(shares_position, NULL), 0);
}

/* ---- the embedder ---- */

TEST(the_embedder_never_sleeps_in_a_read) {
  place at = place_new(K_O_RDWR);
  char c;
  EXPECT_EQ(k_file_seek(at.file, 0, K_SEEK_END), 10);
  EXPECT_EQ(k_file_read(NULL, at.file, &c, 1), 0);
  place_free(&at);
}

/* ---- a file of the host: its operations let go of the mutex ---- */

static _Atomic int in_host, at_once;

static k_ret slow_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  k_unlock(f->kernel);
  if (in_host++ != 0) at_once++;
  struct timespec pause = { .tv_nsec = 100000 };
  nanosleep(&pause, NULL);
  in_host--;
  k_lock(f->kernel);
  return mem_write(f, buf, len, pos);
}

static const k_file_ops slow_ops = { .write = slow_write, .size = mem_size };

static int writes_slowly(k_process *p, void *arg) {
  (void)arg;
  for (int i = 0; i < 5; i++) NEED_EQ(native_write(p, 0, "ab", 2), 2);
  return 0;
}

static k_ret open_slow(k_process *p) {
  k_file *f = NULL;
  K_TRY(k_file_new(p->kernel, &slow_ops, K_O_RDWR, NULL, NULL, &f));
  return k_fd_add(&p->fds, f, 0, false);
}

static int shares_slowly(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  size = 0;
  at_once = 0;
  memset(contents, 0, sizeof contents);
  NEED_EQ(SYS(open_slow(p)), 0);
  for (int i = 0; i < 3; i++) NEED(native_fork(p, writes_slowly, NULL) > 0);
  for (int i = 0; i < 3; i++) NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  NEED_EQ(size, 30);
  NEED_EQ(at_once, 0);
  for (size_t i = 0; i < 30; i++) NEED_EQ(contents[i], i % 2 == 0 ? 'a' : 'b');
  return 0;
}

TEST(a_shared_position_is_used_by_one_at_a_time) { EXPECT_EQ(native_run(shares_slowly, NULL), 0); }
