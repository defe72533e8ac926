/* devfs_test.c - null(4), full(4), random(4), fd(4). */
#include "fs/tree.h"

#define DEV(name)                                                                                            \
  static void name##_on(tree *t);                                                                            \
  TREE(name) {                                                                                               \
    k_inode *root = NULL;                                                                                    \
    EXPECT_EQ(devfs_new(&root), 0);                                                                          \
    EXPECT_EQ(vfs_mount_add(t->k, "/dev", "devtmpfs", root, true), 0);                                       \
    name##_on(t);                                                                                            \
  }                                                                                                          \
  static void name##_on(tree *t)

static k_ret read_from(tree *t, const char *path, void *buf, size_t len) {
  k_file *f = opened(t, path, K_O_RDONLY);
  k_ret n = k_file_read(NULL, f, buf, len);
  k_file_unref(f);
  return n;
}

static k_ret write_to(tree *t, const char *path, const void *buf, size_t len) {
  k_file *f = opened(t, path, K_O_WRONLY);
  k_ret n = k_file_write(NULL, f, buf, len);
  k_file_unref(f);
  return n;
}

DEV(null_is_empty_and_swallows) {
  char c;
  EXPECT_EQ(read_from(t, "/dev/null", &c, 1), 0);
  EXPECT_EQ(write_to(t, "/dev/null", "text", 4), 4);
  EXPECT_EQ(try_open(t, "/dev/null", K_O_WRONLY | K_O_CREAT | K_O_TRUNC), 0);
}

DEV(zero_is_zeros) {
  char text[4] = "abc";
  EXPECT_EQ(read_from(t, "/dev/zero", text, 4), 4);
  EXPECT_EQ(memcmp(text, "\0\0\0\0", 4), 0);
  EXPECT_EQ(write_to(t, "/dev/zero", "text", 4), 4);
}

DEV(full_is_full) {
  EXPECT_EQ(write_to(t, "/dev/full", "x", 1), -K_ENOSPC);
  EXPECT_EQ(write_to(t, "/dev/full", "", 0), -K_ENOSPC);
}

DEV(randomness_repeats_with_the_seed_and_never_within) {
  uint8_t one[16], two[16], again[16];
  EXPECT_EQ(read_from(t, "/dev/urandom", one, 16), 16);
  EXPECT_EQ(read_from(t, "/dev/random", two, 16), 16);
  EXPECT(memcmp(one, two, 16) != 0);
  tree *other = tree_new(NULL, NULL); /* the same seed */
  rng_bytes(&other->k->random, again, 16);
  EXPECT_EQ(memcmp(one, again, 16), 0);
  tree_free(other);
}

DEV(devices_have_the_numbers_of_linux) {
  k_stat st = stat_of(t, "/dev/null");
  EXPECT_EQ(st.mode, K_S_IFCHR | 0666);
  EXPECT_EQ(st.rdev_major, 1);
  EXPECT_EQ(st.rdev_minor, 3);
  EXPECT_TEXT(names(t, "/dev"), "null zero full random urandom tty ptmx fd stdin stdout stderr shm pts");
}

DEV(embedder_has_no_controlling_terminal) {
  EXPECT_EQ(try_open(t, "/dev/tty", K_O_RDWR), -K_ENXIO);
  EXPECT_EQ(try_open(t, "/dev/ptmx", K_O_RDWR), -K_ENXIO);
}

DEV(nothing_can_be_made_or_removed) {
  EXPECT(try_open(t, "/dev/new", K_O_RDWR | K_O_CREAT) < 0);
  EXPECT(vfs_mkdir(&t->v, NULL, "/dev/new", 0777) < 0);
  EXPECT(vfs_unlink(&t->v, NULL, "/dev/null") < 0);
  EXPECT(vfs_rename(&t->v, NULL, "/dev/null", NULL, "/dev/zero", 0) < 0);
}

DEV(the_standard_streams_are_links) {
  char text[32];
  EXPECT_EQ(vfs_readlink(&t->v, NULL, "/dev/stdin", text, sizeof text), 15);
  EXPECT_EQ(memcmp(text, "/proc/self/fd/0", 15), 0);
}

DEV(opening_without_memory_leaks_nothing) {
  AT_EVERY_FAULT {
    k_ret r = try_open(t, "/dev/null", K_O_RDWR);
    EXPECT(r == 0 || r == -K_ENOMEM);
  }
}
