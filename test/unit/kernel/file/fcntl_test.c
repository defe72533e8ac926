/* fcntl_test.c - fcntl(2) without its locks. */
#include "kernel/file/fcntl.h"
#include "kernel/file/owner.h"
#include "kernel/file/pipe.h"
#include "native_runner.h"

static k_ret fcntl_fd(k_process *p, int fd, uint32_t cmd, uint32_t arg) {
  return SYS(k_fcntl(p, fd, cmd, arg));
}

static int duplicates(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_DUPFD, 10), 10);
  NEED_EQ(fcntl_fd(p, 0, K_F_DUPFD_CLOEXEC, 10), 11);
  NEED_EQ(fcntl_fd(p, 0, K_F_DUPFD, 0), 2);
  NEED_EQ(fcntl_fd(p, 10, K_F_GETFD, 0), 0);
  NEED_EQ(fcntl_fd(p, 11, K_F_GETFD, 0), 1);
  NEED(p->fds.slots[10].file == p->fds.slots[0].file);
  NEED_EQ(fcntl_fd(p, 0, K_F_DUPFD, 100000), -K_EINVAL);
  NEED_EQ(fcntl_fd(p, 0, K_F_DUPFD, UINT32_MAX), -K_EINVAL);
  NEED_EQ(fcntl_fd(p, 77, K_F_DUPFD, 0), -K_EBADF);
  return 0;
}

TEST(dupfd_gives_the_lowest_from_a_number_on) { EXPECT_EQ(native_run(duplicates, NULL), 0); }

static int flags(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  char c;
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETFD, 1), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETFD, 0), 1);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETFL, 0), K_O_RDONLY);
  NEED_EQ(fcntl_fd(p, 1, K_F_GETFL, 0), K_O_WRONLY);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETFL, K_O_NONBLOCK | K_O_WRONLY | K_O_CREAT), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETFL, 0), K_O_NONBLOCK); /* the access mode stays */
  NEED_EQ(native_read(p, 0, &c, 1), -K_EAGAIN);
  NEED_EQ(fcntl_fd(p, 0, 999, 0), -K_EINVAL);
  return 0;
}

TEST(flags_are_read_and_set) { EXPECT_EQ(native_run(flags, NULL), 0); }

static int owners(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  k_owner owner = { .type = K_OWNER_THREAD, .id = p->pid };
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETOWN, 0), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETOWN, (uint32_t)p->pid), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETOWN, 0), p->pid);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETOWN, (uint32_t)-SYS(k_getpgid(p, 0))), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETOWN, 0), -SYS(k_getpgid(p, 0)));
  NEED_EQ(SYS(k_fcntl_set_owner(p, 0, &owner)), 0);
  owner = (k_owner){ .type = -1 };
  NEED_EQ(SYS(k_fcntl_get_owner(p, 0, &owner)), 0);
  NEED(owner.type == K_OWNER_THREAD && owner.id == p->pid);
  owner.type = K_OWNER_GROUP + 1;
  NEED_EQ(SYS(k_fcntl_set_owner(p, 0, &owner)), -K_EINVAL);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETOWN, 99999), -K_ESRCH);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETOWN, (uint32_t)INT32_MIN), -K_EINVAL);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETOWN, 0), p->pid);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETOWN, 0), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETOWN, 0), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETSIG, K_NSIG + 1), -K_EINVAL);
  NEED_EQ(fcntl_fd(p, 0, K_F_SETSIG, K_SIGIO), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETSIG, 0), K_SIGIO);
  return 0;
}

TEST(a_file_has_an_owner) { EXPECT_EQ(native_run(owners, NULL), 0); }

static int sizes(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETPIPE_SZ, 0), K_PIPE_CAP);
  NEED_EQ(fcntl_fd(p, 1, K_F_SETPIPE_SZ, 5000), 8192);
  NEED_EQ(fcntl_fd(p, 0, K_F_GETPIPE_SZ, 0), 8192);
  int file = (int)native_open(p, "/tmp/f", K_O_RDWR);
  NEED_EQ(fcntl_fd(p, file, K_F_GETPIPE_SZ, 0), -K_EBADF);
  return 0;
}

TEST(a_pipe_tells_and_takes_its_size) { EXPECT_EQ(native_run(sizes, NULL), 0); }

static int path_only(k_process *p, void *arg) {
  (void)arg;
  int fd = (int)native_open(p, "/tmp/f", K_O_RDWR);
  k_file *f = NULL;
  NEED_EQ(SYS(vfs_open(&p->view, NULL, "/tmp/f", K_O_PATH, 0, &f)), 0);
  int path = (int)SYS(k_fd_add(&p->fds, f, 0, false));
  k_flock lock = { .type = K_F_RDLCK };
  NEED_EQ(fcntl_fd(p, path, K_F_SETFL, 0), -K_EBADF);
  NEED_EQ(fcntl_fd(p, path, K_F_GETFD, 0), 0);
  NEED_EQ(SYS(k_fcntl_lock(p, path, K_F_SETLK, &lock)), -K_EBADF);
  NEED_EQ(SYS(k_flock_set(p, path, K_LOCK_SH)), -K_EBADF);
  NEED_EQ(SYS(k_flock_set(p, fd, 77)), -K_EINVAL);
  return 0;
}

TEST(a_path_descriptor_does_little) { EXPECT_EQ(native_run(path_only, NULL), 0); }
