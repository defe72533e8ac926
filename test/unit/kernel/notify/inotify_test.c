/* inotify_test.c - inotify(7) as src/kernel/notify promises it: charges, ends of watches, and the rest that the
 * programs of test/posix cannot see. */
#include "fs/tree.h"

#include "kernel/notify/inotify.h"
#include "kernel/notify/notify.h"
#include "kernel/notify/notify_inner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct record {
  int32_t wd;
  uint32_t mask, cookie, len;
  char name[];
} record;

static k_file *watcher(tree *t) {
  k_file *f = NULL;
  EXPECT_EQ(k_inotify_new(t->k, K_O_NONBLOCK, &f), 0);
  return f;
}

static k_ret watch(tree *t, k_file *in, const char *path, uint32_t mask) {
  k_inode *inode = inode_at(t, path);
  EXPECT_EQ(k_inotify_check(in, mask), 0);
  k_ret wd = k_inotify_add(in, inode, mask);
  k_inode_unref(inode);
  return wd;
}

/* "1:20:name 2:20": the events that wait, taken; the text is borrowed until the next. */
static const char *told(k_file *in) {
  static char text[4096];
  _Alignas(record) static char buf[4096];
  size_t at = 0;
  text[0] = '\0';
  k_ret n = k_file_read(NULL, in, buf, sizeof buf);
  for (k_ret i = 0; i < n;) {
    const record *r = (const void *)(buf + i);
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%d:%x", at > 0 ? " " : "", r->wd, r->mask);
    if (r->len != 0) at += (size_t)snprintf(text + at, sizeof text - at, ":%s", r->name);
    i += (k_ret)(sizeof *r + r->len);
  }
  return text;
}

TREE(watches_are_charged_and_everything_is_given_back) {
  uint64_t before = t->k->used.memory;
  make_dir(t, "/d");
  k_file *in = watcher(t);
  EXPECT_EQ(watch(t, in, "/d", K_IN_ALL_EVENTS), 1);
  uint64_t with = t->k->used.memory;
  put(t, "/d/f", "x");
  EXPECT(t->k->used.memory > with);
  EXPECT(with > before);
  k_file_unref(in);
  EXPECT_EQ(t->k->used.memory, before);
  EXPECT_EQ(t->k->watches, 0);
  EXPECT_EQ(t->k->inotifies, 0);
}

TREE(a_watch_keeps_an_unlinked_file_no_longer_than_its_users) {
  uint64_t before = t->k->used.memory;
  uint32_t inodes = t->k->used.inodes;
  put(t, "/f", "x");
  k_file *in = watcher(t), *f = opened(t, "/f", K_O_RDONLY);
  EXPECT_EQ(watch(t, in, "/f", K_IN_DELETE_SELF), 1);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/f"), 0);
  EXPECT_TEXT(told(in), "");
  k_file_unref(f);
  EXPECT_TEXT(told(in), "1:400 1:8000");
  EXPECT_EQ(t->k->used.inodes, inodes);
  k_file_unref(in);
  EXPECT_EQ(t->k->used.memory, before);
}

/* The name is remembered for those who use the file, and forgotten with the last one, watches or not. */
TREE(a_removed_name_is_told_until_its_last_user_is_gone) {
  uint64_t before = t->k->used.memory;
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  k_file *in = watcher(t), *f = opened(t, "/d/f", K_O_RDWR);
  EXPECT_EQ(watch(t, in, "/d", K_IN_MODIFY | K_IN_CLOSE_WRITE), 1);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/f"), 0);
  EXPECT_EQ(k_file_write(NULL, f, "y", 1), 1);
  EXPECT_TEXT(told(in), "1:2:f");
  k_file_unref(in);
  k_file_unref(f);
  EXPECT_EQ(t->k->used.memory, before);
  EXPECT(list_empty(&t->k->watched));
}

TREE(a_file_with_two_names_lives_on_after_one_is_removed) {
  put(t, "/f", "x");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/f", VFS_NOFOLLOW, NULL, "/g"), 0);
  k_file *in = watcher(t);
  EXPECT_EQ(watch(t, in, "/f", K_IN_DELETE_SELF | K_IN_ATTRIB), 1);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/f"), 0);
  EXPECT_TEXT(told(in), "1:4");
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/g"), 0);
  EXPECT_TEXT(told(in), "1:4 1:400 1:8000");
  k_file_unref(in);
}

/* Calls of the embedder take the same way. */
TREE(a_change_without_a_process_is_told) {
  make_dir(t, "/d");
  k_file *in = watcher(t);
  EXPECT_EQ(watch(t, in, "/d", K_IN_CREATE | K_IN_DELETE | K_IN_MODIFY), 1);
  put(t, "/d/f", "x");
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/f"), 0);
  EXPECT_TEXT(told(in), "1:100:f 1:2:f 1:200:f");
  k_file_unref(in);
}

TREE(without_memory_events_become_an_overflow) {
  put(t, "/f", "x");
  k_file *in = watcher(t);
  EXPECT_EQ(watch(t, in, "/f", K_IN_OPEN | K_IN_CLOSE_NOWRITE), 1);
  mem_fail_at(2); /* the first is the open file */
  k_file *f = opened(t, "/f", K_O_RDONLY);
  EXPECT(mem_has_failed());
  mem_fail_at(0);
  k_file_unref(f);
  EXPECT_TEXT(told(in), "-1:4000 1:10");
  k_file_unref(in);
}

TREE(a_queue_is_bounded) {
  put(t, "/f", "x");
  k_file *in = watcher(t);
  EXPECT_EQ(watch(t, in, "/f", K_IN_OPEN | K_IN_CLOSE_NOWRITE), 1);
  for (int i = 0; i < K_INOTIFY_EVENTS; i++) EXPECT_EQ(try_open(t, "/f", K_O_RDONLY), 0);
  int32_t waiting = 0;
  EXPECT_EQ(in->ops->ioctl(in, K_FIONREAD, &waiting, sizeof waiting), 0);
  EXPECT_EQ(waiting, 16 * (K_INOTIFY_EVENTS + 1));
  k_file_unref(in);
}

TREE(instances_are_bounded) {
  k_file *all[K_INOTIFY_INSTANCES], *more = NULL;
  for (int i = 0; i < K_INOTIFY_INSTANCES; i++) all[i] = watcher(t);
  EXPECT_EQ(k_inotify_new(t->k, 0, &more), -K_EMFILE);
  for (int i = 0; i < K_INOTIFY_INSTANCES; i++) k_file_unref(all[i]);
}

TREE(a_watch_that_cannot_be_had_leaves_nothing) {
  put(t, "/f", "x");
  k_file *in = watcher(t);
  uint64_t before = t->k->used.memory;
  k_inode *inode = inode_at(t, "/f");
  for (size_t nth = 1; nth <= 2; nth++) {
    mem_fail_at(nth);
    EXPECT_EQ(k_inotify_add(in, inode, K_IN_OPEN), -K_ENOMEM);
    mem_fail_at(0);
    EXPECT_EQ(t->k->used.memory, before);
    EXPECT(inode->watched == NULL);
  }
  EXPECT_EQ(k_inotify_add(in, inode, K_IN_OPEN), 1);
  k_inode_unref(inode);
  k_file_unref(in);
}

TREE(unmounting_ends_the_watches_of_a_file_system) {
  k_inode *root = NULL;
  make_dir(t, "/m");
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  EXPECT_EQ(vfs_mount_add(t->k, "/m", "tmpfs", root, true), 0);
  k_file *in = watcher(t);
  EXPECT_EQ(watch(t, in, "/m", K_IN_CREATE), 1);
  EXPECT_EQ(watch(t, in, "/", K_IN_CREATE), 2);
  EXPECT_EQ(vfs_mount_remove(t->k, "/m"), 0);
  EXPECT_TEXT(told(in), "1:2000 1:8000");
  EXPECT_EQ(k_inotify_remove(in, 1), -K_EINVAL);
  EXPECT_EQ(k_inotify_remove(in, 2), 0);
  k_file_unref(in);
}

TREE(changes_in_a_mount_of_the_host_are_told) {
  char dir[256];
  k_inode *root = NULL;
  snprintf(dir, sizeof dir, "%s/watched", test_dir());
  EXPECT_EQ(mkdir(dir, 0755), 0);
  int fd = open(dir, O_PATH | O_DIRECTORY);
  EXPECT(fd >= 0);
  make_dir(t, "/h");
  EXPECT_EQ(hostfs_new(fd, true, &root), 0);
  EXPECT_EQ(vfs_mount_add(t->k, "/h", "hostfs", root, true), 0);
  close(fd);
  k_file *in = watcher(t);
  EXPECT_EQ(watch(t, in, "/h", K_IN_ALL_EVENTS), 1);
  put(t, "/h/f", "x");
  EXPECT_TEXT(told(in), "1:100:f 1:20:f 1:2:f 1:8:f");
  EXPECT_EQ(watch(t, in, "/h/f", K_IN_ALL_EVENTS), 2);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/h/f", NULL, "/h/g", 0), 0);
  EXPECT_TEXT(told(in), "1:40:f 1:80:g 2:800");
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/h/g"), 0);
  EXPECT_TEXT(told(in), "2:4 2:400 2:8000 1:200:g");
  k_file_unref(in);
  EXPECT_EQ(vfs_mount_remove(t->k, "/h"), 0);
}

/* ---- the lock ---- */

/* The records that one read gives. */
static size_t records_of_a_read(k_file *in) {
  static char buf[1 << 20];
  size_t count = 0;
  k_ret n = k_file_read(NULL, in, buf, sizeof buf);
  for (k_ret i = 0; i < n; count++)
    i += (k_ret)(sizeof(record) + ((const record *)(const void *)(buf + i))->len);
  return count;
}

TREE(a_full_queue_is_read_in_pieces_and_nothing_is_lost) {
  enum { READ_RECORDS = 2048 };
  size_t all = 0, most = 0;
  k_file *in = watcher(t);
  put(t, "/f", "x");
  EXPECT_EQ(watch(t, in, "/f", K_IN_ATTRIB | K_IN_MODIFY), 1);
  k_inode *f = inode_at(t, "/f");
  for (int i = 0; i < K_INOTIFY_EVENTS + 10; i++) k_notify(f, i % 2 == 0 ? K_IN_ATTRIB : K_IN_MODIFY);
  for (size_t n; (n = records_of_a_read(in)) > 0; all += n)
    if (n > most) most = n;
  EXPECT_EQ(all, K_INOTIFY_EVENTS + 1);
  EXPECT(most <= READ_RECORDS);
  k_inode_unref(f);
  k_file_unref(in);
}

/* Watches may be removed: the descriptors that are left can have any distance. */
TEST(descriptors_at_a_chosen_distance_do_not_share_a_bucket) {
  enum { MARKS = 16 << 10, SEEDS = 16 };
  static uint32_t load[NOTIFY_BUCKETS];
  rng random;
  rng_seed_number(&random, 12);
  for (int s = 0; s < SEEDS; s++) {
    uint64_t seed = rng_u64(&random) | 1;
    for (int32_t distance = 1; distance <= 1 << 16; distance *= 2) {
      uint32_t most = 0;
      memset(load, 0, sizeof load);
      for (int32_t i = 1; i <= MARKS; i++) {
        uint32_t n = ++load[notify_bucket(i * distance, seed)];
        if (n > most) most = n;
      }
      EXPECT(most <= MARKS / 16);
    }
  }
}
