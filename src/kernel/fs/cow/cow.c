/* cow.c - directories of the host as frozen nodes: filled at the first look, their files opened by path
 * (cow.h). */
#include "kernel/fs/cow/cow.h"

#include "base/alloc.h"
#include "kernel/fs/host/host_call.h"
#include "kernel/fs/mem/mem_inode.h"
#include "kernel/fs/mem/mem_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { DESCRIPTORS = 1024, PIECE = 32768 };
#define FIRST_INO (UINT64_C(1) << 40) /* of files that are made here: no host counts so far */

/* A file of the host with several names, which are one inode. */
typedef struct cow_link {
  uint64_t dev, ino;
  mem_node *node; /* borrowed from the tree, which has it as long as there is a source */
  uint64_t fill;  /* the number of the filling that found it */
} cow_link;

typedef struct cow_mount {
  _Atomic uint32_t refs; /* of its sources */
  _Atomic uint32_t descriptors;
  int fd, highest;
  pthread_mutex_t mu;
  cow_link *links; /* a hash table; a power of two larger than link_count */
  size_t link_count, link_cap;
  uint64_t fills; /* how many directories were filled, or begun */
} cow_mount;

typedef struct cow_source {
  mem_source base; /* first */
  cow_mount *mount;
  cow_seen seen;        /* mount.mu */
  _Atomic(char *) path; /* beneath the root; "": `first_path`, or a cow_path's */
  mem_freed *old_paths; /* that other threads may still read */
  char first_path[];
} cow_source;

/* A path of a source that was moved: `text`. */
typedef struct cow_path {
  mem_freed freed; /* first */
  char text[];
} cow_path;

static cow_source *cow_of(mem_source *s) { return CONTAINER_OF(s, cow_source, base); }

static int64_t cow_ns(const struct statx_timestamp *t) { return t->tv_sec * NS_PER_SEC + t->tv_nsec; }

static uint64_t seen_dev(const struct statx *st) {
  return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

static bool has_several(const struct statx *st) {
  return (st->stx_mode & K_S_IFMT) != K_S_IFDIR && st->stx_nlink > 1;
}

cow_seen cow_seen_from(const struct statx *st) {
  return (cow_seen){ .dev = seen_dev(st),
                     .ino = st->stx_ino,
                     .size = st->stx_size,
                     .mtime_ns = cow_ns(&st->stx_mtime),
                     .ctime_ns = cow_ns(&st->stx_ctime),
                     .mode = st->stx_mode,
                     .several = has_several(st) };
}

static int64_t seen_ns(const struct timespec *t) { return t->tv_sec * NS_PER_SEC + t->tv_nsec; }

static cow_seen seen_open(const struct stat *st) {
  return (cow_seen){ .dev = (uint64_t)major(st->st_dev) << 32 | minor(st->st_dev),
                     .ino = st->st_ino,
                     .size = (uint64_t)st->st_size,
                     .mtime_ns = seen_ns(&st->st_mtim),
                     .ctime_ns = seen_ns(&st->st_ctim),
                     .mode = (uint16_t)st->st_mode,
                     .several = st->st_nlink > 1 && !S_ISDIR(st->st_mode) };
}

bool cow_seen_same(const cow_seen *a, const cow_seen *b) {
  return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime_ns == b->mtime_ns &&
         (a->ctime_ns == b->ctime_ns || a->several || b->several) && a->mode == b->mode;
}

/* ---- the mount ---- */

static void mount_unref(cow_mount *m) {
  if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
  host_close(m->fd);
  pthread_mutex_destroy(&m->mu);
  mem_free(m->links);
  mem_free(m);
}

static k_ret mount_count(cow_mount *m) {
  if (atomic_fetch_add(&m->descriptors, 1) < DESCRIPTORS) return 0;
  atomic_fetch_sub(&m->descriptors, 1);
  return -K_ENFILE;
}

/* Any file or directory below, by its path. A link on the way was put there since: -K_ESTALE. */
static k_ret mount_open(cow_mount *m, const char *path, uint64_t flags) {
  K_TRY(mount_count(m));
  k_ret fd = host_open(m->fd, path[0] != '\0' ? path : ".", flags, 0, m->highest);
  if (fd >= 0) return fd;
  atomic_fetch_sub(&m->descriptors, 1);
  return fd == -K_ELOOP || fd == -K_ENOTDIR ? -K_ESTALE : fd;
}

static void mount_close(cow_mount *m, int fd) {
  host_close(fd);
  atomic_fetch_sub(&m->descriptors, 1);
}

static cow_link *link_slot(const cow_mount *m, uint64_t dev, uint64_t ino) {
  size_t at = (size_t)((ino ^ dev << 20) * 0x9e3779b97f4a7c15U >> 32) & (m->link_cap - 1);
  while (m->links[at].node != NULL && (m->links[at].dev != dev || m->links[at].ino != ino))
    at = (at + 1) & (m->link_cap - 1);
  return &m->links[at];
}

/* A table of another size, without what filling number `without` found. */
static bool links_move(cow_mount *m, size_t cap, uint64_t without) {
  size_t old_cap = m->link_cap;
  cow_link *old = m->links, *links = mem_zalloc_array(cap, sizeof *links);
  if (links == NULL) return false;
  m->links = links;
  m->link_cap = cap;
  m->link_count = 0;
  for (size_t i = 0; i < old_cap; i++) {
    if (old[i].node == NULL || old[i].fill == without) continue;
    *link_slot(m, old[i].dev, old[i].ino) = old[i];
    m->link_count++;
  }
  mem_free(old);
  return true;
}

static bool links_grow(cow_mount *m) {
  if (2 * (m->link_count + 1) <= m->link_cap) return true;
  return links_move(m, m->link_cap != 0 ? 2 * m->link_cap : 64, UINT64_MAX);
}

/* The place of a file with several names; *out NULL: it has one. */
static k_ret link_for(cow_mount *m, const struct statx *st, cow_link **out) {
  if (!has_several(st)) return 0;
  if (!links_grow(m)) return -K_ENOMEM;
  *out = link_slot(m, seen_dev(st), st->stx_ino);
  return 0;
}

static void link_set(cow_mount *m, cow_link *link, const struct statx *st, mem_node *n) {
  *link = (cow_link){ seen_dev(st), st->stx_ino, n, m->fills };
  m->link_count++;
}

/* A directory could not be filled: its nodes go. Without memory for a table all links are forgotten, which makes
 * several files of one at worst. */
static void links_undo(cow_mount *m) {
  if (m->link_count == 0 || links_move(m, m->link_cap, m->fills)) return;
  mem_free(m->links);
  m->links = NULL;
  m->link_count = m->link_cap = 0;
}

/* ---- sources ---- */

static char *source_path(const cow_source *s) { return atomic_load_explicit(&s->path, memory_order_acquire); }

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
  mount_unref(s->mount);
  mem_freed_free(s->old_paths);
  if (source_path(s) != s->first_path) mem_free(path_freed(source_path(s)));
  mem_free(s);
}

k_ret cow_move_prepare(const mem_node *n, const char *path, char **out) {
  *out = NULL;
  if (n->source == NULL || strcmp(source_path(cow_of(n->source)), path) == 0) return 0;
  *out = path_new(path);
  return *out != NULL ? 0 : -K_ENOMEM;
}

void cow_moved(const mem_node *n, char *text, const cow_seen *seen) {
  if (n->source == NULL) return;
  cow_source *s = cow_of(n->source);
  pthread_mutex_lock(&s->mount->mu);
  if (seen != NULL) s->seen = *seen;
  if (text != NULL) {
    if (source_path(s) != s->first_path) {
      mem_freed *old = path_freed(source_path(s));
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

static void node_show(mem_node *n, const struct statx *st) {
  uint32_t type = st->stx_mode & K_S_IFMT;
  n->mode = type | (st->stx_mode & 01777);
  n->ino = st->stx_ino;
  if (has_several(st)) n->nlink = st->stx_nlink;
  n->rdev = (uint64_t)st->stx_rdev_major << 32 | st->stx_rdev_minor;
  n->atime_ns = cow_ns(&st->stx_atime);
  n->mtime_ns = cow_ns(&st->stx_mtime);
  n->ctime_ns = cow_ns(&st->stx_ctime);
  n->btime_ns = cow_ns(st->stx_mask & STATX_BTIME ? &st->stx_btime : &st->stx_ctime);
  if (type == K_S_IFREG) n->contents = (mem_contents){ .size = st->stx_size, .held = st->stx_blocks * 512 };
}

static mem_node *node_like(const struct statx *st) {
  mem_node *n = mem_node_new(st->stx_mode & K_S_IFMT, K_UID, K_GID, st->stx_ino);
  if (n != NULL) node_show(n, st);
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
  n->source = source_new(dir->mount, source_path(dir), name, &seen);
  if (n->source == NULL) return -K_ENOMEM;
  return (n->mode & K_S_IFMT) == K_S_IFLNK ? node_read_link(n, fd, name) : 0;
}

/* A reference: the node of a file with several names is found again. */
K_UNCHECKED static k_ret node_of(cow_source *dir, int fd, const char *name, const struct statx *st,
                                 mem_node **out) {
  cow_mount *m = dir->mount;
  cow_link *link = NULL;
  K_TRY(link_for(m, st, &link));
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
  if (link != NULL) link_set(m, link, st, n);
  *out = n;
  return 0;
}

/* A file of which the listing is all that is known so far. */
K_UNCHECKED static k_ret node_unseen(cow_source *dir, const struct dirent64 *d, mem_node **out) {
  mem_node *n = mem_node_new(K_S_IFREG, K_UID, K_GID, d->d_ino);
  if (n == NULL) return -K_ENOMEM;
  n->source = source_new(dir->mount, source_path(dir), d->d_name, &(cow_seen){ 0 });
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
         strlen(source_path(f->source)) + 3 * len + 16;
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
  links_undo(f->source->mount);
  mem_node_empty(f->dir);
}

static k_ret fill_held(cow_source *s, mem_node *node, uint64_t most) {
  k_ret fd = mount_open(s->mount, source_path(s), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return fd;
  s->mount->fills++;
  filling f = { .source = s, .dir = node, .fd = (int)fd, .most = most };
  k_ret r = fill_names(&f);
  mount_close(s->mount, (int)fd);
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

/* ---- the first look at a file ---- */

/* mount.mu. Without `st` it is gone, or something else has its name: it was there, and cannot be opened. */
static k_ret see_held(cow_source *s, mem_node *n, const struct statx *st) {
  cow_link *link = NULL;
  if (!mem_node_is_unseen(n)) return 0;
  if (st != NULL) K_TRY(link_for(s->mount, st, &link));
  if (link != NULL && link->node != NULL)
    n->same = mem_node_ref(link->node);
  else if (link != NULL)
    link_set(s->mount, link, st, n);
  if (st != NULL) {
    s->seen = cow_seen_from(st);
    node_show(n, st);
  } else {
    n->mode = K_S_IFREG | 0444;
  }
  atomic_store_explicit(&n->unseen, false, memory_order_release);
  return 0;
}

/* What an attempt to ask for its attributes has given. */
static k_ret see_as(cow_source *s, mem_node *n, k_ret asked, const struct statx *st) {
  bool gone = asked == -K_ENOENT || asked == -K_ESTALE;
  if (asked < 0 && !gone) return asked;
  return see_held(s, n, !gone && (st->stx_mode & K_S_IFMT) == K_S_IFREG ? st : NULL);
}

static k_ret source_see(mem_source *source, mem_node *n) {
  cow_source *s = cow_of(source);
  struct statx st;
  k_ret fd = mount_open(s->mount, source_path(s), O_PATH);
  k_ret r = fd < 0 ? fd : host_stat((int)fd, &st);
  if (fd >= 0) mount_close(s->mount, (int)fd);
  pthread_mutex_lock(&s->mount->mu);
  r = see_as(s, n, r, &st);
  pthread_mutex_unlock(&s->mount->mu);
  return r;
}

static k_ret see_children(const mem_node *dir, k_ret fd) {
  for (size_t i = 0; i < dir->count; i++) {
    const mem_child *c = &dir->children[i];
    struct statx st;
    if (!mem_node_is_unseen(c->node)) continue;
    k_ret r = fd < 0 ? fd : host_stat_at((int)fd, c->name, &st);
    K_TRY(see_as(cow_of(c->node->source), c->node, r, &st));
  }
  return 0;
}

static k_ret source_see_below(mem_source *source, mem_node *dir) {
  cow_source *s = cow_of(source);
  k_ret fd = mount_open(s->mount, source_path(s), O_PATH | O_DIRECTORY);
  pthread_mutex_lock(&s->mount->mu);
  k_ret r = see_children(dir, fd);
  pthread_mutex_unlock(&s->mount->mu);
  if (fd >= 0) mount_close(s->mount, (int)fd);
  return r;
}

static k_ret source_see_open(mem_source *source, mem_node *n, mem_source_state *now) {
  cow_source *s = cow_of(source);
  struct statx st = { 0 };
  k_ret fd = mount_open(s->mount, source_path(s), O_RDONLY);
  if (fd < 0) return fd;
  k_ret r = host_stat((int)fd, &st);
  if (r >= 0 && (st.stx_mode & K_S_IFMT) != K_S_IFREG) r = -K_ESTALE;
  cow_seen seen = cow_seen_from(&st);
  pthread_mutex_lock(&s->mount->mu);
  if (r >= 0) r = see_held(s, n, &st);
  *now = (mem_source_state){ .size = st.stx_size,
                             .held = st.stx_blocks * 512,
                             .mtime_ns = seen.mtime_ns,
                             .ctime_ns = seen.ctime_ns,
                             .changed = !cow_seen_same(&seen, &s->seen) };
  pthread_mutex_unlock(&s->mount->mu);
  if (r >= 0) return fd;
  mount_close(s->mount, (int)fd);
  return r;
}

/* ---- files ---- */

static k_ret source_look(cow_source *s, int fd, bool look, mem_source_state *now) {
  struct stat st;
  K_TRY(host_stat_open(fd, &st));
  if ((st.st_mode & K_S_IFMT) != K_S_IFREG) return -K_ESTALE;
  cow_seen seen = seen_open(&st);
  pthread_mutex_lock(&s->mount->mu);
  *now = (mem_source_state){ .size = (uint64_t)st.st_size,
                             .held = (uint64_t)st.st_blocks * 512,
                             .mtime_ns = seen.mtime_ns,
                             .ctime_ns = seen.ctime_ns,
                             .changed = !cow_seen_same(&seen, &s->seen) };
  if (look) s->seen = seen;
  pthread_mutex_unlock(&s->mount->mu);
  return 0;
}

static k_ret source_open(mem_source *source, bool look, mem_source_state *now) {
  cow_source *s = cow_of(source);
  k_ret fd = mount_open(s->mount, source_path(s), O_RDONLY);
  if (fd < 0) return fd;
  k_ret r = source_look(s, (int)fd, look, now);
  if (r >= 0) return fd;
  mount_close(s->mount, (int)fd);
  return r;
}

static void source_close(mem_source *source, int fd) { mount_close(cow_of(source)->mount, fd); }

static const mem_source_ops cow_source_ops = {
  .fill = source_fill,
  .see = source_see,
  .see_below = source_see_below,
  .see_open = source_see_open,
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
  *path = source_path(s);
  return true;
}

int cow_root_fd(const mem_tree *tree) { return cow_of(tree->root->source)->mount->fd; }

/* ---- the tree ---- */

/* The last quarter of the descriptors that the process may have is not for guests. */
static int highest_descriptor(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX) return INT32_MAX;
  return (int)(limit.rlim_cur - limit.rlim_cur / 4) - 1;
}

static k_ret mount_new(int dirfd, cow_mount **out, struct statx *st) {
  cow_mount *m = mem_zalloc(sizeof *m);
  if (m == NULL) return -K_ENOMEM;
  atomic_init(&m->refs, 1);
  m->highest = highest_descriptor();
  pthread_mutex_init(&m->mu, NULL);
  k_ret fd = host_open(dirfd, ".", O_PATH | O_DIRECTORY, 0, m->highest);
  m->fd = fd >= 0 ? (int)fd : -1;
  k_ret r = fd < 0 ? fd : host_stat(m->fd, st);
  if (r < 0)
    mount_unref(m);
  else
    *out = m;
  return r;
}

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
  K_TRY(mount_new(dirfd, &m, &st));
  k_ret r = tree_over(m, &st, out);
  mount_unref(m);
  return r;
}
