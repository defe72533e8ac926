/* lock_test.c - record locks, OFD locks and flock(2). */
#include "kernel/file/fcntl.h"
#include "native_runner.h"

static k_ret lock(k_process *p, int fd, uint32_t cmd, int type, int64_t start, int64_t len) {
  k_flock range = { .type = (int16_t)type, .whence = K_SEEK_SET, .start = start, .len = len };
  return SYS(k_fcntl_lock(p, fd, cmd, &range));
}

static k_flock test_of(k_process *p, int fd, int type, int64_t start, int64_t len) {
  k_flock range = { .type = (int16_t)type, .whence = K_SEEK_SET, .start = start, .len = len };
  NEED_EQ(SYS(k_fcntl_lock(p, fd, K_F_GETLK, &range)), 0);
  return range;
}

static int open_it(k_process *p) {
  int fd = (int)native_open(p, "/tmp/locked", K_O_RDWR);
  NEED(fd >= 0);
  return fd;
}

static int wait_status(k_process *p) {
  k_wait_result got;
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  return got.status;
}

/* ---- record locks ---- */

static int other_sees(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 5, 1), -K_EAGAIN);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_RDLCK, 5, 1), -K_EAGAIN);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 10, 0), 0);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_RDLCK, 0, 2), 0); /* two readers */
  k_flock held = test_of(p, 0, K_F_WRLCK, 0, 100);
  NEED_EQ(held.type, K_F_RDLCK);
  NEED_EQ(held.pid, SYS(p->parent->pid));
  held = test_of(p, 0, K_F_RDLCK, 4, 100);
  NEED_EQ(held.type, K_F_WRLCK);
  NEED_EQ(held.start, 4);
  NEED_EQ(held.len, 6);
  NEED_EQ(test_of(p, 0, K_F_RDLCK, 50, 1).type, K_F_UNLCK);
  return 0;
}

static int holds(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(open_it(p), 0);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 4, 6), 0);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_RDLCK, 0, 2), 0);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 4, 6), 0); /* once more: its own never conflict */
  NEED(native_fork(p, other_sees, NULL) > 0);
  return wait_status(p);
}

TEST(record_locks_conflict_between_processes_where_they_overlap) { EXPECT_EQ(native_run(holds, NULL), 0); }

static int probes(k_process *p, void *arg) {
  const char *want = arg;
  for (int i = 0; want[i] != '\0'; i++) {
    int type = test_of(p, 0, K_F_WRLCK, i, 1).type;
    NEED_EQ("RW."[type], want[i]);
  }
  return 0;
}

static void expect_map(k_process *p, char *want) {
  NEED(native_fork(p, probes, want) > 0);
  NEED_EQ(wait_status(p), 0);
}

static int splits(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(open_it(p), 0);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 0, 10), 0);
  expect_map(p, "WWWWWWWWWW.");
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_UNLCK, 3, 2), 0);
  expect_map(p, "WWW..WWWWW.");
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_RDLCK, 2, 5), 0);
  expect_map(p, "WWRRRRRWWW.");
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_RDLCK, 10, -3), 0); /* negative: before the start */
  expect_map(p, "WWRRRRRRRR.");
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_UNLCK, 0, 0), 0);
  expect_map(p, "...........");
  NEED(list_empty(&p->kernel->locked));
  return 0;
}

TEST(a_range_is_cut_out_of_what_was_locked) { EXPECT_EQ(native_run(splits, NULL), 0); }

static int closes(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(open_it(p), 0);
  NEED_EQ(open_it(p), 1);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 0, 0), 0);
  NEED_EQ(native_close(p, 1), 0); /* any descriptor of the file */
  NEED(list_empty(&p->kernel->locked));
  return 0;
}

TEST(closing_any_descriptor_drops_record_locks) { EXPECT_EQ(native_run(closes, NULL), 0); }

static int dies_with_lock(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 0, 0), 0);
  return 0;
}

static int waits_for_lock(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(open_it(p), 0);
  NEED(native_fork(p, dies_with_lock, NULL) > 0);
  NEED_EQ(wait_status(p), 0);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 0, 0), 0);
  return 0;
}

TEST(a_lock_ends_with_its_process) { EXPECT_EQ(native_run(waits_for_lock, NULL), 0); }

static int unlocks_later(k_process *p, void *arg) {
  (void)arg;
  native_until_asleep(p, (int32_t)SYS(p->parent->pid));
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_UNLCK, 0, 0), 0);
  return native_sleeps(p, NULL);
}

static int locks_first(k_process *p, void *arg) {
  int *fds = arg;
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 0, 0), 0);
  NEED_EQ(native_write(p, fds[1], "x", 1), 1);
  return unlocks_later(p, NULL);
}

static int blocks(k_process *p, void *arg) {
  (void)arg;
  static int fds[2];
  char c;
  NEED_EQ(open_it(p), 0);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED(native_fork(p, locks_first, fds) > 0);
  NEED_EQ(native_read(p, fds[0], &c, 1), 1);
  NEED_EQ(lock(p, 0, K_F_SETLKW, K_F_RDLCK, 0, 0), 0);
  return 0;
}

TEST(setlkw_sleeps_until_the_lock_is_free) { EXPECT_EQ(native_run(blocks, NULL), 0); }

static int second(k_process *p, void *arg) {
  int *fds = arg;
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 1, 1), 0);
  NEED_EQ(native_write(p, fds[1], "x", 1), 1);
  NEED_EQ(lock(p, 0, K_F_SETLKW, K_F_WRLCK, 0, 1), 0); /* the parent's; granted when it has failed */
  return 0;
}

static int deadlocks(k_process *p, void *arg) {
  (void)arg;
  static int fds[2];
  char c;
  NEED_EQ(open_it(p), 0);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 0, 1), 0);
  k_ret pid = native_fork(p, second, fds);
  NEED_EQ(native_read(p, fds[0], &c, 1), 1);
  native_until_asleep(p, (int32_t)pid);
  NEED_EQ(lock(p, 0, K_F_SETLKW, K_F_WRLCK, 1, 1), -K_EDEADLK);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_UNLCK, 0, 1), 0);
  return wait_status(p);
}

TEST(a_deadlock_is_seen) { EXPECT_EQ(native_run(deadlocks, NULL), 0); }

static int refuses(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  NEED_EQ(native_open(p, "/tmp/locked", K_O_RDONLY), 0);
  NEED_EQ(native_open(p, "/tmp/locked", K_O_WRONLY), 1);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_WRLCK, 0, 0), -K_EBADF);
  NEED_EQ(lock(p, 1, K_F_SETLK, K_F_RDLCK, 0, 0), -K_EBADF);
  NEED_EQ(lock(p, 0, K_F_SETLK, 9, 0, 0), -K_EINVAL);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_RDLCK, -1, 0), -K_EINVAL);
  NEED_EQ(lock(p, 0, K_F_SETLK, K_F_RDLCK, INT64_MAX, INT64_MAX), -K_EOVERFLOW);
  NEED_EQ(lock(p, 9, K_F_SETLK, K_F_RDLCK, 0, 0), -K_EBADF);
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(lock(p, fds[0], K_F_SETLK, K_F_RDLCK, 0, 0), -K_EINVAL);
  return 0;
}

TEST(locks_refuse_as_their_page_says) { EXPECT_EQ(native_run(refuses, NULL), 0); }

static int hoards(k_process *p, void *arg) {
  (void)arg;
  k_ret r = 0;
  NEED_EQ(open_it(p), 0);
  for (int64_t i = 0; r == 0; i += 2) r = lock(p, 0, K_F_SETLK, K_F_RDLCK, i, 1);
  NEED_EQ(r, -K_ENOLCK);
  NEED_EQ(native_close(p, 0), 0);
  NEED_EQ(SYS(p->kernel->lock_count), 0);
  return 0;
}

TEST(the_locks_of_a_sandbox_are_bounded) { EXPECT_EQ(native_run(hoards, NULL), 0); }

/* ---- of descriptions ---- */

static int descriptions(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(open_it(p), 0);
  NEED_EQ(open_it(p), 1);
  NEED_EQ(lock(p, 0, K_F_OFD_SETLK, K_F_WRLCK, 0, 0), 0);
  NEED_EQ(lock(p, 1, K_F_OFD_SETLK, K_F_WRLCK, 0, 0), -K_EAGAIN);
  NEED_EQ(lock(p, 1, K_F_SETLK, K_F_WRLCK, 0, 0), -K_EAGAIN); /* record locks see them */
  NEED_EQ(test_of(p, 1, K_F_WRLCK, 0, 0).pid, -1);
  NEED_EQ(native_close(p, 0), 0);
  NEED_EQ(lock(p, 1, K_F_OFD_SETLK, K_F_WRLCK, 0, 0), 0);
  return 0;
}

TEST(ofd_locks_belong_to_a_description) { EXPECT_EQ(native_run(descriptions, NULL), 0); }

static int flocks(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(open_it(p), 0);
  NEED_EQ(open_it(p), 1);
  NEED_EQ(SYS(k_flock_set(p, 0, K_LOCK_SH)), 0);
  NEED_EQ(SYS(k_flock_set(p, 1, K_LOCK_SH)), 0);
  NEED_EQ(SYS(k_flock_set(p, 0, K_LOCK_EX | K_LOCK_NB)), -K_EAGAIN);
  NEED_EQ(SYS(k_flock_set(p, 1, K_LOCK_UN)), 0);
  NEED_EQ(SYS(k_flock_set(p, 0, K_LOCK_EX | K_LOCK_NB)), 0);
  NEED_EQ(SYS(k_flock_set(p, 1, K_LOCK_SH | K_LOCK_NB)), -K_EAGAIN);
  NEED_EQ(lock(p, 1, K_F_SETLK, K_F_WRLCK, 0, 0), 0); /* the other family */
  NEED_EQ(native_close(p, 0), 0);
  NEED_EQ(SYS(k_flock_set(p, 1, K_LOCK_EX | K_LOCK_NB)), 0);
  return 0;
}

TEST(flock_is_its_own_family) { EXPECT_EQ(native_run(flocks, NULL), 0); }

static int shares_flock(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(SYS(k_flock_set(p, 0, K_LOCK_EX | K_LOCK_NB)), 0); /* the same description */
  NEED_EQ(SYS(k_flock_set(p, 0, K_LOCK_UN)), 0);
  return 0;
}

static int forks_with_flock(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(open_it(p), 0);
  NEED_EQ(SYS(k_flock_set(p, 0, K_LOCK_EX)), 0);
  NEED(native_fork(p, shares_flock, NULL) > 0);
  NEED_EQ(wait_status(p), 0);
  NEED(list_empty(&p->kernel->locked));
  return 0;
}

TEST(flock_is_shared_over_fork) { EXPECT_EQ(native_run(forks_with_flock, NULL), 0); }

TEST(no_memory_for_a_lock_changes_nothing) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_process *p = NULL;
  k_file *f = NULL;
  k_lock(k);
  EXPECT_EQ(k_process_new(k, NULL, &p), 0);
  EXPECT_EQ(vfs_open(&p->view, NULL, "/tmp/locked", K_O_CREAT | K_O_RDWR, 0644, &f), 0);
  EXPECT_EQ(k_fd_add(&p->fds, f, 0, false), 0);
  k_flock whole = { .type = K_F_WRLCK }, hole = { .type = K_F_UNLCK, .start = 5, .len = 5 };
  AT_EVERY_FAULT {
    k_ret r = k_fcntl_lock(p, 0, K_F_SETLK, &whole);
    EXPECT(r == 0 ? k->lock_count == 1 : r == -K_ENOLCK && k->lock_count == 0);
    if (r == 0) {
      r = k_fcntl_lock(p, 0, K_F_SETLK, &hole);
      EXPECT(r == 0 ? k->lock_count == 2 : r == -K_ENOLCK && k->lock_count == 1);
    }
    k_locks_drop_table(k, &p->fds, f->inode);
    EXPECT(list_empty(&k->locked));
  }
  k_process_discard(p);
  k_unlock(k);
  native_free(n);
}
