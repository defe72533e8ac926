/* contents.h - the bytes of a file in memory.
 *
 * Bytes written to this file are in blocks of its own. Where it has none, the contents that it was made over show
 * through (a file of a frozen tree); those are blocks too, over bytes that belong to somebody else (a mapped
 * program). Beyond all of them there are zeros, so a hole costs nothing.
 *
 * Quota       own blocks, and the map that finds them, are charged to kernel.used.disk as allocated, in
 * `charged`; what shows through is not.
 *
 * Locks       kernel.mu for those of live files; frozen ones never change. */
#pragma once

#include "kernel/core/kernel.h"
#include "kernel/fs/mem/block_map.h"

/* Bytes that come when they are first looked at: a file that is mapped then. */
typedef struct mem_later mem_later;
struct mem_later {
  _Atomic(const uint8_t *) data; /* NULL: not yet */
  /* Sets `data`, from any thread and with kernel.mu, in microseconds. NULL: they cannot be had. */
  const uint8_t *(*fetch)(mem_later *later);
};

typedef struct mem_contents mem_contents;
struct mem_contents {
  uint64_t size;
  mem_map own;
  uint64_t charged;
  uint64_t held;            /* bytes that are there, own or showing through: for st_blocks */
  const mem_contents *base; /* a frozen file's; alive as long as the tree. Only live files have one */
  uint64_t base_len;        /* how much of it shows */
  const uint8_t *floor;     /* only frozen files have one, */
  mem_later *later;         /* or this in its place */
  uint64_t floor_len;
};

/* Bytes read, 0 at the end. */
size_t mem_contents_read(const mem_contents *c, void *buf, size_t len, uint64_t pos);

/* Bytes written, fewer when the quota or memory ends in between; -K_ENOSPC, -K_ENOMEM, -K_EFBIG when not one
 * could be. */
k_ret mem_contents_write(mem_contents *c, k_kernel *k, const void *buf, size_t len,
                         uint64_t pos) CHECKED K_LOCKED;

/* Shorter frees blocks, longer is a hole. -K_ENOMEM (the block at the new end is shared and cannot be
 * copied), -K_EFBIG. May release and retake kernel.mu: the caller keeps other writers away. */
k_ret mem_contents_resize(mem_contents *c, k_kernel *k, uint64_t size) CHECKED;

/* Where the next data or hole begins at or after `pos` (lseek(2)); -K_ENXIO: beyond the end, or no more data. */
k_ret mem_contents_seek(const mem_contents *c, uint64_t pos, bool hole) CHECKED;

/* Borrowed bytes, in a frozen file. */
mem_contents mem_contents_of(const void *data, size_t len);

/* The same for bytes that come later. `later` lives as long as the tree. */
mem_contents mem_contents_of_later(mem_later *later, size_t len);

/* Asks for bytes that come later: -K_EIO. Without this they are zeros if they cannot be had. */
k_ret mem_contents_ready(const mem_contents *c) CHECKED;

/* A live file's that begin as those of a frozen one. */
mem_contents mem_contents_over(const mem_contents *base);

/* Those of a live file, made over those of a snapshot: all blocks become its own, shared until they are
 * written. `charged` is theirs already. -K_ENOMEM. */
k_ret mem_contents_own_all(mem_contents *c) CHECKED;

/* Of frozen files. Blocks that both share are not looked at, nor are holes. */
bool mem_contents_equal(const mem_contents *a, const mem_contents *b);

/* Bytes of its own blocks, and of the map that finds them. */
uint64_t mem_contents_size(const mem_contents *c);

/* A frozen file's as those of a live one are now, sharing its blocks. The floor, if any, is the base's: keep
 * that alive. -K_ENOMEM. */
k_ret mem_contents_freeze(const mem_contents *live, mem_contents *out) CHECKED K_LOCKED;

/* Makes [from, to) a hole, within the size. -K_ENOSPC, -K_ENOMEM. As mem_contents_resize. */
k_ret mem_contents_punch(mem_contents *c, k_kernel *k, uint64_t from, uint64_t to) CHECKED;

/* Frees some blocks: true when that were the last ones, and then the rest as mem_contents_free. */
bool mem_contents_free_some(mem_contents *c, k_kernel *k) K_LOCKED;
void mem_contents_free(mem_contents *c, k_kernel *k) K_LOCKED; /* k NULL: a frozen file's */
