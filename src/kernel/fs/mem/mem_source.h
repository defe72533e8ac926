/* mem_source.h - names and bytes of a frozen tree that are elsewhere and are fetched when they are needed.
 *
 * A node with a source is a directory whose children come with the first look into it, or a file whose bytes stay
 * where they are. A live file is read there until somebody opens it for writing: then its bytes are copied (copied up)
 * and the source is forgotten. A file may be `unseen`: a listing has told its name, type and number, and the attributes come
 * with the first look at it, before it becomes an inode. fs/cow has the sources of directories of the host.
 *
 * Locks       a source is immutable for its users but for `filled`, which is set once, after the children are there. So is a
 * node but for `unseen`, which is cleared once, after the attributes and `same` are there.
 * Its operations ask the host: they are called without kernel.mu. A source `in_memory` asks nobody: its directories are
 * filled where they become inodes, with kernel.mu. */
#pragma once

#include "kernel/fs/mem/mem_node.h"

/* What a file is when it is opened. `changed`: not as at the last look. */
typedef struct mem_source_state {
  uint64_t size, held;
  int64_t mtime_ns, ctime_ns;
  bool changed;
} mem_source_state;

typedef struct mem_source_ops {
  /* Adds the children of a directory; `most` bounds the memory, in bytes. All of them or none: -K_ENOMEM. 1; 0: another
   * thread has added them. */
  k_ret (*fill)(mem_source *dir, mem_node *node, uint64_t most);
  /* The look at one unseen file; at all of a directory; at one, with a descriptor for reading as of `open`. NULL: none is
   * unseen. */
  k_ret (*see)(mem_source *file, mem_node *node);
  k_ret (*see_below)(mem_source *dir, mem_node *node);
  k_ret (*see_open)(mem_source *file, mem_node *node, mem_source_state *now);
  /* A descriptor of the host for reading. `look`: `now` is from then on the last look. */
  k_ret (*open)(mem_source *file, bool look, mem_source_state *now);
  void (*close)(mem_source *file, int fd);
  void (*free)(mem_source *source);
  bool in_memory; /* directories alone, of any file system; `fill` takes a millisecond or two at most */
} mem_source_ops;

struct mem_source {
  _Atomic uint32_t refs;
  const mem_source_ops *ops;
  _Atomic bool filled; /* a directory: its children are in the node */
  uint64_t weight; /* of a filled directory: bytes that its children take, with the inodes made from them */
};

mem_source *mem_source_ref(mem_source *s);
void mem_source_unref(mem_source *s); /* NULL is fine */

/* A directory whose children are not there yet. */
bool mem_node_is_unfilled(const mem_node *n);
/* Fetches them, if need be, without kernel.mu. 1: this call did. */
k_ret mem_node_fill(mem_node *n, uint64_t most) CHECKED;

bool mem_node_is_unseen(const mem_node *n);
/* The one node of a file that was seen, under whichever of its names it was found. */
mem_node *mem_node_same(mem_node *n);
/* Looks at all files of a filled directory that are unseen, without kernel.mu. */
k_ret mem_node_see_below(mem_node *dir) CHECKED;

/* For those who fill. A builder whose paths begin at `dir`, with the number `first_ino` for the first of `inos` files at
 * most (-K_ENOSPC); it is freed by mem_builder_free, and the added files stay. mem_node_empty takes all children away. */
k_ret mem_builder_below(mem_node *dir, uint64_t first_ino, uint64_t inos, mem_builder **out) CHECKED;
void mem_node_empty(mem_node *dir) K_LOCKED;
/* A directory that is filled later, with `inos` files at most. The reference is taken over on success. -K_EEXIST: it
 * is there already. */
k_ret mem_builder_later(mem_builder *b, const char *path, mem_source *source, uint64_t inos,
                        uint64_t *first_ino) CHECKED;

/* The bytes of a frozen file, wherever they are. */
typedef struct mem_reader {
  const mem_node *node;
  int fd; /* -1: they are in the node */
  bool changed;
  uint64_t size; /* at the beginning */
} mem_reader;
k_ret mem_reader_begin(mem_reader *r, const mem_node *n) CHECKED;
k_ret mem_reader_read(const mem_reader *r, void *buf, size_t len, uint64_t pos) CHECKED; /* 0 at the end */
void mem_reader_end(mem_reader *r);
k_ret mem_nodes_equal(const mem_node *a, const mem_node *b, bool *equal) CHECKED; /* the bytes of two files */
