/* tty_test.c - pairs of terminals, their limits, and runs of the embedder on one. What programs see of them
 * is compared with Linux in test/posix/pty_*. */
#include "kernel/fs/dev/devfs.h"
#include "kernel/fs/dev/devpts.h"
#include "kernel/tty/tty.h"
#include "kernel/vfs/mount.h"
#include "native_runner.h"

typedef struct world {
  native *n;
  k_kernel *k;
} world;

static void mount_on(k_kernel *k, const char *path, k_ret (*make)(k_inode **out)) {
  k_inode *root = NULL;
  EXPECT_EQ(make(&root), 0);
  EXPECT_EQ(vfs_mount_add(k, path, "test", root, true), 0);
}

static world world_new(void) {
  world w = { .n = native_new(NULL) };
  w.k = native_kernel(w.n);
  k_lock(w.k);
  mount_on(w.k, "/dev", devfs_new);
  mount_on(w.k, "/dev/pts", devpts_new);
  return w;
}

static void world_free(world *w) {
  EXPECT_EQ(w->k->used.memory, 0);
  k_unlock(w->k);
  native_free(w->n);
}

static k_file *open_slave(k_file *master) {
  k_file *slave = NULL;
  k_tty_of(master)->locked = false;
  EXPECT_EQ(k_tty_open(k_tty_of(master), NULL, NULL, K_O_RDWR | K_O_NOCTTY, &slave), 0);
  return slave;
}

TEST(numbers_are_given_again_and_are_limited) {
  world w = world_new();
  k_file *masters[K_TTY_MAX], *one = NULL;
  for (uint32_t i = 0; i < K_TTY_MAX; i++) {
    EXPECT_EQ(k_tty_new(w.k, NULL, 0, &masters[i]), 0);
    EXPECT_EQ(k_tty_of(masters[i])->number, i);
  }
  EXPECT_EQ(k_tty_new(w.k, NULL, 0, &one), -K_ENOSPC);
  EXPECT(w.k->used.memory >= K_TTY_MAX * sizeof(k_tty));
  k_file_unref(masters[3]);
  EXPECT_EQ(k_tty_new(w.k, NULL, 0, &masters[3]), 0);
  EXPECT_EQ(k_tty_of(masters[3])->number, 3);
  for (uint32_t i = 0; i < K_TTY_MAX; i++) k_file_unref(masters[i]);
  world_free(&w);
}

TEST(no_memory_makes_no_terminal_and_leaks_nothing) {
  world w = world_new();
  AT_EVERY_FAULT {
    k_file *master = NULL;
    k_ret r = k_tty_new(w.k, NULL, 0, &master);
    EXPECT(r == 0 ? master != NULL : r == -K_ENOMEM && master == NULL);
    k_file_unref(master);
    EXPECT(list_empty(&w.k->ttys));
  }
  world_free(&w);
}

TEST(a_slave_outlives_its_master_and_its_name_does_not) {
  world w = world_new();
  k_file *master = NULL, *slave, *other = NULL;
  vfs_view v;
  char c;
  EXPECT_EQ(vfs_view_init(&v, w.k), 0);
  EXPECT_EQ(k_tty_new(w.k, NULL, 0, &master), 0);
  EXPECT_EQ(vfs_open(&v, NULL, "/dev/pts/0", K_O_RDWR, 0, &other), -K_EIO); /* locked */
  slave = open_slave(master);
  EXPECT_EQ(vfs_open(&v, NULL, "/dev/pts/0", K_O_RDWR, 0, &other), 0);
  k_inode *inode = k_inode_ref(other->inode);
  k_file_unref(master);
  EXPECT_EQ(k_file_read(NULL, slave, &c, 1), 0);
  EXPECT_EQ(k_file_write(NULL, other, "x", 1), -K_EIO);
  k_file_unref(other);
  k_file_unref(slave);
  EXPECT_EQ(vfs_open(&v, NULL, "/dev/pts/0", K_O_RDWR, 0, &other), -K_ENOENT);
  k_inode_unref(inode); /* the last that knows the terminal */
  vfs_view_clear(&v);
  world_free(&w);
}

TEST(typed_ahead_input_is_bounded) {
  world w = world_new();
  k_file *master = NULL, *slave;
  static char block[1000];
  k_ret n, all = 0, got = 0;
  EXPECT_EQ(k_tty_new(w.k, NULL, 0, &master), 0);
  slave = open_slave(master);
  memset(block, 'x', sizeof block);
  block[sizeof block - 1] = '\n';
  while ((n = k_file_write(NULL, master, block, sizeof block)) > 0) all += n;
  EXPECT_EQ(n, -K_EAGAIN);
  EXPECT(all > 65536 && all < 65536 + 8192);
  while ((n = k_file_read(NULL, slave, block, sizeof block)) > 0) got += n;
  EXPECT_EQ(n, -K_EAGAIN);
  k_ldisc_end_line(&k_tty_of(master)->line); /* the last line was cut */
  while ((n = k_file_read(NULL, slave, block, sizeof block)) > 0) got += n;
  EXPECT_EQ(got, all);
  k_file_unref(slave);
  k_file_unref(master);
  world_free(&w);
}

TEST(an_echo_that_finds_no_memory_is_lost_and_nothing_else) {
  world w = world_new();
  k_file *master = NULL, *slave;
  char text[10];
  EXPECT_EQ(k_tty_new(w.k, NULL, 0, &master), 0);
  slave = open_slave(master);
  AT_EVERY_FAULT {
    k_ret n = k_file_write(NULL, master, "a\n", 2);
    EXPECT(n == 2 || n == -K_ENOMEM);
    if (n == 2) EXPECT_EQ(k_file_read(NULL, slave, text, sizeof text), 2);
  }
  k_file_unref(slave);
  k_file_unref(master);
  world_free(&w);
}

/* ---- runs of the embedder ---- */

static char text[4096];
static size_t text_len;

static void collect(void *ctx, int fd, const void *data, size_t len) {
  (void)ctx;
  EXPECT_EQ(fd, 1);
  for (size_t i = 0; i < len && text_len < sizeof text - 1; i++) text[text_len++] = ((const char *)data)[i];
  text[text_len] = '\0';
}

static void *show(void *ctx) {
  k_job *job = ctx;
  k_kernel *k = job->kernel;
  k_lock(k);
  k_job_show(job);
  k_job_unref(job);
  k_unlock(k);
  return NULL;
}

static k_ret terminal(k_process *p, pthread_t *thread) {
  k_ret r = k_job_terminal(p->job, p, (k_winsize){ .rows = 3, .cols = 4 });
  if (r < 0) return r;
  return pthread_create(thread, NULL, show, k_job_ref(p->job)) == 0 ? 0 : -K_ENOMEM;
}

TEST(a_leader_that_never_ran_leaves_its_terminal_without_a_session) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_file *master = NULL;
  k_process *p = NULL;
  k_lock(k);
  EXPECT_EQ(k_process_new(k, NULL, &p), 0);
  EXPECT_EQ(k_tty_new(k, NULL, 0, &master), 0);
  k_tty *t = k_tty_of(master);
  k_tty_give(t, p);
  EXPECT_EQ(t->session, p->pid);
  k_process_discard(p); /* its program could not be started, say */
  EXPECT_EQ(t->session, 0);
  k_file_unref(master);
  k_unlock(k);
  native_free(n);
}

static int converses(k_process *p, void *arg) {
  char line[100];
  NEED_EQ(SYS(terminal(p, arg)), 0);
  NEED_EQ(SYS(k_getsid(p, 0)), p->pid);
  NEED(native_write(p, 1, "who?\n", 5) == 5);
  k_ret n = native_read(p, 0, line, sizeof line);
  NEED(n > 0);
  NEED_EQ(native_write(p, 2, line, (size_t)n), n);
  while ((n = native_read(p, 0, line, sizeof line)) > 0) {}
  NEED_EQ(n, 0);
  return 0;
}

typedef struct run {
  world w;
  k_job *job;
  pthread_t thread;
} run;

static run run_new(native_main *fn, void *arg) {
  run r = { .w = world_new() };
  text_len = 0;
  EXPECT_EQ(k_job_new(r.w.k, collect, NULL, &r.job), 0);
  k_unlock(r.w.k);
  native_spawn(r.w.n, r.job, fn, arg);
  return r;
}

static void until_terminal(run *r) {
  bool there = false;
  while (!there) {
    k_lock(r->w.k);
    there = r->job->tty != NULL && r->job->tty->session != 0;
    k_unlock(r->w.k);
  }
}

static int end(run *r, pthread_t thread) {
  k_lock(r->w.k);
  EXPECT_EQ(k_job_wait(r->job, clock_mono_ns() + 60 * NS_PER_SEC), 0);
  int status = r->job->exit_status;
  k_unlock(r->w.k);
  pthread_join(thread, NULL);
  k_lock(r->w.k);
  EXPECT_EQ(k_job_write(r->job, "x", 1, 0), -K_EPIPE);
  k_job_unref(r->job);
  EXPECT(list_empty(&r->w.k->ttys));
  world_free(&r->w);
  return status;
}

TEST(a_run_on_a_terminal_shows_its_output_and_the_echo_in_order) {
  static pthread_t thread;
  run r = run_new(converses, &thread);
  until_terminal(&r);
  k_lock(r.w.k);
  EXPECT_EQ(k_job_write(r.job, "me\r", 3, K_FOREVER), 3);
  k_job_close_input(r.job);
  k_unlock(r.w.k);
  EXPECT_EQ(end(&r, thread), 0);
  EXPECT(strstr(text, "who?\r\n") != NULL);
  EXPECT(strstr(text, "me\r\n") != NULL);
  EXPECT(strcmp(text, "who?\r\nme\r\nme\r\n") == 0 || strcmp(text, "me\r\nwho?\r\nme\r\n") == 0);
}

static _Atomic bool resized;
static void on_winch(k_process *p, int sig, const k_siginfo *info) {
  (void)p, (void)sig, (void)info;
  resized = true;
}

static int waits_for_size(k_process *p, void *arg) {
  char c;
  native_on(p, K_SIGWINCH, on_winch, 0);
  NEED_EQ(SYS(terminal(p, arg)), 0);
  k_ret n = native_read(p, 0, &c, 1);
  NEED(n == -K_EINTR || resized);
  return p->job->tty->size.cols == 5 ? 0 : 1;
}

TEST(a_new_size_is_told_to_the_program) {
  static pthread_t thread;
  resized = false;
  run r = run_new(waits_for_size, &thread);
  until_terminal(&r);
  k_lock(r.w.k);
  EXPECT_EQ(k_job_resize(r.job, (k_winsize){ .rows = 2, .cols = 5 }), 0);
  k_job_close_input(r.job); // the signal may have come before the read
  k_unlock(r.w.k);
  EXPECT_EQ(end(&r, thread), 0);
}

static int lives_on(k_process *p, void *arg) {
  (void)arg;
  while (native_write(p, 1, "", 0) == 0 && native_write(p, 1, ".", 1) == 1)
    SYS(k_nanosleep(p, clock_mono_ns() + NS_PER_MS));
  return 0;
}

static int leaves_one_behind(k_process *p, void *arg) {
  NEED_EQ(SYS(terminal(p, arg)), 0);
  NEED(native_fork(p, lives_on, NULL) > 0);
  return 0;
}

TEST(survivors_lose_their_terminal) {
  static pthread_t thread;
  run r = run_new(leaves_one_behind, &thread);
  k_lock(r.w.k);
  EXPECT_EQ(k_job_wait(r.job, clock_mono_ns() + 60 * NS_PER_SEC), 0);
  k_sleeper s;
  k_waitq *queue = &r.job->changed;
  EXPECT_EQ(k_sleeper_init(&s, r.w.k, NULL), 0);
  while (r.job->alive > 0) EXPECT_EQ(k_sleep(&s, &queue, 1, clock_mono_ns() + 60 * NS_PER_SEC), 0);
  k_sleeper_destroy(&s);
  k_unlock(r.w.k);
  EXPECT_EQ(end(&r, thread), 0);
}
