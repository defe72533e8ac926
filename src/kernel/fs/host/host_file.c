/* host_file.c - open files and directories of the host. */
#include "base/alloc.h"
#include "kernel/fs/host/hostfs_inner.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

/* ---- files: the object is a host_handle ---- */

static int fd_of(const k_file *f) { return ((const host_handle *)f->object)->fd; }
static hostfs *host_file_fs_of(const k_file *f) { return host_of(f->inode)->fs; }

K_LOCKED static k_ret host_file_read(k_file *f, void *buf, size_t len, int64_t pos) {
  host_leave(host_file_fs_of(f));
  k_ret r = host_pread(fd_of(f), buf, len, pos);
  host_return(host_file_fs_of(f));
  return r;
}

K_LOCKED static k_ret host_file_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  bool append = (f->flags & K_O_APPEND) != 0;
  host_leave(host_file_fs_of(f));
  k_ret r = host_pwrite(fd_of(f), buf, len, pos, append);
  host_return(host_file_fs_of(f));
  host_node_changed(host_of(f->inode));
  return r;
}

K_LOCKED static k_ret host_file_size(k_file *f) {
  struct statx st;
  host_leave(host_file_fs_of(f));
  k_ret r = host_stat(fd_of(f), &st);
  host_return(host_file_fs_of(f));
  return r < 0 ? r : (k_ret)st.stx_size;
}

K_LOCKED static k_ret host_file_seek(k_file *f, int64_t pos, bool hole) {
  host_leave(host_file_fs_of(f));
  k_ret r = host_seek(fd_of(f), pos, hole ? K_SEEK_HOLE : K_SEEK_DATA);
  host_return(host_file_fs_of(f));
  return r;
}

K_LOCKED static k_ret file_sync(k_file *f) {
  host_leave(host_file_fs_of(f));
  k_ret r = host_fsync(fd_of(f));
  host_return(host_file_fs_of(f));
  return r;
}

void host_handle_drop(hostfs *fs, host_handle *h) {
  if (--h->users > 0) return;
  host_close_counted(fs, h->fd);
  mem_free(h);
}

static void file_release(k_file *f) {
  host_handle *h = f->object;
  list_remove(&h->in_writers);
  host_handle_drop(host_file_fs_of(f), h);
}

static const k_file_ops file_ops = {
  .lets_go = true,
  .read = host_file_read,
  .write = host_file_write,
  .size = host_file_size,
  .seek_data = host_file_seek,
  .fsync = file_sync,
  .release = file_release,
};

/* ---- directories ----
 *
 * Positions are those of the host. A piece that was read serves the following calls too, as long as they go
 * on where the last one ended; going back to the start reads anew. */

enum { PIECE = 16384 };

typedef struct listing {
  int fd;
  pthread_mutex_t mu; /* of the descriptor's position; taken without kernel.mu */
  int64_t pos;        /* where the piece begins */
  size_t len;
  uint8_t *piece;
} listing;

K_LOCKED static k_ret host_file_read_piece(const hostfs *fs, listing *l, int64_t pos) {
  uint8_t *piece = mem_alloc(PIECE);
  if (piece == NULL) return -K_ENOMEM;
  host_leave(fs);
  pthread_mutex_lock(&l->mu);
  k_ret n = host_list(l->fd, pos, piece, PIECE);
  pthread_mutex_unlock(&l->mu);
  host_return(fs);
  if (n < 0) {
    mem_free(piece);
    return n;
  }
  mem_free(l->piece);
  l->piece = piece;
  l->pos = pos;
  l->len = (size_t)n;
  return 0;
}

static const struct dirent64 *entry_at(const listing *l, size_t at) { return (const void *)(l->piece + at); }

/* Where in the piece the entry after `pos` stands; false: not in it. */
static bool find_in_piece(const listing *l, int64_t pos, size_t *at) {
  if (l->piece == NULL || pos == 0) return false;
  *at = 0;
  if (pos == l->pos) return l->len != 0;
  while (*at < l->len) {
    const struct dirent64 *d = entry_at(l, *at);
    *at += d->d_reclen;
    if (d->d_off == pos) return *at < l->len;
  }
  return false;
}

static bool host_file_is_dot(const char *name) { return strcmp(name, ".") == 0; }
static bool host_file_is_dotdot(const char *name) { return strcmp(name, "..") == 0; }

/* The parent of the mount's root stays hidden: its number is the root's own. */
static uint64_t shown_ino(const host_node *dir, const struct dirent64 *d) {
  if (host_file_is_dot(d->d_name)) return dir->ino;
  if (host_file_is_dotdot(d->d_name)) return dir->parent != NULL ? dir->parent->ino : dir->ino;
  return d->d_ino;
}

static uint32_t host_file_type_of(const struct dirent64 *d) {
  return d->d_type == DT_UNKNOWN ? 0 : (uint32_t)d->d_type << 12;
}

K_LOCKED static k_ret host_file_dir_readdir(k_file *f, int64_t pos, k_dirent_fn *each, void *ctx) {
  const host_node *dir = host_of(f->inode);
  listing *l = f->object;
  size_t at = 0;
  if (!find_in_piece(l, pos, &at)) {
    K_TRY(host_file_read_piece(dir->fs, l, pos));
    at = 0;
  }
  while (at < l->len) {
    const struct dirent64 *d = entry_at(l, at);
    k_name name = { d->d_name, strlen(d->d_name) };
    if (!each(ctx, name, shown_ino(dir, d), host_file_type_of(d), d->d_off)) break;
    at += d->d_reclen;
  }
  return 0;
}

K_LOCKED static k_ret dir_sync(k_file *f) {
  const listing *l = f->object;
  host_leave(host_file_fs_of(f));
  k_ret r = host_fsync(l->fd);
  host_return(host_file_fs_of(f));
  return r;
}

static void listing_free(listing *l) {
  pthread_mutex_destroy(&l->mu);
  mem_free(l->piece);
  mem_free(l);
}

static void dir_release(k_file *f) {
  listing *l = f->object;
  host_close_counted(host_file_fs_of(f), l->fd);
  listing_free(l);
}

static const k_file_ops dir_ops = { .readdir = host_file_dir_readdir,
                                    .fsync = dir_sync,
                                    .release = dir_release };

/* ---- opening ---- */

K_LOCKED static k_ret open_dir(host_node *n, uint32_t flags, int fd, k_file **out) {
  listing *l = mem_zalloc(sizeof *l);
  if (l == NULL) return -K_ENOMEM;
  l->fd = fd;
  pthread_mutex_init(&l->mu, NULL);
  k_ret r = k_file_new(n->base.kernel, &dir_ops, flags, &n->base, l, out);
  if (r < 0) listing_free(l);
  return r;
}

K_LOCKED static k_ret open_file(host_node *n, uint32_t flags, int fd, k_file **out) {
  host_handle *h = mem_alloc(sizeof *h);
  if (h == NULL) return -K_ENOMEM;
  *h = (host_handle){ .fd = fd, .users = 1 };
  list_init(&h->in_writers);
  k_ret r = k_file_new(n->base.kernel, &file_ops, flags, &n->base, h, out);
  if (r < 0)
    mem_free(h);
  else if ((flags & K_O_ACCMODE) != K_O_RDONLY)
    list_push(&n->writers, &h->in_writers);
  return r;
}

static uint64_t host_flags(uint32_t flags) {
  static const uint64_t ACCESS[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR };
  uint64_t host = ACCESS[flags & K_O_ACCMODE];
  if ((flags & K_O_SYNC) == K_O_SYNC) return host | O_SYNC;
  return flags & K_O_DSYNC ? host | O_DSYNC : host;
}

/* Who created the file gets the descriptor that was made with it. */
static k_ret descriptor(host_node *n, uint32_t flags) {
  int made = n->made;
  n->made = -1;
  return made >= 0 ? made : host_reopen(n, host_flags(flags));
}

k_ret host_open_file(k_inode *inode, uint32_t flags, k_file **out) {
  host_node *n = host_of(inode);
  if ((flags & K_O_ACCMODE) != K_O_RDONLY && !n->fs->writable) return -K_EROFS;
  k_ret fd = descriptor(n, flags);
  if (fd < 0) return fd;
  k_ret r = k_is_dir(inode) ? open_dir(n, flags, (int)fd, out) : open_file(n, flags, (int)fd, out);
  if (r < 0)
    host_close_counted(n->fs, (int)fd);
  else
    k_inode_ref(inode);
  return r;
}
