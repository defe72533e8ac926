/* mem_node.c - nodes of a frozen tree: their references, the index of a directory's names, and their
 * shares of the quotas of disk and inodes (mem_node.h). */
#include "kernel/fs/mem/mem_node.h"

#include "base/alloc.h"
#include "kernel/fs/mem/mem_source.h"

#include <stdatomic.h>
#include <string.h>

/* FNV-1a: names are short, and a directory of one sandbox attacked by itself hurts only itself. */
uint32_t mem_hash(k_name name) {
  uint32_t h = 2166136261U;
  for (size_t i = 0; i < name.len; i++) h = (h ^ (uint8_t)name.data[i]) * 16777619U;
  return h ^ h >> 15;
}

mem_node *mem_node_new(uint32_t mode, uint32_t uid, uint32_t gid, uint64_t ino) {
  mem_node *n = mem_zalloc(sizeof *n);
  if (n == NULL) return NULL;
  atomic_init(&n->refs, 1);
  n->mode = mode;
  n->uid = uid;
  n->gid = gid;
  n->ino = ino;
  n->nlink = (mode & K_S_IFMT) == K_S_IFDIR ? 2 : 1;
  n->next_pos = MEM_POS_FIRST;
  return n;
}

mem_node *mem_node_ref(mem_node *n) {
  atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
  return n;
}

static void doom(mem_node *n, mem_node **doomed) {
  if (n == NULL || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1) return;
  n->next_doomed = *doomed;
  *doomed = n;
}

void mem_node_unref(mem_node *n) {
  mem_node *doomed = NULL;
  doom(n, &doomed);
  while ((n = doomed) != NULL) {
    doomed = n->next_doomed;
    for (size_t i = 0; i < n->count; i++) {
      doom(n->children[i].node, &doomed);
      mem_free(n->children[i].name);
    }
    doom(n->below, &doomed);
    doom(n->same, &doomed);
    mem_contents_free(&n->contents, NULL);
    mem_free(atomic_load(&n->digest));
    if (n->drop != NULL) n->drop(n->drop_ctx);
    mem_source_unref(n->source);
    mem_free(n->target);
    mem_free(n->children);
    mem_free(n->index);
    mem_free(n);
  }
}

void mem_node_empty(mem_node *dir) {
  for (size_t i = 0; i < dir->count; i++) {
    mem_node_unref(dir->children[i].node);
    mem_free(dir->children[i].name);
  }
  dir->count = 0;
  dir->nlink = 2;
  if (dir->index != NULL) memset(dir->index, 0, dir->index_cap * sizeof *dir->index);
  dir->next_pos = MEM_POS_FIRST;
}

static bool node_is_dir(const mem_node *n) { return (n->mode & K_S_IFMT) == K_S_IFDIR; }

static uint64_t node_share(const mem_node *n, uint64_t whole) {
  return n->nlink > 1 ? (whole + n->nlink - 1) / n->nlink : whole;
}

uint64_t mem_node_charge(const mem_node *n) {
  return node_is_dir(n) ? n->charged_below : node_share(n, n->charged);
}

uint64_t mem_node_count(const mem_node *n) {
  return node_is_dir(n) ? n->counted + n->counted_below : node_share(n, n->counted);
}

static void index_put(mem_node *dir, size_t place) {
  size_t mask = dir->index_cap - 1, at = dir->children[place].hash & mask;
  while (dir->index[at] != 0) at = (at + 1) & mask;
  dir->index[at] = (uint32_t)place + 1;
}

static bool grow_children(mem_node *dir) {
  if (dir->count < dir->cap) return true;
  size_t cap = dir->cap != 0 ? 2 * dir->cap : 8;
  mem_child *children = mem_realloc_array(dir->children, cap, sizeof *children);
  if (children == NULL) return false;
  dir->children = children;
  dir->cap = cap;
  return true;
}

static bool grow_index(mem_node *dir) {
  if (2 * (dir->count + 1) <= dir->index_cap) return true;
  size_t cap = dir->index_cap != 0 ? 2 * dir->index_cap : 16;
  uint32_t *index = mem_zalloc_array(cap, sizeof *index);
  if (index == NULL) return false;
  mem_free(dir->index);
  dir->index = index;
  dir->index_cap = cap;
  for (size_t i = 0; i < dir->count; i++) index_put(dir, i);
  return true;
}

k_ret mem_node_add(mem_node *dir, k_name name, mem_node *child, int64_t pos) {
  if (!grow_children(dir) || !grow_index(dir)) return -K_ENOMEM;
  char *copy = mem_strndup(name.data, name.len);
  if (copy == NULL) return -K_ENOMEM;
  if (pos == 0) pos = dir->next_pos;
  if (pos >= dir->next_pos) dir->next_pos = pos + 1;
  dir->children[dir->count] = (mem_child){ .name = copy,
                                           .len = name.len,
                                           .hash = mem_hash(name),
                                           .type = child->mode & K_S_IFMT,
                                           .ino = child->ino,
                                           .pos = pos,
                                           .node = child };
  index_put(dir, dir->count++);
  if (node_is_dir(child)) dir->nlink++;
  dir->charged_below += mem_node_charge(child);
  dir->counted_below += mem_node_count(child);
  return 0;
}

mem_child *mem_node_find(const mem_node *dir, k_name name, uint32_t hash) {
  if (dir->index_cap == 0) return NULL;
  size_t mask = dir->index_cap - 1;
  for (size_t at = hash & mask; dir->index[at] != 0; at = (at + 1) & mask) {
    mem_child *c = &dir->children[dir->index[at] - 1];
    if (c->hash == hash && c->len == name.len && memcmp(c->name, name.data, name.len) == 0) return c;
  }
  return NULL;
}
