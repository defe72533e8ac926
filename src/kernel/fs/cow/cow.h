/* cow.h - a directory of the host as the beginning of a live tree in memory (a copy-on-write mount).
 *
 * The tree is a memfs over a frozen tree whose directories are filled when they are first looked into and whose files
 * stay on the host until they are written (mem_source.h). So whiteouts, renames, hard links and directories that
 * replace others are those of memfs, and changes are the difference of two trees.
 *
 * Names are those of the first look into their directory, attributes those of the first look at the file: opening it for
 * reading is one, any other looks at all files of its directory. A file that is gone by then has size 0 and cannot be
 * opened. Bytes are those of the moment when a file is opened. Each path is opened from the root by one openat2(2) with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and
 * RESOLVE_NO_MAGICLINKS. Nothing is ever written to the host here. Files appear as owned by the sandbox's user; set-id
 * bits are hidden; devices and sockets of the host are listed and cannot be opened, FIFOs are the sandbox's own.
 *
 * Limits      names that were filled in are charged to limits.memory, copied bytes to limits.disk, changed files to
 * limits.files. A mount holds at most 1024 descriptors of the host (-K_ENFILE), and none of the last quarter of those
 * that the process may have.
 *
 * Locks       one mutex per mount, for filling and for the last look at files: a leaf, never taken with kernel.mu. */
#pragma once

#include "kernel/fs/mem/memfs.h"

typedef struct mem_node mem_node;

/* `dirfd` is duplicated. The tree's root is filled. -K_ENOTDIR, -K_ENOMEM, -K_ENOSYS when the host has no openat2. */
k_ret cow_tree_new(int dirfd, mem_tree **out) CHECKED;

/* What a file was on the host when it was looked at last. */
typedef struct cow_seen {
  uint64_t dev, ino, size;
  int64_t mtime_ns, ctime_ns;
  uint32_t mode;
  bool several; /* names: each that is taken away moves the time of change */
} cow_seen;
/* Of a node that came from the host, with its path beneath the root ("" for the root, borrowed). False: it did not. */
bool cow_seen_of(const mem_node *n, cow_seen *seen, const char **path);
/* The file is moved on the host to `path`, by us: there its bytes are from now on. Prepared first (*out may be NULL: it
 * is there already, or has no source), since afterwards nothing may fail. -K_ENOMEM. `seen` NULL: not known. */
k_ret cow_move_prepare(const mem_node *n, const char *path, char **out) CHECKED;
void cow_moved(const mem_node *n, char *prepared, const cow_seen *seen);
void cow_move_drop(char *prepared); /* instead; NULL is fine */
struct statx;
cow_seen cow_seen_from(const struct statx *st);
bool cow_seen_same(const cow_seen *a, const cow_seen *b);

/* The O_PATH descriptor of the directory, for applying changes; borrowed as long as the tree. */
int cow_root_fd(const mem_tree *tree);
