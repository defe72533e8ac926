/* wasi_path.c - the functions on paths: path_open and its kin. */
#include "abi/wasi/wasi.h"
#include "base/alloc.h"

enum { SYMLINK_FOLLOW = 1 }; /* of lookupflags */

static uint32_t wasi_how(uint32_t lookup) { return lookup & SYMLINK_FOLLOW ? 0 : VFS_NOFOLLOW; }

/* ---- opening ---- */

uint32_t wasi_open_flags(uint32_t fdflags) {
  return (fdflags & WASI_APPEND ? (uint32_t)K_O_APPEND : 0) |
         (fdflags & WASI_DSYNC ? (uint32_t)K_O_DSYNC : 0) |
         (fdflags & WASI_NONBLOCK ? (uint32_t)K_O_NONBLOCK : 0) |
         (fdflags & (WASI_SYNC | WASI_RSYNC) ? (uint32_t)K_O_SYNC : 0);
}

/* From oflags, the rights that are asked for, and fdflags. */
static uint32_t path_open_flags(uint32_t lookup, uint32_t oflags, uint64_t rights, uint32_t fdflags) {
  enum { CREAT = 1, DIRECTORY = 2, EXCL = 4, TRUNC = 8 };
  bool reads = (rights & WASI_RIGHT_READ) != 0, writes = (rights & WASI_RIGHT_WRITE) != 0;
  uint32_t flags = writes ? (reads ? K_O_RDWR : K_O_WRONLY) : K_O_RDONLY;
  if ((oflags & DIRECTORY) != 0) flags = K_O_RDONLY | K_O_DIRECTORY;
  if ((oflags & CREAT) != 0) flags |= K_O_CREAT;
  if ((oflags & EXCL) != 0) flags |= K_O_EXCL;
  if ((oflags & TRUNC) != 0) flags |= K_O_TRUNC;
  if ((lookup & SYMLINK_FOLLOW) == 0) flags |= K_O_NOFOLLOW;
  return flags | wasi_open_flags(fdflags);
}

K_LOCKED static k_ret path_open_locked(abi_machine *m, wasi_place *place, const eng_val *v) {
  enum { MODE = 0666 };
  k_file *f = NULL;
  K_TRY(wasi_place_of(m, v[0].u32, v[2].u32, v[3].u32, place));
  uint32_t flags = path_open_flags(v[1].u32, v[4].u32, v[5].u64, v[7].u32);
  K_TRY(vfs_open(&place->view, place->at, place->path, flags, MODE, &f));
  return abi_give_fd(m, f, K_O_CLOEXEC);
}

k_ret wasi_path_open(abi_machine *m, const eng_val *v) {
  enum { CREAT = 1, DIRECTORY = 2 };
  wasi_place place;
  int32_t fd = 0;
  K_TRY(abi_put(m->instance, v[8].u32, &fd)); /* before a descriptor is made, and lost */
  if ((v[4].u32 & (CREAT | DIRECTORY)) == (CREAT | DIRECTORY)) return -K_EINVAL;
  k_ret r = ABI_LOCKED(m, path_open_locked(m, &place, v));
  if (r < 0) return r;
  fd = (int32_t)r;
  return abi_put(m->instance, v[8].u32, &fd);
}

/* ---- making and removing ---- */

K_LOCKED static k_ret create_directory_locked(abi_machine *m, wasi_place *place, const eng_val *v) {
  K_TRY(wasi_place_of(m, v[0].u32, v[1].u32, v[2].u32, place));
  return vfs_mkdir(&place->view, place->at, place->path, 0777);
}

k_ret wasi_path_create_directory(abi_machine *m, const eng_val *v) {
  wasi_place place;
  return ABI_LOCKED(m, create_directory_locked(m, &place, v));
}

K_LOCKED static k_ret remove_directory_locked(abi_machine *m, wasi_place *place, const eng_val *v) {
  K_TRY(wasi_place_of(m, v[0].u32, v[1].u32, v[2].u32, place));
  return vfs_rmdir(&place->view, place->at, place->path);
}

k_ret wasi_path_remove_directory(abi_machine *m, const eng_val *v) {
  wasi_place place;
  return ABI_LOCKED(m, remove_directory_locked(m, &place, v));
}

K_LOCKED static k_ret unlink_file_locked(abi_machine *m, wasi_place *place, const eng_val *v) {
  K_TRY(wasi_place_of(m, v[0].u32, v[1].u32, v[2].u32, place));
  return vfs_unlink(&place->view, place->at, place->path);
}

k_ret wasi_path_unlink_file(abi_machine *m, const eng_val *v) {
  wasi_place place;
  return ABI_LOCKED(m, unlink_file_locked(m, &place, v));
}

/* ---- two paths ---- */

/* One view for both: that of the path that may not lead out, if there is one. A place without bounds names no directory
 * to start from or one that is open, and vfs.h bounds only what starts at one. */
static const vfs_view *view_of_both(const wasi_place *a, const wasi_place *b) {
  return a->view.beneath != 0 ? &a->view : &b->view;
}

K_LOCKED static k_ret rename_locked(abi_machine *m, wasi_place *from, wasi_place *to, const eng_val *v) {
  K_TRY(wasi_place_of(m, v[0].u32, v[1].u32, v[2].u32, from));
  K_TRY(wasi_place_of(m, v[3].u32, v[4].u32, v[5].u32, to));
  return vfs_rename(view_of_both(from, to), from->at, from->path, to->at, to->path, 0);
}

k_ret wasi_path_rename(abi_machine *m, const eng_val *v) {
  wasi_place from, to;
  return ABI_LOCKED(m, rename_locked(m, &from, &to, v));
}

static k_ret link_locked(abi_machine *m, wasi_place *from, wasi_place *to, const eng_val *v) {
  K_TRY(wasi_place_of(m, v[0].u32, v[2].u32, v[3].u32, from));
  K_TRY(wasi_place_of(m, v[4].u32, v[5].u32, v[6].u32, to));
  return vfs_link(view_of_both(from, to), from->at, from->path, VFS_NOFOLLOW, to->at, to->path);
}

k_ret wasi_path_link(abi_machine *m, const eng_val *v) {
  wasi_place from, to;
  if ((v[1].u32 & SYMLINK_FOLLOW) != 0) return -K_EINVAL; /* as Wasmtime */
  return ABI_LOCKED(m, link_locked(m, &from, &to, v));
}

/* ---- symbolic links ---- */

K_LOCKED static k_ret symlink_locked(abi_machine *m, wasi_place *place, const char *target,
                                     const eng_val *v) {
  K_TRY(wasi_place_of(m, v[2].u32, v[3].u32, v[4].u32, place));
  if (target[0] == '/' && place->view.beneath != 0) return -K_EPERM;
  return vfs_symlink(&place->view, target, place->at, place->path);
}

k_ret wasi_path_symlink(abi_machine *m, const eng_val *v) {
  wasi_place place;
  char target[K_PATH_MAX];
  void *bytes = NULL;
  K_TRY(abi_ptr(m->instance, v[0].u32, v[1].u32, &bytes));
  if (v[1].u32 >= sizeof target) return -K_ENAMETOOLONG;
  if (memchr(bytes, 0, v[1].u32) != NULL) return -K_EINVAL;
  memcpy(target, bytes, v[1].u32);
  target[v[1].u32] = 0;
  return ABI_LOCKED(m, symlink_locked(m, &place, target, v));
}

static k_ret readlink_locked(abi_machine *m, wasi_place *place, const eng_val *v) {
  char target[K_PATH_MAX];
  void *buf = NULL;
  K_TRY(wasi_place_of(m, v[0].u32, v[1].u32, v[2].u32, place));
  K_TRY(abi_ptr(m->instance, v[3].u32, v[4].u32, &buf));
  k_ret len = vfs_readlink(&place->view, place->at, place->path, target, sizeof target);
  if (len < 0) return len;
  size_t fits = (size_t)len < v[4].u32 ? (size_t)len : v[4].u32;
  memcpy(buf, target, fits);
  return (k_ret)fits;
}

k_ret wasi_path_readlink(abi_machine *m, const eng_val *v) {
  wasi_place place;
  k_ret r = ABI_LOCKED(m, readlink_locked(m, &place, v));
  if (r < 0) return r;
  uint32_t len = (uint32_t)r;
  return abi_put(m->instance, v[5].u32, &len);
}

/* ---- attributes ---- */

static k_ret filestat_get_locked(abi_machine *m, wasi_place *place, k_stat *st, const eng_val *v) {
  K_TRY(wasi_place_of(m, v[0].u32, v[2].u32, v[3].u32, place));
  return vfs_stat(&place->view, place->at, place->path, wasi_how(v[1].u32), st);
}

k_ret wasi_path_filestat_get(abi_machine *m, const eng_val *v) {
  wasi_place place;
  k_stat st;
  K_TRY(ABI_LOCKED(m, filestat_get_locked(m, &place, &st, v)));
  return wasi_put_stat(m, v[4].u32, &st, wasi_type_of_mode(st.mode));
}

K_LOCKED static k_ret set_times_locked(abi_machine *m, wasi_place *place, const eng_val *v) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  int64_t values[2];
  const int64_t *set[2];
  bool explicit_times = false;
  K_TRY(wasi_times(m, v[4].u64, v[5].u64, v[6].u32, values, set, &explicit_times));
  K_TRY(wasi_place_of(m, v[0].u32, v[2].u32, v[3].u32, place));
  K_TRY(vfs_resolve(&place->view, place->at, place->path, wasi_how(v[1].u32), &inode));
  if (set[0] == NULL && set[1] == NULL) return 0;
  return vfs_utimens(&place->view, inode, set[0], set[1], explicit_times);
}

k_ret wasi_path_filestat_set_times(abi_machine *m, const eng_val *v) {
  wasi_place place;
  return ABI_LOCKED(m, set_times_locked(m, &place, v));
}
