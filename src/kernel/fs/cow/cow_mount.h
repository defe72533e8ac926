/* cow_mount.h - what the sources of one copy-on-write mount share (cow.h): the directory, its mutex, files of several
 * names. Private to this folder. */
#pragma once

#include "kernel/fs/cow/cow.h"

#include <pthread.h>
#include <stdatomic.h>

struct stat;
struct statx_timestamp;

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

/* One reference. `st` becomes the directory's attributes. -K_ENOMEM, and what opening gives. */
k_ret cow_mount_new(int dirfd, cow_mount **out, struct statx *st) CHECKED;
void cow_mount_unref(cow_mount *m);

/* A descriptor for any file or directory below, by its path. -K_ESTALE: a link on the way was put there since; -K_ENFILE:
 * the mount holds too many. */
k_ret cow_mount_open(cow_mount *m, const char *path, uint64_t flags) CHECKED;
void cow_mount_close(cow_mount *m, int fd);

/* All of them with mount.mu. The place of a file with several names; *out stays as it is when it has one. -K_ENOMEM. */
k_ret cow_link_for(cow_mount *m, const struct statx *st, cow_link **out) CHECKED;
void cow_link_set(cow_mount *m, cow_link *link, const struct statx *st, mem_node *n);
/* A directory could not be filled: its nodes go. Without memory for a table all links are forgotten, which makes
 * several files of one at worst. */
void cow_links_undo(cow_mount *m);

int64_t cow_ns(const struct statx_timestamp *t);
bool cow_has_several(const struct statx *st);
cow_seen cow_seen_open(const struct stat *st); /* as cow_seen_from, of a descriptor that may be read */
