/* memfs.h - the file tree in memory, and frozen trees that many sandboxes share (tmpfs(5)).
 *
 * Two forms. A *frozen* tree (mem_tree) is immutable, counted atomically, and belongs to no kernel: the
 * system files that every sandbox starts with are one, a snapshot is one. A live file system is made over a
 * frozen tree in constant time: its inodes appear when they are first looked up, directories list the names they
 * inherit, and contents are shared in blocks that are copied when written. Freezing a live tree costs what
 * was touched since, not its size.
 *
 * Quota       blocks are charged to kernel.used.disk as allocated (small files in small ones), with the map
 * that finds them, and the texts of symlinks; inherited files are free until they are written. -K_ENOSPC leaves
 * everything as it was (a write may be short). Each inode made or touched into being by a change counts as
 * one of kernel.used.inodes, and so does each further name of a file; merely looking at inherited ones does
 * not. Removing always works.
 *
 * Times       reading does not move the access time (noatime).
 *
 * Invariant   a directory's listing position of an entry never changes while the entry lives (telldir(3));
 * new entries come later.
 *
 * Locks       live trees require kernel.mu; frozen ones none. */
#pragma once

#include "kernel/vfs/inode.h"

typedef struct mem_tree mem_tree;
typedef struct memfs memfs;
typedef struct mem_later mem_later; /* contents.h */

/* Builds a frozen tree, entry by entry; parents are made as needed (root:root 0755). Paths are absolute. */
typedef struct mem_builder mem_builder;
k_ret mem_builder_new(mem_builder **out) CHECKED;
k_ret mem_builder_dir(mem_builder *b, const char *path, uint32_t mode, uint32_t uid, uint32_t gid) CHECKED;
/* The bytes are not copied: they stay valid and unchanged until `drop(ctx)` is called when the last tree lets
 * go (mapped files). drop NULL: static. With `exe` a note for the runner that inodes of this file show in
 * k_inode.exe until their contents change. */
k_ret mem_builder_file(mem_builder *b, const char *path, uint32_t mode, uint32_t uid, uint32_t gid,
                       const void *data, size_t len, void (*drop)(void *ctx), void *ctx, void *exe) CHECKED;
/* The same for a program of root's, whose bytes come later. */
k_ret mem_builder_program(mem_builder *b, const char *path, mem_later *later, size_t len, void *exe) CHECKED;
k_ret mem_builder_symlink(mem_builder *b, const char *path, const char *target) CHECKED;
k_ret mem_builder_finish(mem_builder *b, mem_tree **out) CHECKED; /* the builder is freed, also on failure */
void mem_builder_free(mem_builder *b);

mem_tree *mem_tree_ref(mem_tree *tree);
void mem_tree_unref(mem_tree *tree); /* NULL is fine */

/* A live file system over `tree` (a reference is taken; NULL: an empty one). *out is its root directory, for
 * k_options.root or a mount. */
k_ret memfs_new(mem_tree *tree, k_inode **out) CHECKED;

/* The minor number that st_dev shows; 1 unless set. A directory is known by st_dev and st_ino, so mounts of one kernel differ in it. */
void memfs_set_device(k_inode *root, uint32_t minor);

/* The same over a tree of which directories are filled with their names at the first look (mem_source.h); the root is
 * filled already. `dev_minor` is its number in stat(2). memfs_remember charges a kernel for the names of the root,
 * before it is mounted there. memfs_tree is the tree, borrowed. */
k_ret memfs_new_lazy(mem_tree *tree, uint32_t dev_minor, k_inode **out) CHECKED;
k_ret memfs_remember(k_inode *root, k_kernel *k) CHECKED;
mem_tree *memfs_tree(const k_inode *root);
/* Freezing has to know all names of a file with several: the tree is filled before. */
bool memfs_wants_all(const k_inode *root) K_LOCKED;

/* The live tree under this root as it is now. The live one goes on, sharing everything. -K_ENOMEM changes
 * nothing. */
k_ret memfs_freeze(k_inode *root, mem_tree **out) CHECKED K_LOCKED;

/* The same for snapshots of a sandbox, in two ways different. Files made from such a tree stay charged: a file
 * system over it begins with what the live one was charged (mem_tree_charge), and removing a file gives that
 * back. And the live file system is from then on made over the tree, so that the next snapshot costs what
 * changes until then; an unchanged one costs nothing. -K_ENOMEM changes nothing. */
k_ret memfs_snapshot(k_inode *root, mem_tree **out) CHECKED K_LOCKED;
/* Frees the entries and inodes of names that were only looked up. May release and retake kernel.mu. */
void memfs_trim(k_inode *root) K_LOCKED;
bool memfs_has_names(const k_inode *root) K_LOCKED; /* its root is not empty, or it was made over a tree */
void mem_tree_charge(const mem_tree *tree, uint64_t *disk, uint64_t *inodes);
