/* cow_source.h - where a node of a copy-on-write mount comes from: its path on the host, and the state of the last look
 * there. Private to this folder. */
#pragma once

#include "kernel/fs/cow/cow_mount.h"
#include "kernel/fs/mem/mem_inode.h"
#include "kernel/fs/mem/mem_source.h"

typedef struct cow_source {
  mem_source base; /* first */
  cow_mount *mount;
  cow_seen seen;        /* mount.mu */
  _Atomic(char *) path; /* beneath the root; "": `first_path`, or a cow_path's */
  mem_freed *old_paths; /* that other threads may still read */
  char first_path[];
} cow_source;

static inline cow_source *cow_of(mem_source *s) { return CONTAINER_OF(s, cow_source, base); }

static inline char *cow_source_path(const cow_source *s) {
  return atomic_load_explicit(&s->path, memory_order_acquire);
}

/* mount.mu. What the file is `now`, with `blocks` of 512 bytes, against the last look. */
static inline mem_source_state cow_state(const cow_source *s, const cow_seen *now, uint64_t blocks) {
  return (mem_source_state){ .size = now->size,
                             .held = blocks * 512,
                             .mtime_ns = now->mtime_ns,
                             .ctime_ns = now->ctime_ns,
                             .changed = !cow_seen_same(now, &s->seen) };
}

/* The attributes of the host's file become the node's. */
void cow_node_show(mem_node *n, const struct statx *st);

/* The first look at a file, at all files of a directory, and at one that is opened (mem_source.h). */
k_ret cow_see(mem_source *source, mem_node *n) CHECKED;
k_ret cow_see_below(mem_source *source, mem_node *dir) CHECKED;
k_ret cow_see_open(mem_source *source, mem_node *n, mem_source_state *now) CHECKED;
