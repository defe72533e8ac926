/* memfs_test.c - the file tree in memory, as src/kernel/fs/mem/memfs.h promises it. */
#include "fs/tree.h"
#include "kernel/fs/mem/mem_source.h"

#include <stdatomic.h>

static mem_tree *built(void (*fill)(mem_builder *b)) {
  mem_builder *b = NULL;
  mem_tree *base = NULL;
  EXPECT_EQ(mem_builder_new(&b), 0);
  fill(b);
  EXPECT_EQ(mem_builder_finish(b, &base), 0);
  return base;
}

static void file(mem_builder *b, const char *path, const char *text) {
  EXPECT_EQ(mem_builder_file(b, path, 0644, K_UID, K_GID, text, strlen(text), NULL, NULL, NULL), 0);
}

static void system_tree(mem_builder *b) {
  EXPECT_EQ(mem_builder_dir(b, "/home", 0755, K_UID, K_GID), 0);
  file(b, "/etc/passwd", "root");
  file(b, "/etc/group", "wheel");
  file(b, "/home/a", "text of a");
  file(b, "/home/b", "text of b");
  file(b, "/home/c", "text of c");
  EXPECT_EQ(mem_builder_symlink(b, "/home/link", "a"), 0);
}

/* A TREE over the system tree. */
#define INHERITED(name)                                                                                      \
  static void name##_in(tree *t);                                                                            \
  TEST(name) {                                                                                               \
    mem_tree *base = built(system_tree);                                                                     \
    tree *t = tree_new(NULL, base);                                                                          \
    mem_tree_unref(base);                                                                                    \
    name##_in(t);                                                                                            \
    tree_free(t);                                                                                            \
  }                                                                                                          \
  static void name##_in(tree *t)

/* ---- building ---- */

TEST(a_builder_refuses_what_makes_no_sense) {
  mem_builder *b = NULL;
  EXPECT_EQ(mem_builder_new(&b), 0);
  file(b, "/f", "x");
  EXPECT_EQ(mem_builder_file(b, "/f", 0644, 0, 0, "x", 1, NULL, NULL, NULL), -K_EEXIST);
  EXPECT_EQ(mem_builder_file(b, "/f/g", 0644, 0, 0, "x", 1, NULL, NULL, NULL), -K_ENOTDIR);
  EXPECT_EQ(mem_builder_dir(b, "/f", 0755, 0, 0), -K_EEXIST);
  EXPECT_EQ(mem_builder_symlink(b, "/../x", "y"), -K_EINVAL);
  mem_builder_free(b);
}

static void count_drop(void *ctx) { ++*(int *)ctx; }

TEST(borrowed_bytes_are_given_back_with_the_last_tree) {
  mem_builder *b = NULL;
  mem_tree *base = NULL;
  int dropped = 0;
  EXPECT_EQ(mem_builder_new(&b), 0);
  EXPECT_EQ(mem_builder_file(b, "/f", 0644, 0, 0, "x", 1, count_drop, &dropped, NULL), 0);
  EXPECT_EQ(mem_builder_finish(b, &base), 0);
  tree_free(tree_new(NULL, base));
  EXPECT_EQ(dropped, 0);
  mem_tree_unref(mem_tree_ref(base));
  EXPECT_EQ(dropped, 0);
  mem_tree_unref(base);
  EXPECT_EQ(dropped, 1);
}

TEST(building_without_memory_leaks_nothing_and_keeps_the_callers_bytes) {
  AT_EVERY_FAULT {
    mem_builder *b = NULL;
    int dropped = 0;
    if (mem_builder_new(&b) == 0) {
      k_ret r = mem_builder_file(b, "/a/b/f", 0644, 0, 0, "x", 1, count_drop, &dropped, NULL);
      EXPECT(r == 0 || (r == -K_ENOMEM && dropped == 0));
      k_ret s = mem_builder_symlink(b, "/a/link", "f");
      EXPECT(s == 0 || s == -K_ENOMEM);
      mem_builder_free(b);
      EXPECT_EQ(dropped, r == 0);
    }
  }
}

/* ---- inheriting ---- */

INHERITED(inherited_files_exist_and_cost_nothing) {
  uint32_t inodes = t->k->used.inodes;
  EXPECT_TEXT(get(t, "/home/a"), "text of a");
  EXPECT_TEXT(get(t, "/home/link"), "text of a");
  EXPECT_TEXT(names(t, "/home"), "a b c link");
  EXPECT_EQ(stat_of(t, "/").nlink, 4);
  EXPECT_EQ(t->k->used.inodes, inodes);
  EXPECT_EQ(t->k->used.disk, 0);
}

INHERITED(changing_an_inherited_file_copies_what_changes) {
  uint32_t inodes = t->k->used.inodes;
  k_file *f = opened(t, "/home/a", K_O_RDWR);
  EXPECT_EQ(k_file_pwrite(NULL, f, "TEXT", 4, 0), 4);
  k_file_unref(f);
  EXPECT_TEXT(get(t, "/home/a"), "TEXT of a");
  EXPECT_EQ(t->k->used.inodes, inodes + 1);
  EXPECT_EQ(t->k->used.disk, 512);
}

INHERITED(an_inherited_name_can_be_removed_and_made_again) {
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/home/b"), 0);
  EXPECT_EQ(try_stat(t, "/home/b"), -K_ENOENT);
  EXPECT_TEXT(names(t, "/home"), "a c link");
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/home/b"), -K_ENOENT);
  put(t, "/home/b", "new");
  EXPECT_TEXT(get(t, "/home/b"), "new");
  EXPECT_TEXT(names(t, "/home"), "a c link b");
}

INHERITED(an_inherited_directory_can_be_emptied_and_removed) {
  t->v.privileged = true;
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/etc"), -K_ENOTEMPTY);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/etc/passwd"), 0);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/etc/group"), 0);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/etc"), 0);
  EXPECT_TEXT(names(t, "/"), "home");
  make_dir(t, "/etc");
  EXPECT_TEXT(names(t, "/etc"), "");
}

INHERITED(an_inherited_directory_moves_with_all_that_is_in_it) {
  t->v.privileged = true;
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/etc", NULL, "/home/etc", 0), 0);
  EXPECT_TEXT(get(t, "/home/etc/passwd"), "root");
  EXPECT_EQ(try_stat(t, "/etc"), -K_ENOENT);
}

INHERITED(an_inherited_file_that_is_replaced_keeps_its_place) {
  put(t, "/home/new", "new");
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/home/new", NULL, "/home/b", 0), 0);
  EXPECT_TEXT(names(t, "/home"), "a b c link");
  EXPECT_TEXT(get(t, "/home/b"), "new");
}

TEST(two_sandboxes_over_one_tree_do_not_see_each_other) {
  mem_tree *base = built(system_tree);
  tree *one = tree_new(NULL, base), *two = tree_new(NULL, base);
  mem_tree_unref(base);
  put(one, "/home/a", "changed");
  EXPECT_EQ(vfs_unlink(&one->v, NULL, "/home/b"), 0);
  EXPECT_TEXT(get(two, "/home/a"), "text of a");
  EXPECT_TEXT(names(two, "/home"), "a b c link");
  tree_free(one);
  tree_free(two);
}

/* ---- the note about a program ---- */

TEST(the_note_stays_until_the_contents_change) {
  mem_builder *b = NULL;
  mem_tree *base = NULL;
  int note;
  EXPECT_EQ(mem_builder_new(&b), 0);
  EXPECT_EQ(mem_builder_file(b, "/p", 0755, K_UID, K_GID, "code", 4, NULL, NULL, &note), 0);
  EXPECT_EQ(mem_builder_finish(b, &base), 0);
  tree *t = tree_new(NULL, base);
  mem_tree_unref(base);
  k_inode *p = inode_at(t, "/p");
  EXPECT(p->exe == &note);
  EXPECT_EQ(vfs_chmod(&t->v, p, 0700), 0);
  EXPECT(p->exe == &note);
  uint64_t version = p->version;
  k_file *f = opened(t, "/p", K_O_WRONLY);
  EXPECT_EQ(k_file_write(NULL, f, "C", 1), 1);
  k_file_unref(f);
  EXPECT(p->exe == NULL && p->version > version);
  k_inode_unref(p);
  tree_free(t);
}

/* ---- quotas ---- */

TEST(the_inode_quota_is_exact) {
  tree *t = tree_new(&(k_limits){ .inodes = 4 }, NULL); /* the root is one */
  put(t, "/a", "x");
  make_dir(t, "/b");
  make_link(t, "x", "/c");
  EXPECT_EQ(try_open(t, "/d", K_O_RDWR | K_O_CREAT), -K_ENOSPC);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, "/d", 0777), -K_ENOSPC);
  EXPECT_EQ(vfs_link(&t->v, NULL, "/a", 0, NULL, "/d"), -K_ENOSPC);
  EXPECT_TEXT(names(t, "/"), "a b c");
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/c"), 0);
  EXPECT_EQ(try_open(t, "/d", K_O_RDWR | K_O_CREAT), 0);
  tree_free(t);
}

TEST(removing_works_when_the_quota_is_used_up) {
  mem_tree *base = built(system_tree);
  tree *t = tree_new(&(k_limits){ .inodes = 2 }, base);
  mem_tree_unref(base);
  put(t, "/file", "x");
  EXPECT_EQ(try_open(t, "/home/new", K_O_RDWR | K_O_CREAT), -K_ENOSPC);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/home/a"), 0);
  EXPECT_EQ(vfs_rename(&t->v, NULL, "/home/b", NULL, "/home/c", 0), 0);
  EXPECT_TEXT(names(t, "/home"), "c link");
  tree_free(t);
}

TEST(symlinks_are_charged_for_their_text) {
  tree *t = tree_new(&(k_limits){ .disk = 100 }, NULL);
  make_link(t, "0123456789", "/a");
  EXPECT_EQ(t->k->used.disk, 10);
  char text[101] = { 0 };
  memset(text, 'x', 100);
  EXPECT_EQ(vfs_symlink(&t->v, text, NULL, "/b"), -K_ENOSPC);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/a"), 0);
  EXPECT_EQ(t->k->used.disk, 0);
  EXPECT_EQ(vfs_symlink(&t->v, text, NULL, "/b"), 0);
  tree_free(t);
}

TREE(everything_removed_is_everything_given_back) {
  uint32_t inodes = t->k->used.inodes;
  make_dir(t, "/d");
  put(t, "/d/f", "text");
  make_link(t, "f", "/d/l");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/d/f", 0, NULL, "/d/g"), 0);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/f"), 0);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/g"), 0);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/l"), 0);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/d"), 0);
  EXPECT_EQ(t->k->used.disk, 0);
  EXPECT_EQ(t->k->used.inodes, inodes);
}

/* ---- listings ---- */

struct one {
  char name[K_NAME_MAX + 1];
  int64_t pos;
  bool found;
};

static bool take_one(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  struct one *o = ctx;
  (void)ino, (void)mode;
  if (o->found) return false;
  memcpy(o->name, name.data, name.len);
  o->name[name.len] = '\0';
  o->pos = next_pos;
  return o->found = true;
}

/* The next name of an open directory; false at the end. */
static bool next_name(k_file *f, struct one *o) {
  o->found = false;
  EXPECT(f->ops->readdir(f, o->pos, take_one, o) >= 0);
  return o->found;
}

TREE(a_listing_begins_with_the_dots) {
  make_dir(t, "/d");
  struct one o = { 0 };
  k_file *f = opened(t, "/d", K_O_RDONLY);
  EXPECT(next_name(f, &o));
  EXPECT_TEXT(o.name, ".");
  EXPECT(next_name(f, &o));
  EXPECT_TEXT(o.name, "..");
  EXPECT(!next_name(f, &o));
  k_file_unref(f);
}

TREE(removing_each_name_as_it_is_listed_misses_none) {
  make_dir(t, "/d");
  char path[K_NAME_MAX + 8];
  for (int i = 0; i < 1000; i++) {
    snprintf(path, sizeof path, "/d/f%d", i);
    put(t, path, "");
  }
  struct one o = { .pos = 2 };
  int count = 0;
  k_file *f = opened(t, "/d", K_O_RDONLY);
  for (; next_name(f, &o); count++) {
    snprintf(path, sizeof path, "/d/%s", o.name);
    EXPECT_EQ(vfs_unlink(&t->v, NULL, path), 0);
  }
  k_file_unref(f);
  EXPECT_EQ(count, 1000);
  EXPECT_TEXT(names(t, "/d"), "");
}

TREE(a_position_stays_with_its_name) {
  make_dir(t, "/d");
  put(t, "/d/a", "");
  put(t, "/d/b", "");
  put(t, "/d/c", "");
  k_file *f = opened(t, "/d", K_O_RDONLY);
  struct one o = { .pos = 2 };
  EXPECT(next_name(f, &o)); /* a */
  struct one after_a = o;
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/d/a"), 0);
  put(t, "/d/d", "");
  put(t, "/d/a", "");
  EXPECT(next_name(f, &after_a));
  EXPECT_TEXT(after_a.name, "b");
  EXPECT(next_name(f, &after_a));
  EXPECT_TEXT(after_a.name, "c");
  EXPECT(next_name(f, &after_a));
  EXPECT_TEXT(after_a.name, "d");
  EXPECT(next_name(f, &after_a));
  EXPECT_TEXT(after_a.name, "a");
  EXPECT(!next_name(f, &after_a));
  k_file_unref(f);
}

TREE(an_open_directory_that_is_removed_lists_nothing) {
  make_dir(t, "/d");
  k_file *f = opened(t, "/d", K_O_RDONLY);
  EXPECT_EQ(vfs_rmdir(&t->v, NULL, "/d"), 0);
  struct one o = { 0 };
  EXPECT_EQ(f->ops->readdir(f, 0, take_one, &o), -K_ENOENT);
  k_file_unref(f);
}

/* ---- large things ---- */

TREE(a_tree_of_any_depth_is_freed_without_a_stack) {
  for (int i = 0; i < 9000; i++) {
    EXPECT_EQ(vfs_mkdir(&t->v, NULL, "d", 0777), 0);
    OWNED(k_inode_unref) k_inode *d = inode_at(t, "d");
    EXPECT_EQ(vfs_chdir(&t->v, d), 0);
  }
}

TEST(a_large_file_is_written_piece_by_piece) {
  tree *t = tree_new(&(k_limits){ .disk = UINT64_C(256) << 20 }, NULL);
  static uint8_t piece[300000];
  k_file *f = opened(t, "/f", K_O_WRONLY | K_O_CREAT | K_O_APPEND);
  uint64_t total = 0;
  for (k_ret n; (n = k_file_write(NULL, f, piece, sizeof piece)) > 0;) total += (uint64_t)n;
  EXPECT_EQ(k_file_write(NULL, f, piece, 1), -K_ENOSPC);
  k_file_unref(f);
  EXPECT_EQ(stat_of(t, "/f").size, total);
  EXPECT_EQ(t->k->used.disk, UINT64_C(256) << 20);
  EXPECT(total > UINT64_C(255) << 20);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/f"), 0);
  k_unlock(t->k); /* by then its blocks are free */
  k_lock(t->k);
  EXPECT_EQ(t->k->used.disk, 0);
  tree_free(t);
}

/* ---- directories that are filled later ---- */

typedef struct later_dir {
  mem_source base;
  uint64_t first_ino;
  int filled;
  bool fails;
  k_kernel *grown; /* whose memory is used up while the directory is filled, or NULL */
  bool by_another; /* a thread was faster */
} later_dir;

K_UNCHECKED static k_ret later_fill(mem_source *source, mem_node *node, uint64_t most) {
  later_dir *d = CONTAINER_OF(source, later_dir, base);
  mem_builder *b = NULL;
  (void)most;
  if (d->fails) return -K_EIO;
  d->filled++;
  K_TRY(mem_builder_below(node, d->first_ino, 8, &b));
  k_ret r = mem_builder_file(b, "/below/f", 0644, 0, 0, "text", 4, NULL, NULL, NULL);
  mem_builder_free(b);
  atomic_store(&source->filled, true);
  if (d->grown != NULL) {
    k_lock(d->grown);
    EXPECT_EQ(k_memory_charge(d->grown, d->grown->limits.memory - d->grown->used.memory), 0);
    k_unlock(d->grown);
  }
  return r < 0 ? r : !d->by_another;
}

static void later_free(mem_source *source) { (void)source; }

static const mem_source_ops later_ops = { .fill = later_fill, .free = later_free, .in_memory = true };

static tree *tree_with_later(later_dir *d) {
  mem_builder *b = NULL;
  mem_tree *base = NULL;
  *d = (later_dir){ .base = { .refs = 1, .ops = &later_ops } };
  EXPECT_EQ(mem_builder_new(&b), 0);
  EXPECT_EQ(mem_builder_dir(b, "/", 0777, K_UID, K_GID) == -K_EEXIST, true);
  EXPECT_EQ(mem_builder_dir(b, "/usr", 0777, K_UID, K_GID), 0);
  EXPECT_EQ(mem_builder_later(b, "/usr/later", &d->base, 8, &d->first_ino), 0);
  EXPECT_EQ(mem_builder_later(b, "/usr/later", &d->base, 8, &d->first_ino), -K_EEXIST);
  EXPECT_EQ(mem_builder_finish(b, &base), 0);
  tree *t = tree_new(NULL, base);
  mem_tree_unref(base);
  return t;
}

TEST(a_directory_that_comes_later_is_filled_when_it_is_looked_up) {
  later_dir d;
  tree *t = tree_with_later(&d);
  EXPECT_TEXT(names(t, "/usr"), "later");
  EXPECT_EQ(d.filled, 0);
  EXPECT_TEXT(get(t, "/usr/later/below/f"), "text");
  EXPECT_TEXT(names(t, "/usr/later"), "below");
  EXPECT_EQ(d.filled, 1);
  tree_free(t);
}

TEST(a_directory_that_comes_later_is_in_the_way_of_others) {
  later_dir d;
  tree *t = tree_with_later(&d);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, "/usr/later", 0755), -K_EEXIST);
  EXPECT_EQ(vfs_mkdir(&t->v, NULL, "/usr/other", 0755), 0);
  k_inode *usr = inode_at(t, "/usr");
  EXPECT_EQ(usr->ops->unlink(usr, (k_name){ "later", 5 }, true), -K_ENOTEMPTY);
  k_inode_unref(usr);
  tree_free(t);
}

/* Of a mount whose names come from elsewhere: their charge, in weights. */
static uint64_t charged_for_names(bool grown, bool by_another) {
  static const mem_source_ops elsewhere = { .fill = later_fill, .free = later_free };
  enum { WEIGHT = 5000 };
  tree *t = tree_new(NULL, NULL);
  mem_builder *b = NULL;
  mem_tree *base = NULL;
  k_inode *root = NULL;
  later_dir d = { .base = { .refs = 1, .ops = &elsewhere, .weight = WEIGHT }, .by_another = by_another };
  if (grown) d.grown = t->k;
  EXPECT_EQ(mem_builder_new(&b), 0);
  EXPECT_EQ(mem_builder_later(b, "/d", &d.base, 8, &d.first_ino), 0);
  EXPECT_EQ(mem_builder_finish(b, &base), 0);
  EXPECT_EQ(memfs_new_lazy(base, 9, &root), 0);
  mem_tree_unref(base);
  root->kernel = t->k;
  EXPECT_EQ(vfs_mount_add(t->k, "/l", "later", root, false), 0);
  uint64_t before = t->k->used.memory, rest = grown ? t->k->limits.memory - before : 0;
  EXPECT_EQ(try_stat(t, "/l/d/below"), 0);
  uint64_t charged = t->k->used.memory - before - rest;
  k_memory_uncharge(t->k, rest);
  EXPECT_EQ(vfs_mount_remove(t->k, "/l"), 0);
  tree_free(t);
  return charged / WEIGHT;
}

TEST(names_from_elsewhere_are_charged_once_and_however_little_memory_is_left) {
  EXPECT_EQ(charged_for_names(false, false), 1);
  EXPECT_EQ(charged_for_names(false, true), 0);
  EXPECT_EQ(charged_for_names(true, false), 1);
}

TEST(a_directory_that_cannot_be_filled_is_an_error_until_it_can) {
  later_dir d;
  tree *t = tree_with_later(&d);
  d.fails = true;
  EXPECT_EQ(try_stat(t, "/usr/later/below"), -K_EIO);
  d.fails = false;
  EXPECT_EQ(try_stat(t, "/usr/later/below"), 0);
  tree_free(t);
}

TEST(a_frozen_tree_has_directories_that_nobody_looked_into) {
  later_dir d;
  tree *t = tree_with_later(&d);
  mem_tree *frozen = NULL;
  make_dir(t, "/usr/new");
  EXPECT_EQ(memfs_freeze(vfs_mounts_root(t->k), &frozen), 0);
  EXPECT_EQ(d.filled, 0);
  tree_free(t);
  tree *next = tree_new(NULL, frozen);
  mem_tree_unref(frozen);
  EXPECT_TEXT(get(next, "/usr/later/below/f"), "text");
  EXPECT_EQ(d.filled, 1);
  tree_free(next);
}
