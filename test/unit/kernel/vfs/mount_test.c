/* mount_test.c - file systems over directories, as src/kernel/vfs/mount.h promises it. */
#include "fs/tree.h"

static k_inode *other(void) {
  k_inode *root = NULL;
  EXPECT_EQ(memfs_new(NULL, &root), 0);
  root->mode |= 0777;
  return root;
}

static void mount_other(tree *t, const char *path, bool writable) {
  EXPECT_EQ(vfs_mount_add(t->k, path, "tmpfs", other(), writable), 0);
}

TREE(a_mount_covers_what_is_below) {
  make_dir(t, "/m");
  put(t, "/m/hidden", "x");
  mount_other(t, "/m", true);
  EXPECT_EQ(try_stat(t, "/m/hidden"), -K_ENOENT);
  put(t, "/m/f", "on the mount");
  EXPECT_TEXT(names(t, "/m"), "f");
  EXPECT_EQ(vfs_mount_remove(t->k, "/m"), 0);
  EXPECT_TEXT(names(t, "/m"), "hidden");
}

TREE(missing_directories_are_made_for_a_mount) {
  mount_other(t, "/a/b/c", true);
  put(t, "/a/b/c/f", "x");
  EXPECT_EQ(stat_of(t, "/a/b").mode & 07777, 0755);
}

TREE(dot_dot_leads_out_of_a_mount) {
  make_dir(t, "/d");
  mount_other(t, "/d/m", true);
  EXPECT_EQ(stat_of(t, "/d/m/..").ino, stat_of(t, "/d").ino);
  make_dir(t, "/d/m/sub");
  EXPECT_EQ(stat_of(t, "/d/m/sub/../..").ino, stat_of(t, "/d").ino);
  OWNED(k_inode_unref) k_inode *sub = inode_at(t, "/d/m/sub");
  EXPECT_TEXT(path_of(t, sub), "/d/m/sub");
}

TREE(a_mount_may_stand_on_a_mount) {
  mount_other(t, "/a", true);
  mount_other(t, "/a/b", true);
  put(t, "/a/b/f", "x");
  EXPECT_EQ(vfs_mount_remove(t->k, "/a"), -K_EBUSY);
  EXPECT_EQ(vfs_mount_remove(t->k, "/a/b"), 0);
  EXPECT_EQ(vfs_mount_remove(t->k, "/a"), 0);
}

TREE(one_place_one_mount) {
  mount_other(t, "/m", true);
  k_inode *root = other();
  EXPECT_EQ(vfs_mount_add(t->k, "/m", "tmpfs", root, true), -K_EBUSY);
  EXPECT_EQ(vfs_mount_add(t->k, "/", "tmpfs", root, true), -K_EBUSY);
  EXPECT_EQ(vfs_mount_add(t->k, "relative", "tmpfs", root, true), -K_EINVAL);
  put(t, "/f", "x");
  EXPECT_EQ(vfs_mount_add(t->k, "/f", "tmpfs", root, true), -K_ENOTDIR);
  k_inode_unref(root);
}

TREE(the_way_to_a_mount_may_be_written_in_many_ways) {
  make_dir(t, "/d");
  make_link(t, "d", "/link");
  mount_other(t, "/link//m/", true);
  EXPECT_EQ(try_stat(t, "/d/m"), 0);
  EXPECT_EQ(vfs_mount_remove(t->k, "/d/./m"), 0);
  EXPECT_EQ(vfs_mount_remove(t->k, "/d/m"), -K_EINVAL);
  EXPECT_EQ(vfs_mount_remove(t->k, "/none"), -K_EINVAL);
  EXPECT_EQ(vfs_mount_remove(t->k, "/"), -K_EINVAL);
}

TREE(a_mount_for_reading_refuses_every_change) {
  mount_other(t, "/m", true);
  put(t, "/m/f", "x");
  make_dir(t, "/m/d");
  OWNED(k_inode_unref) k_inode *root = inode_at(t, "/m");
  k_inode_ref(root);
  EXPECT_EQ(vfs_mount_remove(t->k, "/m"), 0);
  EXPECT_EQ(vfs_mount_add(t->k, "/m", "tmpfs", root, false), 0);
  EXPECT_EQ(try_open(t, "/m/f", K_O_WRONLY), -K_EROFS);
  EXPECT_EQ(try_open(t, "/m/new", K_O_RDONLY | K_O_CREAT), -K_EROFS);
  EXPECT_EQ(try_open(t, "/m/f", K_O_RDONLY | K_O_CREAT), 0);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, "/m/new", 0777), -K_EROFS);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, "/m/d", 0777), -K_EEXIST);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/m/f"), -K_EROFS);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/m/d"), -K_EROFS);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/m/f", NULL, "/m/g", 0), -K_EROFS);
  OWNED(k_inode_unref) k_inode *f = inode_at(t, "/m/f");
  EXPECT_EQ(vfs_chmod(&t->v, f, 0777), -K_EROFS);
  EXPECT_EQ(vfs_truncate(&t->v, f, 0), -K_EROFS);
  t->v.privileged = true;
  EXPECT_EQ(vfs_chmod(&t->v, f, 0777), -K_EROFS);
  EXPECT_EQ(try_open(t, "/m/f", K_O_WRONLY), -K_EROFS);
  EXPECT_TEXT(get(t, "/m/f"), "x");
}

TREE(a_mount_point_is_neither_removed_nor_moved) {
  mount_other(t, "/m", true);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/m"), -K_EBUSY);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/m", NULL, "/n", 0), -K_EBUSY);
  make_dir(t, "/d");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/d", NULL, "/m", 0), -K_EBUSY);
}

TREE(nothing_is_linked_or_moved_across_mounts) {
  mount_other(t, "/m", true);
  put(t, "/f", "x");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/f", NULL, "/m/f", 0), -K_EXDEV);
  EXPECT_EQ(vfs_link(&t->v, NULL, "/f", 0, NULL, "/m/f"), -K_EXDEV);
}

TREE(the_root_inside_a_mount_may_be_a_views_root) {
  mount_other(t, "/m", true);
  make_dir(t, "/m/jail");
  k_inode *jail = inode_at(t, "/m/jail");
  vfs_view v;
  EXPECT_EQ(vfs_view_copy(&v, &t->v), 0);
  k_inode_unref(v.root);
  k_inode_unref(v.cwd);
  v.root = jail;
  v.cwd = k_inode_ref(jail);
  k_stat st;
  EXPECT_EQ(vfs_stat(&v, NULL, "/../..", 0, &st), 0);
  EXPECT_EQ(st.ino, stat_of(t, "/m/jail").ino);
  vfs_view_clear(&v);
}

struct seen {
  char text[256];
};

static bool add_mount(void *ctx, const vfs_mount *m) {
  struct seen *s = ctx;
  size_t len = strlen(s->text);
  snprintf(s->text + len, sizeof s->text - len, "%s ", m->path);
  return true;
}

TREE(mounts_are_listed_in_order_by_their_true_paths) {
  make_dir(t, "/d");
  make_link(t, "d", "/link");
  mount_other(t, "/b", true);
  mount_other(t, "/link/a/", true);
  struct seen s = { "" };
  vfs_mounts_each(t->k, add_mount, &s);
  EXPECT_TEXT(s.text, "/ /b /d/a ");
}

TREE(mounting_without_memory_changes_nothing) {
  make_dir(t, "/m");
  AT_EVERY_FAULT {
    k_inode *root = NULL;
    k_ret r = memfs_new(NULL, &root);
    if (r >= 0) r = vfs_mount_add(t->k, "/m", "tmpfs", root, true);
    EXPECT(r == 0 || r == -K_ENOMEM);
    if (r < 0) k_inode_unref(root);
    if (r == 0) EXPECT_EQ(vfs_mount_remove(t->k, "/m"), 0);
  }
}
