/* fd_snapshot.c - checkpoints of descriptors, and putting back either kind. */
#include "kernel/file/fd_snapshot_inner.h"

#include "base/alloc.h"
#include "kernel/file/pipe.h"
#include "kernel/sock/socket.h"
#include "kernel/vfs/mount.h"

/* ---- dead files ---- */

static k_ret dead_stat(k_file *f, k_stat *out) {
  (void)f, (void)out;
  return -K_EBADF;
}

/* Everything else is refused as for O_PATH, whose flag it has. */
static const k_file_ops dead_ops = { .stat = dead_stat };

K_LOCKED static k_ret open_dead(k_kernel *k, k_file **out) {
  return k_file_new(k, &dead_ops, K_O_PATH, NULL, NULL, out);
}

/* ---- what there is ---- */

/* Terminals are devices too: opening one has effects. */
static bool is_of_memory(k_inode *inode) {
  enum { MEM_MAJOR = 1 };
  k_stat st = { 0 };
  return inode->ops->stat(inode, &st) >= 0 && st.rdev_major == MEM_MAJOR;
}

enum kept_kind kept_kind_of(k_inode *inode) {
  switch (inode->mode & K_S_IFMT) {
  case K_S_IFREG: return KEPT_FILE;
  case K_S_IFDIR: return KEPT_DIR;
  case K_S_IFCHR: return is_of_memory(inode) ? KEPT_DEVICE : KEPT_DEAD;
  default: return KEPT_DEAD;
  }
}

K_LOCKED static uint32_t add_file(k_fd_snapshot *kept, const k_file *f) {
  for (uint32_t i = kept->file_count; f->refs > 1 && i-- > 0;)
    if (kept->files[i].live == f) return i;
  kept->files[kept->file_count] = (k_fd_snapshot_file){ .live = f };
  return kept->file_count++;
}

k_ret kept_list(const k_process *p, uint32_t below, k_fd_snapshot *out) {
  const k_fdtable *t = &p->fds;
  uint32_t end = t->cap < below ? t->cap : below;
  uint32_t count = 0;
  *out = (k_fd_snapshot){ 0 };
  for (uint32_t fd = K_FD_SNAPSHOT_FIRST; fd < end; fd++) count += t->slots[fd].file != NULL;
  if (count == 0) return 0;
  out->fds = mem_zalloc_array(count, sizeof *out->fds);
  out->files = mem_zalloc_array(count, sizeof *out->files);
  if (out->fds == NULL || out->files == NULL) {
    k_fd_snapshot_clear(out);
    return -K_ENOMEM;
  }
  for (uint32_t fd = K_FD_SNAPSHOT_FIRST; fd < end; fd++) {
    const k_fd *slot = &t->slots[fd];
    if (slot->file == NULL) continue;
    out->fds[out->fd_count++] = (k_fd_snapshot_fd){ fd, add_file(out, slot->file), slot->cloexec };
  }
  return 0;
}

k_ret k_fd_snapshot_take(const k_process *p, k_fd_snapshot *out) {
  k_fd_snapshot kept;
  K_TRY(kept_list(p, UINT32_MAX, &kept));
  for (uint32_t i = 0; i < kept.file_count; i++) {
    k_fd_snapshot_file *one = &kept.files[i];
    const k_file *f = one->live;
    one->live = NULL;
    one->serial = f->serial;
    one->flags = f->flags & KEPT_FLAGS;
    one->pos = f->pos;
    one->kind = f->inode != NULL ? kept_kind_of(f->inode) : KEPT_DEAD;
    if (one->kind != KEPT_DEAD) one->inode = k_inode_ref(f->inode);
  }
  *out = kept;
  return 0;
}

void k_fd_snapshot_clear(k_fd_snapshot *kept) {
  k_fd_snapshot old = *kept;
  *kept = (k_fd_snapshot){ 0 };
  for (uint32_t i = 0; i < old.file_count; i++) k_inode_unref(old.files[i].inode);
  mem_free(old.fds);
  mem_free(old.files);
  mem_free(old.pipes);
}

/* ---- opening again ---- */

K_LOCKED static k_ret fd_snapshot_open_inode(const vfs_view *v, k_inode *inode, const k_fd_snapshot_file *one,
                                             k_file **out) {
  if (kept_kind_of(inode) != one->kind) return -K_ESTALE;
  return vfs_open_inode(v, inode, one->flags & KEPT_FLAGS, out);
}

/* Meanwhile the embedder may have taken the mount away: then its files are gone, too. */
K_LOCKED static k_ret fd_snapshot_open_same(const vfs_view *v, const k_fd_snapshot_file *one, k_file **out) {
  if (vfs_mount_of(v->kernel, one->inode)->root->fs != one->inode->fs) return -K_ESTALE;
  return fd_snapshot_open_inode(v, one->inode, one, out);
}

K_LOCKED static k_ret fd_snapshot_open_path(const vfs_view *v, const k_fd_snapshot_file *one, k_file **out) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(vfs_resolve(v, NULL, one->path, 0, &inode));
  return fd_snapshot_open_inode(v, inode, one, out);
}

/* One of the two, which are both there while the image is opened. */
K_LOCKED static k_ret open_end(k_file *const ends[2], const k_fd_snapshot_file *one, k_file **out) {
  k_file *f = ends[(one->flags & K_O_ACCMODE) == K_O_RDONLY ? 0 : 1];
  f->flags |= one->flags & K_O_NONBLOCK;
  *out = k_file_ref(f);
  return 0;
}

K_LOCKED static k_ret open_one(k_process *p, const k_fd_snapshot_file *one, k_file *const ends[][2],
                               k_file **out) {
  k_ret r = -K_ENOENT;
  if (one->kind == KEPT_PIPE)
    r = open_end(ends[one->pipe], one, out);
  else if (one->kind == KEPT_CONNECTION)
    r = k_socket_new_cut(p->kernel, one->flags & K_O_NONBLOCK, out);
  else if (one->inode != NULL)
    r = fd_snapshot_open_same(&p->view, one, out);
  else if (one->path != NULL)
    r = fd_snapshot_open_path(&p->view, one, out);
  if (r >= 0) {
    if (one->kind != KEPT_PIPE) (*out)->pos = one->pos;
    return 0;
  }
  return r == -K_ENOMEM ? r : open_dead(p->kernel, out);
}

K_LOCKED static k_ret fd_snapshot_fill(k_file *end, const k_fd_snapshot_pipe *pipe) {
  K_TRY(k_pipe_resize(end, pipe->cap));
  for (size_t done = 0; done < pipe->len;) {
    k_ret n = end->ops->write(end, (const uint8_t *)pipe->queued + done, pipe->len - done, 0);
    if (n <= 0) return -K_ENOMEM;
    done += (size_t)n;
  }
  return 0;
}

K_LOCKED static void drop_pipes(const k_fd_snapshot *kept, k_file *ends[][2]) {
  for (uint32_t i = 0; ends != NULL && i < kept->pipe_count; i++) {
    k_file_unref(ends[i][0]);
    k_file_unref(ends[i][1]);
  }
  mem_free(ends);
}

K_LOCKED static k_ret make_pipes(k_kernel *k, const k_fd_snapshot *kept, k_file *(**out)[2]) {
  if (kept->pipe_count == 0) return 0;
  k_file *(*ends)[2] = mem_zalloc_array(kept->pipe_count, sizeof *ends);
  k_ret r = ends != NULL ? 0 : -K_ENOMEM;
  for (uint32_t i = 0; r >= 0 && i < kept->pipe_count; i++) {
    r = k_pipe_new(k, 0, &ends[i][0], &ends[i][1]);
    if (r >= 0) r = fd_snapshot_fill(ends[i][1], &kept->pipes[i]);
  }
  if (r < 0)
    drop_pipes(kept, ends);
  else
    *out = ends;
  return r;
}

/* Those that are open still, mostly under the number they had. */
K_LOCKED static void find_open(k_process *p, const k_fd_snapshot *kept, k_file **files) {
  const k_fdtable *t = &p->fds;
  for (uint32_t i = 0; i < kept->fd_count; i++) {
    const k_fd_snapshot_fd *fd = &kept->fds[i];
    k_file *f = fd->fd < t->cap ? t->slots[fd->fd].file : NULL;
    if (f != NULL && files[fd->file] == NULL && f->serial == kept->files[fd->file].serial)
      files[fd->file] = k_file_ref(f);
  }
  for (uint32_t i = 0; i < kept->file_count; i++) {
    for (uint32_t fd = 0; files[i] == NULL && kept->files[i].serial != 0 && fd < t->cap; fd++) {
      k_file *f = t->slots[fd].file;
      if (f != NULL && f->serial == kept->files[i].serial) files[i] = k_file_ref(f);
    }
  }
}

K_LOCKED static k_ret fd_snapshot_make_room(k_process *p, const k_fd_snapshot *kept) {
  uint32_t limit = p->fds.limit;
  for (uint32_t i = kept->fd_count; i-- > 0;)
    if (kept->fds[i].fd < limit) return k_fdtable_reserve(&p->fds, kept->fds[i].fd + 1);
  return 0;
}

K_LOCKED k_ret k_fd_snapshot_open(k_process *p, const k_fd_snapshot *kept, k_file ***out) {
  k_file **files = NULL, *(*ends)[2] = NULL;
  *out = NULL;
  if (kept->file_count == 0) return 0;
  K_TRY(fd_snapshot_make_room(p, kept));
  files = mem_zalloc_array(kept->file_count, sizeof *files);
  if (files == NULL) return -K_ENOMEM;
  find_open(p, kept, files);
  k_ret r = make_pipes(p->kernel, kept, &ends);
  for (uint32_t i = 0; r >= 0 && i < kept->file_count; i++)
    if (files[i] == NULL) r = open_one(p, &kept->files[i], ends, &files[i]);
  drop_pipes(kept, ends);
  if (r < 0)
    k_fd_snapshot_drop(kept, files);
  else
    *out = files;
  return r;
}

void k_fd_snapshot_drop(const k_fd_snapshot *kept, k_file **files) {
  for (uint32_t i = 0; files != NULL && i < kept->file_count; i++) k_file_unref(files[i]);
  mem_free(files);
}

/* ---- putting back ---- */

/* Closing may release kernel.mu: the table is looked at anew after each. */
K_LOCKED static void close_others(k_process *p, const k_fd_snapshot *kept) {
  for (uint32_t fd = K_FD_SNAPSHOT_FIRST, i = 0; fd < p->fds.cap; fd++) {
    while (i < kept->fd_count && kept->fds[i].fd < fd) i++;
    bool stays = i < kept->fd_count && kept->fds[i].fd == fd;
    if (!stays && p->fds.slots[fd].file != NULL) (void)!k_fd_close(&p->fds, (int32_t)fd);
  }
}

K_LOCKED static void fd_snapshot_put_one(k_process *p, const k_fd_snapshot_fd *fd, k_file *f) {
  if (fd->fd >= p->fds.limit) return;
  if (p->fds.slots[fd->fd].file == f)
    p->fds.slots[fd->fd].cloexec = fd->cloexec != 0;
  else
    (void)!k_fd_put(&p->fds, k_file_ref(f), (int32_t)fd->fd, fd->cloexec != 0); /* there is room */
}

K_LOCKED void k_fd_snapshot_put(k_process *p, const k_fd_snapshot *kept, k_file **files) {
  enum { STATUS = K_O_APPEND | K_O_NONBLOCK };
  close_others(p, kept);
  for (uint32_t i = 0; i < kept->fd_count; i++)
    fd_snapshot_put_one(p, &kept->fds[i], files[kept->fds[i].file]);
  for (uint32_t i = 0; i < kept->file_count; i++) {
    const k_fd_snapshot_file *one = &kept->files[i];
    if (files[i]->serial != one->serial) continue;
    k_socket_cut(files[i]);
    files[i]->pos = one->pos;
    files[i]->flags = (files[i]->flags & ~(uint32_t)STATUS) | (one->flags & STATUS);
  }
  k_fd_snapshot_drop(kept, files);
}
