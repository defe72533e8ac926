/* files.c - the files of a sandbox, for the embedder.
 *
 * Every operation uses the privileged view of the embedder: permission bits do not stop it, and files it
 * makes belongs to the sandbox's user. Large transfers give up kernel.mu between pieces, so that guests go on
 * meanwhile. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "kernel/vfs/mount.h"
#include "sandbox/scrub.h"
#include "sandbox/status.h"
#include "sandbox/view.h"

#include <inttypes.h>
#include <string.h>

enum { PIECE = 1 << 20 };

static cay_status with_view(cay_sandbox *box, const char *path, sb_view_fn *body, void *arg, cay_error *err) {
  return sb_status(err, sb_with_view(box, path, body, arg), path);
}

/* ---- reading ---- */

/* Lets others have the kernel for a moment. */
K_LOCKED static void breathe(k_kernel *k) {
  k_unlock(k);
  k_lock(k);
}

K_LOCKED static k_ret open_regular(const vfs_view *v, const char *path, uint32_t flags, k_file **out) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(vfs_resolve(v, NULL, path, 0, &inode));
  if (k_is_dir(inode)) return -K_EISDIR;
  if (!k_is_reg(inode)) return -K_EINVAL;
  return vfs_open_inode(v, inode, flags, out);
}

/* The room is taken at once: a file of known size is read without moving its bytes. One that has no size
 * (of /proc) or grows meanwhile gets more room, up to `max`. */
K_LOCKED static k_ret read_pieces(k_file *f, uint64_t max, buf *into) {
  k_stat st;
  K_TRY(k_file_stat(f, &st));
  if (st.size > max) return -K_EFBIG;
  if (st.size != 0 && buf_room(into, (size_t)st.size) == NULL) return -K_ENOMEM;
  for (;;) {
    uint64_t left = max - into->len, room_left = into->cap - into->len;
    size_t want = room_left > 1 && room_left - 1 < PIECE ? (size_t)room_left - 1 : PIECE;
    if (want > left) want = (size_t)left + 1; /* one byte more would be too much */
    void *room = buf_room(into, want);
    if (room == NULL) return -K_ENOMEM;
    k_ret n = vfs_pread(f, room, want, (int64_t)into->len);
    if (n <= 0) return n;
    if ((uint64_t)n > left) return -K_EFBIG;
    buf_grew(into, (size_t)n);
    breathe(f->kernel);
  }
}

struct whole {
  uint64_t max;
  cay_buf *out;
};

K_LOCKED static k_ret read_whole(const vfs_view *v, const char *path, void *arg) {
  const struct whole *w = arg;
  buf bytes = BUF_INIT(BUF_UNLIMITED);
  k_file *f = NULL;
  K_TRY(open_regular(v, path, K_O_RDONLY, &f));
  k_ret r = read_pieces(f, w->max, &bytes);
  k_file_unref(f);
  if (r >= 0) *w->out = buf_take(&bytes);
  buf_free(&bytes);
  return r;
}

cay_status cay_file_read_max(cay_sandbox *box, const char *path, uint64_t max, cay_buf *out, cay_error *err) {
  if (max > BUF_UNLIMITED - 1) max = BUF_UNLIMITED - 1;
  k_ret r = sb_with_view(box, path, read_whole, &(struct whole){ max, out });
  if (r >= 0) sb_scrub(box, out->data, out->len);
  if (r != -K_EFBIG) return sb_status(err, r, path);
  err_set(err, CAY_LIMIT,
          "EFBIG: %.150s: the file is larger than the limit of %" PRIu64 " bytes; read it in parts", path,
          max);
  if (err != NULL) err->os_errno = K_EFBIG;
  return CAY_LIMIT;
}

cay_status cay_file_read(cay_sandbox *box, const char *path, cay_buf *out, cay_error *err) {
  return cay_file_read_max(box, path, box->kernel->limits.disk, out, err);
}

struct stretch {
  uint64_t offset, *start, *end;
};

K_LOCKED static k_ret find_data(const vfs_view *v, const char *path, void *arg) {
  const struct stretch *s = arg;
  if (s->offset > INT64_MAX) return -K_EINVAL;
  k_stat st;
  k_file *f = NULL;
  K_TRY(open_regular(v, path, K_O_RDONLY, &f));
  k_ret r = k_file_stat(f, &st), end = 0;
  k_ret start = r < 0 ? r : k_file_seek(f, (int64_t)s->offset, K_SEEK_DATA);
  if (start >= 0) end = k_file_seek(f, start, K_SEEK_HOLE);
  k_file_unref(f);
  bool none = start == -K_ENXIO;
  if (start == -K_EINVAL) { /* of /proc: its length is known at its end */
    *s->start = s->offset;
    *s->end = UINT64_MAX;
    return 0;
  }
  if (r < 0 || (start < 0 && !none) || end < 0) return r < 0 ? r : start < 0 ? start : end;
  *s->start = none ? st.size : (uint64_t)start;
  *s->end = none ? st.size : (uint64_t)end;
  return 0;
}

cay_status cay_file_next_data(cay_sandbox *box, const char *path, uint64_t offset, uint64_t *start,
                              uint64_t *end, cay_error *err) {
  return with_view(box, path, find_data, &(struct stretch){ offset, start, end }, err);
}

struct piece {
  uint64_t offset;
  void *buf;
  size_t cap;
  size_t *out;
};

K_LOCKED static k_ret read_piece(const vfs_view *v, const char *path, void *arg) {
  struct piece *p = arg;
  if (p->offset > INT64_MAX) return -K_EINVAL;
  k_file *f = NULL;
  K_TRY(open_regular(v, path, K_O_RDONLY, &f));
  k_ret r = 0;
  size_t done = 0;
  while (done < p->cap &&
         (r = vfs_pread(f, (char *)p->buf + done, p->cap - done, (int64_t)(p->offset + done))) > 0)
    done += (size_t)r;
  k_file_unref(f);
  if (r >= 0) *p->out = done;
  return r;
}

/* With as much before and behind it as a secret has that lies across the border. */
static cay_status file_read_scrubbed(cay_sandbox *box, const char *path, const struct piece *wanted,
                                     cay_error *err) {
  size_t margin = sb_scrub_margin(box), before = wanted->offset < margin ? (size_t)wanted->offset : margin,
         got = 0;
  if (wanted->cap > BUF_UNLIMITED - 2 * margin)
    return err_set(err, CAY_LIMIT, "%.150s: a piece is too large", path);
  struct piece wider = { wanted->offset - before, mem_alloc(before + wanted->cap + margin + 1),
                         before + wanted->cap + margin, &got };
  if (wider.buf == NULL) return err_no_memory(err);
  cay_status status = with_view(box, path, read_piece, &wider, err);
  if (status == CAY_OK) {
    sb_scrub(box, wider.buf, got);
    size_t there = got > before ? got - before : 0, n = there < wanted->cap ? there : wanted->cap;
    if (n != 0) memcpy(wanted->buf, (char *)wider.buf + before, n);
    *wanted->out = n;
  }
  explicit_bzero(wider.buf, got);
  mem_free(wider.buf);
  return status;
}

cay_status cay_file_read_at(cay_sandbox *box, const char *path, uint64_t offset, void *buffer, size_t cap,
                            size_t *out, cay_error *err) {
  if (sb_scrubs(box)) return file_read_scrubbed(box, path, &(struct piece){ offset, buffer, cap, out }, err);
  return with_view(box, path, read_piece, &(struct piece){ offset, buffer, cap, out }, err);
}

/* ---- writing ---- */

K_LOCKED static k_ret make_parents(const vfs_view *v, const char *path, bool last_too) {
  char part[K_PATH_MAX];
  size_t len = strlen(path);
  if (len >= sizeof part) return -K_ENAMETOOLONG;
  for (size_t i = 1; i <= len; i++) {
    if (path[i] != '/' && !(path[i] == '\0' && last_too)) continue;
    memcpy(part, path, i);
    part[i] = '\0';
    k_ret r = vfs_mkdir(v, NULL, part, 0755);
    if (r < 0 && r != -K_EEXIST && r != -K_EISDIR) return r;
  }
  return 0;
}

struct content {
  cay_slice bytes;
  uint32_t mode;
  uint64_t offset; /* UINT64_MAX: at the end */
};

K_LOCKED static k_ret write_all(k_file *f, cay_slice bytes, int64_t offset) {
  size_t done = 0;
  while (done < bytes.len) {
    size_t n = bytes.len - done < PIECE ? bytes.len - done : PIECE;
    k_ret r = k_file_pwrite(NULL, f, (const char *)bytes.data + done, n, offset + (int64_t)done);
    if (r < 0) return r;
    if (r == 0) return -K_EIO;
    done += (size_t)r;
    breathe(f->kernel);
  }
  return 0;
}

/* Before the old contents go: is there room for the new ones? Guests may use it up meanwhile; then the write
 * fails in the middle. */
K_LOCKED static k_ret check_room(const vfs_view *v, k_inode *inode, const k_stat *old, size_t len) {
  const k_kernel *k = v->kernel;
  if (strcmp(vfs_mount_of(v->kernel, inode)->type, "tmpfs") != 0) return 0; /* the host's own affair */
  uint64_t room = k->limits.disk > k->used.disk ? k->limits.disk - k->used.disk : 0;
  return len > room + old->blocks * 512 ? -K_ENOSPC : 0;
}

K_LOCKED static k_ret replace(const vfs_view *v, k_file *f, cay_slice bytes) {
  k_stat old;
  K_TRY(k_file_stat(f, &old));
  K_TRY(check_room(v, f->inode, &old, bytes.len));
  if (old.size != 0) K_TRY(vfs_truncate(v, f->inode, 0));
  return write_all(f, bytes, 0);
}

K_LOCKED static k_ret write_whole(const vfs_view *v, const char *path, void *arg) {
  struct content *c = arg;
  uint32_t mode = c->mode != 0 ? c->mode & 07777 : 0644;
  K_TRY(make_parents(v, path, false));
  k_file *f = NULL;
  k_ret r = vfs_open(v, NULL, path, K_O_WRONLY | K_O_CREAT | K_O_NONBLOCK, mode, &f);
  if (r < 0) return r;
  if (f->inode == NULL || !k_is_reg(f->inode))
    r = -K_EINVAL;
  else
    r = replace(v, f, c->bytes);
  if (r >= 0 && c->mode != 0) r = vfs_chmod(v, f->inode, mode);
  k_file_unref(f);
  return r;
}

cay_status cay_file_write(cay_sandbox *box, const char *path, cay_slice bytes, uint32_t mode,
                          cay_error *err) {
  return with_view(box, path, write_whole, &(struct content){ bytes, mode, 0 }, err);
}

K_LOCKED static k_ret write_piece(const vfs_view *v, const char *path, void *arg) {
  struct content *c = arg;
  if (c->offset > INT64_MAX && c->offset != UINT64_MAX) return -K_EINVAL;
  k_file *f = NULL;
  K_TRY(open_regular(v, path, K_O_WRONLY, &f));
  k_stat st = { 0 };
  k_ret r = c->offset == UINT64_MAX ? k_file_stat(f, &st) : 0;
  if (r >= 0) r = write_all(f, c->bytes, c->offset == UINT64_MAX ? (int64_t)st.size : (int64_t)c->offset);
  k_file_unref(f);
  return r;
}

cay_status cay_file_write_at(cay_sandbox *box, const char *path, uint64_t offset, cay_slice bytes,
                             cay_error *err) {
  return with_view(box, path, write_piece, &(struct content){ bytes, 0, offset }, err);
}

/* ---- names ---- */

static k_ret stat_target(const vfs_view *v, const char *path, void *arg) {
  k_stat st;
  K_TRY(vfs_stat(v, NULL, path, 0, &st));
  sb_public_stat(&st, arg);
  return 0;
}

static k_ret stat_link(const vfs_view *v, const char *path, void *arg) {
  k_stat st;
  K_TRY(vfs_stat(v, NULL, path, VFS_NOFOLLOW, &st));
  sb_public_stat(&st, arg);
  return 0;
}

cay_status cay_file_stat(cay_sandbox *box, const char *path, cay_stat *out, cay_error *err) {
  return with_view(box, path, stat_target, out, err);
}

cay_status cay_file_lstat(cay_sandbox *box, const char *path, cay_stat *out, cay_error *err) {
  return with_view(box, path, stat_link, out, err);
}

K_LOCKED static k_ret make_one(const vfs_view *v, const char *path, void *arg) {
  (void)arg;
  return vfs_mkdir(v, NULL, path, 0755);
}

K_LOCKED static k_ret make_path(const vfs_view *v, const char *path, void *arg) {
  (void)arg;
  K_TRY(make_parents(v, path, true));
  OWNED(k_inode_unref) k_inode *dir = NULL;
  return vfs_resolve(v, NULL, path, VFS_DIRECTORY, &dir);
}

cay_status cay_file_mkdir(cay_sandbox *box, const char *path, bool parents, cay_error *err) {
  return with_view(box, path, parents ? make_path : make_one, NULL, err);
}

K_LOCKED static k_ret make_symlink(const vfs_view *v, const char *path, void *arg) {
  K_TRY(make_parents(v, path, false));
  return vfs_symlink(v, arg, NULL, path);
}

cay_status cay_file_symlink(cay_sandbox *box, const char *target, const char *path, cay_error *err) {
  if (target == NULL || *target == '\0') return sb_status(err, -K_ENOENT, path);
  return with_view(box, path, make_symlink, (void *)(uintptr_t)target, err);
}

static k_ret read_target(const vfs_view *v, const char *path, void *arg) {
  char target[K_PATH_MAX];
  k_ret n = vfs_readlink(v, NULL, path, target, sizeof target);
  if (n < 0) return n;
  char *copy = mem_strndup(target, (size_t)n);
  if (copy == NULL) return -K_ENOMEM;
  *(cay_buf *)arg = (cay_buf){ copy, (size_t)n };
  return 0;
}

cay_status cay_file_readlink(cay_sandbox *box, const char *path, cay_buf *out, cay_error *err) {
  return with_view(box, path, read_target, out, err);
}

K_LOCKED static k_ret change_mode(const vfs_view *v, const char *path, void *arg) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(vfs_resolve(v, NULL, path, 0, &inode));
  return vfs_chmod(v, inode, *(uint32_t *)arg & 07777);
}

cay_status cay_file_chmod(cay_sandbox *box, const char *path, uint32_t mode, cay_error *err) {
  return with_view(box, path, change_mode, &mode, err);
}

K_LOCKED static k_ret rename_to(const vfs_view *v, const char *path, void *arg) {
  const char *to = arg;
  if (to == NULL || to[0] != '/') return -K_EINVAL;
  return vfs_rename(v, NULL, path, NULL, to, 0);
}

cay_status cay_file_rename(cay_sandbox *box, const char *from, const char *to, cay_error *err) {
  return with_view(box, from, rename_to, (void *)(uintptr_t)to, err);
}
