/* mount.c - directories and files of the host inside a sandbox, for the embedder. */
#include "kernel/vfs/mount.h"

#include "kernel/fs/host/hostfs.h"
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

cay_status cay_mount(cay_sandbox *box, const cay_mount_options *options, cay_error *err) {
  cay_mount_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "mount options: from a newer version of cay.h");
  if (o.host_path == NULL || o.path == NULL || o.path[0] != '/')
    return err_set(err, CAY_INVALID,
                   "mount: wants a directory or a file of the host and an absolute path in the sandbox");
  char real[PATH_MAX];
  const char *name = NULL;
  int fd = -1;
  S_TRY(open_source(o.host_path, real, &name, &fd, err));
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
  k_lock(box->kernel);
  k_ret r = vfs_mount_remove(box->kernel, path);
  k_unlock(box->kernel);
  cay_status status = sb_status(err, r, path);
  return status == CAY_OK ? status : err_prefix(err, status, "unmount");
}
