/* freeze_test.c - memfs_freeze: a tree as it is now, for others to go on from. */
#include "fs/tree.h"

#include "base/thread.h"

static mem_tree *frozen(tree *t) {
  mem_tree *base = NULL;
  EXPECT_EQ(memfs_freeze(vfs_mounts_root(t->k), &base), 0);
  return base;
}

TREE(a_fork_begins_with_everything_and_owes_nothing) {
  make_dir(t, "/d");
  put(t, "/d/f", "text");
  make_link(t, "f", "/d/link");
  EXPECT_EQ(vfs_mknod(&t->v, NULL, "/fifo", K_S_IFIFO | 0640, 0), 0);
  mem_tree *base = frozen(t);
  tree *fork = tree_new(NULL, base);
  mem_tree_unref(base);
  EXPECT_TEXT(get(fork, "/d/link"), "text");
  EXPECT_TEXT(names(fork, "/"), "d fifo");
  EXPECT_EQ(stat_of(fork, "/fifo").mode, stat_of(t, "/fifo").mode);
  EXPECT_EQ(stat_of(fork, "/d/f").ino, stat_of(t, "/d/f").ino);
  EXPECT_EQ(stat_of(fork, "/d/f").mtime_ns, stat_of(t, "/d/f").mtime_ns);
  EXPECT_EQ(stat_of(fork, "/d").nlink, stat_of(t, "/d").nlink);
  EXPECT_EQ(fork->k->used.disk, 0);
  tree_free(fork);
}

TREE(both_sides_go_their_own_way) {
  put(t, "/f", "before");
  put(t, "/gone", "x");
  mem_tree *base = frozen(t);
  tree *fork = tree_new(NULL, base);
  put(t, "/f", "parent");
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/gone"), 0);
  put(fork, "/f", "child");
  put(fork, "/new", "x");
  EXPECT_TEXT(get(t, "/f"), "parent");
  EXPECT_TEXT(names(t, "/"), "f");
  EXPECT_TEXT(get(fork, "/f"), "child");
  EXPECT_TEXT(names(fork, "/"), "f gone new");
  tree *later = tree_new(NULL, base);
  EXPECT_TEXT(get(later, "/f"), "before");
  EXPECT_TEXT(names(later, "/"), "f gone");
  tree_free(later);
  mem_tree_unref(base);
  tree_free(fork);
}

TREE(new_files_of_both_sides_get_new_numbers) {
  put(t, "/f", "x");
  mem_tree *base = frozen(t);
  tree *fork = tree_new(NULL, base);
  mem_tree_unref(base);
  put(fork, "/new", "x");
  EXPECT(stat_of(fork, "/new").ino != stat_of(fork, "/f").ino);
  EXPECT(stat_of(fork, "/new").ino != stat_of(fork, "/").ino);
  tree_free(fork);
}

TREE(unchanged_tree_freezes_to_itself) {
  make_dir(t, "/d");
  put(t, "/d/f", "x");
  mem_tree *one = frozen(t);
  tree *fork = tree_new(NULL, one);
  EXPECT_TEXT(get(fork, "/d/f"), "x");
  mem_tree *two = NULL;
  EXPECT_EQ(memfs_freeze(vfs_mounts_root(fork->k), &two), 0);
  mem_tree_unref(one);
  tree_free(fork);
  tree *again = tree_new(NULL, two);
  mem_tree_unref(two);
  EXPECT_TEXT(get(again, "/d/f"), "x");
  tree_free(again);
}

TREE(hard_links_stay_one_file_across_a_freeze) {
  make_dir(t, "/d");
  put(t, "/a", "one");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/a", 0, NULL, "/d/b"), 0);
  mem_tree *base = frozen(t);
  tree *fork = tree_new(NULL, base);
  mem_tree_unref(base);
  put(fork, "/a", "two");
  EXPECT_TEXT(get(fork, "/d/b"), "two");
  EXPECT_EQ(stat_of(fork, "/a").nlink, 2);
  EXPECT_EQ(vfs_unlink(&fork->v, NULL, "/a"), 0);
  EXPECT_EQ(stat_of(fork, "/d/b").nlink, 1);
  tree_free(fork);
}

TREE(a_change_through_one_name_is_frozen_for_all) {
  make_dir(t, "/far");
  make_dir(t, "/far/away");
  put(t, "/a", "one");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/a", 0, NULL, "/far/away/b"), 0);
  mem_tree *one = frozen(t);
  tree *fork = tree_new(NULL, one);
  mem_tree_unref(one);
  put(fork, "/a", "two"); /* /far was never looked up */
  mem_tree *two = frozen(fork);
  tree *again = tree_new(NULL, two);
  mem_tree_unref(two);
  EXPECT_TEXT(get(again, "/far/away/b"), "two");
  EXPECT_EQ(stat_of(again, "/a").ino, stat_of(again, "/far/away/b").ino);
  tree_free(again);
  tree_free(fork);
}

TREE(a_file_that_is_open_but_has_no_name_is_not_frozen) {
  put(t, "/f", "x");
  k_file *f = opened(t, "/f", K_O_RDWR);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/f"), 0);
  mem_tree *base = frozen(t);
  k_file_unref(f);
  tree *fork = tree_new(NULL, base);
  mem_tree_unref(base);
  EXPECT_TEXT(names(fork, "/"), "");
  tree_free(fork);
}

TEST(borrowed_bytes_live_as_long_as_what_was_made_of_them) {
  mem_builder *b = NULL;
  mem_tree *base = NULL;
  char *copy = mem_strdup("0123456789");
  EXPECT_EQ(mem_builder_new(&b), 0);
  EXPECT_EQ(mem_builder_file(b, "/f", 0644, K_UID, K_GID, copy, 10, mem_free, copy, NULL), 0);
  EXPECT_EQ(mem_builder_finish(b, &base), 0);
  for (int generation = 0; generation < 3; generation++) {
    tree *t = tree_new(NULL, base);
    mem_tree_unref(base);
    OWNED(k_inode_unref) k_inode *f = inode_at(t, "/f");
    EXPECT_EQ(vfs_truncate(&t->v, f, (uint64_t)(9 - generation)), 0);
    base = frozen(t);
    k_inode_unref(MOVE(f));
    tree_free(t);
  }
  tree *t = tree_new(NULL, base);
  mem_tree_unref(base);
  EXPECT_TEXT(get(t, "/f"), "0123456");
  tree_free(t);
}

TREE(freezing_without_memory_leaves_the_live_tree_alone) {
  make_dir(t, "/d");
  put(t, "/d/f", "text");
  put(t, "/g", "text");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/g", 0, NULL, "/d/h"), 0);
  make_link(t, "f", "/d/l");
  AT_EVERY_FAULT {
    mem_tree *base = NULL;
    k_ret r = memfs_freeze(vfs_mounts_root(t->k), &base);
    EXPECT(r == 0 ? base != NULL : r == -K_ENOMEM && base == NULL);
    mem_tree_unref(base);
  }
  EXPECT_TEXT(get(t, "/d/f"), "text");
  EXPECT_TEXT(names(t, "/d"), "f h l");
}

/* ---- shared between threads ---- */

enum { THREADS = 3, ROUNDS = 60 };

struct sharer {
  mem_tree *base;
  int number, wrong;
};

/* Each thread makes sandboxes over the same tree, changes them, freezes them and lets go. */
static void share(void *ctx) {
  struct sharer *s = ctx;
  for (int round = 0; round < ROUNDS; round++) {
    tree *t = tree_new(NULL, s->base);
    char text[16];
    snprintf(text, sizeof text, "%d", s->number);
    put(t, "/d/f", text);
    EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/g"), 0);
    mem_tree *next = frozen(t);
    tree_free(t);
    t = tree_new(NULL, next);
    mem_tree_unref(next);
    k_file *f = opened(t, "/d/f", K_O_RDONLY);
    char back[16] = { 0 };
    EXPECT(k_file_read(NULL, f, back, sizeof back - 1) > 0);
    s->wrong += strcmp(back, text) != 0;
    k_file_unref(f);
    tree_free(t);
  }
}

TEST(threads_may_share_a_frozen_tree) {
  tree *t = tree_new(NULL, NULL);
  make_dir(t, "/d");
  put(t, "/d/f", "first");
  put(t, "/d/g", "x");
  mem_tree *base = frozen(t);
  tree_free(t);
  struct sharer sharers[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    sharers[i] = (struct sharer){ base, i, 0 };
    EXPECT_EQ(thread_start("share", 0, share, &sharers[i], &threads[i], NULL), CAY_OK);
  }
  for (int i = 0; i < THREADS; i++) {
    thread_join(threads[i]);
    EXPECT_EQ(sharers[i].wrong, 0);
  }
  mem_tree_unref(base);
}
