/* archive_test.c - folders of data that are unpacked at the first look, as src/sandbox/archive.h promises it. */
#include "sandbox/archive.h"

#include "kernel/fs/mem/mem_source.h"
#include "sandbox/snapshot/walk.h"
#include "test.h"

#include <pthread.h>

enum { ARCHIVE = 8192 };

static size_t put(uint8_t *archive, size_t at, const char *name, const char *data) {
  uint8_t *h = archive + at;
  size_t len = strlen(data);
  snprintf((char *)h, 100, "%s", name);
  snprintf((char *)h + 100, 8, "%07o", 0644U);
  snprintf((char *)h + 124, 12, "%011o", (unsigned)len);
  h[156] = '0';
  memcpy(h + 257, "ustar", 6);
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? 0 : h[i];
  snprintf((char *)h + 148, 8, "%06o", sum);
  memcpy(h + 512, data, len);
  return at + 512 + (len + 511) / 512 * 512;
}

static char logged[256];

static void keep_log(void *ctx, cay_log_level level, const char *area, const char *text) {
  (void)ctx, (void)level, (void)area;
  snprintf(logged, sizeof logged, "%s", text);
}

/* Zones in two archives, one inside of the other's folder, and settings beside a file that is there already. */
typedef struct folders {
  uint8_t zones[ARCHIVE], more[ARCHIVE], settings[ARCHIVE];
  sb_archive list[3];
  sb_archives all;
  cay_engine engine;
  mem_tree *tree;
} folders;

static cay_status folders_build(folders *f) {
  mem_builder *b = NULL;
  cay_error err;
  if (mem_builder_new(&b) < 0) return CAY_NO_MEMORY;
  k_ret r = mem_builder_file(b, "/etc/ssl/here", 0644, 0, 0, "x", 1, NULL, NULL, NULL);
  cay_status status = r < 0 ? CAY_NO_MEMORY : sb_archives_add(&f->all, &f->engine, b, &err);
  if (status == CAY_OK) return mem_builder_finish(b, &f->tree) >= 0 ? CAY_OK : CAY_NO_MEMORY;
  mem_builder_free(b);
  return status;
}

static void folders_fill(folders *f) {
  memset(f, 0, sizeof *f);
  size_t at = put(f->zones, 0, "./Europe/Oslo", "oslo");
  put(f->zones, at, "UTC", "utc");
  put(f->more, 0, "Old", "old");
  put(f->settings, 0, "cert", "pem");
  f->list[0] = (sb_archive){ "/usr/zones/more", { f->more, ARCHIVE } };
  f->list[1] = (sb_archive){ "/usr/zones", { f->zones, ARCHIVE } };
  f->list[2] = (sb_archive){ "/etc/ssl", { f->settings, ARCHIVE } };
  f->all = (sb_archives){ f->list, 3 };
  f->engine.log = keep_log;
  logged[0] = '\0';
}

static const mem_node *at(const folders *f, const char *path) {
  const mem_node *n = NULL;
  EXPECT_EQ(sb_tree_find(f->tree->root, path, &n, NULL), CAY_OK);
  return n;
}

static bool has(const folders *f, const char *path, const char *text) {
  const mem_node *n = at(f, path);
  char bytes[16] = "";
  return n != NULL && mem_contents_read(&n->contents, bytes, sizeof bytes - 1, 0) == strlen(text) &&
         strcmp(bytes, text) == 0;
}

TEST(a_folder_is_unpacked_at_the_first_look_with_those_below_it) {
  static folders f;
  folders_fill(&f);
  EXPECT_EQ(folders_build(&f), CAY_OK);
  const mem_node *zones = at(&f, "/usr/zones");
  EXPECT(mem_node_is_unfilled(zones));
  EXPECT_EQ(zones->count, 0);
  EXPECT(has(&f, "/usr/zones/Europe/Oslo", "oslo"));
  EXPECT(!mem_node_is_unfilled(zones));
  EXPECT(has(&f, "/usr/zones/UTC", "utc"));
  EXPECT(has(&f, "/usr/zones/more/Old", "old"));
  EXPECT(at(&f, "/usr/zones/nothing") == NULL);
  EXPECT_EQ(zones->nlink, 4);
  mem_tree_unref(f.tree);
}

TEST(a_folder_in_which_others_stand_is_unpacked_at_once) {
  static folders f;
  folders_fill(&f);
  EXPECT_EQ(folders_build(&f), CAY_OK);
  EXPECT(!mem_node_is_unfilled(at(&f, "/etc/ssl")));
  EXPECT(has(&f, "/etc/ssl/here", "x"));
  EXPECT(has(&f, "/etc/ssl/cert", "pem"));
  mem_tree_unref(f.tree);
}

TEST(numbers_of_files_are_used_once) {
  static folders f;
  folders_fill(&f);
  EXPECT_EQ(folders_build(&f), CAY_OK);
  uint64_t oslo = at(&f, "/usr/zones/Europe/Oslo")->ino, old = at(&f, "/usr/zones/more/Old")->ino;
  uint64_t cert = at(&f, "/etc/ssl/cert")->ino;
  EXPECT(oslo != old && oslo != cert && old != cert);
  EXPECT(oslo < f.tree->next_ino && old < f.tree->next_ino && cert < f.tree->next_ino);
  mem_tree_unref(f.tree);
}

TEST(a_damaged_archive_is_an_error_of_who_looks_and_is_logged) {
  static folders f;
  folders_fill(&f);
  f.zones[1024] ^= 1; /* the second header */
  EXPECT_EQ(folders_build(&f), CAY_OK);
  const mem_node *zones = at(&f, "/usr/zones"), *n = NULL;
  EXPECT(sb_tree_find(f.tree->root, "/usr/zones/UTC", &n, NULL) != CAY_OK);
  EXPECT(strstr(logged, "does not verify") != NULL);
  EXPECT(mem_node_is_unfilled(zones)); /* nothing of it stays, */
  EXPECT_EQ(zones->count, 0);
  f.zones[1024] ^= 1;
  EXPECT(has(&f, "/usr/zones/UTC", "utc")); /* and it may be tried again */
  EXPECT_EQ(zones->nlink, 4);
  mem_tree_unref(f.tree);
}

TEST(archives_without_memory_leave_nothing) {
  static folders f;
  folders_fill(&f);
  AT_EVERY_FAULT {
    f.tree = NULL;
    const mem_node *n = NULL;
    if (folders_build(&f) != CAY_OK) continue;
    cay_status status = sb_tree_find(f.tree->root, "/usr/zones/more/Old", &n, NULL);
    EXPECT(status == CAY_NO_MEMORY || (status == CAY_OK && n != NULL));
    mem_tree_unref(f.tree);
  }
}

static void *look(void *ctx) {
  const folders *f = ctx;
  return (void *)(uintptr_t)has(f, "/usr/zones/more/Old", "old");
}

TEST(several_threads_may_look_at_once) {
  static folders f;
  for (int round = 0; round < 50; round++) {
    pthread_t threads[4];
    folders_fill(&f);
    EXPECT_EQ(folders_build(&f), CAY_OK);
    for (size_t i = 0; i < 4; i++) EXPECT_EQ(pthread_create(&threads[i], NULL, look, &f), 0);
    for (size_t i = 0; i < 4; i++) {
      void *seen = NULL;
      EXPECT_EQ(pthread_join(threads[i], &seen), 0);
      EXPECT(seen != NULL);
    }
    mem_tree_unref(f.tree);
  }
}
