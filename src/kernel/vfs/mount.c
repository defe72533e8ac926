/* mount.c - the list of mounts, the directories that they cover, and their lookup by path or inode
 * (mount.h). */
#include "kernel/vfs/mount.h"

#include "base/alloc.h"
#include "kernel/notify/notify.h"
#include "kernel/proc/process.h"

#include <string.h>

struct vfs_mounts {
  list all; /* of vfs_mount; the root's comes first */
};

K_LOCKED static void mount_free(vfs_mount *m) {
  if (m->covered != NULL) m->covered->mounted_here = NULL;
  k_inode_unref(m->root);
  k_inode_unref(m->covered);
  mem_free(m->path);
  mem_free(m);
}

static k_ret mount_new(const char *path, const char *type, bool writable, vfs_mount **out) {
  vfs_mount *m = mem_zalloc(sizeof *m);
  char *copy = mem_strdup(path);
  if (m == NULL || copy == NULL) {
    mem_free(m);
    mem_free(copy);
    return -K_ENOMEM;
  }
  *m = (vfs_mount){ .path = copy, .type = type, .writable = writable };
  list_init(&m->in_mounts);
  *out = m;
  return 0;
}

k_ret vfs_mounts_new(k_kernel *k, k_inode *root) {
  vfs_mounts *mounts = mem_zalloc(sizeof *mounts);
  vfs_mount *m = NULL;
  if (mounts == NULL || mount_new("/", "tmpfs", true, &m) < 0) {
    mem_free(mounts);
    return -K_ENOMEM;
  }
  list_init(&mounts->all);
  m->root = root;
  root->kernel = k;
  list_push(&mounts->all, &m->in_mounts);
  k->mounts = mounts;
  return 0;
}

void vfs_mounts_free(k_kernel *k) {
  if (k->mounts == NULL) return;
  while (!list_empty(&k->mounts->all)) { /* the last made is the first to go: it may stand on another */
    vfs_mount *m = CONTAINER_OF(k->mounts->all.prev, vfs_mount, in_mounts);
    list_remove(&m->in_mounts);
    mount_free(m);
  }
  mem_free(k->mounts);
  k->mounts = NULL;
}

K_LOCKED static k_ret make_point_file(const vfs_view *v, const char *path, k_inode **out) {
  k_file *f = NULL;
  k_ret r = vfs_resolve(v, NULL, path, 0, out);
  if (r == -K_ENOENT) {
    K_TRY(vfs_open(v, NULL, path, K_O_WRONLY | K_O_CREAT, 0644, &f));
    k_file_unref(f);
    r = vfs_resolve(v, NULL, path, 0, out);
  }
  if (r < 0 || k_is_reg(*out)) return r;
  r = k_is_dir(*out) ? -K_EISDIR : -K_EINVAL;
  k_inode_unref(*out);
  *out = NULL;
  return r;
}

/* What will be covered, made if missing: a directory for the root of a directory, a file for a file. */
K_LOCKED static k_ret make_point(const vfs_view *v, const char *path, bool is_file, k_inode **out) {
  char part[K_PATH_MAX];
  size_t len = strlen(path);
  if (len >= sizeof part) return -K_ENAMETOOLONG;
  for (size_t i = 1; i <= len; i++) {
    if (path[i] != '/' && (path[i] != '\0' || is_file)) continue;
    memcpy(part, path, i);
    part[i] = '\0';
    k_ret r = vfs_mkdir(v, NULL, part, 0755);
    if (r < 0 && r != -K_EEXIST) return r;
  }
  return is_file ? make_point_file(v, path, out) : vfs_resolve(v, NULL, path, VFS_DIRECTORY, out);
}

K_LOCKED static k_ret covered_by(k_kernel *k, const char *path, bool is_file, k_inode **out) {
  vfs_view v;
  K_TRY(vfs_view_init(&v, k));
  v.privileged = true;
  v.uid = v.gid = 0;
  v.umask = 022;
  k_ret r = path[0] == '/' ? make_point(&v, path, is_file, out) : -K_EINVAL;
  vfs_view_clear(&v);
  return r;
}

/* Where the directory is, whatever way was written to it. */
K_LOCKED static k_ret true_path(k_kernel *k, k_inode *dir, char *buf, size_t cap) {
  vfs_view v;
  K_TRY(vfs_view_init(&v, k));
  k_ret r = vfs_path_of(&v, dir, buf, cap);
  vfs_view_clear(&v);
  return r;
}

/* Of a file, which does not know its directory: that of its directory, and its name. */
K_LOCKED static k_ret true_path_of_file(k_kernel *k, const char *path, char *buf, size_t cap) {
  char parent[K_PATH_MAX];
  vfs_view v;
  size_t len = strlen(path), start = len;
  while (start > 0 && path[start - 1] != '/') start--;
  if (len >= sizeof parent || start == len) return -K_EINVAL;
  memcpy(parent, path, start);
  parent[start] = '\0';
  OWNED(k_inode_unref) k_inode *dir = NULL;
  K_TRY(vfs_view_init(&v, k));
  v.privileged = true;
  k_ret r = vfs_resolve(&v, NULL, parent, VFS_DIRECTORY, &dir);
  if (r >= 0) r = vfs_path_of(&v, dir, buf, cap);
  vfs_view_clear(&v);
  if (r < 0) return r;
  size_t at = strlen(buf);
  if (at + 1 + len - start >= cap) return -K_ENAMETOOLONG;
  if (at > 1) buf[at++] = '/';
  memcpy(buf + at, path + start, len - start + 1);
  return 0;
}

K_LOCKED k_ret vfs_mount_add(k_kernel *k, const char *path, const char *type, k_inode *root, bool writable) {
  char where[K_PATH_MAX];
  OWNED(k_inode_unref) k_inode *point = NULL;
  bool is_file = !k_is_dir(root);
  K_TRY(covered_by(k, path, is_file, &point));
  /* Resolution has stepped onto a mount that is there already: its root was found. */
  if (point == vfs_mount_of(k, point)->root || point->mounted_here != NULL) return -K_EBUSY;
  K_TRY(is_file ? true_path_of_file(k, path, where, sizeof where) : true_path(k, point, where, sizeof where));
  vfs_mount *m = NULL;
  K_TRY(mount_new(where, type, writable, &m));
  m->covered = MOVE(point);
  m->root = root;
  root->kernel = k;
  m->covered->mounted_here = m;
  list_push(&k->mounts->all, &m->in_mounts);
  return 0;
}

/* The mount whose root this path leads to; never that of the whole tree. */
K_LOCKED static k_ret mount_at(k_kernel *k, const char *path, vfs_mount **out) {
  vfs_view v;
  OWNED(k_inode_unref) k_inode *root = NULL;
  K_TRY(vfs_view_init(&v, k));
  v.privileged = true;
  k_ret r = vfs_resolve(&v, NULL, path, 0, &root);
  vfs_view_clear(&v);
  if (r == -K_ENOENT || r == -K_ENOTDIR) return -K_EINVAL;
  if (r < 0) return r;
  *out = vfs_mount_of(k, root);
  return (*out)->root == root && (*out)->covered != NULL ? 0 : -K_EINVAL;
}

k_ret vfs_mount_find(k_kernel *k, const char *path, k_inode **root, const char **type) {
  vfs_mount *m = NULL;
  K_TRY(mount_at(k, path, &m));
  *root = k_inode_ref(m->root);
  *type = m->type;
  return 0;
}

K_LOCKED static bool process_uses(const k_process *p, const vfs_mount *m) {
  if (p->view.cwd != NULL && p->view.cwd->fs == m->root->fs) return true;
  for (uint32_t i = 0; i < p->fds.cap; i++) {
    const k_file *f = p->fds.slots[i].file;
    if (f != NULL && f->inode != NULL && f->inode->fs == m->root->fs) return true;
  }
  return false;
}

K_LOCKED static bool is_used(k_kernel *k, const vfs_mount *m) {
  LIST_EACH (other, &k->mounts->all, vfs_mount, in_mounts) {
    if (other->covered != NULL && other->covered->fs == m->root->fs) return true;
  }
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (process_uses(p, m)) return true;
  }
  return false;
}

K_LOCKED k_ret vfs_mount_remove(k_kernel *k, const char *path) {
  vfs_mount *m = NULL;
  K_TRY(mount_at(k, path, &m));
  if (is_used(k, m)) return -K_EBUSY;
  k_notify_unmounted(k, m->root->fs);
  list_remove(&m->in_mounts);
  mount_free(m);
  return 0;
}

k_inode *vfs_mounts_root(k_kernel *k) {
  return CONTAINER_OF(k->mounts->all.next, vfs_mount, in_mounts)->root;
}

vfs_mount *vfs_mount_of(k_kernel *k, const k_inode *inode) {
  LIST_EACH (m, &k->mounts->all, vfs_mount, in_mounts) {
    if (m->root->fs == inode->fs) return m;
  }
  return CONTAINER_OF(k->mounts->all.next, vfs_mount, in_mounts);
}

void vfs_mounts_each(k_kernel *k, vfs_mount_fn *each, void *ctx) {
  LIST_EACH (m, &k->mounts->all, vfs_mount, in_mounts) {
    if (!each(ctx, m)) return;
  }
}
