/* mount.c - folders of the host inside a sandbox, for the embedder. */
#include "kernel/vfs/mount.h"

#include "kernel/fs/host/hostfs.h"
#include "sandbox/sandbox.h"
#include "sandbox/status.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

cay_status cay_mount(cay_sandbox *box, const cay_mount_options *options, cay_error *err) {
  cay_mount_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "mount options: from a newer version of cay.h");
  if (o.host_path == NULL || o.path == NULL || o.path[0] != '/')
    return err_set(err, CAY_INVALID, "mount: wants a folder of the host and an absolute path in the sandbox");
  int fd = open(o.host_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return err_errno(err, errno, "mount: cannot open the folder %s", o.host_path);
  k_inode *root = NULL;
  k_lock(box->kernel);
  k_ret r = hostfs_new(fd, o.writable, &root);
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
