/* view.c - the privileged view of the file tree for one operation, and a k_stat as a cay_stat (view.h). */
#include "sandbox/view.h"

k_ret sb_with_view(cay_sandbox *box, const char *path, sb_view_fn *body, void *arg) {
  if (path == NULL || path[0] != '/') return -K_EINVAL;
  vfs_view view = { 0 };
  k_lock(box->kernel);
  k_ret r = vfs_view_init(&view, box->kernel);
  if (r >= 0) {
    view.privileged = true;
    r = body(&view, path, arg);
    vfs_view_clear(&view);
  }
  k_unlock(box->kernel);
  return r;
}

static cay_kind view_kind_of(uint32_t mode) {
  switch (mode & K_S_IFMT) {
  case K_S_IFREG: return CAY_FILE;
  case K_S_IFDIR: return CAY_DIR;
  case K_S_IFLNK: return CAY_LINK;
  default: return CAY_OTHER;
  }
}

void sb_public_stat(const k_stat *st, cay_stat *out) {
  cay_kind kind = view_kind_of(st->mode);
  *out = (cay_stat){
    .kind = kind,
    .mode = st->mode & 07777,
    .len = kind == CAY_DIR ? 0 : st->size,
    .mtime_ns = st->mtime_ns,
  };
}
