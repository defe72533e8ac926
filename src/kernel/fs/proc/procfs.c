/* procfs.c - /proc.
 *
 * Every name is a row of a table; a node is a row and a process number, made when looked up and freed with
 * its last reference. So nothing here keeps a process alive, and a node of one that is gone answers ESRCH or
 * ENOENT. */
#include "kernel/fs/proc/procfs.h"

#include "base/alloc.h"
#include "kernel/fs/proc/proc_fd.h"
#include "kernel/fs/proc/proc_text.h"
#include "kernel/vfs/mount.h"

#include <stdio.h>
#include <string.h>

enum kind {
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

typedef k_ret find_fn(k_process *p, k_inode **out);

struct row {
  const char *name;
  enum kind kind;
  uint32_t mode;
  proc_text_fn *text;      /* TEXT */
  find_fn *find;           /* LINK_PROCESS */
  const struct row *below; /* directories: ended by a row without name */
  const char *target;      /* LINK_TEXT */
  proc_thread_fn *thread;  /* TEXT_THREAD */
};

/* ---- what links of a process lead to ---- */

K_LOCKED static k_ret find_exe(k_process *p, k_inode **out) {
  if (p->program == NULL || p->program->exe == NULL) return -K_ENOENT;
  *out = k_inode_ref(p->program->exe);
  return 0;
}

K_LOCKED static k_ret find_cwd(k_process *p, k_inode **out) {
  if (p->view.cwd == NULL) return -K_ENOENT;
  *out = k_inode_ref(p->view.cwd);
  return 0;
}

K_LOCKED static k_ret find_root(k_process *p, k_inode **out) {
  *out = k_inode_ref(vfs_mounts_root(p->kernel));
  return 0;
}

/* ---- the tables ---- */

static const struct row NET_ROWS[] = {
  { "dev", TEXT, 0444, proc_net_dev, NULL, NULL, NULL, NULL },
  { "if_inet6", TEXT, 0444, proc_net_if_inet6, NULL, NULL, NULL, NULL },
  { "tcp", TEXT, 0444, proc_net_tcp, NULL, NULL, NULL, NULL },
  { "tcp6", TEXT, 0444, proc_net_tcp6, NULL, NULL, NULL, NULL },
  { "udp", TEXT, 0444, proc_net_udp, NULL, NULL, NULL, NULL },
  { "udp6", TEXT, 0444, proc_net_udp6, NULL, NULL, NULL, NULL },
  { "unix", TEXT, 0444, proc_net_unix, NULL, NULL, NULL, NULL },
  { 0 },
};

static const struct row PID_ROWS[] = {
  { "cmdline", TEXT, 0444, proc_cmdline, NULL, NULL, NULL, NULL },
  { "comm", TEXT, 0444, proc_comm, NULL, NULL, NULL, NULL },
  { "cwd", LINK_PROCESS, 0777, NULL, find_cwd, NULL, NULL, NULL },
  { "environ", TEXT, 0400, proc_environ, NULL, NULL, NULL, NULL },
  { "exe", LINK_PROCESS, 0777, NULL, find_exe, NULL, NULL, NULL },
  { "fd", DIR_FD, 0500, NULL, NULL, NULL, NULL, NULL },
  { "fdinfo", DIR_FDINFO, 0555, NULL, NULL, NULL, NULL, NULL },
  { "limits", TEXT, 0444, proc_limits, NULL, NULL, NULL, NULL },
  { "maps", TEXT, 0444, proc_maps, NULL, NULL, NULL, NULL },
  { "mounts", TEXT, 0444, proc_mounts, NULL, NULL, NULL, NULL },
  { "net", DIR_PLAIN, 0555, NULL, NULL, NET_ROWS, NULL, NULL },
  { "root", LINK_PROCESS, 0777, NULL, find_root, NULL, NULL, NULL },
  { "stat", TEXT, 0444, proc_stat, NULL, NULL, NULL, NULL },
  { "statm", TEXT, 0444, proc_statm, NULL, NULL, NULL, NULL },
  { "status", TEXT, 0444, proc_status, NULL, NULL, NULL, NULL },
  { "task", DIR_TASK, 0555, NULL, NULL, NULL, NULL, NULL },
  { 0 },
};

/* What a thread has of its own, and a little of its process. */
static const struct row TID_ROWS[] = {
  { "cmdline", TEXT, 0444, proc_cmdline, NULL, NULL, NULL, NULL },
  { "comm", TEXT, 0444, proc_comm, NULL, NULL, NULL, NULL },
  { "cwd", LINK_PROCESS, 0777, NULL, find_cwd, NULL, NULL, NULL },
  { "environ", TEXT, 0400, proc_environ, NULL, NULL, NULL, NULL },
  { "exe", LINK_PROCESS, 0777, NULL, find_exe, NULL, NULL, NULL },
  { "fd", DIR_FD, 0500, NULL, NULL, NULL, NULL, NULL },
  { "limits", TEXT, 0444, proc_limits, NULL, NULL, NULL, NULL },
  { "maps", TEXT, 0444, proc_maps, NULL, NULL, NULL, NULL },
  { "root", LINK_PROCESS, 0777, NULL, find_root, NULL, NULL, NULL },
  { "stat", TEXT_THREAD, 0444, NULL, NULL, NULL, NULL, proc_thread_stat },
  { "statm", TEXT, 0444, proc_statm, NULL, NULL, NULL, NULL },
  { "status", TEXT_THREAD, 0444, NULL, NULL, NULL, NULL, proc_thread_status },
  { 0 },
};

static const struct row RANDOM_ROWS[] = { { "boot_id", TEXT, 0444, proc_uuid, NULL, NULL, NULL, NULL },
                                          { "uuid", TEXT, 0444, proc_uuid, NULL, NULL, NULL, NULL },
                                          { 0 } };

static const struct row KERNEL_ROWS[] = {
  { "hostname", TEXT, 0444, proc_hostname, NULL, NULL, NULL, NULL },
  { "osrelease", TEXT, 0444, proc_osrelease, NULL, NULL, NULL, NULL },
  { "ostype", TEXT, 0444, proc_ostype, NULL, NULL, NULL, NULL },
  { "pid_max", TEXT, 0444, proc_pid_max, NULL, NULL, NULL, NULL },
  { "random", DIR_PLAIN, 0555, NULL, NULL, RANDOM_ROWS, NULL, NULL },
  { 0 },
};

static const struct row INOTIFY_ROWS[] = {
  { "max_queued_events", TEXT, 0444, proc_inotify_events, NULL, NULL, NULL, NULL },
  { "max_user_instances", TEXT, 0444, proc_inotify_instances, NULL, NULL, NULL, NULL },
  { "max_user_watches", TEXT, 0444, proc_inotify_watches, NULL, NULL, NULL, NULL },
  { 0 },
};

static const struct row FS_ROWS[] = { { "inotify", DIR_PLAIN, 0555, NULL, NULL, INOTIFY_ROWS, NULL, NULL },
                                      { 0 } };

static const struct row SYS_ROWS[] = { { "fs", DIR_PLAIN, 0555, NULL, NULL, FS_ROWS, NULL, NULL },
                                       { "kernel", DIR_PLAIN, 0555, NULL, NULL, KERNEL_ROWS, NULL, NULL },
                                       { 0 } };

static const struct row ROOT_ROWS[] = {
  { "cpuinfo", TEXT, 0444, proc_cpuinfo, NULL, NULL, NULL, NULL },
  { "filesystems", TEXT, 0444, proc_filesystems, NULL, NULL, NULL, NULL },
  { "loadavg", TEXT, 0444, proc_loadavg, NULL, NULL, NULL, NULL },
  { "meminfo", TEXT, 0444, proc_meminfo, NULL, NULL, NULL, NULL },
  { "mounts", LINK_TEXT, 0777, NULL, NULL, NULL, "self/mounts", NULL },
  { "net", LINK_TEXT, 0777, NULL, NULL, NULL, "self/net", NULL },
  { "self", LINK_SELF, 0777, NULL, NULL, NULL, NULL, NULL },
  { "stat", TEXT, 0444, proc_system_stat, NULL, NULL, NULL, NULL },
  { "sys", DIR_PLAIN, 0555, NULL, NULL, SYS_ROWS, NULL, NULL },
  { "uptime", TEXT, 0444, proc_uptime, NULL, NULL, NULL, NULL },
  { "version", TEXT, 0444, proc_version, NULL, NULL, NULL, NULL },
  { 0 },
};

static const struct row ROOT = { "", DIR_ROOT, 0555, NULL, NULL, ROOT_ROWS, NULL, NULL };
static const struct row PID = { "", DIR_PID, 0555, NULL, NULL, PID_ROWS, NULL, NULL };
static const struct row TID = { "", DIR_TID, 0555, NULL, NULL, TID_ROWS, NULL, NULL };
static const struct row FD = { "", LINK_FD, 0700, NULL, NULL, NULL, NULL, NULL };
static const struct row FDINFO = { "", TEXT_FD, 0444, NULL, NULL, NULL, NULL, NULL };

/* ---- nodes ---- */

typedef struct proc_fs {
  uint32_t nodes; /* the last one frees it */
} proc_fs;

typedef struct proc_node {
  k_inode base;
  proc_fs *fs;
  const struct row *row;
  struct proc_node *parent; /* a reference; NULL for the root */
  int32_t pid, fd;          /* 0, -1: none */
  int32_t tid;              /* of a thread, and of nodes below it; 0: none */
  uint64_t ino;
} proc_node;

static proc_node *procfs_node_of(k_inode *i) { return CONTAINER_OF(i, proc_node, base); }

static uint32_t procfs_type_of(enum kind kind) {
  switch (kind) {
  case DIR_ROOT:
  case DIR_PID:
  case DIR_FD:
  case DIR_FDINFO:
  case DIR_TASK:
  case DIR_TID:
  case DIR_PLAIN: return K_S_IFDIR;
  case TEXT:
  case TEXT_THREAD:
  case TEXT_FD: return K_S_IFREG;
  default: return K_S_IFLNK;
  }
}

static const k_inode_ops proc_inode_ops;

/* A name below a directory always has the same number, without a table of them (FNV-1a). */
static uint64_t ino_below(const proc_node *dir, const char *name) {
  uint64_t h = dir->ino ^ 0xcbf29ce484222325U;
  for (; *name != '\0'; name++) h = (h ^ (uint8_t)*name) * 0x100000001b3U;
  return h >> 16 | 2;
}

static const char *name_in(const struct row *row, int32_t number, char text[static 16]) {
  if (row->name[0] != '\0') return row->name;
  snprintf(text, 16, "%d", number);
  return text;
}

K_LOCKED static k_ret node_new(proc_fs *fs, proc_node *parent, const struct row *row, int32_t pid, int32_t fd,
                               k_inode **out) {
  char text[16];
  proc_node *n = mem_zalloc(sizeof *n);
  if (n == NULL) return -K_ENOMEM;
  n->base =
      (k_inode){ .ops = &proc_inode_ops, .fs = fs, .refs = 1, .mode = procfs_type_of(row->kind) | row->mode };
  n->fs = fs;
  n->row = row;
  n->pid = pid;
  n->fd = fd;
  n->ino = 1;
  if (parent != NULL) {
    n->parent = parent;
    n->base.kernel = parent->base.kernel;
    n->tid = parent->tid;
    n->ino = ino_below(parent, name_in(row, fd >= 0 ? fd : pid, text));
    k_inode_ref(&parent->base);
  }
  fs->nodes++;
  *out = &n->base;
  return 0;
}

K_LOCKED static void proc_release(k_inode *i) {
  proc_node *n = procfs_node_of(i), *parent = n->parent;
  proc_fs *fs = n->fs;
  mem_free(n);
  if (--fs->nodes == 0) mem_free(fs);
  if (parent != NULL) k_inode_unref(&parent->base);
}

static k_thread *thread_in(k_process *p, int32_t tid) {
  LIST_EACH (t, &p->threads, k_thread, in_process)
    if (t->tid == tid) return t;
  return NULL;
}

static k_process *process_of(const proc_node *n) {
  k_process *p = n->pid != 0 ? k_process_find(n->base.kernel, n->pid) : NULL;
  return p != NULL && n->tid != 0 && thread_in(p, n->tid) == NULL ? NULL : p;
}

static k_ret alive(const proc_node *n, k_process **out) {
  *out = process_of(n);
  return *out != NULL ? 0 : -K_ESRCH;
}

static k_ret proc_stat_inode(k_inode *i, k_stat *out) {
  proc_node *n = procfs_node_of(i);
  k_process *p = process_of(n);
  if (n->pid != 0 && p == NULL) return -K_ENOENT;
  int64_t when = i->kernel != NULL ? k_real_ns(i->kernel) : 0;
  if (p != NULL) when -= k_mono_ns(i->kernel) - p->start_ns;
  *out = (k_stat){
    .ino = n->ino,
    .mode = i->mode,
    .nlink = k_is_dir(i) ? 2 : 1,
    .dev_minor = 4,
    .atime_ns = when,
    .mtime_ns = when,
    .ctime_ns = when,
    .btime_ns = when,
    .uid = p != NULL && p != i->kernel->init ? K_UID : 0,
    .gid = p != NULL && p != i->kernel->init ? K_GID : 0,
  };
  return 0;
}

/* ---- names ---- */

static bool procfs_is(const char *name, k_name n) {
  return strlen(name) == n.len && memcmp(name, n.data, n.len) == 0;
}

static bool procfs_number(k_name n, int32_t *out) {
  int64_t value = 0;
  if (n.len == 0 || n.len > 9 || (n.len > 1 && n.data[0] == '0')) return false;
  for (size_t i = 0; i < n.len; i++) {
    if (n.data[i] < '0' || n.data[i] > '9') return false;
    value = value * 10 + (n.data[i] - '0');
  }
  *out = (int32_t)value;
  return true;
}

K_LOCKED static k_ret lookup_row(proc_node *d, k_name name, const k_process *viewer, k_inode **out) {
  for (const struct row *row = d->row->below; row != NULL && row->name != NULL; row++) {
    if (!procfs_is(row->name, name)) continue;
    int32_t pid = row->kind == LINK_SELF && viewer != NULL ? viewer->pid : d->pid;
    return node_new(d->fs, d, row, pid, -1, out);
  }
  return -K_ENOENT;
}

K_LOCKED static k_ret lookup_fd(proc_node *d, k_name name, k_inode **out) {
  k_process *p;
  int32_t fd;
  k_file *f;
  K_TRY(alive(d, &p));
  if (!procfs_number(name, &fd) || k_fd_get(&p->fds, fd, &f) < 0) return -K_ENOENT;
  return node_new(d->fs, d, d->row->kind == DIR_FD ? &FD : &FDINFO, d->pid, fd, out);
}

K_LOCKED static k_ret lookup_task(proc_node *d, k_name name, k_inode **out) {
  k_process *p;
  int32_t tid;
  K_TRY(alive(d, &p));
  if (!procfs_number(name, &tid) || tid == 0 || thread_in(p, tid) == NULL) return -K_ENOENT;
  K_TRY(node_new(d->fs, d, &TID, d->pid, -1, out));
  proc_node *n = procfs_node_of(*out);
  char text[16];
  n->tid = tid;
  n->ino = ino_below(d, name_in(&TID, tid, text));
  return 0;
}

K_LOCKED static k_ret proc_lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) {
  proc_node *d = procfs_node_of(dir);
  int32_t pid;
  switch (d->row->kind) {
  case DIR_ROOT:
    if (procfs_number(name, &pid)) {
      if (pid == 0 || k_process_find(dir->kernel, pid) == NULL) return -K_ENOENT;
      return node_new(d->fs, d, &PID, pid, -1, out);
    }
    return lookup_row(d, name, viewer, out);
  case DIR_PID:
  case DIR_TID:
    if (process_of(d) == NULL) return -K_ENOENT;
    return lookup_row(d, name, viewer, out);
  case DIR_TASK: return lookup_task(d, name, out);
  case DIR_PLAIN: return lookup_row(d, name, viewer, out);
  case DIR_FD:
  case DIR_FDINFO: return lookup_fd(d, name, out);
  default: return -K_ENOTDIR;
  }
}

K_LOCKED static k_ret proc_parent(k_inode *dir, k_inode **out) {
  proc_node *n = procfs_node_of(dir);
  *out = k_inode_ref(n->parent != NULL ? &n->parent->base : dir);
  return 0;
}

static k_ret proc_name_of(k_inode *dir, char *buf, size_t cap) {
  proc_node *n = procfs_node_of(dir);
  char text[16];
  if (n->parent == NULL) return -K_ENOENT;
  const char *name = name_in(n->row, n->row == &TID ? n->tid : n->fd >= 0 ? n->fd : n->pid, text);
  size_t len = strlen(name);
  if (len > cap) return -K_ENAMETOOLONG;
  memcpy(buf, name, len);
  return (k_ret)len;
}

/* ---- links ---- */

K_LOCKED static k_ret describe_fd(const proc_node *n, char *text, size_t cap) {
  k_process *p;
  k_file *f;
  K_TRY(alive(n, &p));
  K_TRY(k_fd_get(&p->fds, n->fd, &f));
  return proc_file_name(p, f, text, cap);
}

K_LOCKED static k_ret describe_process(const proc_node *n, char *text, size_t cap) {
  k_process *p;
  K_TRY(alive(n, &p));
  if (n->row->find == find_exe) {
    if (p->program == NULL || p->program->path == NULL) return -K_ENOENT;
    return snprintf(text, cap, "%s", p->program->path);
  }
  OWNED(k_inode_unref) k_inode *to = NULL;
  K_TRY(n->row->find(p, &to));
  return proc_inode_name(p, to, text, cap);
}

K_LOCKED static k_ret proc_readlink(k_inode *i, char *buf, size_t cap) {
  proc_node *n = procfs_node_of(i);
  char text[K_PATH_MAX + 16];
  k_ret len;
  switch (n->row->kind) {
  case LINK_TEXT: len = snprintf(text, sizeof text, "%s", n->row->target); break;
  case LINK_SELF: len = n->pid != 0 ? snprintf(text, sizeof text, "%d", n->pid) : -K_ENOENT; break;
  case LINK_FD: len = describe_fd(n, text, sizeof text); break;
  case LINK_PROCESS: len = describe_process(n, text, sizeof text); break;
  default: return -K_EINVAL;
  }
  if (len < 0) return len;
  if (len >= (k_ret)sizeof text) return -K_ENAMETOOLONG;
  size_t take = (size_t)len < cap ? (size_t)len : cap;
  memcpy(buf, text, take);
  return (k_ret)take;
}

/* ---- listing ---- */

typedef struct lister {
  const proc_node *dir;
  int64_t pos;
  k_dirent_fn *each;
  void *ctx;
} lister;

static bool procfs_list_one(const lister *l, const char *name, uint32_t mode, int64_t next) {
  return l->each(l->ctx, (k_name){ name, strlen(name) }, ino_below(l->dir, name), mode, next);
}

static bool procfs_list_dots(const lister *l) {
  const proc_node *n = l->dir, *up = n->parent != NULL ? n->parent : n;
  if (l->pos < 1 && !l->each(l->ctx, (k_name){ ".", 1 }, n->ino, K_S_IFDIR, 1)) return false;
  return l->pos >= 2 || l->each(l->ctx, (k_name){ "..", 2 }, up->ino, K_S_IFDIR, 2);
}

enum { POS_ROWS = 2, POS_NUMBERS = 100 };

static bool list_rows(const lister *l) {
  const struct row *rows = l->dir->row->below;
  if (rows == NULL || l->pos >= POS_NUMBERS) return true;
  for (size_t i = l->pos > POS_ROWS ? (size_t)(l->pos - POS_ROWS) : 0; rows[i].name != NULL; i++)
    if (!procfs_list_one(l, rows[i].name, procfs_type_of(rows[i].kind), POS_ROWS + (int64_t)i + 1))
      return false;
  return true;
}

static bool list_number(const lister *l, int32_t n, uint32_t mode) {
  char text[16];
  snprintf(text, sizeof text, "%d", n);
  return procfs_list_one(l, text, mode, POS_NUMBERS + (int64_t)n + 1);
}

/* By number, so that a listing continues correctly while processes come and go. */
static void list_processes(k_kernel *k, const lister *l) {
  for (int64_t pos = l->pos;;) {
    int32_t next = INT32_MAX;
    if (k->init != NULL && POS_NUMBERS + k->init->pid + 1 > pos) next = k->init->pid;
    LIST_EACH (p, &k->processes, k_process, in_kernel) {
      if (POS_NUMBERS + p->pid + 1 > pos && p->pid < next) next = p->pid;
    }
    if (next == INT32_MAX || !list_number(l, next, K_S_IFDIR)) return;
    pos = POS_NUMBERS + next + 1;
  }
}

K_LOCKED static void list_fds(const k_process *p, const lister *l, uint32_t mode) {
  for (int64_t fd = l->pos > POS_NUMBERS ? l->pos - POS_NUMBERS : 0; p != NULL && fd < p->fds.cap; fd++)
    if (p->fds.slots[fd].file != NULL && !list_number(l, (int32_t)fd, mode)) return;
}

static void list_threads(k_process *p, const lister *l) {
  for (int64_t pos = l->pos;;) {
    int32_t next = INT32_MAX;
    LIST_EACH (t, &p->threads, k_thread, in_process)
      if (POS_NUMBERS + (int64_t)t->tid + 1 > pos && t->tid < next) next = t->tid;
    if (next == INT32_MAX || !list_number(l, next, K_S_IFDIR)) return;
    pos = POS_NUMBERS + (int64_t)next + 1;
  }
}

K_LOCKED static k_ret procfs_dir_readdir(k_file *f, int64_t pos, k_dirent_fn *each, void *ctx) {
  proc_node *n = procfs_node_of(f->inode);
  const lister l = { n, pos, each, ctx };
  if (n->pid != 0 && process_of(n) == NULL) return -K_ENOENT;
  if (!procfs_list_dots(&l) || !list_rows(&l)) return 0;
  if (n->row->kind == DIR_ROOT) list_processes(f->kernel, &l);
  if (n->row->kind == DIR_TASK) list_threads(process_of(n), &l);
  if (n->row->kind == DIR_FD) list_fds(process_of(n), &l, K_S_IFLNK);
  if (n->row->kind == DIR_FDINFO) list_fds(process_of(n), &l, K_S_IFREG);
  return 0;
}

static k_ret procfs_no_size(k_file *f) {
  (void)f;
  return 0;
}

static const k_file_ops dir_ops = { .readdir = procfs_dir_readdir, .size = procfs_no_size };

/* ---- texts: made when the file is opened ---- */

static k_ret text_read(k_file *f, void *buf_, size_t len, int64_t pos) {
  const buf *text = f->object;
  if ((uint64_t)pos >= text->len) return 0;
  size_t n = text->len - (size_t)pos < len ? text->len - (size_t)pos : len;
  memcpy(buf_, text->data + pos, n);
  return (k_ret)n;
}

static k_ret text_size(k_file *f) { return (k_ret)((const buf *)f->object)->len; }

K_LOCKED static void text_release(k_file *f) {
  k_memory_uncharge(f->kernel, ((const buf *)f->object)->cap);
  buf_free(f->object);
  mem_free(f->object);
}

static const k_file_ops text_ops = { .read = text_read, .size = text_size, .release = text_release };

K_LOCKED static k_ret text_fill(const proc_node *n, k_process *p, buf *text) {
  switch (n->row->kind) {
  case TEXT: return n->row->text(n->base.kernel, p, text);
  case TEXT_THREAD: return n->row->thread(thread_in(p, n->tid), text);
  default: return proc_fdinfo(p, n->fd, text);
  }
}

K_LOCKED static k_ret text_open(proc_node *n, uint32_t flags, k_file **out) {
  if ((flags & K_O_ACCMODE) != K_O_RDONLY) return -K_EACCES;
  k_process *p = process_of(n);
  if (n->pid != 0 && p == NULL) return -K_ESRCH;
  buf *text = mem_alloc(sizeof *text);
  if (text == NULL) return -K_ENOMEM;
  *text = BUF_INIT(4 << 20);
  k_ret r = text_fill(n, p, text);
  if (r >= 0) r = k_memory_charge(n->base.kernel, text->cap); /* environ can be long, and open many times */
  if (r >= 0) {
    k_inode_ref(&n->base);
    r = k_file_new(n->base.kernel, &text_ops, flags, &n->base, text, out);
    if (r < 0) k_inode_unref(&n->base);
    if (r < 0) k_memory_uncharge(n->base.kernel, text->cap);
  }
  if (r < 0) {
    buf_free(text);
    mem_free(text);
  }
  return r;
}

K_LOCKED static k_ret proc_open(k_inode *i, uint32_t flags, k_file **out) {
  proc_node *n = procfs_node_of(i);
  if (procfs_type_of(n->row->kind) == K_S_IFREG) return text_open(n, flags, out);
  if (!k_is_dir(i)) return -K_ENXIO;
  k_inode_ref(i);
  k_ret r = k_file_new(i->kernel, &dir_ops, flags, i, NULL, out);
  if (r < 0) k_inode_unref(i);
  return r;
}

/* ---- following ---- */

K_LOCKED static k_ret follow_fd(const proc_node *n, k_inode **out) {
  k_process *p;
  k_file *f;
  K_TRY(alive(n, &p));
  if (k_fd_get(&p->fds, n->fd, &f) < 0) return -K_ENOENT;
  if (f->inode == NULL) return proc_fd_inode(f, n->fs, out);
  *out = k_inode_ref(f->inode);
  return 0;
}

K_LOCKED static k_ret follow_self(proc_node *n, k_process *viewer, k_inode **out) {
  if (viewer == NULL) return -K_ENOENT;
  return node_new(n->fs, n->parent, &PID, viewer->pid, -1, out);
}

K_LOCKED static k_ret proc_follow(k_inode *i, k_process *viewer, k_inode **out) {
  proc_node *n = procfs_node_of(i);
  k_process *p;
  switch (n->row->kind) {
  case LINK_SELF: return follow_self(n, viewer, out);
  case LINK_FD: return follow_fd(n, out);
  case LINK_PROCESS: K_TRY(alive(n, &p)); return n->row->find(p, out);
  default: break;
  }
  OWNED(k_inode_unref) k_inode *self = NULL; /* mounts -> self/mounts */
  const char *name = n->row->name;
  K_TRY(follow_self(n, viewer, &self));
  return lookup_row(procfs_node_of(self), (k_name){ name, strlen(name) }, viewer, out);
}

static k_ret proc_statfs(k_inode *i, k_statfs *out) {
  enum { PROC_MAGIC = 0x9fa0 };
  (void)i;
  *out = (k_statfs){ .type = PROC_MAGIC, .block_size = K_PAGE, .name_max = K_NAME_MAX };
  return 0;
}

static const k_inode_ops proc_inode_ops = {
  .stat = proc_stat_inode,
  .open = proc_open,
  .readlink = proc_readlink,
  .follow = proc_follow,
  .lookup = proc_lookup,
  .parent = proc_parent,
  .name_of = proc_name_of,
  .statfs = proc_statfs,
  .release = proc_release,
};

k_ret procfs_new(k_inode **out) {
  proc_fs *fs = mem_zalloc(sizeof *fs);
  if (fs == NULL) return -K_ENOMEM;
  k_ret r = node_new(fs, NULL, &ROOT, 0, -1, out);
  if (r < 0) mem_free(fs);
  return r;
}
