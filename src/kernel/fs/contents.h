/* contents.h - the bytes of a file in memory: blocks that several files may share until one writes.
 *
 * A file is a table of blocks over a floor of bytes that it does not own (a mapped file). Where the table has
 * a hole the floor shows through, and beyond the floor there are zeros. Blocks grow to what is needed, so a
 * small file is small.
 *
 * Quota       what a file adds is charged to kernel.used.disk, in whole blocks as allocated; what it shares
 * with the tree it came from is not. Invariant   a block with more than one reference is never written. */
#pragma once

#include "kernel/kernel.h"

enum { MEM_BLOCK = 65536 };

typedef struct mem_block mem_block;

typedef struct mem_slot {
  mem_block *block; /* NULL: a hole */
  bool charged;     /* to this file's kernel */
} mem_slot;

typedef struct mem_contents {
  mem_slot *slots;
  size_t count;
  uint64_t size;
  const uint8_t *floor; /* borrowed: lives as long as the frozen tree */
  uint64_t floor_len;
} mem_contents;

/* Bytes read, 0 at the end. */
size_t mem_contents_read(const mem_contents *c, void *buf, size_t len, uint64_t pos);

/* Bytes written, fewer when the quota or memory ends in between; -K_ENOSPC, -K_ENOMEM, -K_EFBIG when not one
 * could be. */
k_ret mem_contents_write(mem_contents *c, k_kernel *k, const void *buf, size_t len, uint64_t pos) CHECKED;

/* Shorter frees blocks, longer is a hole. -K_ENOSPC, -K_ENOMEM (the block at the new end may have to be
 * copied), -K_EFBIG. */
k_ret mem_contents_resize(mem_contents *c, k_kernel *k, uint64_t size) CHECKED;

/* Where the next data or hole begins at or after `pos` < size (lseek(2)); -K_ENXIO: no more data. */
k_ret mem_contents_seek(const mem_contents *c, uint64_t pos, bool hole) CHECKED;

uint64_t mem_contents_held(const mem_contents *c); /* bytes in blocks and floor, for st_blocks */

/* `to` shows the same bytes, charged to nobody. -K_ENOMEM. */
k_ret mem_contents_share(mem_contents *to, const mem_contents *from) CHECKED;

/* `k` NULL: nothing was charged. */
void mem_contents_free(mem_contents *c, k_kernel *k);
