/* mount.c - directories and files of the host inside a sandbox, for the embedder. */
#include "kernel/vfs/mount.h"

#include "kernel/fs/cow/cow.h"
#include "kernel/fs/host/hostfs.h"
#include "sandbox/cow/cow.h"
#include "sandbox/sandbox.h"
#include "sandbox/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the directory; of the one that holds it for a regular file, whose name, within `real`, then goes to *name. */
static cay_status open_source(const char *path, char real[static PATH_MAX], const char **name, int *out,
                              cay_error *err) {
  struct stat st;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return err_errno(err, errno, "mount: cannot open %s", path);
  int failed = fstat(fd, &st) != 0 ? errno : 0;
  if (failed == 0 && S_ISDIR(st.st_mode)) {
    *out = fd;
    return CAY_OK;
  }
  close(fd);
  if (failed != 0) return err_errno(err, failed, "mount: cannot open %s", path);
  if (!S_ISREG(st.st_mode))
    return err_set(err, CAY_INVALID, "mount: %s is neither a directory nor a regular file", path);
  if (realpath(path, real) == NULL) return err_errno(err, errno, "mount: cannot open %s", path);
  char *slash = strrchr(real, '/');
  *slash = '\0';
  *name = slash + 1;
  *out = open(real[0] != '\0' ? real : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  return *out >= 0 ? CAY_OK : err_errno(err, errno, "mount: cannot open the directory of %s", path);
}

/* ---- copy on write ---- */

enum { COW_DEV = 64 /* and on: numbers of devices that nothing else here has */ };

K_LOCKED static k_ret cow_add(k_kernel *k, const char *path, k_inode *root) {
  k_ret r = memfs_remember(root, k);
  return r >= 0 ? vfs_mount_add(k, path, "overlay", root, true) : r;
}

static cay_status mount_tree(cay_sandbox *box, const char *path, mem_tree *tree, cay_error *err) {
  k_inode *root = NULL;
  pthread_mutex_lock(&box->runs_mu);
  uint32_t dev = COW_DEV + box->cow_count++;
  pthread_mutex_unlock(&box->runs_mu);
  k_lock(box->kernel);
  k_ret r = memfs_new_lazy(tree, dev, &root);
  k_unlock(box->kernel);
  S_TRY(sb_status(err, r, path));
  cay_status status = sb_cow_add(box, root, tree, err);
  k_lock(box->kernel);
  if (status == CAY_OK) {
    r = cow_add(box->kernel, path, root);
    status = sb_status(err, r, path);
  }
  if (status != CAY_OK) k_inode_unref(root);
  k_unlock(box->kernel);
  if (status != CAY_OK) sb_cow_remove(box, root);
  return status;
}

/* Takes the descriptor over. */
static cay_status mount_cow(cay_sandbox *box, const cay_mount_options *o, int fd, bool is_file,
                            cay_error *err) {
  mem_tree *tree = NULL;
  k_ret r = is_file ? -K_ENOTDIR : cow_tree_new(fd, &tree);
  close(fd);
  cay_status status = r >= 0 ? mount_tree(box, o->path, tree, err) : sb_status(err, r, o->host_path);
  mem_tree_unref(tree);
  return status == CAY_OK ? status : err_prefix(err, status, "mount");
}

cay_status cay_mount(cay_sandbox *box, const cay_mount_options *options, cay_error *err) {
  cay_mount_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "mount options: from a newer version of cay.h");
  if (o.host_path == NULL || o.path == NULL || o.path[0] != '/')
    return err_set(err, CAY_INVALID,
                   "mount: wants a directory or a file of the host and an absolute path in the sandbox");
  if (o.copy_on_write && o.writable)
    return err_set(err, CAY_INVALID, "mount: either writable or copy on write, not both");
  char real[PATH_MAX];
  const char *name = NULL;
  int fd = -1;
  S_TRY(open_source(o.host_path, real, &name, &fd, err));
  if (o.copy_on_write) return mount_cow(box, &o, fd, name != NULL, err);
  k_inode *root = NULL;
  k_lock(box->kernel);
  k_ret r = name == NULL ? hostfs_new(fd, o.writable, &root)
                         : hostfs_new_file(box->kernel, fd, name, o.writable, &root);
  if (r >= 0) {
    r = vfs_mount_add(box->kernel, o.path, "hostfs", root, o.writable);
    if (r < 0) k_inode_unref(root);
  }
  k_unlock(box->kernel);
  close(fd);
  cay_status status = sb_status(err, r, o.path);
  return status == CAY_OK ? status : err_prefix(err, status, "mount");
}

cay_status cay_unmount(cay_sandbox *box, const char *path, cay_error *err) {
  if (path == NULL) return err_set(err, CAY_INVALID, "unmount: no path");
  k_inode *root = NULL;
  const char *type;
  k_lock(box->kernel);
  k_ret r = vfs_mount_find(box->kernel, path, &root, &type);
  if (r >= 0) r = vfs_mount_remove(box->kernel, path);
  k_inode_unref(root);
  k_unlock(box->kernel);
  if (r >= 0) sb_cow_remove(box, root);
  cay_status status = sb_status(err, r, path);
  return status == CAY_OK ? status : err_prefix(err, status, "unmount");
}
