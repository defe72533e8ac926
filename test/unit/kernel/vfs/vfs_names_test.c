/* vfs_names_test.c - mkdir(2), link(2), unlink(2), rename(2) and what else changes names, as
 * src/kernel/vfs/vfs.h promises it. */
#include "fs/tree.h"

static k_ret mkdir_at(tree *t, const char *path) { return vfs_mkdir(&t->v, NULL, path, 0777); }
static k_ret rmdir_at(tree *t, const char *path) { return vfs_rmdir(&t->v, NULL, path); }
static k_ret unlink_at(tree *t, const char *path) { return vfs_unlink(&t->v, NULL, path); }
static k_ret link_at(tree *t, const char *from, const char *to) {
  return vfs_link(&t->v, NULL, from, VFS_NOFOLLOW, NULL, to);
}
static k_ret move(tree *t, const char *from, const char *to) {
  return vfs_rename(&t->v, NULL, from, NULL, to, 0);
}

/* ---- mkdir, rmdir ---- */

TREE(a_directory_counts_itself_and_those_below) {
  EXPECT_EQ(stat_of(t, "/").nlink, 2);
  make_dir(t, "/d");
  make_dir(t, "/d/a");
  make_dir(t, "/d/b");
  put(t, "/d/f", "x");
  EXPECT_EQ(stat_of(t, "/").nlink, 3);
  EXPECT_EQ(stat_of(t, "/d").nlink, 4);
  EXPECT_EQ(rmdir_at(t, "/d/a"), 0);
  EXPECT_EQ(stat_of(t, "/d").nlink, 3);
}

TREE(mkdir_refuses_what_is_there) {
  make_dir(t, "/d");
  put(t, "/f", "x");
  make_link(t, "nowhere", "/link");
  EXPECT_EQ(mkdir_at(t, "/d"), -K_EEXIST);
  EXPECT_EQ(mkdir_at(t, "/d/"), -K_EEXIST);
  EXPECT_EQ(mkdir_at(t, "/f"), -K_EEXIST);
  EXPECT_EQ(mkdir_at(t, "/link"), -K_EEXIST);
  EXPECT_EQ(mkdir_at(t, "/"), -K_EEXIST);
  EXPECT_EQ(mkdir_at(t, "/d/."), -K_EEXIST);
  EXPECT_EQ(mkdir_at(t, "/none/d"), -K_ENOENT);
  EXPECT_EQ(mkdir_at(t, "/f/d"), -K_ENOTDIR);
  EXPECT_EQ(mkdir_at(t, "/new/"), 0);
}

TREE(rmdir_takes_empty_directories_only) {
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  EXPECT_EQ(rmdir_at(t, "/d"), -K_ENOTEMPTY);
  EXPECT_EQ(rmdir_at(t, "/d/f"), -K_ENOTDIR);
  EXPECT_EQ(unlink_at(t, "/d/f"), 0);
  EXPECT_EQ(rmdir_at(t, "/d/."), -K_EINVAL);
  EXPECT_EQ(rmdir_at(t, "/d/.."), -K_ENOTEMPTY);
  EXPECT_EQ(rmdir_at(t, "/"), -K_EBUSY);
  EXPECT_EQ(rmdir_at(t, "/d/"), 0);
  EXPECT_EQ(rmdir_at(t, "/d"), -K_ENOENT);
}

TREE(rmdir_of_a_symlink_is_an_error) {
  make_dir(t, "/d");
  make_link(t, "d", "/link");
  EXPECT_EQ(rmdir_at(t, "/link"), -K_ENOTDIR);
  EXPECT_EQ(rmdir_at(t, "/link/"), -K_ENOTDIR);
}

TREE(a_directory_inherits_the_set_group_bit) {
  make_dir(t, "/d");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/d");
  t->v.privileged = true;
  EXPECT_EQ(vfs_chown(&t->v, d, UINT32_MAX, 77), 0);
  EXPECT_EQ(vfs_chmod(&t->v, d, 02777), 0);
  t->v.privileged = false;
  make_dir(t, "/d/e");
  put(t, "/d/f", "x");
  EXPECT_EQ(stat_of(t, "/d/e").mode & K_S_ISGID, K_S_ISGID);
  EXPECT_EQ(stat_of(t, "/d/e").gid, 77);
  EXPECT_EQ(stat_of(t, "/d/f").gid, 77);
}

/* ---- unlink ---- */

TREE(unlink_takes_everything_but_directories) {
  make_dir(t, "/d");
  put(t, "/f", "x");
  make_link(t, "f", "/link");
  EXPECT_EQ(unlink_at(t, "/d"), -K_EISDIR);
  EXPECT_EQ(unlink_at(t, "/link"), 0);
  EXPECT_EQ(try_stat(t, "/f"), 0);
  EXPECT_EQ(unlink_at(t, "/f/"), -K_ENOTDIR);
  EXPECT_EQ(unlink_at(t, "/f"), 0);
  EXPECT_EQ(unlink_at(t, "/f"), -K_ENOENT);
  EXPECT_EQ(unlink_at(t, "/."), -K_EISDIR);
}

TREE(an_unlinked_file_lives_as_long_as_it_is_open) {
  put(t, "/f", "text");
  k_file *f = opened(t, "/f", K_O_RDWR);
  EXPECT_EQ(unlink_at(t, "/f"), 0);
  put(t, "/f", "other");
  char text[8];
  EXPECT_EQ(k_file_pread(NULL, f, text, sizeof text, 0), 4);
  EXPECT_EQ(k_file_pwrite(NULL, f, "more", 4, 4), 4);
  k_stat st;
  EXPECT_EQ(k_file_stat(f, &st), 0);
  EXPECT_EQ(st.nlink, 0);
  EXPECT_EQ(st.size, 8);
  k_file_unref(f);
  EXPECT_TEXT(get(t, "/f"), "other");
}

TREE(the_sticky_bit_protects_names_of_others) {
  make_dir(t, "/tmp");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/tmp");
  EXPECT_EQ(vfs_chmod(&t->v, d, 01777), 0);
  put(t, "/tmp/f", "x");
  t->v.uid = 7;
  EXPECT_EQ(unlink_at(t, "/tmp/f"), -K_EPERM);
  EXPECT_EQ(move(t, "/tmp/f", "/tmp/g"), -K_EPERM);
  put(t, "/tmp/own", "x");
  EXPECT_EQ(move(t, "/tmp/own", "/tmp/f"), -K_EPERM);
  EXPECT_EQ(unlink_at(t, "/tmp/own"), 0);
}

/* ---- link ---- */

TREE(hard_links_are_one_file) {
  put(t, "/a", "x");
  EXPECT_EQ(link_at(t, "/a", "/b"), 0);
  EXPECT_EQ(stat_of(t, "/a").nlink, 2);
  EXPECT_EQ(stat_of(t, "/a").ino, stat_of(t, "/b").ino);
  put(t, "/b", "changed");
  EXPECT_TEXT(get(t, "/a"), "changed");
  EXPECT_EQ(unlink_at(t, "/a"), 0);
  EXPECT_EQ(stat_of(t, "/b").nlink, 1);
  EXPECT_TEXT(get(t, "/b"), "changed");
}

TREE(link_refuses_directories_and_names_that_are_there) {
  make_dir(t, "/d");
  put(t, "/f", "x");
  EXPECT_EQ(link_at(t, "/d", "/e"), -K_EPERM);
  EXPECT_EQ(link_at(t, "/f", "/d"), -K_EEXIST);
  EXPECT_EQ(link_at(t, "/f", "/f"), -K_EEXIST);
  EXPECT_EQ(link_at(t, "/none", "/e"), -K_ENOENT);
  EXPECT_EQ(link_at(t, "/f", "/e/"), -K_ENOENT);
}

TREE(a_link_to_a_symlink_is_a_symlink_unless_followed) {
  put(t, "/f", "x");
  make_link(t, "f", "/link");
  EXPECT_EQ(link_at(t, "/link", "/a"), 0);
  EXPECT_EQ(stat_of(t, "/a").mode & K_S_IFMT, K_S_IFLNK);
  EXPECT_EQ(vfs_link(&t->v, NULL, "/link", 0, NULL, "/b"), 0);
  EXPECT_EQ(stat_of(t, "/b").mode & K_S_IFMT, K_S_IFREG);
}

TREE(links_beyond_the_first_count_against_the_quota) {
  put(t, "/f", "x");
  uint32_t before = t->k->used.inodes;
  EXPECT_EQ(link_at(t, "/f", "/g"), 0);
  EXPECT_EQ(t->k->used.inodes, before + 1);
  EXPECT_EQ(unlink_at(t, "/f"), 0);
  EXPECT_EQ(t->k->used.inodes, before);
  EXPECT_EQ(unlink_at(t, "/g"), 0);
  EXPECT_EQ(t->k->used.inodes, before - 1);
}

TREE(a_file_may_have_so_many_names_and_no_more) {
  tree *big = tree_new(&(k_limits){ .inodes = K_LINK_MAX + 100 }, NULL);
  char path[32];
  put(big, "/f", "x");
  for (int i = 1; i < K_LINK_MAX; i++) {
    snprintf(path, sizeof path, "/l%d", i);
    EXPECT_EQ(link_at(big, "/f", path), 0);
  }
  EXPECT_EQ(link_at(big, "/f", "/more"), -K_EMLINK);
  tree_free(big);
  (void)t;
}

/* ---- rename ---- */

TREE(rename_moves_and_replaces) {
  put(t, "/a", "one");
  put(t, "/b", "two");
  EXPECT_EQ(move(t, "/a", "/b"), 0);
  EXPECT_EQ(try_stat(t, "/a"), -K_ENOENT);
  EXPECT_TEXT(get(t, "/b"), "one");
  make_dir(t, "/d");
  EXPECT_EQ(move(t, "/b", "/d/c"), 0);
  EXPECT_TEXT(get(t, "/d/c"), "one");
}

TREE(rename_frees_what_it_replaces) {
  put(t, "/a", "one");
  uint64_t one = t->k->used.disk;
  uint32_t inodes = t->k->used.inodes;
  put(t, "/b", "two");
  EXPECT_EQ(move(t, "/a", "/b"), 0);
  EXPECT_EQ(t->k->used.disk, one);
  EXPECT_EQ(t->k->used.inodes, inodes);
}

TREE(rename_of_two_names_of_one_file_does_nothing) {
  put(t, "/a", "x");
  EXPECT_EQ(link_at(t, "/a", "/b"), 0);
  EXPECT_EQ(move(t, "/a", "/b"), 0);
  EXPECT_TEXT(names(t, "/"), "a b");
  EXPECT_EQ(move(t, "/a", "/a"), 0);
}

TREE(rename_keeps_kinds_apart) {
  make_dir(t, "/d");
  put(t, "/f", "x");
  EXPECT_EQ(move(t, "/d", "/f"), -K_ENOTDIR);
  EXPECT_EQ(move(t, "/f", "/d"), -K_EISDIR);
  EXPECT_EQ(move(t, "/f/", "/g"), -K_ENOTDIR);
  EXPECT_EQ(move(t, "/f", "/g/"), -K_ENOTDIR);
  EXPECT_EQ(move(t, "/d", "/e/"), 0);
}

TREE(a_directory_replaces_an_empty_one_only) {
  make_dir(t, "/a");
  make_dir(t, "/a/below");
  make_dir(t, "/b");
  make_dir(t, "/full");
  put(t, "/full/f", "x");
  EXPECT_EQ(move(t, "/a", "/full"), -K_ENOTEMPTY);
  EXPECT_EQ(move(t, "/a", "/b"), 0);
  EXPECT_EQ(try_stat(t, "/b/below"), 0);
  EXPECT_EQ(stat_of(t, "/").nlink, 4);
}

TREE(a_directory_never_moves_into_itself) {
  make_dir(t, "/a");
  make_dir(t, "/a/b");
  EXPECT_EQ(move(t, "/a", "/a/b/c"), -K_EINVAL);
  EXPECT_EQ(move(t, "/a", "/a/c"), -K_EINVAL);
  EXPECT_EQ(move(t, "/a/b", "/a"), -K_ENOTEMPTY);
  EXPECT_EQ(move(t, "/a", "/a"), 0);
}

TREE(dot_dot_follows_a_moved_directory) {
  make_dir(t, "/a");
  make_dir(t, "/a/b");
  make_dir(t, "/c");
  EXPECT_EQ(move(t, "/a/b", "/c/b"), 0);
  EXPECT_EQ(stat_of(t, "/c/b/..").ino, stat_of(t, "/c").ino);
  EXPECT_EQ(stat_of(t, "/a").nlink, 2);
  EXPECT_EQ(stat_of(t, "/c").nlink, 3);
}

TREE(rename_refuses_dots_and_the_root) {
  make_dir(t, "/d");
  EXPECT_EQ(move(t, "/d/.", "/e"), -K_EBUSY);
  EXPECT_EQ(move(t, "/d", "/d/.."), -K_EBUSY);
  EXPECT_EQ(move(t, "/", "/e"), -K_EBUSY);
  EXPECT_EQ(move(t, "/none", "/e"), -K_ENOENT);
}

TREE(noreplace_and_exchange_do_as_they_say) {
  put(t, "/a", "one");
  make_dir(t, "/d");
  put(t, "/d/b", "two");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/a", NULL, "/d/b", VFS_RENAME_NOREPLACE), -K_EEXIST);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/a", NULL, "/d/b", VFS_RENAME_EXCHANGE), 0);
  EXPECT_TEXT(get(t, "/a"), "two");
  EXPECT_TEXT(get(t, "/d/b"), "one");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/a", NULL, "/none", VFS_RENAME_EXCHANGE), -K_ENOENT);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/a", NULL, "/free", VFS_RENAME_NOREPLACE), 0);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/d", NULL, "/d/b", VFS_RENAME_EXCHANGE), -K_EINVAL);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/d", NULL, "/free", VFS_RENAME_EXCHANGE), 0);
  EXPECT_TEXT(get(t, "/free/b"), "one");
  EXPECT_EQ(stat_of(t, "/").nlink, 3);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/a", NULL, "/b", 8), -K_EINVAL);
}

TREE(exchange_of_directories_keeps_their_counts) {
  make_dir(t, "/a");
  make_dir(t, "/a/x");
  make_dir(t, "/b");
  put(t, "/b/f", "x");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/a/x", NULL, "/b/f", VFS_RENAME_EXCHANGE), 0);
  EXPECT_EQ(stat_of(t, "/a").nlink, 2);
  EXPECT_EQ(stat_of(t, "/b").nlink, 3);
  EXPECT_EQ(stat_of(t, "/b/f/..").ino, stat_of(t, "/b").ino);
}

TREE(an_open_directory_goes_where_it_is_moved) {
  make_dir(t, "/a");
  make_dir(t, "/z");
  OWNED(k_inode_unref) k_inode *a = inode_at(t, "/a");
  EXPECT_EQ(move(t, "/a", "/z/a"), 0);
  EXPECT_EQ(vfs_mkdir(&t->v, a, "new", 0777), 0);
  EXPECT_EQ(try_stat(t, "/z/a/new"), 0);
}

/* ---- modes, owners, times ---- */

TREE(only_the_owner_changes_the_mode) {
  put(t, "/f", "x");
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
  EXPECT_EQ(vfs_chmod(&t->v, f, 0751), 0);
  EXPECT_EQ(stat_of(t, "/f").mode, K_S_IFREG | 0751);
  t->v.uid = 7;
  EXPECT_EQ(vfs_chmod(&t->v, f, 0777), -K_EPERM);
}

TREE(the_owner_can_give_nothing_away) {
  put(t, "/f", "x");
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
  EXPECT_EQ(vfs_chown(&t->v, f, 0, 0), -K_EPERM);
  EXPECT_EQ(vfs_chown(&t->v, f, K_UID, K_GID), 0);
  EXPECT_EQ(vfs_chown(&t->v, f, UINT32_MAX, UINT32_MAX), 0);
  t->v.uid = 7;
  EXPECT_EQ(vfs_chown(&t->v, f, K_UID, K_GID), -K_EPERM);
}

TREE(a_change_of_owner_takes_the_set_id_bits) {
  put(t, "/f", "x");
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
  EXPECT_EQ(vfs_chmod(&t->v, f, 06755), 0);
  EXPECT_EQ(vfs_chown(&t->v, f, K_UID, K_GID), 0);
  EXPECT_EQ(stat_of(t, "/f").mode & 07777, 0755);
}

TREE(writing_takes_the_set_id_bits) {
  put(t, "/f", "x");
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
  EXPECT_EQ(vfs_chmod(&t->v, f, 06755), 0);
  put(t, "/f", "y");
  EXPECT_EQ(stat_of(t, "/f").mode & 07777, 0755);
}

TREE(times_can_be_set_one_by_one) {
  put(t, "/f", "x");
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
  int64_t atime = -5, mtime = 1234567890123456789;
  EXPECT_EQ(vfs_utimens(&t->v, f, &atime, NULL, true), 0);
  EXPECT_EQ(vfs_utimens(&t->v, f, NULL, &mtime, true), 0);
  EXPECT_EQ(stat_of(t, "/f").atime_ns, -5);
  EXPECT_EQ(stat_of(t, "/f").mtime_ns, 1234567890123456789);
  t->v.uid = 7;
  t->v.gid = 7;
  EXPECT_EQ(vfs_utimens(&t->v, f, &atime, NULL, true), -K_EPERM);
  EXPECT_EQ(vfs_utimens(&t->v, f, &atime, NULL, false), -K_EACCES);
}

TREE(changes_move_the_right_times) {
  put(t, "/f", "x");
  make_dir(t, "/d");
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/d");
  int64_t old = 1000;
  EXPECT_EQ(vfs_utimens(&t->v, f, &old, &old, true), 0);
  EXPECT_EQ(vfs_utimens(&t->v, d, &old, &old, true), 0);
  EXPECT_EQ(vfs_chmod(&t->v, f, 0600), 0);
  EXPECT_EQ(stat_of(t, "/f").mtime_ns, old);
  EXPECT(stat_of(t, "/f").ctime_ns > old);
  put(t, "/f", "y");
  EXPECT(stat_of(t, "/f").mtime_ns > old);
  put(t, "/d/f", "x");
  EXPECT(stat_of(t, "/d").mtime_ns > old);
  EXPECT(stat_of(t, "/f").btime_ns <= stat_of(t, "/f").ctime_ns);
}

TREE(truncate_cuts_and_grows_and_needs_permission) {
  put(t, "/f", "abcdef");
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
  EXPECT_EQ(vfs_truncate(&t->v, f, 3), 0);
  EXPECT_EQ(vfs_truncate(&t->v, f, 5), 0);
  char text[8];
  k_file *open = opened(t, "/f", K_O_RDONLY);
  EXPECT_EQ(k_file_read(NULL, open, text, sizeof text), 5);
  EXPECT_EQ(memcmp(text, "abc\0\0", 5), 0);
  k_file_unref(open);
  EXPECT_EQ(vfs_chmod(&t->v, f, 0400), 0);
  EXPECT_EQ(vfs_truncate(&t->v, f, 0), -K_EACCES);
  OWNED(k_inode_unref) k_inode *root = inode_at(t, "/");
  EXPECT_EQ(vfs_truncate(&t->v, root, 0), -K_EISDIR);
}

TREE(statfs_shows_the_quota) {
  OWNED(k_inode_unref) k_inode *root = inode_at(t, "/");
  k_statfs before, after;
  EXPECT_EQ(vfs_statfs(&t->v, root, &before), 0);
  put(t, "/f", "x");
  EXPECT_EQ(vfs_statfs(&t->v, root, &after), 0);
  EXPECT_EQ(before.blocks * before.block_size, 64 << 20);
  EXPECT_EQ(before.files_free - after.files_free, 1);
  EXPECT(after.blocks_free < before.blocks_free);
}

TREE(a_limit_below_the_use_leaves_no_room) {
  OWNED(k_inode_unref) k_inode *root = inode_at(t, "/");
  k_statfs st;
  put(t, "/f", "some text");
  uint64_t limit = t->k->limits.disk;
  t->k->limits.disk = t->k->used.disk - 1;
  EXPECT_EQ(vfs_symlink(&t->v, "f", NULL, "/l"), -K_ENOSPC);
  k_file *f = opened(t, "/f", K_O_WRONLY | K_O_APPEND);
  static const char many[1 << 16];
  EXPECT(k_file_write(NULL, f, many, sizeof many) < K_PAGE); /* the rest of a page that is charged already */
  k_file_unref(f);
  EXPECT_EQ(vfs_statfs(&t->v, root, &st), 0);
  EXPECT_EQ(st.blocks_free, 0);
  t->k->limits.disk = limit;
}

/* ---- failures ---- */

/* Whatever fails, the names and counts are those of before. */
static void check_unchanged(tree *t, uint64_t disk, uint32_t inodes) {
  EXPECT_TEXT(names(t, "/"), "a b d");
  EXPECT_EQ(stat_of(t, "/").nlink, 3);
  EXPECT_EQ(t->k->used.disk, disk);
  EXPECT_EQ(t->k->used.inodes, inodes);
}

#define UNCHANGED_AT_EVERY_FAULT(call, undo)                                                                 \
  do {                                                                                                       \
    put(t, "/a", "one");                                                                                     \
    put(t, "/b", "two");                                                                                     \
    make_dir(t, "/d");                                                                                       \
    uint64_t disk = t->k->used.disk;                                                                         \
    uint32_t inodes = t->k->used.inodes;                                                                     \
    AT_EVERY_FAULT {                                                                                         \
      k_ret r = (call);                                                                                      \
      bool failed = mem_has_failed();                                                                        \
      mem_fail_at(0);                                                                                        \
      EXPECT(r == 0 || (failed && r == -K_ENOMEM));                                                          \
      if (r == 0) EXPECT_EQ((undo), 0);                                                                      \
      check_unchanged(t, disk, inodes);                                                                      \
      if (failed) continue;                                                                                  \
      break;                                                                                                 \
    }                                                                                                        \
  } while (0)

TREE(mkdir_without_memory_changes_nothing) {
  UNCHANGED_AT_EVERY_FAULT(mkdir_at(t, "/new"), rmdir_at(t, "/new"));
}

TREE(symlink_without_memory_changes_nothing) {
  UNCHANGED_AT_EVERY_FAULT(vfs_symlink(&t->v, "a", NULL, "/new"), unlink_at(t, "/new"));
}

TREE(link_without_memory_changes_nothing) {
  UNCHANGED_AT_EVERY_FAULT(link_at(t, "/a", "/new"), unlink_at(t, "/new"));
}

TREE(mknod_without_memory_changes_nothing) {
  UNCHANGED_AT_EVERY_FAULT(vfs_mknod(&t->v, NULL, "/new", K_S_IFIFO | 0666, 0), unlink_at(t, "/new"));
}

TREE(rename_without_memory_changes_nothing) {
  UNCHANGED_AT_EVERY_FAULT(vfs_rename(&t->v, NULL, "/a", NULL, "/b", VFS_RENAME_EXCHANGE),
                           vfs_rename(&t->v, NULL, "/a", NULL, "/b", VFS_RENAME_EXCHANGE));
}
