/* procfs.c - /proc.
 *
 * Every name is a row of a table; a node is a row and a process number, made when looked up and freed with
 * its last reference. So nothing here keeps a process alive, and a node of one that is gone answers ESRCH or
 * ENOENT. */
#include "kernel/fs/proc/procfs.h"

#include "base/alloc.h"
#include "kernel/fs/proc/proc_fd.h"
#include "kernel/fs/proc/proc_node.h"

#include <stdio.h>
#include <string.h>

/* ---- nodes ---- */

uint32_t proc_type_of(enum proc_kind kind) {
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

/* FNV-1a. */
uint64_t proc_ino_below(const proc_node *dir, const char *name) {
  uint64_t h = dir->ino ^ 0xcbf29ce484222325U;
  for (; *name != '\0'; name++) h = (h ^ (uint8_t)*name) * 0x100000001b3U;
  return h >> 16 | 2;
}

static const char *name_in(const struct proc_row *row, int32_t number, char text[static 16]) {
  if (row->name[0] != '\0') return row->name;
  snprintf(text, 16, "%d", number);
  return text;
}

K_LOCKED static k_ret node_new(proc_fs *fs, proc_node *parent, const struct proc_row *row, int32_t pid,
                               int32_t fd, k_inode **out) {
  char text[16];
  proc_node *n = mem_zalloc(sizeof *n);
  if (n == NULL) return -K_ENOMEM;
  n->base =
      (k_inode){ .ops = &proc_inode_ops, .fs = fs, .refs = 1, .mode = proc_type_of(row->kind) | row->mode };
  n->fs = fs;
  n->row = row;
  n->pid = pid;
  n->fd = fd;
  n->ino = 1;
  if (parent != NULL) {
    n->parent = parent;
    n->base.kernel = parent->base.kernel;
    n->tid = parent->tid;
    n->ino = proc_ino_below(parent, name_in(row, fd >= 0 ? fd : pid, text));
    k_inode_ref(&parent->base);
  }
  fs->nodes++;
  *out = &n->base;
  return 0;
}

K_LOCKED static void proc_release(k_inode *i) {
  proc_node *n = proc_node_of(i), *parent = n->parent;
  proc_fs *fs = n->fs;
  mem_free(n);
  if (--fs->nodes == 0) mem_free(fs);
  if (parent != NULL) k_inode_unref(&parent->base);
}

k_thread *proc_thread_in(k_process *p, int32_t tid) {
  LIST_EACH (t, &p->threads, k_thread, in_process)
    if (t->tid == tid) return t;
  return NULL;
}

k_process *proc_process_of(const proc_node *n) {
  k_process *p = n->pid != 0 ? k_process_find(n->base.kernel, n->pid) : NULL;
  return p != NULL && n->tid != 0 && proc_thread_in(p, n->tid) == NULL ? NULL : p;
}

K_LOCKED static k_ret alive(const proc_node *n, k_process **out) {
  *out = proc_process_of(n);
  return *out != NULL ? 0 : -K_ESRCH;
}

K_LOCKED static k_ret proc_stat_inode(k_inode *i, k_stat *out) {
  proc_node *n = proc_node_of(i);
  k_process *p = proc_process_of(n);
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
  for (const struct proc_row *row = d->row->below; row != NULL && row->name != NULL; row++) {
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
  return node_new(d->fs, d, d->row->kind == DIR_FD ? &PROC_FD : &PROC_FDINFO, d->pid, fd, out);
}

K_LOCKED static k_ret lookup_task(proc_node *d, k_name name, k_inode **out) {
  k_process *p;
  int32_t tid;
  K_TRY(alive(d, &p));
  if (!procfs_number(name, &tid) || tid == 0 || proc_thread_in(p, tid) == NULL) return -K_ENOENT;
  K_TRY(node_new(d->fs, d, &PROC_TID, d->pid, -1, out));
  proc_node *n = proc_node_of(*out);
  char text[16];
  n->tid = tid;
  n->ino = proc_ino_below(d, name_in(&PROC_TID, tid, text));
  return 0;
}

K_LOCKED static k_ret proc_lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) {
  proc_node *d = proc_node_of(dir);
  int32_t pid;
  switch (d->row->kind) {
  case DIR_ROOT:
    if (procfs_number(name, &pid)) {
      if (pid == 0 || k_process_find(dir->kernel, pid) == NULL) return -K_ENOENT;
      return node_new(d->fs, d, &PROC_PID, pid, -1, out);
    }
    return lookup_row(d, name, viewer, out);
  case DIR_PID:
  case DIR_TID:
    if (proc_process_of(d) == NULL) return -K_ENOENT;
    return lookup_row(d, name, viewer, out);
  case DIR_TASK: return lookup_task(d, name, out);
  case DIR_PLAIN: return lookup_row(d, name, viewer, out);
  case DIR_FD:
  case DIR_FDINFO: return lookup_fd(d, name, out);
  default: return -K_ENOTDIR;
  }
}

K_LOCKED static k_ret proc_parent(k_inode *dir, k_inode **out) {
  proc_node *n = proc_node_of(dir);
  *out = k_inode_ref(n->parent != NULL ? &n->parent->base : dir);
  return 0;
}

static k_ret proc_name_of(k_inode *dir, char *buf, size_t cap) {
  proc_node *n = proc_node_of(dir);
  char text[16];
  if (n->parent == NULL) return -K_ENOENT;
  const char *name = name_in(n->row, n->row == &PROC_TID ? n->tid : n->fd >= 0 ? n->fd : n->pid, text);
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
  if (n->row->find == proc_find_exe) {
    if (p->program == NULL || p->program->path == NULL) return -K_ENOENT;
    return snprintf(text, cap, "%s", p->program->path);
  }
  OWNED(k_inode_unref) k_inode *to = NULL;
  K_TRY(n->row->find(p, &to));
  return proc_inode_name(p, to, text, cap);
}

K_LOCKED static k_ret proc_readlink(k_inode *i, char *buf, size_t cap) {
  proc_node *n = proc_node_of(i);
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

K_LOCKED static k_ret proc_open(k_inode *i, uint32_t flags, k_file **out) {
  proc_node *n = proc_node_of(i);
  if (proc_type_of(n->row->kind) == K_S_IFREG) return proc_text_open(n, flags, out);
  if (!k_is_dir(i)) return -K_ENXIO;
  k_inode_ref(i);
  k_ret r = k_file_new(i->kernel, &proc_dir_ops, flags, i, NULL, out);
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
  return node_new(n->fs, n->parent, &PROC_PID, viewer->pid, -1, out);
}

K_LOCKED static k_ret proc_follow(k_inode *i, k_process *viewer, k_inode **out) {
  proc_node *n = proc_node_of(i);
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
  return lookup_row(proc_node_of(self), (k_name){ name, strlen(name) }, viewer, out);
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
  k_ret r = node_new(fs, NULL, &PROC_ROOT, 0, -1, out);
  if (r < 0) mem_free(fs);
  return r;
}
