/* hostfs_test.c - directories of the host, as src/kernel/fs/host/hostfs.h promises them: the whole tree below, and
 * nothing beside it. */
#include "fs/tree.h"

#include "base/thread.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the host's side: <test_dir>/<n>/shared is mounted, <test_dir>/<n>/outside is not ---- */

typedef struct host {
  char dir[128];
} host;

static const char *at(const host *h, const char *path) {
  static char text[2][512];
  static int turn;
  turn = !turn;
  snprintf(text[turn], sizeof text[turn], "%s/%s", h->dir, path);
  return text[turn];
}

static void host_put(const host *h, const char *path, const char *text) {
  FILE *f = fopen(at(h, path), "w");
  EXPECT(f != NULL);
  EXPECT(fputs(text, f) >= 0);
  EXPECT_EQ(fclose(f), 0);
}

static const char *host_get(const host *h, const char *path) {
  static char text[256];
  FILE *f = fopen(at(h, path), "r");
  EXPECT(f != NULL);
  size_t n = fread(text, 1, sizeof text - 1, f);
  text[n] = '\0';
  fclose(f);
  return text;
}

static host host_new(void) {
  static int number;
  host h;
  snprintf(h.dir, sizeof h.dir, "%s/host-%d", test_dir(), number++);
  EXPECT_EQ(mkdir(h.dir, 0755), 0);
  EXPECT_EQ(mkdir(at(&h, "shared"), 0755), 0);
  EXPECT_EQ(mkdir(at(&h, "shared/dir"), 0755), 0);
  EXPECT_EQ(mkdir(at(&h, "outside"), 0755), 0);
  host_put(&h, "shared/file", "text");
  host_put(&h, "shared/dir/inside", "inside");
  host_put(&h, "outside/secret", "SECRET");
  return h;
}

static void mount_host(tree *t, const host *h, const char *path, bool writable) {
  int fd = open(at(h, "shared"), O_PATH | O_DIRECTORY);
  EXPECT(fd >= 0);
  k_inode *root = NULL;
  EXPECT_EQ(hostfs_new(fd, writable, &root), 0);
  EXPECT_EQ(vfs_mount_add(t->k, path, "hostfs", root, writable), 0);
  close(fd);
}

static int open_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < 2048; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

/* A TREE with the host's directory on /h; every descriptor is closed again in the end. */
#define HOST_AS(name, writable)                                                                              \
  static void name##_in(tree *t, const host *h);                                                             \
  TEST(name) {                                                                                               \
    host h = host_new();                                                                                     \
    int before = open_descriptors();                                                                         \
    tree *t = tree_new(NULL, NULL);                                                                          \
    mount_host(t, &h, "/h", writable);                                                                       \
    name##_in(t, &h);                                                                                        \
    tree_free(t);                                                                                            \
    EXPECT_EQ(open_descriptors(), before);                                                                   \
  }                                                                                                          \
  static void name##_in(tree *t, const host *h)
#define HOST(name) HOST_AS(name, true)
#define HOST_READ_ONLY(name) HOST_AS(name, false)

/* ---- seeing and reading ---- */

HOST_READ_ONLY(host_files_can_be_read) {
  (void)h;
  EXPECT_TEXT(get(t, "/h/file"), "text");
  EXPECT_TEXT(get(t, "/h/dir/inside"), "inside");
  EXPECT_EQ(try_stat(t, "/h/none"), -K_ENOENT);
  EXPECT_EQ(try_stat(t, "/h/file/x"), -K_ENOTDIR);
}

HOST_READ_ONLY(files_of_the_host_belong_to_the_user) {
  EXPECT_EQ(chmod(at(h, "shared/file"), 06754), 0);
  k_stat st = stat_of(t, "/h/file");
  EXPECT_EQ(st.uid, K_UID);
  EXPECT_EQ(st.gid, K_GID);
  EXPECT_EQ(st.mode, K_S_IFREG | 0754);
  EXPECT_EQ(st.size, 4);
  EXPECT(st.mtime_ns > 0);
  EXPECT(st.dev_major != stat_of(t, "/").dev_major || st.dev_minor != stat_of(t, "/").dev_minor);
}

/* Takes a few entries at a time, as a small buffer of getdents64(2) does. */
struct pieces {
  int64_t pos;
  int room, found;
  bool wrong;
  uint8_t seen[2000];
};

static bool take(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  struct pieces *p = ctx;
  char text[K_NAME_MAX + 1];
  (void)ino;
  if (p->room-- == 0) return false;
  p->pos = next_pos;
  memcpy(text, name.data, name.len);
  text[name.len] = '\0';
  int number = -1;
  if (sscanf(text, "a-rather-long-name-of-a-file-%d", &number) == 1) {
    p->found++;
    p->seen[number]++;
    p->wrong |= mode != 0 && (mode & K_S_IFMT) != K_S_IFREG;
  }
  return true;
}

static void list_in_pieces(k_file *f, struct pieces *p) {
  for (int64_t before = -1; before != p->pos;) {
    before = p->pos;
    p->room = 7;
    EXPECT(f->ops->readdir(f, p->pos, take, p) >= 0);
  }
}

HOST_READ_ONLY(a_listing_of_the_host_names_everything_once) {
  char path[64];
  for (int i = 0; i < 2000; i++) {
    snprintf(path, sizeof path, "shared/dir/a-rather-long-name-of-a-file-%d", i);
    host_put(h, path, "");
  }
  k_file *f = opened(t, "/h/dir", K_O_RDONLY | K_O_DIRECTORY);
  for (int round = 0; round < 2; round++) { /* and again from the start */
    static struct pieces p;
    memset(&p, 0, sizeof p);
    list_in_pieces(f, &p);
    EXPECT_EQ(p.found, 2000);
    EXPECT(!p.wrong);
    for (int i = 0; i < 2000; i++) EXPECT_EQ(p.seen[i], 1);
  }
  k_file_unref(f);
}

HOST_READ_ONLY(one_file_of_the_host_is_one_inode) {
  EXPECT_EQ(link(at(h, "shared/file"), at(h, "shared/dir/other")), 0);
  OWNED(k_inode_unref) k_inode *one = inode_at(t, "/h/file");
  OWNED(k_inode_unref) k_inode *two = inode_at(t, "/h/dir/other");
  EXPECT(one == two);
  EXPECT_EQ(stat_of(t, "/h/file").nlink, 2);
}

HOST_READ_ONLY(a_change_on_the_host_is_noticed) {
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/h/file");
  uint64_t version = f->version;
  f->exe = t;
  host_put(h, "shared/file", "longer text");
  EXPECT_TEXT(get(t, "/h/file"), "longer text");
  EXPECT(f->version > version);
  EXPECT(f->exe == NULL);
}

HOST_READ_ONLY(statfs_is_that_of_the_host) {
  (void)h;
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/h/file");
  k_statfs st;
  EXPECT_EQ(vfs_statfs(&t->v, f, &st), 0);
  EXPECT(st.block_size > 0);
  EXPECT(st.blocks != (64 << 20) / K_PAGE);
  EXPECT_EQ(st.flags & 1, 1);
}

HOST_READ_ONLY(holes_of_the_host_are_holes) {
  int fd = open(at(h, "shared/sparse"), O_RDWR | O_CREAT, 0644);
  EXPECT_EQ(ftruncate(fd, 1 << 20), 0);
  EXPECT_EQ(pwrite(fd, "x", 1, 1 << 19), 1);
  off_t data = lseek(fd, 0, SEEK_DATA);
  close(fd);
  k_file *f = opened(t, "/h/sparse", K_O_RDONLY);
  EXPECT_EQ(k_file_seek(f, 0, K_SEEK_DATA), data);
  EXPECT_EQ(k_file_seek(f, 0, K_SEEK_END), 1 << 20);
  k_file_unref(f);
}

/* ---- changing ---- */

HOST(written_bytes_reach_the_host) {
  put(t, "/h/file", "changed");
  EXPECT_TEXT(host_get(h, "shared/file"), "changed");
  put(t, "/h/dir/new", "new");
  EXPECT_TEXT(host_get(h, "shared/dir/new"), "new");
}

HOST(appending_goes_to_the_end_as_the_host_sees_it) {
  k_file *f = opened(t, "/h/file", K_O_WRONLY | K_O_APPEND);
  EXPECT_EQ(k_file_write(NULL, f, "+1", 2), 2);
  host_put(h, "shared/file", "much longer than before");
  EXPECT_EQ(k_file_write(NULL, f, "+2", 2), 2);
  k_file_unref(f);
  EXPECT_TEXT(host_get(h, "shared/file"), "much longer than before+2");
}

HOST(names_are_made_and_removed_on_the_host) {
  struct stat st;
  make_dir(t, "/h/new");
  EXPECT_EQ(stat(at(h, "shared/new"), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0755);
  make_link(t, "dir/inside", "/h/link");
  EXPECT_TEXT(get(t, "/h/link"), "inside");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/h/file", 0, NULL, "/h/new/hard"), 0);
  EXPECT_EQ(stat(at(h, "shared/new/hard"), &st), 0);
  EXPECT_EQ(st.st_nlink, 2);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/h/new"), -K_ENOTEMPTY);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/h/new/hard"), 0);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/h/new"), 0);
  EXPECT_EQ(stat(at(h, "shared/new"), &st), -1);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/h/link"), 0);
}

HOST(the_guests_umask_decides_not_the_hosts) {
  struct stat st;
  mode_t old = umask(077);
  t->v.umask = 002;
  put(t, "/h/f", "x");
  make_dir(t, "/h/d");
  umask(old);
  EXPECT_EQ(stat(at(h, "shared/f"), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0664);
  EXPECT_EQ(stat(at(h, "shared/d"), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0775);
}

HOST(creator_may_write_a_host_file_of_any_mode) {
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(&t->v, NULL, "/h/f", K_O_WRONLY | K_O_CREAT | K_O_EXCL, 0444, &f), 0);
  EXPECT_EQ(k_file_write(NULL, f, "x", 1), 1);
  k_file_unref(f);
  EXPECT_TEXT(host_get(h, "shared/f"), "x");
  EXPECT_EQ(try_open(t, "/h/f", K_O_WRONLY), -K_EACCES);
}

HOST(an_open_file_of_the_host_is_cut_even_without_a_name) {
  (void)h;
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(&t->v, NULL, "/h/f", K_O_RDWR | K_O_CREAT | K_O_EXCL, 0400, &f), 0);
  EXPECT_EQ(k_file_write(NULL, f, "text", 4), 4);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/h/f"), 0);
  EXPECT_EQ(f->inode->ops->setattr(f->inode, &(k_attr){ .which = K_ATTR_SIZE, .size = 2 }), 0);
  k_stat st;
  EXPECT_EQ(k_file_stat(f, &st), 0);
  EXPECT_EQ(st.size, 2);
  EXPECT_EQ(st.nlink, 0);
  k_file_unref(f);
}

HOST(attributes_are_changed_on_the_host) {
  struct stat st;
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/h/file");
  EXPECT_EQ(vfs_chmod(&t->v, f, 04711), 0);
  EXPECT_EQ(stat(at(h, "shared/file"), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0711);
  int64_t mtime = INT64_C(1234567890123456789), atime = -1500000000;
  EXPECT_EQ(vfs_utimens(&t->v, f, &atime, &mtime, true), 0);
  EXPECT_EQ(stat_of(t, "/h/file").mtime_ns, mtime);
  EXPECT_EQ(stat_of(t, "/h/file").atime_ns, atime);
  EXPECT_EQ(vfs_truncate(&t->v, f, 2), 0);
  EXPECT_TEXT(host_get(h, "shared/file"), "te");
  EXPECT_EQ(vfs_chown(&t->v, f, K_UID, K_GID), 0);
  EXPECT_EQ(vfs_chown(&t->v, f, 0, 0), -K_EPERM);
  make_link(t, "nowhere", "/h/link");
  OWNED(k_inode_unref) k_inode *link = inode_at(t, "/h/link");
  EXPECT_EQ(vfs_utimens(&t->v, link, NULL, &mtime, true), 0);
  EXPECT_EQ(stat_of(t, "/h/link").mtime_ns, mtime);
}

HOST(renames_on_the_host_are_known_at_once) {
  make_dir(t, "/h/a");
  put(t, "/h/a/f", "x");
  OWNED(k_inode_unref) k_inode *a = inode_at(t, "/h/a");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/h/a", NULL, "/h/dir/b", 0), 0);
  EXPECT_TEXT(path_of(t, a), "/h/dir/b");
  EXPECT_TEXT(get(t, "/h/dir/b/f"), "x");
  EXPECT_EQ(access(at(h, "shared/dir/b/f"), F_OK), 0);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/h/dir", NULL, "/h/dir/b/c", 0), -K_EINVAL);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/h/dir/b/f", NULL, "/h/file", VFS_RENAME_NOREPLACE), -K_EEXIST);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/h/dir/b/f", NULL, "/h/file", VFS_RENAME_EXCHANGE), 0);
  EXPECT_TEXT(get(t, "/h/dir/b/f"), "text");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/h/file", NULL, "/here", 0), -K_EXDEV);
  EXPECT_EQ(vfs_link(&t->v, NULL, "/h/file", 0, NULL, "/here"), -K_EXDEV);
}

HOST(a_removed_directory_of_the_host_has_no_path) {
  (void)h;
  make_dir(t, "/h/d");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/h/d");
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/h/d"), 0);
  char text[64];
  EXPECT_EQ(vfs_path_of(&t->v, d, text, sizeof text), -K_ENOENT);
}

HOST(a_file_that_the_host_replaces_is_opened_as_it_is_now) {
  OWNED(k_inode_unref) k_inode *old = inode_at(t, "/h/file");
  host_put(h, "shared/new", "replaced");
  EXPECT_EQ(rename(at(h, "shared/new"), at(h, "shared/file")), 0);
  EXPECT_TEXT(get(t, "/h/file"), "replaced");
  k_file *f = NULL;
  k_ret r = vfs_open_inode(&t->v, old, K_O_RDONLY, &f);
  EXPECT(r == -K_ESTALE || r == -K_ENOENT);
}

HOST(a_tree_that_the_host_turns_over_makes_no_circle) {
  make_dir(t, "/h/a");
  make_dir(t, "/h/a/b");
  OWNED(k_inode_unref) k_inode *b = inode_at(t, "/h/a/b");
  EXPECT_EQ(rename(at(h, "shared/a/b"), at(h, "shared/b")), 0);
  EXPECT_EQ(rename(at(h, "shared/a"), at(h, "shared/b/a")), 0);
  EXPECT_EQ(vfs_chdir(&t->v, b), 0);
  OWNED(k_inode_unref) k_inode *a = inode_at(t, "a"); /* below b, which we think is below a */
  char text[256];
  EXPECT(vfs_path_of(&t->v, a, text, sizeof text) < 0);
  EXPECT_EQ(try_stat(t, "/h/b/a"), 0);
  EXPECT_TEXT(path_of(t, a), "/h/b/a");
}

HOST(a_mount_may_stand_in_a_directory_of_the_host) {
  (void)h;
  k_inode *root = NULL;
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  root->mode |= 0777;
  EXPECT_EQ(vfs_mount_add(t->k, "/h/dir", "tmpfs", root, true), 0);
  put(t, "/h/dir/f", "in memory");
  EXPECT_TEXT(names(t, "/h/dir"), "f");
  EXPECT_EQ(stat_of(t, "/h/dir/..").ino, stat_of(t, "/h").ino);
  EXPECT_EQ(vfs_mount_remove(t->k, "/h"), -K_EBUSY);
  EXPECT_EQ(vfs_mount_remove(t->k, "/h/dir"), 0);
  EXPECT_TEXT(get(t, "/h/dir/inside"), "inside");
}

HOST(a_file_that_is_open_outlives_the_mount) {
  (void)h;
  k_file *f = opened(t, "/h/dir/inside", K_O_RDONLY);
  OWNED(k_inode_unref) k_inode *dir = inode_at(t, "/h/dir");
  EXPECT_EQ(vfs_mount_remove(t->k, "/h"), 0);
  char text[8];
  EXPECT_EQ(k_file_read(NULL, f, text, sizeof text), 6);
  k_stat st;
  EXPECT_EQ(vfs_stat(&t->v, dir, "..", 0, &st), 0);
  EXPECT_EQ(vfs_stat(&t->v, dir, "../../../outside", 0, &st), -K_ENOENT);
  k_file_unref(f);
}

/* ---- read-only ---- */

HOST_READ_ONLY(a_directory_mounted_for_reading_cannot_be_changed) {
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/h/file");
  int64_t now = 1;
  EXPECT_EQ(try_open(t, "/h/file", K_O_WRONLY), -K_EROFS);
  EXPECT_EQ(try_open(t, "/h/file", K_O_RDONLY | K_O_TRUNC), -K_EROFS);
  EXPECT_EQ(try_open(t, "/h/new", K_O_RDONLY | K_O_CREAT), -K_EROFS);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, "/h/new", 0777), -K_EROFS);
  EXPECT_EQ(vfs_symlink(&t->v, "x", NULL, "/h/new"), -K_EROFS);
  EXPECT_EQ(vfs_link(&t->v, NULL, "/h/file", 0, NULL, "/h/new"), -K_EROFS);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/h/file"), -K_EROFS);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/h/dir"), -K_EROFS);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/h/file", NULL, "/h/new", 0), -K_EROFS);
  EXPECT_EQ(vfs_chmod(&t->v, f, 0777), -K_EROFS);
  EXPECT_EQ(vfs_utimens(&t->v, f, &now, &now, true), -K_EROFS);
  EXPECT_EQ(vfs_truncate(&t->v, f, 0), -K_EROFS);
  EXPECT_EQ(vfs_access(&t->v, NULL, "/h/file", 0, 2), -K_EROFS);
  EXPECT_TEXT(host_get(h, "shared/file"), "text");
}

/* Even one who gets past the path layer. */
HOST_READ_ONLY(the_file_system_itself_refuses_too) {
  (void)h;
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/h/file");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/h/dir");
  const k_name name = { "inside", 6 };
  k_file *file = NULL;
  EXPECT_EQ(f->ops->open(f, K_O_RDWR, &file), -K_EROFS);
  EXPECT_EQ(f->ops->setattr(f, &(k_attr){ .which = K_ATTR_SIZE }), -K_EROFS);
  EXPECT_EQ(d->ops->unlink(d, name, false), -K_EROFS);
  EXPECT_EQ(d->ops->rename(d, name, d, (k_name){ "x", 1 }, 0), -K_EROFS);
  EXPECT_EQ(d->ops->link(d, (k_name){ "x", 1 }, f), -K_EROFS);
  EXPECT_EQ(d->ops->symlink(d, (k_name){ "x", 1 }, "y", 1, 0, 0), -K_EROFS);
}

/* ---- getting out ---- */

HOST_READ_ONLY(dot_dot_ends_in_the_sandbox) {
  (void)h;
  EXPECT_EQ(try_stat(t, "/h/../outside"), -K_ENOENT);
  EXPECT_EQ(try_stat(t, "/h/dir/../../outside/secret"), -K_ENOENT);
  EXPECT_EQ(stat_of(t, "/h/dir/../..").ino, stat_of(t, "/").ino);
  EXPECT_EQ(try_stat(t, "/h/../../../../../../../etc/passwd"), -K_ENOENT);
}

HOST(symlinks_of_the_host_mean_the_sandboxs_names) {
  EXPECT_EQ(symlink("../outside/secret", at(h, "shared/out")), 0);
  EXPECT_EQ(symlink("../outside", at(h, "shared/out-dir")), 0);
  EXPECT_EQ(symlink("/etc/passwd", at(h, "shared/absolute")), 0);
  EXPECT_EQ(symlink("/proc/self/root/etc/passwd", at(h, "shared/magic")), 0);
  EXPECT_EQ(try_open(t, "/h/out", K_O_RDONLY), -K_ENOENT);
  EXPECT_EQ(try_open(t, "/h/out-dir/secret", K_O_RDONLY), -K_ENOENT);
  EXPECT_EQ(try_open(t, "/h/absolute", K_O_RDONLY), -K_ENOENT);
  EXPECT_EQ(try_open(t, "/h/magic", K_O_RDONLY), -K_ENOENT);
  char text[64];
  EXPECT_EQ(vfs_readlink(&t->v, NULL, "/h/out", text, sizeof text), 17);
  make_dir(t, "/outside");
  put(t, "/outside/secret", "harmless");
  EXPECT_TEXT(get(t, "/h/out"), "harmless");
  put(t, "/h/out", "written inside");
  EXPECT_TEXT(host_get(h, "outside/secret"), "SECRET");
}

HOST(kinds_that_are_no_files_cannot_be_opened) {
  struct sockaddr_un name = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), old = open(".", O_PATH);
  EXPECT_EQ(chdir(at(h, "shared")), 0); /* the whole path may be too long for a socket */
  snprintf(name.sun_path, sizeof name.sun_path, "socket");
  EXPECT_EQ(bind(fd, (const void *)&name, sizeof name), 0);
  EXPECT_EQ(mkfifo("fifo", 0666), 0);
  EXPECT_EQ(fchdir(old), 0);
  close(old);
  close(fd);
  EXPECT_EQ(stat_of(t, "/h/fifo").mode & K_S_IFMT, K_S_IFIFO);
  EXPECT_EQ(try_open(t, "/h/fifo", K_O_RDONLY), -K_EACCES);
  EXPECT_EQ(try_open(t, "/h/fifo", K_O_WRONLY | K_O_NONBLOCK), -K_EACCES);
  EXPECT(try_open(t, "/h/socket", K_O_RDWR) < 0);
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/h/new", K_S_IFIFO | 0666, 0), -K_EPERM);
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/h/new", K_S_IFCHR | 0666, 0x103), -K_EPERM);
}

/* The host swaps a directory, a symlink to the outside and a FIFO as fast as it can, while the guest opens.
 */
struct swapper {
  const host *h;
  atomic_bool stop;
};

static void swap(void *ctx) {
  struct swapper *s = ctx;
  char dir[512], spare[512];
  snprintf(dir, sizeof dir, "%s", at(s->h, "shared/swap"));
  snprintf(spare, sizeof spare, "%s", at(s->h, "shared/swap-spare"));
  while (!atomic_load(&s->stop)) {
    rename(dir, spare);
    if (symlink("../outside", dir) == 0) unlink(dir);
    if (mkfifo(dir, 0666) == 0) unlink(dir);
    rename(spare, dir);
  }
}

static const char *const RACED[] = { "/h/swap/secret", "/h/swap/../swap/secret", "/h/swap" };

HOST(no_race_of_renames_leads_out) {
  EXPECT_EQ(mkdir(at(h, "shared/swap"), 0755), 0);
  host_put(h, "shared/swap/secret", "harmless");
  struct swapper s = { .h = h };
  pthread_t thread;
  EXPECT_EQ(thread_start("swapper", 0, swap, &s, &thread, NULL), CAY_OK);
  int leaks = 0;
  for (int i = 0; i < 6000; i++) {
    k_file *f = NULL;
    char text[16] = { 0 };
    if (vfs_open(&t->v, NULL, RACED[i % 3], K_O_RDONLY, 0, &f) < 0) continue;
    if (k_file_read(NULL, f, text, sizeof text - 1) > 0) leaks += strcmp(text, "harmless") != 0;
    k_file_unref(f);
  }
  atomic_store(&s.stop, true);
  thread_join(thread);
  EXPECT_EQ(leaks, 0);
}

/* The guest's own renames race with its own opens, on two threads of one kernel. */
struct mover {
  tree *t;
  atomic_bool stop;
};

static void move_about(void *ctx) {
  struct mover *m = ctx;
  k_kernel *k = m->t->k;
  k_lock(k);
  vfs_view v;
  if (vfs_view_copy(&v, &m->t->v) < 0) return;
  for (int i = 0; !atomic_load(&m->stop); i++) {
    bool there = i % 2 == 0;
    k_ret r = vfs_rename(&v, NULL, there ? "/h/dir" : "/h/file.d", NULL, there ? "/h/file.d" : "/h/dir", 0);
    (void)r;
    k_unlock(k);
    k_lock(k);
  }
  vfs_view_clear(&v);
  k_unlock(k);
}

HOST(opens_and_renames_of_two_threads_agree) {
  (void)h;
  struct mover m = { .t = t };
  pthread_t thread;
  EXPECT_EQ(thread_start("mover", 0, move_about, &m, &thread, NULL), CAY_OK);
  for (int i = 0; i < 3000; i++) {
    k_file *f = NULL;
    k_ret r = vfs_open(&t->v, NULL, i % 2 ? "/h/dir/inside" : "/h/file.d/inside", K_O_RDONLY, 0, &f);
    EXPECT(r == 0 || r == -K_ENOENT || r == -K_ESTALE);
    k_file_unref(f);
    k_unlock(t->k);
    k_lock(t->k);
  }
  atomic_store(&m.stop, true);
  k_unlock(t->k);
  thread_join(thread);
  k_lock(t->k);
}

/* ---- descriptors ---- */

HOST_READ_ONLY(a_guest_gets_only_so_many_descriptors_of_the_host) {
  (void)h;
  static k_file *files[2000];
  size_t count = 0;
  k_ret r = 0;
  while (count < COUNT_OF(files) && r == 0) {
    r = vfs_open(&t->v, NULL, "/h/file", K_O_RDONLY, 0, &files[count]);
    count += r == 0;
  }
  EXPECT_EQ(r, -K_ENFILE);
  EXPECT(count > 100);
  int spare = open("/dev/null", O_RDONLY);
  EXPECT(spare >= 0);
  close(spare);
  while (count > 0) k_file_unref(files[--count]);
  EXPECT_EQ(try_open(t, "/h/file", K_O_RDONLY), 0);
}

TEST(the_last_quarter_of_the_descriptors_is_the_embedders) {
  struct rlimit old;
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  host h = host_new();
  struct rlimit low = { .rlim_cur = 100, .rlim_max = old.rlim_max };
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  tree *t = tree_new(NULL, NULL);
  mount_host(t, &h, "/h", true);
  static k_file *files[200];
  size_t count = 0;
  k_ret r = 0;
  while (r == 0 && count < COUNT_OF(files)) {
    r = vfs_open(&t->v, NULL, "/h/file", K_O_RDONLY, 0, &files[count]);
    count += r == 0;
  }
  int spare[20];
  for (size_t i = 0; i < COUNT_OF(spare); i++) spare[i] = open("/dev/null", O_RDONLY);
  bool had_room = spare[COUNT_OF(spare) - 1] >= 0;
  for (size_t i = 0; i < COUNT_OF(spare); i++) close(spare[i]);
  while (count > 0) k_file_unref(files[--count]);
  tree_free(t);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(r, -K_ENFILE);
  EXPECT(had_room);
}

/* ---- failures ---- */

TEST(mount_of_a_file_is_enotdir) {
  host h = host_new();
  int fd = open(at(&h, "shared/file"), O_RDONLY);
  k_inode *root = NULL;
  EXPECT_EQ(hostfs_new(fd, true, &root), -K_ENOTDIR);
  close(fd);
  EXPECT_EQ(hostfs_new(-1, true, &root), -K_EBADF);
}

/* Each call of the host and each allocation fails once: no descriptor and no memory is lost. */
HOST(every_failure_of_the_host_is_told_and_costs_nothing) {
  AT_EVERY_FAULT {
    int before = open_descriptors();
    k_ret r = try_open(t, "/h/dir/new", K_O_RDWR | K_O_CREAT);
    if (r >= 0) r = vfs_rename(&t->v, NULL, "/h/dir/new", NULL, "/h/moved", 0);
    if (r >= 0) r = vfs_symlink(&t->v, "x", NULL, "/h/link");
    if (r >= 0) r = vfs_mkdir(&t->v, NULL, "/h/d", 0777);
    if (r >= 0) r = vfs_rmdir(&t->v, NULL, "/h/d");
    if (r >= 0) r = vfs_unlink(&t->v, NULL, "/h/link");
    if (r >= 0) r = vfs_unlink(&t->v, NULL, "/h/moved");
    EXPECT(r >= 0 ? !mem_has_failed() : r == -K_EIO || r == -K_ENOMEM);
    EXPECT_EQ(open_descriptors(), before);
    (void)unlink(at(h, "shared/dir/new"));
    (void)unlink(at(h, "shared/moved"));
    (void)unlink(at(h, "shared/link"));
    (void)rmdir(at(h, "shared/d"));
  }
}

HOST_READ_ONLY(reading_with_failures_is_told_and_costs_nothing) {
  (void)h;
  AT_EVERY_FAULT {
    int before = open_descriptors();
    k_file *f = NULL;
    char text[8];
    k_ret r = vfs_open(&t->v, NULL, "/h/dir/inside", K_O_RDONLY, 0, &f);
    if (r >= 0) r = k_file_read(NULL, f, text, sizeof text);
    k_file_unref(f);
    EXPECT(r == 6 || r == -K_EIO || r == -K_ENOMEM);
    EXPECT_EQ(open_descriptors(), before);
  }
}
