/* cow.c - directories of the host as frozen nodes: filled at the first look, their files opened by path
 * (cow.h). */
#include "kernel/fs/cow/cow.h"

#include "base/alloc.h"
#include "kernel/fs/cow/cow_source.h"
#include "kernel/fs/host/host_call.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 32768 };
#define FIRST_INO (UINT64_C(1) << 40) /* of files that are made here: no host counts so far */

/* A path of a source that was moved: `text`. */
typedef struct cow_path {
  mem_freed freed; /* first */
  char text[];
} cow_path;

/* ---- sources ---- */

static char *path_new(const char *path) {
  size_t len = strlen(path);
  cow_path *p = mem_alloc(sizeof *p + len + 1);
  if (p == NULL) return NULL;
  memcpy(p->text, path, len + 1);
  return p->text;
}

static mem_freed *path_freed(char *text) {
  return text != NULL ? &CONTAINER_OF(text, cow_path, text)->freed : NULL;
}

static void source_free(mem_source *source) {
  cow_source *s = cow_of(source);
  cow_mount_unref(s->mount);
  mem_freed_free(s->old_paths);
  if (cow_source_path(s) != s->first_path) mem_free(path_freed(cow_source_path(s)));
  mem_free(s);
}

k_ret cow_move_prepare(const mem_node *n, const char *path, char **out) {
  *out = NULL;
  if (n->source == NULL || strcmp(cow_source_path(cow_of(n->source)), path) == 0) return 0;
  *out = path_new(path);
  return *out != NULL ? 0 : -K_ENOMEM;
}

void cow_moved(const mem_node *n, char *text, const cow_seen *seen) {
  if (n->source == NULL) return;
  cow_source *s = cow_of(n->source);
  pthread_mutex_lock(&s->mount->mu);
  if (seen != NULL) s->seen = *seen;
  if (text != NULL) {
    if (cow_source_path(s) != s->first_path) {
      mem_freed *old = path_freed(cow_source_path(s));
      old->next = s->old_paths;
      s->old_paths = old;
    }
    atomic_store_explicit(&s->path, text, memory_order_release);
  }
  pthread_mutex_unlock(&s->mount->mu);
}

void cow_move_drop(char *text) { mem_free(path_freed(text)); }

static const mem_source_ops cow_source_ops;

static mem_source *source_new(cow_mount *m, const char *dir, const char *name, const cow_seen *seen) {
  size_t dir_len = strlen(dir), name_len = strlen(name), slash = dir_len != 0;
  cow_source *s = mem_zalloc(sizeof *s + dir_len + slash + name_len + 1);
  if (s == NULL) return NULL;
  memcpy(s->first_path, dir, dir_len);
  if (slash) s->first_path[dir_len] = '/';
  memcpy(s->first_path + dir_len + slash, name, name_len + 1);
  atomic_init(&s->base.refs, 1);
  s->base.ops = &cow_source_ops;
  s->mount = m;
  s->seen = *seen;
  atomic_init(&s->path, s->first_path);
  atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
  return &s->base;
}

/* ---- one entry of a directory ---- */

void cow_node_show(mem_node *n, const struct statx *st) {
  uint32_t type = st->stx_mode & K_S_IFMT;
  n->mode = type | (st->stx_mode & 01777);
  n->ino = st->stx_ino;
  if (cow_has_several(st)) n->nlink = st->stx_nlink;
  n->rdev = (uint64_t)st->stx_rdev_major << 32 | st->stx_rdev_minor;
  n->atime_ns = cow_ns(&st->stx_atime);
  n->mtime_ns = cow_ns(&st->stx_mtime);
  n->ctime_ns = cow_ns(&st->stx_ctime);
  n->btime_ns = cow_ns(st->stx_mask & STATX_BTIME ? &st->stx_btime : &st->stx_ctime);
  if (type == K_S_IFREG) n->contents = (mem_contents){ .size = st->stx_size, .held = st->stx_blocks * 512 };
}

static mem_node *node_like(const struct statx *st) {
  mem_node *n = mem_node_new(st->stx_mode & K_S_IFMT, K_UID, K_GID, st->stx_ino);
  if (n != NULL) cow_node_show(n, st);
  return n;
}

static k_ret node_read_link(mem_node *n, int dir, const char *name) {
  char target[PATH_MAX];
  k_ret len = host_readlink_at(dir, name, target, sizeof target);
  if (len < 0) return len;
  if (len == sizeof target) return -K_ENAMETOOLONG;
  n->target = mem_strndup(target, (size_t)len);
  return n->target != NULL ? 0 : -K_ENOMEM;
}

static k_ret node_fill_in(cow_source *dir, int fd, const char *name, const struct statx *st, mem_node *n) {
  cow_seen seen = cow_seen_from(st);
  n->source = source_new(dir->mount, cow_source_path(dir), name, &seen);
  if (n->source == NULL) return -K_ENOMEM;
  return (n->mode & K_S_IFMT) == K_S_IFLNK ? node_read_link(n, fd, name) : 0;
}

/* A reference: the node of a file with several names is found again. */
K_UNCHECKED static k_ret node_of(cow_source *dir, int fd, const char *name, const struct statx *st,
                                 mem_node **out) {
  cow_mount *m = dir->mount;
  cow_link *link = NULL;
  K_TRY(cow_link_for(m, st, &link));
  if (link != NULL && link->node != NULL) {
    *out = mem_node_ref(link->node);
    return 0;
  }
  mem_node *n = node_like(st);
  if (n == NULL) return -K_ENOMEM;
  k_ret r = node_fill_in(dir, fd, name, st, n);
  if (r < 0) {
    mem_node_unref(n);
    return r;
  }
  if (link != NULL) cow_link_set(m, link, st, n);
  *out = n;
  return 0;
}

/* A file of which the listing is all that is known so far. */
K_UNCHECKED static k_ret node_unseen(cow_source *dir, const struct dirent64 *d, mem_node **out) {
  mem_node *n = mem_node_new(K_S_IFREG, K_UID, K_GID, d->d_ino);
  if (n == NULL) return -K_ENOMEM;
  n->source = source_new(dir->mount, cow_source_path(dir), d->d_name, &(cow_seen){ 0 });
  if (n->source == NULL) {
    mem_node_unref(n);
    return -K_ENOMEM;
  }
  atomic_store_explicit(&n->unseen, true, memory_order_relaxed);
  *out = n;
  return 0;
}

/* ---- filling ---- */

typedef struct filling {
  cow_source *source;
  mem_node *dir;
  int fd;
  uint64_t weight, most;
} filling;

static bool is_dots(const char *name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* What one name costs when it is used: a node, its source, an inode and its entry. */
static uint64_t weight_of(const filling *f, const char *name) {
  size_t len = strlen(name);
  return sizeof(mem_node) + sizeof(cow_source) + sizeof(mem_inode) + sizeof(mem_entry) + sizeof(mem_child) +
         strlen(cow_source_path(f->source)) + 3 * len + 16;
}

/* 1: *out is the node of a name; 0: it is gone meanwhile. */
K_UNCHECKED static k_ret fill_node(const filling *f, const struct dirent64 *d, mem_node **out) {
  struct statx st;
  if (d->d_type == DT_REG) {
    K_TRY(node_unseen(f->source, d, out));
    return 1;
  }
  k_ret r = host_stat_at(f->fd, d->d_name, &st);
  if (r < 0) return r == -K_ENOENT ? 0 : r;
  K_TRY(node_of(f->source, f->fd, d->d_name, &st, out));
  return 1;
}

K_UNCHECKED static k_ret fill_name(filling *f, const struct dirent64 *d) {
  mem_node *n = NULL;
  f->weight += weight_of(f, d->d_name);
  if (f->weight > f->most) return -K_ENOMEM;
  k_ret r = fill_node(f, d, &n);
  if (r <= 0) return r;
  r = mem_node_add(f->dir, (k_name){ d->d_name, strlen(d->d_name) }, n, 0);
  if (r < 0) mem_node_unref(n);
  return r;
}

static k_ret fill_piece(filling *f, const uint8_t *piece, size_t len, int64_t *pos) {
  for (size_t at = 0; at < len;) {
    const struct dirent64 *d = (const void *)(piece + at);
    if (!is_dots(d->d_name)) K_TRY(fill_name(f, d));
    *pos = d->d_off;
    at += d->d_reclen;
  }
  return 0;
}

static k_ret fill_names(filling *f) {
  uint8_t *piece = mem_alloc(PIECE);
  if (piece == NULL) return -K_ENOMEM;
  int64_t pos = 0;
  k_ret n = 0;
  for (;;) {
    n = host_list(f->fd, pos, piece, PIECE);
    if (n <= 0) break;
    k_ret r = fill_piece(f, piece, (size_t)n, &pos);
    if (r >= 0) continue;
    n = r;
    break;
  }
  mem_free(piece);
  return n;
}

K_UNCHECKED static void fill_undo(filling *f) {
  cow_links_undo(f->source->mount);
  mem_node_empty(f->dir);
}

static k_ret fill_held(cow_source *s, mem_node *node, uint64_t most) {
  k_ret fd = cow_mount_open(s->mount, cow_source_path(s), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return fd;
  s->mount->fills++;
  filling f = { .source = s, .dir = node, .fd = (int)fd, .most = most };
  k_ret r = fill_names(&f);
  cow_mount_close(s->mount, (int)fd);
  if (r < 0) {
    fill_undo(&f);
    return r;
  }
  s->base.weight = f.weight;
  atomic_store_explicit(&s->base.filled, true, memory_order_release);
  return 1;
}

static k_ret source_fill(mem_source *source, mem_node *node, uint64_t most) {
  cow_source *s = cow_of(source);
  pthread_mutex_lock(&s->mount->mu);
  k_ret r = atomic_load(&source->filled) ? 0 : fill_held(s, node, most);
  pthread_mutex_unlock(&s->mount->mu);
  return r;
}

/* ---- files ---- */

static k_ret source_look(cow_source *s, int fd, bool look, mem_source_state *now) {
  struct stat st;
  K_TRY(host_stat_open(fd, &st));
  if ((st.st_mode & K_S_IFMT) != K_S_IFREG) return -K_ESTALE;
  cow_seen seen = cow_seen_open(&st);
  pthread_mutex_lock(&s->mount->mu);
  *now = cow_state(s, &seen, (uint64_t)st.st_blocks);
  if (look) s->seen = seen;
  pthread_mutex_unlock(&s->mount->mu);
  return 0;
}

static k_ret source_open(mem_source *source, bool look, mem_source_state *now) {
  cow_source *s = cow_of(source);
  k_ret fd = cow_mount_open(s->mount, cow_source_path(s), O_RDONLY);
  if (fd < 0) return fd;
  k_ret r = source_look(s, (int)fd, look, now);
  if (r >= 0) return fd;
  cow_mount_close(s->mount, (int)fd);
  return r;
}

static void source_close(mem_source *source, int fd) { cow_mount_close(cow_of(source)->mount, fd); }

static const mem_source_ops cow_source_ops = {
  .fill = source_fill,
  .see = cow_see,
  .see_below = cow_see_below,
  .see_open = cow_see_open,
  .open = source_open,
  .close = source_close,
  .free = source_free,
};

bool cow_seen_of(const mem_node *n, cow_seen *seen, const char **path) {
  if (n->source == NULL || n->source->ops != &cow_source_ops) return false;
  cow_source *s = cow_of(n->source);
  pthread_mutex_lock(&s->mount->mu);
  *seen = s->seen;
  pthread_mutex_unlock(&s->mount->mu);
  *path = cow_source_path(s);
  return true;
}

int cow_root_fd(const mem_tree *tree) { return cow_of(tree->root->source)->mount->fd; }

/* ---- the tree ---- */

K_UNCHECKED static k_ret tree_over(cow_mount *m, const struct statx *st, mem_tree **out) {
  cow_seen seen = cow_seen_from(st);
  mem_tree *tree = mem_zalloc(sizeof *tree);
  mem_source *s = tree != NULL ? source_new(m, "", "", &seen) : NULL;
  mem_node *root = s != NULL ? node_like(st) : NULL;
  if (root == NULL) {
    mem_source_unref(s);
    mem_free(tree);
    return -K_ENOMEM;
  }
  root->source = s;
  atomic_init(&tree->refs, 1);
  tree->root = root;
  tree->next_ino = FIRST_INO;
  k_ret r = mem_node_fill(root, UINT64_MAX);
  if (r < 0) {
    mem_tree_unref(tree);
    return r;
  }
  *out = tree;
  return 0;
}

k_ret cow_tree_new(int dirfd, mem_tree **out) {
  cow_mount *m = NULL;
  struct statx st;
  K_TRY(cow_mount_new(dirfd, &m, &st));
  k_ret r = tree_over(m, &st, out);
  cow_mount_unref(m);
  return r;
}
