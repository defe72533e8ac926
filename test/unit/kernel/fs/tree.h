/* tree.h - a kernel with a file tree and no process but the test, for the tests of paths and file systems.
 *
 *   TREE(t) { EXPECT_EQ(vfs_mkdir(&t->v, NULL, "/d", 0755), 0); }
 *
 * is a TEST whose body holds kernel.mu. The view is an ordinary user's (K_UID); / belongs to it. At the end
 * the quota must be as it was in the beginning once everything is removed, which the sanitizers' look for
 * leaks completes. */
#pragma once

#include "kernel/core/kernel.h"
#include "kernel/fs/dev/devfs.h"
#include "kernel/fs/host/hostfs.h"
#include "kernel/fs/mem/memfs.h"
#include "kernel/fs/proc/procfs.h"
#include "kernel/proc/process.h"
#include "kernel/vfs/mount.h"
#include "test.h"

typedef struct tree {
  k_kernel *k;
  vfs_view v;
} tree;

/* Generous limits where a field is 0. `base` NULL: an empty tree. kernel.mu is held afterwards. */
tree *tree_new(const k_limits *limits, mem_tree *base);
void tree_free(tree *t);

#define TREE(name)                                                                                           \
  static void name##_in(tree *t);                                                                            \
  TEST(name) {                                                                                               \
    tree *t = tree_new(NULL, NULL);                                                                          \
    name##_in(t);                                                                                            \
    tree_free(t);                                                                                            \
  }                                                                                                          \
  static void name##_in(tree *t)

/* Each fails the test when it cannot do its work. */
void put(tree *t, const char *path, const char *text);
const char *get(tree *t, const char *path); /* up to 4 KiB; "" when empty; borrowed until the next */
void make_dir(tree *t, const char *path);
void make_link(tree *t, const char *target, const char *path);
k_file *opened(tree *t, const char *path, uint32_t flags); /* mode 0666 when made; k_file_unref it */
k_inode *inode_at(tree *t, const char *path);              /* a reference; a symlink at the end itself */
k_stat stat_of(tree *t, const char *path);                 /* likewise */
const char *path_of(tree *t, k_inode *dir);                /* borrowed until the next */

k_ret try_open(tree *t, const char *path, uint32_t flags); /* opened and closed again: 0 or the error */
k_ret try_stat(tree *t, const char *path);                 /* following symlinks */

/* "a b c": the names of a directory in the order of its listing, without "." and "..". */
const char *names(tree *t, const char *path);
