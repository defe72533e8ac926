/* wasi_place.c - from a directory and a path of the guest to where the kernel looks. */
#include "abi/wasi/wasi.h"

/* ---- below "." : the working directory, or the root ---- */

/* "a/b" without "b"; false for a single name. */
static bool parent_of(const char *path, char out[static K_PATH_MAX + 1]) {
  size_t len = strlen(path);
  while (len > 0 && path[len - 1] == '/') len--;
  while (len > 0 && path[len - 1] != '/') len--;
  if (len == 0) return false;
  memcpy(out, path, len);
  out[len] = 0;
  return true;
}

static bool is_there(const vfs_view *view, const char *path) {
  k_stat st;
  return vfs_stat(view, NULL, path, VFS_NOFOLLOW, &st) >= 0;
}

/* The slash of an absolute path may have been dropped. The files that exist decide: the path below the working directory, then
 * below the root; for something new the directory that it is made in, in the same order. */
static bool place_is_absolute(const vfs_view *view, const char *path) {
  char absolute[K_PATH_MAX + 1], parent[K_PATH_MAX + 1];
  if (path[0] == '/' || path[0] == '.' || strlen(path) + 1 > K_PATH_MAX) return false;
  if (is_there(view, path)) return false;
  absolute[0] = '/';
  memcpy(absolute + 1, path, strlen(path) + 1);
  if (is_there(view, absolute)) return true;
  if (!parent_of(path, parent) || is_there(view, parent)) return false;
  return parent_of(absolute, parent) && is_there(view, parent);
}

/* ---- any ---- */

static k_ret place_copy_path(abi_machine *m, uint32_t addr, uint32_t len, char out[static K_PATH_MAX + 1]) {
  void *bytes = NULL;
  K_TRY(abi_ptr(m->instance, addr, len, &bytes));
  if (len >= K_PATH_MAX) return -K_ENAMETOOLONG;
  if (memchr(bytes, 0, len) != NULL) return -K_EINVAL;
  memcpy(out, bytes, len);
  out[len] = 0;
  return 0;
}

static k_ret place_directory(abi_machine *m, uint32_t fd, k_inode **out) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if (f->inode == NULL || !k_is_dir(f->inode)) return -K_ENOTDIR;
  *out = f->inode;
  return 0;
}

k_ret wasi_place_of(abi_machine *m, uint32_t fd, uint32_t addr, uint32_t len, wasi_place *out) {
  out->view = m->p->view;
  K_TRY(place_directory(m, fd, &out->at));
  K_TRY(place_copy_path(m, addr, len, out->path));
  const wasi_preopen *preopen = wasi_preopen_of(m, (int32_t)fd);
  if (preopen == NULL || !preopen->whole) {
    out->view.beneath = -K_EPERM;
    return 0;
  }
  if (preopen->is_cwd) {
    out->at = NULL;
    if (!place_is_absolute(&out->view, out->path)) return 0;
    memmove(out->path + 1, out->path, strlen(out->path) + 1);
    out->path[0] = '/';
  }
  return 0;
}

k_ret wasi_data_file(abi_machine *m, uint32_t fd, k_file **out) {
  k_file *f = NULL;
  K_TRY(abi_file(m, fd, &f));
  if (f->inode != NULL && k_is_dir(f->inode)) return -K_EBADF;
  *out = f;
  return 0;
}
