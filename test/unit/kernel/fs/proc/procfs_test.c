/* procfs_test.c - proc(5): what a process sees of itself and of others. */
#include "kernel/file/pipe.h"
#include "kernel/fs/dev/devfs.h"
#include "kernel/fs/mem/memfs.h"
#include "kernel/fs/proc/procfs.h"
#include "kernel/vfs/mount.h"
#include "native_runner.h"

#include <stdlib.h>

/* The root belongs to its user. */
static void give_root(k_kernel *k) {
  vfs_view v;
  EXPECT_EQ(vfs_view_init(&v, k), 0);
  v.privileged = true;
  EXPECT_EQ(vfs_chown(&v, v.root, K_UID, K_GID), 0);
  vfs_view_clear(&v);
}

/* A program with /proc and /dev there. */
static int with_proc(native_main *fn) {
  native *n = native_new(NULL);
  k_kernel *k = native_kernel(n);
  k_inode *proc = NULL, *dev = NULL;
  k_lock(k);
  give_root(k);
  EXPECT_EQ(procfs_new(&proc), 0);
  EXPECT_EQ(vfs_mount_add(k, "/proc", "proc", proc, true), 0);
  EXPECT_EQ(devfs_new(&dev), 0);
  EXPECT_EQ(vfs_mount_add(k, "/dev", "devtmpfs", dev, true), 0);
  k_unlock(k);
  int status = native_run_with(n, fn, NULL);
  native_free(n);
  return status;
}

#define PROGRAM(name)                                                                                        \
  static int name##_in(k_process *p, void *arg);                                                             \
  TEST(name) { EXPECT_EQ(with_proc(name##_in), 0); }                                                         \
  static int name##_in(k_process *p, void *arg)

/* The whole text of a file, or the error as a negative number. */
static k_ret read_locked(k_process *p, const char *path, char *text, size_t cap) {
  k_file *f = NULL;
  K_TRY(vfs_open(&p->view, NULL, path, K_O_RDONLY, 0, &f));
  k_ret n = k_file_read(p, f, text, cap - 1);
  k_file_unref(f);
  if (n >= 0) text[n] = '\0';
  return n;
}

static k_ret link_locked(k_process *p, const char *path, char *text, size_t cap) {
  k_ret n = vfs_readlink(&p->view, NULL, path, text, cap - 1);
  if (n >= 0) text[n] = '\0';
  return n;
}

static k_ret open_locked(k_process *p, const char *path, uint32_t flags) {
  k_file *f = NULL;
  K_TRY(vfs_open(&p->view, NULL, path, flags, 0666, &f));
  k_ret fd = k_fd_add(&p->fds, f, 0, false);
  if (fd < 0) k_file_unref(f);
  return fd;
}

#define READ(path, text) SYS(read_locked(p, path, text, sizeof text))
#define LINK(path, text) SYS(link_locked(p, path, text, sizeof text))
#define OPEN(path, flags) SYS(open_locked(p, path, flags))

PROGRAM(proc_self_is_the_reading_process) {
  (void)arg;
  char text[64], number[16];
  NEED(LINK("/proc/self", text) > 0);
  snprintf(number, sizeof number, "%d", p->pid);
  NEED_EQ(strcmp(text, number), 0);
  return 0;
}

PROGRAM(status_tells_names_and_numbers) {
  (void)arg;
  static char text[4096];
  char line[64];
  NEED(READ("/proc/self/status", text) > 0);
  snprintf(line, sizeof line, "\nPid:\t%d\n", p->pid);
  NEED(strstr(text, line) != NULL);
  NEED(strstr(text, "\nUid:\t1000\t1000\t1000\t1000\n") != NULL);
  NEED(strncmp(text, "Name:\t", 6) == 0);
  NEED(READ("/proc/self/stat", text) > 0);
  NEED_EQ(atoi(text), p->pid);
  return 0;
}

PROGRAM(every_text_can_be_read) {
  (void)arg;
  static char text[65536];
  static const char *const paths[] = {
    "/proc/self/cmdline", "/proc/self/comm",   "/proc/self/environ", "/proc/self/limits",
    "/proc/self/maps",    "/proc/self/mounts", "/proc/self/stat",    "/proc/self/statm",
    "/proc/self/status",  "/proc/cpuinfo",     "/proc/filesystems",  "/proc/loadavg",
    "/proc/meminfo",      "/proc/mounts",      "/proc/stat",         "/proc/uptime",
    "/proc/version",      "/proc/1/status",    "/proc/1/cmdline",    "/proc/sys/kernel/hostname",
  };
  for (size_t i = 0; i < COUNT_OF(paths); i++) NEED(READ(paths[i], text) >= 0);
  NEED(READ("/proc/mounts", text) > 0);
  NEED(strstr(text, "proc /proc proc rw") != NULL);
  return 0;
}

PROGRAM(nothing_can_be_written_or_made) {
  (void)arg;
  NEED_EQ(OPEN("/proc/self/status", K_O_WRONLY), -K_EACCES);
  NEED_EQ(OPEN("/proc/self/status", K_O_RDWR), -K_EACCES);
  NEED(OPEN("/proc/new", K_O_RDWR | K_O_CREAT) < 0);
  NEED(SYS(vfs_unlink(&p->view, NULL, "/proc/self/status")) < 0);
  NEED(SYS(vfs_mkdir(&p->view, NULL, "/proc/d", 0777)) < 0);
  return 0;
}

PROGRAM(files_of_other_processes_are_closed) {
  (void)arg;
  char text[16];
  NEED_EQ(READ("/proc/1/environ", text), -K_EACCES);
  return 0;
}

PROGRAM(a_process_that_is_gone_is_not_there) {
  (void)arg;
  char path[64], text[16];
  k_ret pid = native_fork(p, native_sleeps, NULL);
  NEED(pid > 0);
  snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
  NEED(READ(path, text) >= 0);
  NEED_EQ(SYS(k_kill(p->kernel, p, (int32_t)pid, &(k_siginfo){ .signo = K_SIGKILL })), 0);
  k_wait_result got;
  NEED_EQ(SYS(k_wait(p, (int32_t)pid, K_WEXITED, &got)), pid);
  NEED_EQ(READ(path, text), -K_ENOENT);
  NEED_EQ(READ("/proc/32000/comm", text), -K_ENOENT);
  NEED_EQ(READ("/proc/01/comm", text), -K_ENOENT);
  return 0;
}

/* Four bytes in /f, open; the path is the folder and the descriptor. */
static k_ret make_text(k_process *p, const char *folder, char path[static 64]) {
  k_ret fd = OPEN("/f", K_O_RDWR | K_O_CREAT);
  if (fd < 0) return fd;
  k_ret written = native_write(p, (int)fd, "text", 4);
  snprintf(path, 64, "%s%d", folder, (int)fd);
  return written == 4 ? fd : -K_EIO;
}

PROGRAM(links_lead_to_the_files_themselves) {
  (void)arg;
  char text[64], path[64];
  k_ret fd = make_text(p, "/proc/self/fd/", path);
  NEED(fd >= 0);
  NEED_EQ(LINK(path, text), 2);
  NEED_EQ(strcmp(text, "/f"), 0);
  NEED_EQ(SYS(vfs_unlink(&p->view, NULL, "/f")), 0);
  NEED(LINK(path, text) > 0);
  NEED_EQ(strcmp(text, "/f (deleted)"), 0);
  NEED_EQ(READ(path, text), 4);
  NEED_EQ(strcmp(text, "text"), 0);
  return 0;
}

PROGRAM(a_removed_working_directory_keeps_its_name) {
  (void)arg;
  char text[64];
  k_inode *dir = NULL;
  NEED_EQ(SYS(vfs_mkdir(&p->view, NULL, "/a", 0777)), 0);
  NEED_EQ(SYS(vfs_mkdir(&p->view, NULL, "/a/b", 0777)), 0);
  NEED_EQ(SYS(vfs_resolve(&p->view, NULL, "/a/b", 0, &dir)), 0);
  NEED_EQ(SYS(vfs_chdir(&p->view, dir)), 0);
  k_lock(p->kernel);
  k_inode_unref(dir);
  k_unlock(p->kernel);
  NEED(LINK("/proc/self/cwd", text) > 0);
  NEED_EQ(strcmp(text, "/a/b"), 0);
  NEED_EQ(SYS(vfs_rmdir(&p->view, NULL, "/a/b")), 0);
  NEED(LINK("/proc/self/cwd", text) > 0);
  NEED_EQ(strcmp(text, "/a/b (deleted)"), 0);
  return 0;
}

PROGRAM(a_pipe_has_a_name_and_opens_again) {
  (void)arg;
  char text[64], path[64];
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  snprintf(path, sizeof path, "/dev/fd/%d", fds[1]);
  NEED(LINK(path, text) > 0);
  NEED_EQ(strncmp(text, "pipe:[", 6), 0);
  k_ret again = OPEN(path, K_O_WRONLY);
  NEED(again >= 0);
  NEED_EQ(native_write(p, (int)again, "x", 1), 1);
  NEED_EQ(native_read(p, fds[0], text, 1), 1);
  NEED_EQ(OPEN(path, K_O_RDONLY), -K_EACCES);
  NEED_EQ(OPEN("/dev/fd/99", K_O_RDONLY), -K_ENOENT);
  return 0;
}

PROGRAM(fdinfo_tells_position_and_flags) {
  (void)arg;
  char text[64], path[64];
  k_ret fd = make_text(p, "/proc/self/fdinfo/", path);
  NEED(fd >= 0);
  NEED(READ(path, text) > 0);
  NEED_EQ(strcmp(text, "pos:\t4\nflags:\t02\nmnt_id:\t0\n"), 0);
  NEED_EQ(OPEN(path, K_O_WRONLY), -K_EACCES);
  NEED_EQ(READ("/proc/self/fdinfo/99", text), -K_ENOENT);
  return 0;
}

struct listed {
  int64_t pos;
  bool self, one;
  int count;
  int32_t pid;
};

static bool note(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  struct listed *l = ctx;
  char text[32];
  (void)ino, (void)mode;
  snprintf(text, sizeof text, "%.*s", (int)name.len, name.data);
  l->one |= strcmp(text, "1") == 0;
  l->self |= atoi(text) == l->pid;
  l->count++;
  l->pos = next_pos;
  return false; /* one at a time */
}

static k_ret list_locked(k_process *p, struct listed *l) {
  k_file *f = NULL;
  K_TRY(vfs_open(&p->view, NULL, "/proc", K_O_RDONLY, 0, &f));
  k_ret r = 0;
  for (int64_t before = -1; before != l->pos && r >= 0;) {
    before = l->pos;
    r = f->ops->readdir(f, l->pos, note, l);
    if (l->pos != before) continue;
  }
  k_file_unref(f);
  return r;
}

PROGRAM(a_listing_of_proc_has_every_process) {
  (void)arg;
  struct listed l = { .pid = p->pid };
  NEED_EQ(SYS(list_locked(p, &l)), 0);
  NEED(l.one);
  NEED(l.self);
  return 0;
}

static bool note_all(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  (void)note(ctx, name, ino, mode, next_pos);
  return true;
}

static k_ret list_at_once(k_process *p, struct listed *l) {
  k_file *f = NULL;
  K_TRY(vfs_open(&p->view, NULL, "/proc", K_O_RDONLY, 0, &f));
  k_ret r = f->ops->readdir(f, 0, note_all, l);
  k_file_unref(f);
  return r;
}

PROGRAM(a_long_listing_of_proc_is_made_in_pieces) {
  (void)arg;
  enum { OTHERS = 400, PIECES = 20 };
  static k_process *others[OTHERS];
  k_kernel *k = p->kernel;
  k_hold_watch watch;
  struct listed l = { .pid = p->pid };
  k->limits.processes = OTHERS + 10;
  for (int i = 0; i < OTHERS; i++) NEED_EQ(SYS(k_process_new(k, NULL, &others[i])), 0);
  (void)SYS((k_mutex_watch(&k->mu, &watch), 0));
  NEED_EQ(SYS(list_at_once(p, &l)), 0);
  (void)SYS((k_mutex_watch(&k->mu, NULL), 0));
  NEED(l.count > OTHERS);
  NEED(watch.holds > PIECES);
  for (int i = 0; i < OTHERS; i++) (void)SYS((k_process_discard(others[i]), 0));
  return 0;
}

PROGRAM(numbers_of_inodes_stay) {
  (void)arg;
  k_stat one, two, other;
  NEED_EQ(SYS(vfs_stat(&p->view, NULL, "/proc/self/status", 0, &one)), 0);
  NEED_EQ(SYS(vfs_stat(&p->view, NULL, "/proc/self/status", 0, &two)), 0);
  NEED_EQ(SYS(vfs_stat(&p->view, NULL, "/proc/1/status", 0, &other)), 0);
  NEED_EQ(one.ino, two.ino);
  NEED(one.ino != other.ino);
  return 0;
}

PROGRAM(random_uuids_differ) {
  (void)arg;
  char one[64], two[64];
  NEED_EQ(READ("/proc/sys/kernel/random/uuid", one), 37);
  NEED_EQ(READ("/proc/sys/kernel/random/uuid", two), 37);
  NEED(strcmp(one, two) != 0);
  return 0;
}

PROGRAM(a_text_that_is_open_is_charged_until_it_is_closed) {
  (void)arg;
  k_file *f = NULL;
  uint64_t before = p->kernel->used.memory;
  NEED_EQ(SYS(vfs_open(&p->view, NULL, "/proc/self/status", K_O_RDONLY, 0, &f)), 0);
  NEED_EQ(p->kernel->used.memory > before, 1);
  (void)SYS((k_file_unref(f), 0));
  NEED_EQ(p->kernel->used.memory, before);
  p->kernel->limits.memory = before;
  NEED_EQ(SYS(vfs_open(&p->view, NULL, "/proc/self/status", K_O_RDONLY, 0, &f)), -K_ENOMEM);
  return 0;
}
