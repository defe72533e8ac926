/* proc_row.h - the names of /proc: tables of rows, one for each kind of directory.
 *
 * A directory whose names are numbers (processes, threads, descriptors) has a row for all of them, without a name. */
#pragma once

#include "kernel/fs/proc/proc_text.h"

enum proc_kind {
  DIR_ROOT,
  DIR_PID,
  DIR_FD,
  DIR_FDINFO,
  DIR_TASK,
  DIR_TID,
  DIR_PLAIN,
  TEXT,
  TEXT_FD,
  TEXT_THREAD,
  LINK_SELF,
  LINK_TEXT,
  LINK_PROCESS,
  LINK_FD
};

/* What a link leads to; a reference. -K_ENOENT. */
typedef k_ret proc_find_fn(k_process *p, k_inode **out);

struct proc_row {
  const char *name;
  enum proc_kind kind;
  uint32_t mode;
  proc_text_fn *text;           /* TEXT */
  proc_find_fn *find;           /* LINK_PROCESS */
  const struct proc_row *below; /* directories: ended by a row without name */
  const char *target;           /* LINK_TEXT */
  proc_thread_fn *thread;       /* TEXT_THREAD */
};

extern const struct proc_row PROC_ROOT, PROC_PID, PROC_TID, PROC_FD, PROC_FDINFO;

proc_find_fn proc_find_exe K_LOCKED; /* its name is one that the process remembers */
