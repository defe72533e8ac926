/* cow_mount.c - the directory of a copy-on-write mount: its descriptors, what files were when they were looked at, files
 * of several names (cow_mount.h). */
#include "kernel/fs/cow/cow_mount.h"

#include "base/alloc.h"
#include "kernel/fs/host/host_call.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { DESCRIPTORS = 1024 };

/* ---- what a file was ---- */

int64_t cow_ns(const struct statx_timestamp *t) { return t->tv_sec * NS_PER_SEC + t->tv_nsec; }

static uint64_t seen_dev(const struct statx *st) {
  return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

bool cow_has_several(const struct statx *st) {
  return (st->stx_mode & K_S_IFMT) != K_S_IFDIR && st->stx_nlink > 1;
}

cow_seen cow_seen_from(const struct statx *st) {
  return (cow_seen){ .dev = seen_dev(st),
                     .ino = st->stx_ino,
                     .size = st->stx_size,
                     .mtime_ns = cow_ns(&st->stx_mtime),
                     .ctime_ns = cow_ns(&st->stx_ctime),
                     .mode = st->stx_mode,
                     .several = cow_has_several(st) };
}

static int64_t seen_ns(const struct timespec *t) { return t->tv_sec * NS_PER_SEC + t->tv_nsec; }

cow_seen cow_seen_open(const struct stat *st) {
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

void cow_mount_unref(cow_mount *m) {
  if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
  host_close(m->fd);
  pthread_mutex_destroy(&m->mu);
  mem_free(m->links);
  mem_free(m);
}

/* The last quarter of the descriptors that the process may have is not for guests. */
static int highest_descriptor(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX) return INT32_MAX;
  return (int)(limit.rlim_cur - limit.rlim_cur / 4) - 1;
}

k_ret cow_mount_new(int dirfd, cow_mount **out, struct statx *st) {
  cow_mount *m = mem_zalloc(sizeof *m);
  if (m == NULL) return -K_ENOMEM;
  atomic_init(&m->refs, 1);
  m->highest = highest_descriptor();
  pthread_mutex_init(&m->mu, NULL);
  k_ret fd = host_open(dirfd, ".", O_PATH | O_DIRECTORY, 0, m->highest);
  m->fd = fd >= 0 ? (int)fd : -1;
  k_ret r = fd < 0 ? fd : host_stat(m->fd, st);
  if (r < 0)
    cow_mount_unref(m);
  else
    *out = m;
  return r;
}

static k_ret mount_count(cow_mount *m) {
  if (atomic_fetch_add(&m->descriptors, 1) < DESCRIPTORS) return 0;
  atomic_fetch_sub(&m->descriptors, 1);
  return -K_ENFILE;
}

k_ret cow_mount_open(cow_mount *m, const char *path, uint64_t flags) {
  K_TRY(mount_count(m));
  k_ret fd = host_open(m->fd, path[0] != '\0' ? path : ".", flags, 0, m->highest);
  if (fd >= 0) return fd;
  atomic_fetch_sub(&m->descriptors, 1);
  return fd == -K_ELOOP || fd == -K_ENOTDIR ? -K_ESTALE : fd;
}

void cow_mount_close(cow_mount *m, int fd) {
  host_close(fd);
  atomic_fetch_sub(&m->descriptors, 1);
}

/* ---- files with several names ---- */

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

k_ret cow_link_for(cow_mount *m, const struct statx *st, cow_link **out) {
  if (!cow_has_several(st)) return 0;
  if (!links_grow(m)) return -K_ENOMEM;
  *out = link_slot(m, seen_dev(st), st->stx_ino);
  return 0;
}

void cow_link_set(cow_mount *m, cow_link *link, const struct statx *st, mem_node *n) {
  *link = (cow_link){ seen_dev(st), st->stx_ino, n, m->fills };
  m->link_count++;
}

void cow_links_undo(cow_mount *m) {
  if (m->link_count == 0 || links_move(m, m->link_cap, m->fills)) return;
  mem_free(m->links);
  m->links = NULL;
  m->link_count = m->link_cap = 0;
}
