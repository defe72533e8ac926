/* snapshot_test.c - memfs_snapshot: a tree that the live one goes on from, with its charge. */
#include "fs/tree.h"

#include "base/random.h"
#include "kernel/fs/mem/mem_inode.h"

static mem_tree *taken(tree *t) {
  mem_tree *snapshot = NULL;
  EXPECT_EQ(memfs_snapshot(vfs_mounts_root(t->k), &snapshot), 0);
  return snapshot;
}

/* A sandbox that goes on from it. Gives the reference up. */
static tree *restored(mem_tree *snapshot) {
  uint64_t disk, inodes;
  tree *t = tree_new(&(k_limits){ .inodes = 100000 }, snapshot);
  mem_tree_charge(snapshot, &disk, &inodes);
  mem_tree_unref(snapshot);
  t->k->used.disk += disk;
  t->k->used.inodes += (uint32_t)inodes;
  return t;
}

TREE(an_unchanged_tree_gives_the_same_snapshot_again) {
  put(t, "/f", "text");
  mem_tree *one = taken(t);
  EXPECT_TEXT(get(t, "/f"), "text");
  mem_tree *two = taken(t);
  EXPECT(one == two);
  put(t, "/f", "other");
  mem_tree *three = taken(t);
  EXPECT(three != two);
  mem_tree_unref(one);
  mem_tree_unref(two);
  mem_tree_unref(three);
}

TREE(a_copy_owes_what_the_tree_owed_and_gives_it_back) {
  make_dir(t, "/d");
  put(t, "/d/f", "text");
  make_link(t, "a rather long target", "/l");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/d/f", 0, NULL, "/g"), 0);
  uint64_t disk = t->k->used.disk, inodes = t->k->used.inodes;
  EXPECT(disk > 0);
  tree *copy = restored(taken(t));
  EXPECT_EQ(copy->k->used.disk, disk);
  EXPECT_EQ(copy->k->used.inodes, inodes);
  EXPECT_EQ(vfs_unlink(&copy->v, NULL, "/d/f"), 0);
  EXPECT_EQ(vfs_unlink(&copy->v, NULL, "/g"), 0);
  EXPECT_EQ(vfs_unlink(&copy->v, NULL, "/l"), 0);
  EXPECT_EQ(vfs_rmdir(&copy->v, NULL, "/d"), 0);
  EXPECT_EQ(copy->k->used.disk, 0);
  EXPECT_EQ(copy->k->used.inodes, 1); /* the root */
  tree_free(copy);
}

TREE(a_block_that_a_copy_changes_is_charged_once) {
  k_file *f = opened(t, "/f", K_O_RDWR | K_O_CREAT);
  static char block[1 << 16];
  memset(block, 'x', sizeof block);
  for (int i = 0; i < 20; i++) EXPECT_EQ(k_file_write(NULL, f, block, sizeof block), sizeof block);
  k_file_unref(f);
  uint64_t disk = t->k->used.disk;
  tree *copy = restored(taken(t));
  f = opened(copy, "/f", K_O_RDWR);
  EXPECT_EQ(k_file_write(NULL, f, "changed", 7), 7);
  EXPECT_EQ(copy->k->used.disk, disk);
  k_file_unref(f);
  EXPECT(memcmp(get(copy, "/f"), "changedx", 8) == 0);
  EXPECT(memcmp(get(t, "/f"), "xxxxxxxx", 8) == 0);
  OWNED(k_inode_unref) k_inode *i = inode_at(copy, "/f");
  EXPECT_EQ(vfs_truncate(&copy->v, i, 0), 0);
  EXPECT_EQ(copy->k->used.disk, 0);
  k_inode_unref(MOVE(i));
  tree_free(copy);
}

TREE(a_listing_goes_on_where_it_was_after_a_snapshot) {
  put(t, "/a", "");
  put(t, "/b", "");
  put(t, "/c", "");
  mem_tree_unref(taken(t));
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/b"), 0);
  put(t, "/d", "");
  put(t, "/b", "again");
  EXPECT_TEXT(names(t, "/"), "a c d b");
  mem_tree_unref(taken(t));
  EXPECT_TEXT(names(t, "/"), "a c d b");
  EXPECT_TEXT(get(t, "/b"), "again");
}

TREE(a_file_without_a_name_survives_the_snapshot_that_made_its_origin) {
  put(t, "/f", "kept");
  mem_tree_unref(taken(t));
  k_file *f = opened(t, "/f", K_O_RDONLY);
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/f"), 0);
  mem_tree_unref(taken(t)); /* the tree that f came from is gone */
  char text[8] = { 0 };
  EXPECT_EQ(k_file_read(NULL, f, text, sizeof text), 4);
  EXPECT_TEXT(text, "kept");
  k_file_unref(f);
}

TREE(a_change_far_below_is_in_the_next_snapshot) {
  make_dir(t, "/a");
  make_dir(t, "/a/b");
  put(t, "/a/b/f", "one");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/a/b/f", 0, NULL, "/g"), 0);
  mem_tree_unref(taken(t));
  put(t, "/g", "two");
  tree *copy = restored(taken(t));
  EXPECT_TEXT(get(copy, "/a/b/f"), "two");
  EXPECT_EQ(vfs_rename(&copy->v, NULL, "/a/b", NULL, "/c", 0), 0);
  put(copy, "/c/f", "three");
  tree *again = restored(taken(copy));
  EXPECT_TEXT(get(again, "/g"), "three");
  EXPECT_TEXT(names(again, "/"), "a g c");
  tree_free(again);
  tree_free(copy);
}

TREE(a_change_through_one_name_stays_when_that_name_goes) {
  put(t, "/a", "one");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/a", 0, NULL, "/b"), 0);
  tree *copy = restored(taken(t));
  put(copy, "/a", "two");
  EXPECT_EQ(vfs_unlink(&copy->v, NULL, "/a"), 0);
  EXPECT_TEXT(get(copy, "/b"), "two"); /* looked up for the first time */
  EXPECT_EQ(stat_of(copy, "/b").nlink, 1);
  EXPECT_EQ(vfs_link(&copy->v, NULL, "/b", 0, NULL, "/c"), 0);
  EXPECT_EQ(stat_of(copy, "/b").nlink, 2);
  tree_free(copy);
}

TREE(a_snapshot_without_memory_changes_nothing) {
  make_dir(t, "/d");
  put(t, "/d/f", "text");
  EXPECT_EQ(vfs_link(&t->v, NULL, "/d/f", 0, NULL, "/g"), 0);
  make_link(t, "f", "/d/l");
  AT_EVERY_FAULT {
    mem_tree *snapshot = NULL;
    k_ret r = memfs_snapshot(vfs_mounts_root(t->k), &snapshot);
    EXPECT(r == 0 ? snapshot != NULL : r == -K_ENOMEM && snapshot == NULL);
    mem_tree_unref(snapshot);
  }
  mem_tree *base = taken(t);
  for (size_t n = 1, failed = 1; failed != 0; n++) {
    tree *copy = restored(mem_tree_ref(base));
    mem_fail_at(n);
    k_ret r = try_open(copy, "/d/f", K_O_RDWR);
    failed = mem_has_failed();
    mem_fail_at(0);
    EXPECT_EQ(r, failed != 0 ? -K_ENOMEM : 0);
    EXPECT_TEXT(get(copy, "/d/f"), "text");
    tree_free(copy);
  }
  mem_tree_unref(base);
  EXPECT_TEXT(names(t, "/d"), "f l");
}

/* ---- at random ---- */

enum { DIRS = 4, NAMES = 6, KEPT = 5, SOME_BYTES = 150000 };

typedef struct story {
  tree *t;
  rng rng;
} story;

static uint32_t pick(story *s, uint32_t below) { return (uint32_t)(rng_u64(&s->rng) % below); }

static const char *any_dir(story *s, char buf[16]) {
  static const char *const dirs[DIRS] = { "", "/d", "/d/e", "/g" };
  snprintf(buf, 16, "%s", dirs[pick(s, DIRS)]);
  return buf;
}

static const char *any_path(story *s, char buf[32]) {
  char dir[16];
  snprintf(buf, 32, "%s/%c", any_dir(s, dir), (char)('m' + pick(s, NAMES)));
  return buf;
}

static void write_some(story *s, const char *path, uint32_t flags) {
  static char bytes[SOME_BYTES];
  k_file *f = NULL;
  if (vfs_open(&s->t->v, NULL, path, K_O_RDWR | flags, 0644, &f) < 0) return;
  memset(bytes, 'a' + (int)pick(s, 26), sizeof bytes);
  EXPECT(k_file_seek(f, pick(s, 4) * 65536 + pick(s, 3) * 1000, 0) >= 0);
  EXPECT(k_file_write(NULL, f, bytes, 1 + pick(s, pick(s, 3) == 0 ? SOME_BYTES : 700)) > 0);
  k_file_unref(f);
}

static void cut_some(story *s, const char *path) {
  k_inode *i = NULL;
  if (vfs_resolve(&s->t->v, NULL, path, VFS_NOFOLLOW, &i) < 0) return;
  if (k_is_reg(i) && pick(s, 2) == 0) EXPECT_EQ(vfs_truncate(&s->t->v, i, pick(s, 200000)), 0);
  if (k_is_reg(i) && pick(s, 2) == 0)
    EXPECT_EQ(i->ops->punch(i, pick(s, 100000), 100000 + pick(s, 200000)), 0);
  (void)!vfs_chmod(&s->t->v, i, 0700 + pick(s, 64));
  k_inode_unref(i);
}

static void do_something(story *s) {
  char a[32], b[32];
  const vfs_view *v = &s->t->v;
  switch (pick(s, 12)) {
  case 0:
  case 1:
  case 2: write_some(s, any_path(s, a), K_O_CREAT); break;
  case 3: write_some(s, any_path(s, a), 0); break;
  case 4: cut_some(s, any_path(s, a)); break;
  case 5: (void)!vfs_unlink(v, NULL, any_path(s, a)); break;
  case 6: (void)!vfs_link(v, NULL, any_path(s, a), 0, NULL, any_path(s, b)); break;
  case 7: (void)!vfs_rename(v, NULL, any_path(s, a), NULL, any_path(s, b), pick(s, 3)); break;
  case 8: (void)!vfs_symlink(v, any_path(s, a), NULL, any_path(s, b)); break;
  case 9: (void)!vfs_mkdir(v, NULL, any_path(s, a), 0755); break;
  case 10: (void)!vfs_mkdir(v, NULL, any_dir(s, a), 0755); break;
  case 11: (void)!vfs_rename(v, NULL, any_dir(s, a), NULL, any_path(s, b), 0); break;
  default: break;
  }
}

/* All of a tree as a number, with metadata, contents and the order of listings. */
typedef struct digest {
  tree *t;
  uint64_t sum;
  char path[512];
} digest;

static void digest_add(digest *d, const void *data, size_t len) {
  for (size_t i = 0; i < len; i++) d->sum = (d->sum ^ ((const uint8_t *)data)[i]) * 0x100000001b3;
}

static void digest_file(digest *d) {
  static char bytes[1 << 20];
  k_file *f = opened(d->t, d->path, K_O_RDONLY);
  k_ret n = k_file_read(NULL, f, bytes, sizeof bytes);
  EXPECT(n >= 0);
  digest_add(d, bytes, (size_t)n);
  k_file_unref(f);
}

static void digest_at(digest *d) {
  k_stat st = stat_of(d->t, d->path);
  digest_add(d, d->path, strlen(d->path));
  digest_add(d, &st.ino, sizeof st.ino);
  digest_add(d, &st.mode, sizeof st.mode);
  digest_add(d, &st.nlink, sizeof st.nlink);
  digest_add(d, &st.size, sizeof st.size);
  digest_add(d, &st.mtime_ns, sizeof st.mtime_ns);
  if ((st.mode & K_S_IFMT) == K_S_IFREG) digest_file(d);
  if ((st.mode & K_S_IFMT) != K_S_IFDIR) return;
  char list[4096];
  snprintf(list, sizeof list, "%s", names(d->t, d->path));
  size_t len = strlen(d->path);
  char *rest = NULL;
  for (char *name = strtok_r(list, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
    snprintf(d->path + len, sizeof d->path - len, "%s%s", d->path[len - 1] == '/' ? "" : "/", name);
    digest_at(d);
    d->path[len] = '\0';
  }
}

static uint64_t digest_of(tree *t) {
  digest d = { .t = t, .sum = 14695981039346656037U, .path = "/" };
  bool privileged = t->v.privileged;
  t->v.privileged = true;
  digest_at(&d);
  t->v.privileged = privileged;
  return d.sum;
}

typedef struct kept {
  mem_tree *snapshot;
  uint64_t sum;
} kept;

static void check_kept(const kept *k) {
  if (k->snapshot == NULL) return;
  tree *t = restored(mem_tree_ref(k->snapshot));
  EXPECT_EQ(digest_of(t), k->sum);
  tree_free(t);
}

/* Sometimes the story goes on in the copy. */
static void step(story *s, kept *k) {
  for (uint32_t n = pick(s, 12); n > 0; n--) do_something(s);
  mem_tree_unref(k->snapshot);
  uint64_t sum = digest_of(s->t);
  *k = (kept){ taken(s->t), sum };
  EXPECT_EQ(digest_of(s->t), sum);
  tree *copy = restored(mem_tree_ref(k->snapshot));
  EXPECT_EQ(digest_of(copy), sum);
  EXPECT(copy->k->used.inodes >= s->t->k->used.inodes);
  tree *gone = pick(s, 3) == 0 ? s->t : copy;
  if (gone == s->t) s->t = copy;
  tree_free(gone);
}

static void remove_all(tree *t, const char *path) {
  char list[4096], below[512];
  snprintf(list, sizeof list, "%s", names(t, path));
  char *rest = NULL;
  for (char *name = strtok_r(list, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
    snprintf(below, sizeof below, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
    bool dir = (stat_of(t, below).mode & K_S_IFMT) == K_S_IFDIR;
    if (dir) remove_all(t, below);
    EXPECT_EQ(dir ? vfs_rmdir(&t->v, NULL, below) : vfs_unlink(&t->v, NULL, below), 0);
  }
}

TEST(snapshots_of_a_random_story_stay_as_they_were) {
  story s = { .t = tree_new(&(k_limits){ .inodes = 100000 }, NULL) };
  kept all[KEPT] = { 0 };
  rng_seed_number(&s.rng, test_seed(7));
  for (uint32_t round = 0; round < (test_is_soak() ? 20000U : 60U); round++) {
    step(&s, &all[pick(&s, KEPT)]);
    check_kept(&all[pick(&s, KEPT)]);
  }
  for (size_t i = 0; i < KEPT; i++) {
    check_kept(&all[i]);
    mem_tree_unref(all[i].snapshot);
  }
  remove_all(s.t, "/");
  EXPECT(s.t->k->used.disk < 100); /* names of one file are charged in whole bytes */
  EXPECT_EQ(s.t->k->used.inodes, 1);
  tree_free(s.t);
}

/* ---- names that were only looked up ---- */

static uint64_t live_inodes(const tree *t) { return mem_of(vfs_mounts_root(t->k))->fs->inode_count; }

static uint64_t trimmed(const tree *t) {
  memfs_trim(vfs_mounts_root(t->k));
  return live_inodes(t);
}

TEST(a_trimmed_tree_has_what_was_changed_or_is_in_use_and_looks_the_same) {
  mem_builder *b = NULL;
  mem_tree *base = NULL;
  EXPECT_EQ(mem_builder_new(&b), 0);
  for (int d = 0; d < 30; d++) {
    char path[60];
    (void)snprintf(path, sizeof path, "/usr/d%d/e", d);
    EXPECT_EQ(mem_builder_dir(b, path, 0777, 0, 0), 0);
    for (int f = 0; f < 10; f++) {
      (void)snprintf(path, sizeof path, "/usr/d%d/e/f%d", d, f);
      EXPECT_EQ(mem_builder_file(b, path, 0666, 0, 0, "text", 4, NULL, NULL, NULL), 0);
    }
  }
  EXPECT_EQ(mem_builder_finish(b, &base), 0);
  tree *t = tree_new(NULL, base);
  mem_tree_unref(base);
  uint64_t before = live_inodes(t);
  for (int d = 0; d < 30; d++) {
    for (int f = 0; f < 10; f++) {
      char path[60];
      (void)snprintf(path, sizeof path, "/usr/d%d/e/f%d", d, f);
      EXPECT_TEXT(get(t, path), "text");
    }
  }
  EXPECT_EQ(live_inodes(t), before + 1 + 30 + 30 + 300);
  put(t, "/usr/d1/e/f1", "other");
  put(t, "/usr/d2/e/new", "made");
  EXPECT_EQ(vfs_unlink(&t->v, NULL, "/usr/d3/e/f3"), 0);
  k_file *held = opened(t, "/usr/d4/e/f4", K_O_RDONLY);
  /* /usr, three directories twice, one changed, one made; the open file with two directories */
  EXPECT_EQ(trimmed(t), before + 1 + 6 + 1 + 1 + 3);
  EXPECT_EQ(trimmed(t), before + 1 + 6 + 1 + 1 + 3);
  EXPECT_TEXT(get(t, "/usr/d1/e/f1"), "other");
  EXPECT_TEXT(get(t, "/usr/d2/e/new"), "made");
  EXPECT_TEXT(get(t, "/usr/d4/e/f4"), "text");
  EXPECT_TEXT(get(t, "/usr/d29/e/f9"), "text");
  k_stat st;
  EXPECT_EQ(vfs_stat(&t->v, NULL, "/usr/d3/e/f3", 0, &st), -K_ENOENT);
  k_file_unref(held);
  EXPECT_EQ(trimmed(t), before + 1 + 6 + 1 + 1);
  tree_free(t);
}

TREE(a_trimmed_tree_that_was_snapshotted_keeps_its_account) {
  make_dir(t, "/d");
  put(t, "/d/f", "text");
  tree *copy = restored(taken(t));
  uint64_t disk = copy->k->used.disk, inodes = copy->k->used.inodes;
  EXPECT_TEXT(get(copy, "/d/f"), "text");
  (void)trimmed(copy);
  EXPECT_EQ(copy->k->used.disk, disk);
  EXPECT_EQ(copy->k->used.inodes, inodes);
  EXPECT_EQ(vfs_unlink(&copy->v, NULL, "/d/f"), 0);
  EXPECT_EQ(vfs_rmdir(&copy->v, NULL, "/d"), 0);
  EXPECT_EQ(copy->k->used.disk, 0);
  tree_free(copy);
}
