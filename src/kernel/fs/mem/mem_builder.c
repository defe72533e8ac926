/* mem_builder.c - making a frozen tree entry by entry. */
#include "kernel/fs/mem/mem_node.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "kernel/fs/mem/mem_source.h"

#include <stdatomic.h>
#include <string.h>

struct mem_builder {
  mem_tree *tree;
  uint64_t end_ino; /* numbers of files are below */
  int64_t now_ns;
  mem_node *
      last_dir; /* where the last entry was put, and the path of that: most entries are neighbours. NULL: none */
  size_t last_len;
  char last_path[K_PATH_MAX];
};

static void mem_builder_stamp(const mem_builder *b, mem_node *n) {
  n->atime_ns = n->mtime_ns = n->ctime_ns = n->btime_ns = b->now_ns;
}

/* Takes over the reference to `root`, which may be NULL: out of memory. */
K_UNCHECKED static k_ret builder_over(mem_node *root, uint64_t next_ino, uint64_t end_ino, int64_t now_ns,
                                      mem_builder **out) {
  mem_builder *b = mem_zalloc(sizeof *b);
  mem_tree *tree = mem_zalloc(sizeof *tree);
  if (b == NULL || tree == NULL || root == NULL) {
    mem_free(b);
    mem_free(tree);
    mem_node_unref(root);
    return -K_ENOMEM;
  }
  atomic_init(&tree->refs, 1);
  tree->root = root;
  tree->next_ino = next_ino;
  b->tree = tree;
  b->end_ino = end_ino;
  b->now_ns = now_ns;
  *out = b;
  return 0;
}

k_ret mem_builder_new(mem_builder **out) {
  K_TRY(builder_over(mem_node_new(K_S_IFDIR | 0755, 0, 0, 1), 2, UINT64_MAX, clock_real_ns(), out));
  mem_builder_stamp(*out, (*out)->tree->root);
  return 0;
}

k_ret mem_builder_below(mem_node *dir, uint64_t first_ino, uint64_t inos, mem_builder **out) {
  return builder_over(mem_node_ref(dir), first_ino, first_ino + inos, dir->mtime_ns, out);
}

K_UNCHECKED void mem_builder_free(mem_builder *b) {
  if (b == NULL) return;
  mem_tree_unref(b->tree);
  mem_free(b);
}

K_UNCHECKED k_ret mem_builder_finish(mem_builder *b, mem_tree **out) {
  *out = MOVE(b->tree);
  mem_builder_free(b);
  return 0;
}

static k_ret next_name(const char **path, k_name *out) {
  *path += strspn(*path, "/");
  *out = (k_name){ *path, strcspn(*path, "/") };
  if (out->len > K_NAME_MAX) return -K_ENAMETOOLONG;
  if (out->data[0] == '.' && (out->len == 1 || (out->len == 2 && out->data[1] == '.'))) return -K_EINVAL;
  *path += out->len;
  return 0;
}

K_LOCKED static k_ret mem_builder_add(mem_builder *b, mem_node *dir, k_name name, mem_node *child) {
  if (child == NULL) return -K_ENOMEM;
  mem_builder_stamp(b, child);
  k_ret r = child->ino < b->end_ino ? mem_node_add(dir, name, child, 0) : -K_ENOSPC;
  if (r < 0) mem_node_unref(child);
  return r;
}

/* Directories are never removed from a tree that is being made. */
static bool builder_is_neighbour(const mem_builder *b, const char *path, size_t dir_len) {
  return b->last_dir != NULL && b->last_len == dir_len && memcmp(b->last_path, path, dir_len) == 0 &&
         path[dir_len + 1] != '\0';
}

static void builder_remember(mem_builder *b, const char *path, size_t dir_len, mem_node *dir) {
  b->last_dir = dir_len < sizeof b->last_path ? dir : NULL;
  b->last_len = dir_len;
  if (b->last_dir != NULL) memcpy(b->last_path, path, dir_len);
}

/* The directory that `path` stands in, made with its parents, and the last name. */
K_LOCKED static k_ret parent_of(mem_builder *b, const char *path, mem_node **dir, k_name *name) {
  const char *whole = path, *slash = strrchr(path, '/');
  size_t dir_len = slash != NULL ? (size_t)(slash - path) : 0;
  bool neighbour = slash != NULL && builder_is_neighbour(b, path, dir_len);
  *dir = neighbour ? b->last_dir : b->tree->root;
  if (neighbour) path = slash;
  for (;;) {
    K_TRY(next_name(&path, name));
    if (path[strspn(path, "/")] == '\0') {
      if (name->len == 0) return -K_EEXIST;
      if (*path == '\0') builder_remember(b, whole, dir_len, *dir);
      return 0;
    }
    mem_child *c = mem_node_find(*dir, *name, mem_hash(*name));
    mem_node *below = c != NULL ? c->node : mem_node_new(K_S_IFDIR | 0755, 0, 0, b->tree->next_ino++);
    if (c == NULL) K_TRY(mem_builder_add(b, *dir, *name, below));
    if ((below->mode & K_S_IFMT) != K_S_IFDIR) return -K_ENOTDIR;
    *dir = below;
  }
}

K_LOCKED static k_ret place(mem_builder *b, const char *path, mem_node **dir, k_name *name) {
  K_TRY(parent_of(b, path, dir, name));
  return mem_node_find(*dir, *name, mem_hash(*name)) == NULL ? 0 : -K_EEXIST;
}

K_UNCHECKED k_ret mem_builder_dir(mem_builder *b, const char *path, uint32_t mode, uint32_t uid,
                                  uint32_t gid) {
  mem_node *dir;
  k_name name;
  k_ret r = place(b, path, &dir, &name);
  if (r == -K_EEXIST && name.len != 0) { /* made before, perhaps as somebody's parent */
    mem_node *there = mem_node_find(dir, name, mem_hash(name))->node;
    if ((there->mode & K_S_IFMT) != K_S_IFDIR) return r;
    there->mode = K_S_IFDIR | mode;
    there->uid = uid;
    there->gid = gid;
    return 0;
  }
  if (r < 0) return r;
  return mem_builder_add(b, dir, name, mem_node_new(K_S_IFDIR | mode, uid, gid, b->tree->next_ino++));
}

K_UNCHECKED k_ret mem_builder_later(mem_builder *b, const char *path, mem_source *source, uint64_t inos,
                                    uint64_t *first_ino) {
  mem_node *dir;
  k_name name;
  K_TRY(place(b, path, &dir, &name));
  mem_node *n = mem_node_new(K_S_IFDIR | 0755, 0, 0, b->tree->next_ino++);
  K_TRY(mem_builder_add(b, dir, name, n));
  n->source = source;
  *first_ino = b->tree->next_ino;
  b->tree->next_ino += inos;
  return 0;
}

K_UNCHECKED static k_ret builder_add_file(mem_builder *b, const char *path, uint32_t mode, uint32_t uid,
                                          uint32_t gid, mem_contents contents, void *exe, mem_node **out) {
  mem_node *dir;
  k_name name;
  K_TRY(place(b, path, &dir, &name));
  mem_node *n = mem_node_new(K_S_IFREG | mode, uid, gid, b->tree->next_ino++);
  if (n == NULL) return -K_ENOMEM;
  n->contents = contents;
  n->exe = exe;
  *out = n;
  return mem_builder_add(b, dir, name, n);
}

k_ret mem_builder_file(mem_builder *b, const char *path, uint32_t mode, uint32_t uid, uint32_t gid,
                       const void *data, size_t len, void (*drop)(void *ctx), void *ctx, void *exe) {
  mem_node *n = NULL;
  K_TRY(builder_add_file(b, path, mode, uid, gid, mem_contents_of(data, len), exe, &n));
  n->drop = drop; /* only now: a file that was not added still belongs to the caller */
  n->drop_ctx = ctx;
  return 0;
}

k_ret mem_builder_program(mem_builder *b, const char *path, mem_later *later, size_t len, void *exe) {
  mem_node *n = NULL;
  return builder_add_file(b, path, 0755, 0, 0, mem_contents_of_later(later, len), exe, &n);
}

K_UNCHECKED k_ret mem_builder_symlink(mem_builder *b, const char *path, const char *target) {
  mem_node *dir;
  k_name name;
  K_TRY(place(b, path, &dir, &name));
  mem_node *n = mem_node_new(K_S_IFLNK | 0777, 0, 0, b->tree->next_ino++);
  if (n != NULL && (n->target = mem_strdup(target)) == NULL) {
    mem_node_unref(n);
    n = NULL;
  }
  return mem_builder_add(b, dir, name, n);
}

mem_tree *mem_tree_ref(mem_tree *tree) {
  atomic_fetch_add_explicit(&tree->refs, 1, memory_order_relaxed);
  return tree;
}

K_UNCHECKED void mem_tree_unref(mem_tree *tree) {
  if (tree == NULL || atomic_fetch_sub_explicit(&tree->refs, 1, memory_order_acq_rel) != 1) return;
  mem_node_unref(tree->root);
  mem_free(tree);
}
