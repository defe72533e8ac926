/* mem_trim.c - a live tree forgets names that were only looked up (memfs_trim).
 *
 * The walk has no stack: the way up leads by a directory's parent and its entry there. kernel.mu may be let go of between
 * two buckets. The tree may be another one afterwards, which ends the walk early or makes it meet names again: the
 * number of its steps is bounded. */
#include "kernel/fs/mem/mem_inode.h"

enum { UNITS = 100 /* of k_work, for a bucket */, SLACK = 1000 };

typedef struct trim_walk {
  mem_inode *at;  /* a directory: a reference */
  size_t bucket;  /* the next of it */
  uint64_t steps; /* left */
} trim_walk;

K_LOCKED static void trim_move(trim_walk *w, mem_inode *to, size_t bucket) {
  mem_inode *from = w->at;
  k_inode_ref(&to->base);
  w->at = to;
  w->bucket = bucket;
  k_inode_unref(&from->base);
}

static size_t trim_bucket(const mem_inode *dir, const mem_entry *e) {
  return e->hash & (dir->dir.bucket_count - 1);
}

/* The names of one bucket, or the first directory in it that has names of its own: that is entered before. */
K_LOCKED static void trim_bucket_names(trim_walk *w, const mem_inode *done) {
  mem_inode *dir = w->at;
  bool past = done == NULL;
  for (mem_entry *e = dir->dir.buckets[w->bucket], *next; e != NULL; e = next) {
    next = e->next;
    mem_inode *i = e->inode;
    bool is_done = i == done;
    if (past && i != NULL && k_is_dir(&i->base) && i->dir.entry_count > 0) {
      trim_move(w, i, 0);
      return;
    }
    if (past || is_done) mem_dir_forget(dir, e);
    past |= is_done;
  }
  w->bucket++;
}

/* Back to the parent, at the name by which the directory was entered. False: it was the root, or has no name any more. */
K_LOCKED static bool trim_up(trim_walk *w, mem_inode *root) {
  mem_inode *dir = w->at, *up = dir->dir.parent;
  if (dir == root || dir->dir.entry == NULL || up == NULL || up == dir) return false;
  size_t bucket = trim_bucket(up, dir->dir.entry);
  trim_move(w, up, bucket);
  trim_bucket_names(w, dir);
  return true;
}

void memfs_trim(k_inode *inode) {
  mem_inode *root = mem_of(inode);
  k_kernel *k = inode->kernel;
  trim_walk w = { .at = root, .steps = 2 * root->fs->inode_count + SLACK };
  k_inode_ref(inode);
  for (bool more = true; more && w.steps > 0; w.steps--) {
    if (w.bucket < w.at->dir.bucket_count)
      trim_bucket_names(&w, NULL);
    else
      more = trim_up(&w, root);
    (void)k_work(k, NULL, UNITS);
  }
  k_inode_unref(&w.at->base);
}
