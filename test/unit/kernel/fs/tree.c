#include "tree.h"

static uint64_t or_else(uint64_t value, uint64_t otherwise) { return value != 0 ? value : otherwise; }

tree *tree_new(const k_limits *limits, mem_tree *base) {
  static const k_limits none = { 0 };
  if (limits == NULL) limits = &none;
  tree *t = mem_zalloc(sizeof *t);
  EXPECT(t != NULL);
  k_inode *root = NULL;
  EXPECT_EQ(memfs_new(base, &root), 0);
  EXPECT_EQ(k_kernel_new(
                &(k_options){
                    .limits = {
                        .memory = or_else(limits->memory, 64 << 20),
                        .disk = or_else(limits->disk, 64 << 20),
                        .inodes = (uint32_t)or_else(limits->inodes, 10000),
                        .processes = (uint32_t)or_else(limits->processes, 16),
                        .open_files = (uint32_t)or_else(limits->open_files, 64),
                    },
                    .root = root,
                    .seed = 1,
                },
                &t->k),
            0);
  k_lock(t->k);
  EXPECT_EQ(vfs_view_init(&t->v, t->k), 0);
  t->v.privileged = true;
  EXPECT_EQ(vfs_chown(&t->v, root, K_UID, K_GID), 0);
  t->v.privileged = false;
  return t;
}

void tree_free(tree *t) {
  vfs_view_clear(&t->v);
  k_unlock(t->k);
  k_kernel_free(t->k);
  mem_free(t);
}

k_file *opened(tree *t, const char *path, uint32_t flags) {
  k_file *f = NULL;
  EXPECT_EQ(vfs_open(&t->v, NULL, path, flags, 0666, &f), 0);
  return f;
}

void put(tree *t, const char *path, const char *text) {
  k_file *f = opened(t, path, K_O_WRONLY | K_O_CREAT | K_O_TRUNC);
  size_t len = strlen(text);
  if (len != 0) EXPECT_EQ(k_file_write(NULL, f, text, len), len);
  k_file_unref(f);
}

const char *get(tree *t, const char *path) {
  static char text[4097];
  k_file *f = opened(t, path, K_O_RDONLY);
  k_ret n = k_file_read(NULL, f, text, sizeof text - 1);
  EXPECT(n >= 0);
  text[n] = '\0';
  k_file_unref(f);
  return text;
}

void make_dir(tree *t, const char *path) { EXPECT_EQ(vfs_mkdir(&t->v, NULL, path, 0777), 0); }

void make_link(tree *t, const char *target, const char *path) {
  EXPECT_EQ(vfs_symlink(&t->v, target, NULL, path), 0);
}

k_inode *inode_at(tree *t, const char *path) {
  k_inode *i = NULL;
  EXPECT_EQ(vfs_resolve(&t->v, NULL, path, VFS_NOFOLLOW, &i), 0);
  return i;
}

k_stat stat_of(tree *t, const char *path) {
  k_stat st;
  EXPECT_EQ(vfs_stat(&t->v, NULL, path, VFS_NOFOLLOW, &st), 0);
  return st;
}

const char *path_of(tree *t, k_inode *dir) {
  static char text[K_PATH_MAX];
  EXPECT(vfs_path_of(&t->v, dir, text, sizeof text) >= 0);
  return text;
}

k_ret try_open(tree *t, const char *path, uint32_t flags) {
  k_file *f = NULL;
  K_TRY(vfs_open(&t->v, NULL, path, flags, 0666, &f));
  k_file_unref(f);
  return 0;
}

k_ret try_stat(tree *t, const char *path) {
  k_stat st;
  return vfs_stat(&t->v, NULL, path, 0, &st);
}

struct joined {
  char text[4096];
  size_t len;
  int64_t pos;
};

static bool join(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  struct joined *j = ctx;
  (void)ino, (void)mode;
  j->pos = next_pos;
  if (name.data[0] == '.' && (name.len == 1 || (name.len == 2 && name.data[1] == '.'))) return true;
  if (j->len + name.len + 2 > sizeof j->text) return false;
  if (j->len != 0) j->text[j->len++] = ' ';
  memcpy(j->text + j->len, name.data, name.len);
  j->len += name.len;
  j->text[j->len] = '\0';
  return true;
}

const char *names(tree *t, const char *path) {
  static struct joined j;
  memset(&j, 0, sizeof j);
  k_file *f = opened(t, path, K_O_RDONLY | K_O_DIRECTORY);
  for (int64_t before = -1; before != j.pos;) {
    before = j.pos;
    EXPECT(f->ops->readdir(f, j.pos, join, &j) >= 0);
  }
  k_file_unref(f);
  return j.text;
}
