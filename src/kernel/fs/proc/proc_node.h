/* proc_node.h - a node of /proc, for the files that look names up, list them and open them.
 *
 * Locks       require kernel.mu. */
#pragma once

#include "kernel/fs/proc/proc_row.h"

typedef struct proc_fs {
  uint32_t nodes; /* the last one frees it */
} proc_fs;

typedef struct proc_node {
  k_inode base;
  proc_fs *fs;
  const struct proc_row *row;
  struct proc_node *parent; /* a reference; NULL for the root */
  int32_t pid, fd;          /* 0, -1: none */
  int32_t tid;              /* of a thread, and of nodes below it; 0: none */
  uint64_t ino;
} proc_node;

static inline proc_node *proc_node_of(k_inode *i) { return CONTAINER_OF(i, proc_node, base); }

/* ---- procfs.c ---- */

uint32_t proc_type_of(enum proc_kind kind); /* K_S_IF… */
/* A name below a directory always has the same number, without a table of them. */
uint64_t proc_ino_below(const proc_node *dir, const char *name);
/* NULL: there is none, or no such thread of it. */
k_process *proc_process_of(const proc_node *n) K_LOCKED;
k_thread *proc_thread_in(k_process *p, int32_t tid) K_LOCKED; /* or NULL */

/* ---- proc_list.c: what a directory is open as ---- */
extern const k_file_ops proc_dir_ops;

/* ---- proc_open.c ---- */

/* The text is made now. -K_EACCES (for writing), -K_ESRCH, -K_ENOMEM. */
k_ret proc_text_open(proc_node *n, uint32_t flags, k_file **out) CHECKED K_LOCKED;
