/* cow.h - the copy-on-write mounts of a sandbox: their changes, and how these reach the host.
 *
 * A mount is a memfs over a tree of the host's directory (kernel/fs/cow). A change is a difference between that tree
 * and the live one, frozen for the purpose. Applied changes are remembered by path, with the state of the host's file since then,
 * and stand in the place of the tree from then on.
 *
 * Locks       sb_cow.mu: one listing or applying at a time, taken without kernel.mu and runs_mu. */
#pragma once

#include "kernel/fs/cow/cow.h"
#include "sandbox/snapshot/diff.h"

struct cay_sandbox;

typedef struct sb_applied {
  char *path;     /* relative; NULL: a free slot */
  mem_node *node; /* as it was applied: a reference; NULL: removed */
  cow_seen seen;  /* what the host has since; of a node */
  bool set;       /* else only room was made */
  bool seen_known;
  uint64_t round; /* of the listing that met it last */
} sb_applied;

typedef struct sb_cow {
  list in_box;
  _Atomic uint32_t refs;
  const k_inode *root; /* which mount; borrowed as long as it is in the list */
  mem_tree *base;      /* a reference */
  pthread_mutex_t mu;
  sb_applied *applied; /* a hash table by path; a power of two larger than applied_count */
  size_t applied_count, applied_cap;
  uint64_t round;
} sb_cow;

/* `root` was made with memfs_new_lazy over `base` and will be mounted. */
cay_status sb_cow_add(struct cay_sandbox *box, const k_inode *root, mem_tree *base, cay_error *err) CHECKED;
void sb_cow_remove(struct cay_sandbox *box, const k_inode *root);
void sb_cows_free(struct cay_sandbox *box);

/* References to the mount at `path` and its root. CAY_NOT_FOUND. Either may be NULL for sb_cow_close. */
cay_status sb_cow_open(struct cay_sandbox *box, const char *path, sb_cow **out, k_inode **root,
                       cay_error *err) CHECKED;
void sb_cow_close(struct cay_sandbox *box, sb_cow *c, k_inode *root);

/* ---- changes ---- */

typedef struct sb_cow_change {
  char *path;                     /* relative to the mount */
  const mem_node *before, *after; /* of the trees; NULL where it is not */
  bool seen_known;                /* what the host is supposed to have for `before` */
  cow_seen seen;
  cay_change_kind kind;
  bool contents, host_changed;
} sb_cow_change;

typedef struct sb_cow_changes {
  sb_cow *cow; /* a reference, whose mu is held */
  mem_tree *after;
  int root_fd; /* of the host; borrowed from the tree */
  sb_cow_change *items;
  size_t count, cap;
} sb_cow_changes;

/* All changes of the mount at `path`, now. CAY_NOT_FOUND. Holds the mount's mu until it is freed. */
cay_status sb_cow_changes_take(struct cay_sandbox *box, const char *path, sb_cow_changes *out,
                               cay_error *err) CHECKED;
void sb_cow_changes_free(sb_cow_changes *c);
void sb_cow_change_show(const sb_cow_change *c, cay_entry entries[2], cay_change *out);

/* Room for one more applied change, and the change itself, which cannot fail then: takes a reference to the node (NULL:
 * removed). `seen` NULL: not known. */
cay_status sb_cow_reserve(sb_cow *cow, const char *path, cay_error *err) CHECKED;
void sb_cow_applied(sb_cow *cow, const char *path, mem_node *node, const cow_seen *seen);

/* ---- the host (apply_host.c) ---- */

/* What the host has at a path beneath the directory: st; -K_ENOENT for nothing, or nothing that can be there. */
k_ret sb_host_look(int root_fd, const char *path, cow_seen *out) CHECKED;
/* The host has what `after` is already: bytes, target or type, and mode. */
bool sb_host_is(int root_fd, const char *path, const mem_node *after);
/* A directory of the host has only names that `known` has. */
bool sb_host_lists_only(int root_fd, const char *path, const mem_node *known);

/* A file or link at `path`, in place of what `replaced` says is there (NULL: nothing). `same_as` NULL, or the path of
 * a file that it is one more name of. -K_ESTALE: the host has something else there. *done: it is there, although something
 * failed afterwards. */
k_ret sb_host_put(int root_fd, const char *path, const mem_node *node, const cow_seen *replaced,
                  const char *same_as, bool *done) CHECKED;
k_ret sb_host_mkdir(int root_fd, const char *path) CHECKED; /* one that is there already will do */
k_ret sb_host_chmod(int root_fd, const char *path, uint32_t mode) CHECKED;
k_ret sb_host_remove(int root_fd, const char *path, bool directory, const cow_seen *there) CHECKED;
