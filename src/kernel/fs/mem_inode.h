/* mem_inode.h - the live inodes of a memfs, and their directories. Private to mem*.c. */
#pragma once

#include "kernel/file.h"
#include "kernel/fs/mem_node.h"

typedef struct mem_inode mem_inode;

/* A name of a live directory that differs from, or was looked up in, what it inherits. */
typedef struct mem_entry {
  struct mem_entry *next; /* in its bucket */
  mem_inode *inode;       /* a reference; NULL: the inherited name is gone */
  uint32_t hash;
  int64_t pos;
  size_t len;
  char name[];
} mem_entry;

/* The name of an inode, and the names in it when it is a directory. */
typedef struct mem_dir {
  mem_inode *parent; /* borrowed while it is linked; for directories a reference when it was removed; itself
                        for the root */
  mem_entry *entry;  /* in the parent; NULL for the root and when removed */
  mem_entry **buckets;
  size_t bucket_count, entry_count;
  mem_entry **fresh; /* made here, by growing pos; NULL where one was removed */
  size_t fresh_len, fresh_cap, fresh_gone;
  int64_t next_pos;
  size_t count; /* visible names */
} mem_dir;

struct mem_inode {
  k_inode base; /* first */
  memfs *fs;
  mem_node *origin; /* what it was made from; alive as long as fs->tree */
  mem_inode *next_doomed;
  uint64_t ino, rdev;
  uint32_t uid, gid, nlink;
  int64_t atime_ns, mtime_ns, ctime_ns, btime_ns;
  bool counted; /* in kernel.used.inodes */
  bool dirty;   /* differs from origin, not counting what is below */
  mem_dir dir;
  mem_contents contents;
  char *target; /* of a symlink made here; inherited ones have origin->target */
};

/* Inherited files with several names: one live inode for each node. */
typedef struct mem_alias {
  const mem_node *node;
  mem_inode *inode; /* borrowed: removed when it is freed */
} mem_alias;

struct memfs {
  mem_tree *tree; /* a reference, or NULL */
  mem_inode *root;
  uint64_t next_ino;
  mem_alias *aliases;
  size_t alias_count, alias_cap;
  mem_inode *doomed; /* waiting to be freed by the outermost release */
  bool releasing;
  uint64_t inode_count; /* live ones: the last one frees the memfs */
};

static inline mem_inode *mem_of(k_inode *i) { return CONTAINER_OF(i, mem_inode, base); }
static inline k_kernel *mem_kernel(const mem_inode *i) { return i->base.kernel; }

extern const k_inode_ops mem_inode_ops;
extern const k_file_ops mem_file_ops, mem_dir_file_ops;

/* A new inode, counted against the quota; refs 1, nlink 0. -K_ENOSPC, -K_ENOMEM. */
k_ret mem_inode_new(memfs *fs, uint32_t mode, uint32_t uid, uint32_t gid, mem_inode **out) CHECKED;
k_ret mem_inode_inherit(memfs *fs, mem_node *node, mem_inode **out) CHECKED; /* a reference */
void mem_inode_unlinked(mem_inode *i);                                       /* one name less */

/* It is about to change: counts it. -K_ENOSPC. */
k_ret mem_touch(mem_inode *i) CHECKED;
void mem_stamp(mem_inode *i, bool contents); /* ctime, and mtime with contents */

/* ---- directories (mem_dir.c) ---- */

k_ret mem_dir_find(mem_inode *dir, k_name name, mem_entry **out) CHECKED; /* made live; -K_ENOENT */
/* An invisible entry ready to take an inode without failing; give it back with mem_dir_abandon if it is not
 * used. */
k_ret mem_dir_reserve(mem_inode *dir, k_name name, mem_entry **out) CHECKED;
void mem_dir_abandon(mem_inode *dir, mem_entry *e);
void mem_dir_set(mem_inode *dir, mem_entry *e,
                 mem_inode *inode); /* takes the reference over; the entry was invisible */
mem_inode *mem_dir_clear(mem_inode *dir,
                         mem_entry *e); /* the reference is the caller's; the entry may be freed */
/* A visible entry leads to another inode from now on, at its old place; the reference to the old one is the
 * caller's. */
mem_inode *mem_dir_replace(mem_inode *dir, mem_entry *e, mem_inode *inode);
void mem_dir_free(mem_inode *dir, void (*drop)(mem_inode *));
