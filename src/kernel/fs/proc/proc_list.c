/* proc_list.c - the listings of /proc's directories: "." and "..", the rows, then numbers in their order. */
#include "kernel/fs/proc/proc_node.h"

#include <stdio.h>
#include <string.h>

typedef struct lister {
  const proc_node *dir;
  int64_t pos;
  k_dirent_fn *each;
  void *ctx;
} lister;

static bool proc_list_one(const lister *l, const char *name, uint32_t mode, int64_t next) {
  return l->each(l->ctx, (k_name){ name, strlen(name) }, proc_ino_below(l->dir, name), mode, next);
}

static bool proc_list_dots(const lister *l) {
  const proc_node *n = l->dir, *up = n->parent != NULL ? n->parent : n;
  if (l->pos < 1 && !l->each(l->ctx, (k_name){ ".", 1 }, n->ino, K_S_IFDIR, 1)) return false;
  return l->pos >= 2 || l->each(l->ctx, (k_name){ "..", 2 }, up->ino, K_S_IFDIR, 2);
}

enum { POS_ROWS = 2, POS_NUMBERS = 100, LOOK = 16 /* at one process or thread, in units of k_work */ };

static bool list_rows(const lister *l) {
  const struct proc_row *rows = l->dir->row->below;
  if (rows == NULL || l->pos >= POS_NUMBERS) return true;
  for (size_t i = l->pos > POS_ROWS ? (size_t)(l->pos - POS_ROWS) : 0; rows[i].name != NULL; i++)
    if (!proc_list_one(l, rows[i].name, proc_type_of(rows[i].kind), POS_ROWS + (int64_t)i + 1)) return false;
  return true;
}

static bool list_number(const lister *l, int32_t n, uint32_t mode) {
  char text[16];
  snprintf(text, sizeof text, "%d", n);
  return proc_list_one(l, text, mode, POS_NUMBERS + (int64_t)n + 1);
}

/* By number, so that a listing continues correctly while processes come and go. */
K_LOCKED static void list_processes(k_kernel *k, const lister *l) {
  for (int64_t pos = l->pos;;) {
    int32_t next = INT32_MAX;
    if (k->init != NULL && POS_NUMBERS + k->init->pid + 1 > pos) next = k->init->pid;
    LIST_EACH (p, &k->processes, k_process, in_kernel) {
      if (POS_NUMBERS + p->pid + 1 > pos && p->pid < next) next = p->pid;
    }
    if (next == INT32_MAX || !list_number(l, next, K_S_IFDIR)) return;
    pos = POS_NUMBERS + next + 1;
    (void)k_work(k, NULL, LOOK * (size_t)k->used.processes);
  }
}

K_LOCKED static void list_fds(const k_process *p, const lister *l, uint32_t mode) {
  for (int64_t fd = l->pos > POS_NUMBERS ? l->pos - POS_NUMBERS : 0; p != NULL && fd < p->fds.cap; fd++)
    if (p->fds.slots[fd].file != NULL && !list_number(l, (int32_t)fd, mode)) return;
}

K_LOCKED static void list_threads(k_kernel *k, const lister *l) {
  k_process *p;
  for (int64_t pos = l->pos; (p = proc_process_of(l->dir)) != NULL;) {
    int32_t next = INT32_MAX;
    LIST_EACH (t, &p->threads, k_thread, in_process)
      if (POS_NUMBERS + (int64_t)t->tid + 1 > pos && t->tid < next) next = t->tid;
    if (next == INT32_MAX || !list_number(l, next, K_S_IFDIR)) return;
    pos = POS_NUMBERS + (int64_t)next + 1;
    (void)k_work(k, NULL, LOOK * (size_t)p->thread_count);
  }
}

K_LOCKED static k_ret proc_dir_readdir(k_file *f, int64_t pos, k_dirent_fn *each, void *ctx) {
  proc_node *n = proc_node_of(f->inode);
  const lister l = { n, pos, each, ctx };
  if (n->pid != 0 && proc_process_of(n) == NULL) return -K_ENOENT;
  if (!proc_list_dots(&l) || !list_rows(&l)) return 0;
  if (n->row->kind == DIR_ROOT) list_processes(f->kernel, &l);
  if (n->row->kind == DIR_TASK) list_threads(f->kernel, &l);
  if (n->row->kind == DIR_FD) list_fds(proc_process_of(n), &l, K_S_IFLNK);
  if (n->row->kind == DIR_FDINFO) list_fds(proc_process_of(n), &l, K_S_IFREG);
  return 0;
}

static k_ret proc_no_size(k_file *f) {
  (void)f;
  return 0;
}

const k_file_ops proc_dir_ops = { .readdir = proc_dir_readdir, .size = proc_no_size };
