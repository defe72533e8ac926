/* vfs_path_test.c - path_resolution(7), as src/kernel/vfs/vfs.h promises it. */
#include "fs/tree.h"

TREE(the_empty_path_is_nothing) { EXPECT_EQ(try_stat(t, ""), -K_ENOENT); }

TREE(the_empty_path_is_the_directory_itself_when_asked_so) {
  k_stat st;
  EXPECT_EQ(vfs_stat(&t->v, NULL, "", VFS_EMPTY_PATH, &st), 0);
  EXPECT_EQ(st.ino, stat_of(t, "/").ino);
}

TREE(slashes_may_be_doubled) {
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  EXPECT_EQ(try_stat(t, "//d///f"), 0);
  EXPECT_EQ(try_stat(t, "///"), 0);
}

TREE(dots_are_the_directory_and_the_one_above) {
  make_dir(t, "/d");
  make_dir(t, "/d/e");
  put(t, "/d/f", "x");
  EXPECT_EQ(try_stat(t, "/d/e/../f"), 0);
  EXPECT_EQ(try_stat(t, "/d/./e/./../././f"), 0);
  EXPECT_EQ(stat_of(t, "/d/e/..").ino, stat_of(t, "/d").ino);
}

TREE(above_the_root_is_the_root) {
  EXPECT_EQ(stat_of(t, "/../../..").ino, stat_of(t, "/").ino);
  EXPECT_EQ(stat_of(t, "..").ino, stat_of(t, "/").ino);
}

TREE(a_file_is_no_directory) {
  put(t, "/f", "x");
  EXPECT_EQ(try_stat(t, "/f/x"), -K_ENOTDIR);
  EXPECT_EQ(try_stat(t, "/f/."), -K_ENOTDIR);
  EXPECT_EQ(try_stat(t, "/f/.."), -K_ENOTDIR);
  EXPECT_EQ(try_stat(t, "/f/"), -K_ENOTDIR);
  EXPECT_EQ(try_stat(t, "/none/x"), -K_ENOENT);
}

TREE(a_name_may_have_255_bytes) {
  char path[300] = "/";
  memset(path + 1, 'n', 255);
  put(t, path, "x");
  EXPECT_EQ(try_stat(t, path), 0);
  path[256] = 'n';
  EXPECT_EQ(try_stat(t, path), -K_ENAMETOOLONG);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, path, 0777), -K_ENAMETOOLONG);
}

TREE(a_path_may_have_4095_bytes) {
  static char path[5000];
  memset(path, '/', 4095);
  path[4095] = '\0';
  EXPECT_EQ(try_stat(t, path), 0);
  path[4095] = '/';
  EXPECT_EQ(try_stat(t, path), -K_ENAMETOOLONG);
}

TREE(names_are_bytes) {
  put(t, "/\xff\xfe \n", "x");
  EXPECT_TEXT(names(t, "/"), "\xff\xfe \n");
}

/* ---- symlinks ---- */

TREE(a_symlink_leads_from_where_it_stands) {
  make_dir(t, "/d");
  put(t, "/d/f", "inside");
  put(t, "/f", "outside");
  make_link(t, "f", "/d/link");
  make_link(t, "../f", "/d/up");
  make_link(t, "/f", "/d/absolute");
  EXPECT_TEXT(get(t, "/d/link"), "inside");
  EXPECT_TEXT(get(t, "/d/up"), "outside");
  EXPECT_TEXT(get(t, "/d/absolute"), "outside");
}

TREE(a_symlink_in_the_middle_is_always_followed) {
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  make_link(t, "d", "/link");
  k_stat st;
  EXPECT_EQ(vfs_stat(&t->v, NULL, "/link/f", VFS_NOFOLLOW, &st), 0);
  EXPECT_EQ(st.mode & K_S_IFMT, K_S_IFREG);
}

TREE(a_symlink_at_the_end_can_be_looked_at_itself) {
  make_link(t, "nowhere", "/link");
  EXPECT_EQ(stat_of(t, "/link").mode & K_S_IFMT, K_S_IFLNK);
  EXPECT_EQ(stat_of(t, "/link").size, 7);
  EXPECT_EQ(try_stat(t, "/link"), -K_ENOENT);
}

TREE(a_slash_behind_a_symlink_follows_it) {
  make_dir(t, "/d");
  make_link(t, "d", "/link");
  EXPECT_EQ(stat_of(t, "/link/").mode & K_S_IFMT, K_S_IFDIR);
  put(t, "/f", "x");
  make_link(t, "f", "/file-link");
  k_stat st;
  EXPECT_EQ(vfs_stat(&t->v, NULL, "/file-link/", VFS_NOFOLLOW, &st), -K_ENOTDIR);
}

TREE(forty_symlinks_are_followed_and_no_more) {
  put(t, "/l0", "end");
  for (int i = 1; i <= 41; i++) {
    char target[16], path[16];
    snprintf(target, sizeof target, "l%d", i - 1);
    snprintf(path, sizeof path, "/l%d", i);
    make_link(t, target, path);
  }
  EXPECT_TEXT(get(t, "/l40"), "end");
  EXPECT_EQ(try_stat(t, "/l41"), -K_ELOOP);
}

TREE(a_symlink_to_itself_is_a_loop) {
  make_link(t, "self", "/self");
  EXPECT_EQ(try_stat(t, "/self"), -K_ELOOP);
  EXPECT_EQ(try_stat(t, "/self/x"), -K_ELOOP);
  EXPECT_EQ(try_open(t, "/self", K_O_RDWR | K_O_CREAT), -K_ELOOP);
}

TREE(symlinks_that_grow_the_path_end_in_an_error) {
  make_dir(t, "/d");
  make_link(t, "/d/grow/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "/d/grow");
  EXPECT_EQ(try_stat(t, "/d/grow"), -K_ELOOP);
}

TREE(dot_dot_behind_a_symlink_is_above_its_target) {
  make_dir(t, "/a");
  make_dir(t, "/a/b");
  put(t, "/a/f", "beside the target");
  make_link(t, "/a/b", "/link");
  EXPECT_TEXT(get(t, "/link/../f"), "beside the target");
}

TREE(readlink_gives_the_text_and_cuts_it) {
  char text[16];
  make_link(t, "target", "/link");
  EXPECT_EQ(vfs_readlink(&t->v, NULL, "/link", text, sizeof text), 6);
  EXPECT_EQ(memcmp(text, "target", 6), 0);
  EXPECT_EQ(vfs_readlink(&t->v, NULL, "/link", text, 3), 3);
  put(t, "/f", "x");
  EXPECT_EQ(vfs_readlink(&t->v, NULL, "/f", text, sizeof text), -K_EINVAL);
}

/* ---- permission ---- */

static void hide(tree *t, const char *path, uint32_t mode) {
  OWNED(k_inode_unref) k_inode *i = inode_at(t, path);
  EXPECT_EQ(vfs_chmod(&t->v, i, mode), 0);
}

TREE(every_directory_on_the_way_must_allow_the_search) {
  make_dir(t, "/d");
  make_dir(t, "/d/e");
  put(t, "/d/e/f", "x");
  hide(t, "/d", 0600);
  EXPECT_EQ(try_stat(t, "/d"), 0);
  EXPECT_EQ(try_stat(t, "/d/e"), -K_EACCES);
  EXPECT_EQ(try_stat(t, "/d/e/f"), -K_EACCES);
  EXPECT_EQ(try_stat(t, "/d/."), -K_EACCES);
  EXPECT_EQ(try_stat(t, "/d/.."), -K_EACCES);
}

TREE(the_embedder_needs_no_permission) {
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  hide(t, "/d", 0);
  t->v.privileged = true;
  EXPECT_TEXT(get(t, "/d/f"), "x");
}

TREE(only_the_first_class_that_fits_counts) {
  put(t, "/f", "x");
  hide(t, "/f", 0077); /* the owner may nothing, all others everything */
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY), -K_EACCES);
  t->v.uid = 7;
  EXPECT_EQ(try_open(t, "/f", K_O_RDONLY), 0);
}

TREE(access_asks_for_each_bit) {
  put(t, "/f", "x");
  hide(t, "/f", 0500);
  EXPECT_EQ(vfs_access(&t->v, NULL, "/f", 0, 0), 0);
  EXPECT_EQ(vfs_access(&t->v, NULL, "/f", 0, 5), 0);
  EXPECT_EQ(vfs_access(&t->v, NULL, "/f", 0, 2), -K_EACCES);
  EXPECT_EQ(vfs_access(&t->v, NULL, "/none", 0, 0), -K_ENOENT);
}

/* ---- the working directory and starting points ---- */

TREE(a_relative_path_starts_at_the_working_directory) {
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/d");
  EXPECT_EQ(vfs_chdir(&t->v, d), 0);
  EXPECT_TEXT(get(t, "f"), "x");
  EXPECT_TEXT(get(t, "../d/f"), "x");
}

TREE(a_relative_path_starts_where_it_is_told) {
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/d");
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/d/f");
  k_stat st;
  EXPECT_EQ(vfs_stat(&t->v, d, "f", 0, &st), 0);
  EXPECT_EQ(vfs_stat(&t->v, f, "f", 0, &st), -K_ENOTDIR);
  EXPECT_EQ(vfs_stat(&t->v, f, "/d/f", 0, &st), 0);
}

TREE(changing_into_a_file_or_a_closed_directory_fails) {
  put(t, "/f", "x");
  make_dir(t, "/d");
  hide(t, "/d", 0600);
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/d");
  EXPECT_EQ(vfs_chdir(&t->v, f), -K_ENOTDIR);
  EXPECT_EQ(vfs_chdir(&t->v, d), -K_EACCES);
}

TREE(a_removed_working_directory_has_no_path_and_takes_nothing_new) {
  make_dir(t, "/d");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/d");
  EXPECT_EQ(vfs_chdir(&t->v, d), 0);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/d"), 0);
  char text[64];
  EXPECT_EQ(vfs_path_of(&t->v, d, text, sizeof text), -K_ENOENT);
  EXPECT_EQ(try_open(t, "new", K_O_RDWR | K_O_CREAT), -K_ENOENT);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, "new", 0777), -K_ENOENT);
  EXPECT_EQ(try_stat(t, "."), 0);
  EXPECT_EQ(stat_of(t, "..").ino, stat_of(t, "/").ino);
}

/* ---- paths of directories ---- */

TREE(the_path_of_a_directory_follows_renames) {
  make_dir(t, "/a");
  make_dir(t, "/a/b");
  OWNED(k_inode_unref) k_inode *b = inode_at(t, "/a/b");
  EXPECT_TEXT(path_of(t, b), "/a/b");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/a", NULL, "/z", 0), 0);
  EXPECT_TEXT(path_of(t, b), "/z/b");
  OWNED(k_inode_unref) k_inode *root = inode_at(t, "/");
  EXPECT_TEXT(path_of(t, root), "/");
}

TREE(a_path_that_does_not_fit_is_out_of_range) {
  char text[5];
  make_dir(t, "/abcd");
  OWNED(k_inode_unref) k_inode *d = inode_at(t, "/abcd");
  EXPECT_EQ(vfs_path_of(&t->v, d, text, 5), -K_ERANGE);
  char enough[6];
  EXPECT_EQ(vfs_path_of(&t->v, d, enough, 6), 5);
  EXPECT_TEXT(enough, "/abcd");
}

TREE(a_directory_may_be_deeper_than_a_path_is_long) {
  static char text[K_PATH_MAX];
  for (int i = 0; i < 3000; i++) {
    EXPECT_EQ(vfs_mkdir(&t->v, NULL, "deep", 0777), 0);
    OWNED(k_inode_unref) k_inode *d = inode_at(t, "deep");
    EXPECT_EQ(vfs_chdir(&t->v, d), 0);
  }
  k_ret r = vfs_path_of(&t->v, t->v.cwd, text, sizeof text);
  EXPECT(r == -K_ENAMETOOLONG || r == -K_ERANGE);
}

/* ---- failures ---- */

TREE(resolution_without_memory_leaks_nothing) {
  make_dir(t, "/a");
  make_link(t, "a", "/l1");
  make_link(t, "l1/../l1", "/l2");
  put(t, "/a/f", "x");
  AT_EVERY_FAULT {
    k_ret r = try_stat(t, "/l2/../l2/f");
    EXPECT(r == 0 || r == -K_ENOMEM);
  }
}
