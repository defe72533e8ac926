/* mem_inode.h - the live inodes of a memfs, and their directories. Private to mem*.c. */
#pragma once

#include "kernel/file/file.h"
#include "kernel/fs/mem/mem_source.h"

typedef struct mem_inode mem_inode;

/* A name of a live directory that differs from, or was looked up in, the inherited one. */
typedef struct mem_entry {
  struct mem_entry *next; /* in its bucket */
  mem_inode *inode;       /* a reference; NULL: the inherited name is gone */
  uint32_t hash;
  int64_t pos;
  size_t len;
  char name[];
} mem_entry;

/* A name that was made here, where a listing meets it; NULL once it is gone. */
typedef struct mem_fresh {
  int64_t pos;
  mem_entry *entry;
} mem_fresh;

/* The name of an inode, and the names in it when it is a directory. */
typedef struct mem_dir {
  mem_inode *parent; /* borrowed while it is linked; for directories a reference when it was removed; itself
                        for the root */
  mem_entry *entry;  /* in the parent; NULL for the root and when removed */
  mem_entry **buckets;
  size_t bucket_count, entry_count;
  mem_fresh *fresh; /* by growing pos */
  size_t fresh_len, fresh_cap, fresh_gone;
  int64_t next_pos;
  size_t count; /* visible names */
} mem_dir;

struct mem_inode {
  k_inode base; /* first */
  memfs *fs;
  mem_node *origin; /* the frozen node it was made from, or became at the last snapshot: a reference */
  mem_node *frozen; /* during memfs_freeze: its new frozen node, a reference; NULL: it is as its origin */
  mem_inode *next_alias; /* in its bucket of fs->aliases */
  mem_inode *next_doomed;
  uint64_t ino, rdev;
  uint32_t uid, gid, nlink;
  uint32_t links_counted; /* names beyond the first, made here: each counts like an inode */
  int64_t atime_ns, mtime_ns, ctime_ns, btime_ns;
  bool counted;     /* in kernel.used.inodes */
  bool dirty;       /* differs from origin, not counting its children */
  bool dirty_below; /* a directory: some inode below it is dirty, and with it all directories on the way */
  bool pinned; /* one of fs->aliases, which has a reference: names that were not looked up lead to it, too */
  bool linkable; /* without a name, and may be given one (O_TMPFILE) */
  mem_dir dir;
  mem_contents contents;
  mem_source *source; /* where the bytes of a file are while `contents` has only their number: a reference */
  char *was;          /* the path it had when its last name went, if somebody still uses it */
  char *target;       /* of a symlink made here, charged to the quota; inherited ones have origin->target */
};

/* A file elsewhere that is open already, for the open call that looked at it. */
typedef struct mem_opened {
  mem_source *source; /* a reference; NULL: none */
  int fd;
  mem_source_state now;
} mem_opened;

struct memfs {
  mem_tree *tree; /* a reference, or NULL */
  bool dirty;     /* some inode differs from it */
  bool scattered; /* and one of those may have names in directories that are not marked */
  mem_inode *root;
  uint64_t next_ino;
  uint32_t dev_minor;  /* of st_dev */
  mem_inode **aliases; /* inherited files with several names: one live inode for each node, by node */
  size_t alias_count, alias_buckets;
  mem_inode *doomed; /* released, and waiting to be freed by `freeing` */
  k_chore freeing;
  bool is_freeing;
  bool lazy;            /* directories of the tree may be unfilled, files unseen (mem_source.h) */
  mem_opened opened;    /* by mem_prepare */
  uint64_t remembered;  /* bytes charged for names that were filled in */
  uint64_t inode_count; /* live ones: the last one frees the memfs */
};

static inline mem_inode *mem_of(k_inode *i) { return CONTAINER_OF(i, mem_inode, base); }
static inline k_kernel *mem_kernel(const mem_inode *i) { return i->base.kernel; }

extern const k_inode_ops mem_inode_ops;
extern const k_file_ops mem_file_ops, mem_dir_file_ops;

/* ---- inodes (mem_inode.c) ---- */

/* A new inode, counted against the quota; refs 1, nlink 0. -K_ENOSPC, -K_ENOMEM. */
k_ret mem_inode_new(memfs *fs, uint32_t mode, uint32_t uid, uint32_t gid, mem_inode **out) CHECKED K_LOCKED;
k_ret mem_inode_inherit(memfs *fs, mem_node *node, mem_inode **out) CHECKED K_LOCKED; /* a reference */
mem_inode *mem_inode_of_node(const memfs *fs, const mem_node *node); /* live, with several names; or NULL */
k_ret mem_alias_reserve(memfs *fs, size_t more) CHECKED;             /* so many mem_inode_adopt cannot fail */
void mem_inode_adopt(
    mem_inode *i) K_LOCKED; /* a leaf is as i->frozen, whose reference it takes; NULL: it stays */
void mem_inode_unlinked(mem_inode *i) K_LOCKED; /* one name less; a directory: none left */
const char *mem_target(const mem_inode *i);

/* It differs from its origin. Marks the directories above, so that a snapshot finds it. */
void mem_dirty(mem_inode *i);

/* It is about to change: counts it. -K_ENOSPC. */
k_ret mem_touch(mem_inode *i) CHECKED K_LOCKED;
void mem_stamp(mem_inode *i, bool contents); /* ctime, and mtime with contents */
void mem_contents_changed(mem_inode *i);

/* One more name counts like an inode. -K_ENOSPC. */
k_ret mem_count_link(mem_inode *i) CHECKED K_LOCKED;

/* ---- open files (mem_file.c) ---- */

k_ret mem_open(k_inode *inode, uint32_t flags, k_file **out) CHECKED K_LOCKED;

/* ---- bytes and names elsewhere (mem_source.c) ---- */

k_ret mem_dir_fill_below(mem_inode *dir, k_name name) CHECKED; /* before that name is looked up; [host] */
k_ret mem_prepare(k_inode *dir, k_name name) CHECKED;          /* see k_inode_ops */
k_ret mem_source_open_file(mem_inode *i, uint32_t flags, k_file **out) CHECKED; /* only to read; [host] */
k_ret mem_copy_up(mem_inode *i) CHECKED;      /* the bytes are the file's own afterwards; [host] */
k_ret mem_copy_up_held(mem_inode *i) CHECKED; /* the same between k_inode_write_begin and _end */
void mem_source_forget(mem_inode *i);

/* ---- directories (mem_dir.c) ---- */

k_ret mem_dir_find(mem_inode *dir, k_name name, mem_entry **out) CHECKED K_LOCKED; /* made live; -K_ENOENT */
/* An invisible entry ready to take an inode without failing; give it back with mem_dir_abandon if it is not
 * used. */
k_ret mem_dir_reserve(mem_inode *dir, k_name name, mem_entry **out) CHECKED;
void mem_dir_abandon(mem_inode *dir, mem_entry *e);
/* Takes the reference over; the entry was invisible. */
void mem_dir_set(mem_inode *dir, mem_entry *e, mem_inode *inode);
/* The reference is the caller's; the entry may be freed. */
mem_inode *mem_dir_clear(mem_inode *dir, mem_entry *e);
/* A visible entry leads to another inode from now on, at its old place; the reference to the old one is the
 * caller's. */
mem_inode *mem_dir_replace(mem_inode *dir, mem_entry *e, mem_inode *inode);
/* Its names are those of i->frozen, whose reference it takes; NULL: it stays. */
void mem_dir_adopt(mem_inode *dir) K_LOCKED;
/* Frees the entry of an inherited name if it is as before its lookup; and the buckets with the last of them. */
void mem_dir_forget(mem_inode *dir, mem_entry *e) K_LOCKED;
/* Frees the directory; children that are still referenced become detached. */
void mem_dir_free(mem_inode *dir) K_LOCKED;

/* The entry of an inherited name: NULL before its first lookup; it may be invisible, or made anew since
 * (then its position differs). */
const mem_entry *mem_dir_own(const mem_inode *dir, const mem_child *c);

/* ---- names (mem_names.c) ---- */

k_ret mem_lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) CHECKED K_LOCKED;
k_ret mem_parent(k_inode *dir, k_inode **out) CHECKED K_LOCKED;
k_ret mem_name_of(k_inode *dir, char *buf, size_t cap) CHECKED;
void mem_was_forget(mem_inode *i, k_kernel *k) K_LOCKED; /* k: of its charge */
k_ret mem_was(k_inode *inode, char *buf, size_t cap) CHECKED;
k_ret mem_create(k_inode *dir, k_name name, uint32_t mode, uint32_t uid, uint32_t gid, uint64_t rdev,
                 k_inode **out) CHECKED K_LOCKED;
k_ret mem_create_unnamed(k_inode *dir, uint32_t mode, uint32_t uid, uint32_t gid, bool linkable,
                         k_inode **out) CHECKED K_LOCKED;
k_ret mem_symlink(k_inode *dir, k_name name, const char *target, size_t len, uint32_t uid,
                  uint32_t gid) CHECKED K_LOCKED;
k_ret mem_link(k_inode *dir, k_name name, k_inode *target) CHECKED K_LOCKED;
k_ret mem_unlink(k_inode *dir, k_name name, bool directory) CHECKED K_LOCKED;
k_ret mem_rename(k_inode *from, k_name old_name, k_inode *to, k_name new_name,
                 uint32_t flags) CHECKED K_LOCKED;
