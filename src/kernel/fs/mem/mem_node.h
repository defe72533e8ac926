/* mem_node.h - the nodes of a frozen tree: immutable once shared, counted atomically. */
#pragma once

#include "kernel/fs/mem/contents.h"
#include "kernel/fs/mem/memfs.h"

typedef struct mem_node mem_node;
typedef struct mem_source mem_source; /* mem_source.h */

typedef struct mem_child {
  char *name;
  size_t len;
  uint32_t hash, type; /* type: the bits of K_S_IFMT, */
  uint64_t ino;        /* and the number, as a listing tells them */
  int64_t pos;         /* where a listing goes on after it; grows along the array */
  mem_node *node;
} mem_child;

struct mem_node {
  _Atomic uint32_t refs;
  uint32_t mode, uid, gid, nlink;
  uint64_t ino, rdev;
  int64_t atime_ns, mtime_ns, ctime_ns, btime_ns;
  void *exe;
  uint64_t charged; /* of a snapshot: bytes that inodes made from it hold of kernel.used.disk, */
  uint32_t counted; /* and of kernel.used.inodes: it, and its further names. Else both are 0 */
  uint64_t charged_below, counted_below; /* directories: the sums of all that is below */
  mem_contents contents;                 /* files */
  _Atomic(uint8_t *) digest;             /* of the contents, 32 bytes, once it was asked for; or NULL */
  mem_node *below;                       /* whose bytes are the floor of the contents: a reference, or NULL */
  void (*drop)(void *ctx);               /* files over bytes of the embedder */
  void *drop_ctx;
  mem_source *source;  /* a reference: where the bytes or the children are; NULL: here */
  _Atomic bool unseen; /* a file elsewhere without its attributes yet (mem_source.h) */
  mem_node *same;      /* a reference: seen to be another name of this file; or NULL */
  char *target;        /* symlinks */
  mem_child *children; /* directories */
  size_t count, cap;
  uint32_t *index; /* hash table over them: 1 + place, 0 is free; a power of two larger than count */
  size_t index_cap;
  int64_t next_pos;
  mem_node *next_doomed;
};

struct mem_tree {
  _Atomic uint32_t refs;
  mem_node *root;
  uint64_t next_ino;
};

enum { MEM_POS_DOT = 1, MEM_POS_DOTDOT = 2, MEM_POS_FIRST = 3 };

uint32_t mem_hash(k_name name);

/* The share of one name in what the node is charged. A file with several names counts with each of them, rounded up. */
uint64_t mem_node_charge(const mem_node *n);
uint64_t mem_node_count(const mem_node *n);

/* refs 1, no name yet, times zero. NULL: out of memory. */
mem_node *mem_node_new(uint32_t mode, uint32_t uid, uint32_t gid, uint64_t ino);
mem_node *mem_node_ref(mem_node *n);
void mem_node_unref(mem_node *n) K_LOCKED; /* without recursion, however deep; NULL is fine */

/* Adds a child (its reference is taken over on success). pos 0: the next one. The name must be free.
 * -K_ENOMEM. */
k_ret mem_node_add(mem_node *dir, k_name name, mem_node *child, int64_t pos) CHECKED;
mem_child *mem_node_find(const mem_node *dir, k_name name, uint32_t hash); /* NULL: none */
