/* host_node.c - which files of the host are known, each by one inode. */
#include "kernel/fs/host/hostfs_inner.h"

#include "base/alloc.h"

#include <string.h>

/* ---- descriptors ---- */

k_ret host_count(hostfs *fs) {
  if (fs->descriptors >= HOST_DESCRIPTORS) return -K_ENFILE;
  fs->descriptors++;
  return 0;
}

void host_uncount(hostfs *fs) { fs->descriptors--; }

K_LOCKED void host_close_counted(hostfs *fs, int fd) {
  host_leave(fs);
  host_close(fd);
  host_return(fs);
  host_uncount(fs);
}

/* ---- the table of nodes ---- */

static uint64_t dev_of(const struct statx *st) {
  return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

bool host_node_is(const host_node *n, const struct statx *st) {
  return n->ino == st->stx_ino && n->dev == dev_of(st);
}

static list *host_node_bucket_of(hostfs *fs, uint64_t dev, uint64_t ino) {
  return &fs->nodes[(ino ^ ino >> 8 ^ dev) % HOST_BUCKETS];
}

static host_node *host_node_find(hostfs *fs, uint64_t dev, uint64_t ino) {
  LIST_EACH (n, host_node_bucket_of(fs, dev, ino), host_node, in_bucket)
    if (n->dev == dev && n->ino == ino) return n;
  return NULL;
}

host_node *host_node_named(const hostfs *fs, const host_node *dir, const char *name) {
  for (size_t b = 0; b < HOST_BUCKETS; b++)
    LIST_EACH (n, &fs->nodes[b], host_node, in_bucket)
      if (n->parent == dir && !n->gone && n->name != NULL && strcmp(n->name, name) == 0) return n;
  return NULL;
}

static int64_t host_node_ns_of(const struct statx_timestamp *t) {
  return t->tv_sec * NS_PER_SEC + t->tv_nsec;
}

void host_node_changed(host_node *n) {
  n->base.exe = NULL;
  n->base.version++;
}

void host_node_seen(host_node *n, const struct statx *st) {
  int64_t mtime = host_node_ns_of(&st->stx_mtime), ctime = host_node_ns_of(&st->stx_ctime);
  if (k_is_reg(&n->base) && (n->mtime_ns != mtime || n->ctime_ns != ctime || n->size != st->stx_size))
    host_node_changed(n);
  n->mtime_ns = mtime;
  n->ctime_ns = ctime;
  n->size = st->stx_size;
}

/* ---- places ---- */

/* The host may have turned the tree over: `n`, seen in `dir` now, was above it before. Then the one below `n`
 * on the way is no longer there, and its place is unknown. */
K_LOCKED static void break_circle(host_node *n, host_node *dir) {
  for (host_node *at = dir; at->parent != NULL; at = at->parent) {
    if (at->parent != n) continue;
    k_inode_ref(&n->fs->root->base);
    at->parent = n->fs->root;
    at->gone = true;
    k_inode_unref(&n->base); /* its caller holds another reference */
    return;
  }
}

void host_node_moved(host_node *n, host_node *dir, char *name) {
  if (n->parent != dir) {
    break_circle(n, dir);
    host_node *old = n->parent;
    k_inode_ref(&dir->base);
    n->parent = dir;
    k_inode_unref(&old->base);
  }
  mem_free(n->name);
  n->name = name;
  n->gone = false;
}

K_LOCKED static k_ret found_again(host_node *n, host_node *dir, const char *name, const struct statx *st) {
  host_node_seen(n, st);
  if (n->parent == NULL || n == dir) return 0; /* the root stays on top, wherever else the host shows it */
  if (n->parent == dir && !n->gone && strcmp(n->name, name) == 0) return 0;
  char *copy = mem_strdup(name);
  if (copy == NULL) return -K_ENOMEM;
  host_node_moved(n, dir, copy);
  return 0;
}

/* ---- making and freeing ---- */

K_LOCKED static host_node *host_node_make(hostfs *fs, host_node *dir, const char *name, int fd,
                                          const struct statx *st) {
  host_node *n = mem_zalloc(sizeof *n);
  char *copy = dir != NULL ? mem_strdup(name) : NULL;
  if (n == NULL || (dir != NULL && copy == NULL)) {
    mem_free(n);
    mem_free(copy);
    return NULL;
  }
  *n = (host_node){ .fs = fs, .fd = fd, .made = -1, .dev = dev_of(st), .ino = st->stx_ino, .name = copy };
  n->base = (k_inode){ .ops = &host_inode_ops,
                       .fs = fs,
                       .kernel = fs->root != NULL ? fs->root->base.kernel : NULL,
                       .refs = 1,
                       .mode = st->stx_mode & ~(uint32_t)(K_S_ISUID | K_S_ISGID) };
  if (dir != NULL) k_inode_ref(&dir->base);
  n->parent = dir;
  list_init(&n->writers);
  host_node_seen(n, st);
  list_push(host_node_bucket_of(fs, n->dev, n->ino), &n->in_bucket);
  return n;
}

k_ret host_adopt(hostfs *fs, host_node *dir, const char *name, int fd, const struct statx *st,
                 host_node **out) {
  host_node *n = host_node_find(fs, dev_of(st), st->stx_ino);
  k_ret r = 0;
  if (n == NULL) {
    n = host_node_make(fs, dir, name, fd, st);
    if (n != NULL) {
      *out = n;
      return 0;
    }
    r = -K_ENOMEM;
  } else {
    k_inode_ref(&n->base);
    r = found_again(n, dir, name, st);
    if (r < 0) k_inode_unref(&n->base);
  }
  host_close(fd); /* O_PATH: this close never waits */
  host_uncount(fs);
  if (r >= 0) *out = n;
  return r;
}

/* Up the chain without recursion. Closing an O_PATH descriptor neither writes nor waits, so kernel.mu stays;
 * one that was made and never opened has nothing to write. */
void host_node_release(k_inode *i) {
  host_node *n = host_of(i);
  hostfs *fs = n->fs;
  while (n != NULL) {
    host_node *parent = n->parent;
    list_remove(&n->in_bucket);
    host_close(n->fd);
    host_uncount(fs);
    if (n->made >= 0) host_uncount(fs);
    host_close(n->made);
    mem_free(n->name);
    mem_free(n);
    if (parent == NULL) mem_free(fs);
    n = parent != NULL && --parent->base.refs == 0 ? parent : NULL;
  }
}
