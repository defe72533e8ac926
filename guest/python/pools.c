/* The pages on which the interpreter's small objects lie (Objects/obmalloc.c): pools of one size each, in
 * arenas.
 *
 * An interpreter that has started leaves every pool with gaps. A copy of it would put its objects there, each
 * on a page of its own, between objects that it shares with all other copies. So the gaps are closed, and
 * what a copy makes lies side by side. */
#include "settle.h"

#include <string.h>

#include "driver.h"

#include "internal/pycore_interp.h"
#include "internal/pycore_pystate.h"

static void clear_blocks(poolp pool) {
  size_t size = INDEX2SIZE(pool->szidx);
  for (pymem_block *block = pool->freeblock, *next; block; block = next) {
    memcpy(&next, block, sizeof next);
    memset(block, 0, size);
  }
}

/* Nothing is free in it, as far as the allocator knows. It comes back into use when something in it is freed.
 */
static void close_pool(poolp pool) {
  clear_blocks(pool);
  if (pool->nextoffset <= pool->maxnextoffset)
    memset((char *)pool + pool->nextoffset, 0, POOL_SIZE - pool->nextoffset);
  pool->freeblock = NULL;
  pool->nextoffset = POOL_SIZE;
}

/* The list of the pools that are neither full nor empty is a ring. It begins and ends with a pool of which
 * only the links exist. */
static void close_pools(poolp *links) {
  poolp end = (poolp)((char *)links - offsetof(struct pool_header, nextpool));
  for (poolp pool = end->nextpool; pool != end; pool = pool->nextpool) close_pool(pool);
  end->nextpool = end->prevpool = end;
}

/* Pools that were used once are as new, and are taken in the order of their addresses. */
static void order_free_pools(struct arena_object *arena) {
  poolp sorted = NULL;
  for (poolp pool = arena->freepools, next; pool; pool = next) {
    uint arena_index = pool->arenaindex;
    poolp *place = &sorted;
    next = pool->nextpool;
    memset(pool, 0, POOL_SIZE);
    pool->arenaindex = arena_index;
    pool->szidx = DUMMY_SIZE_IDX;
    while (*place && *place < pool) place = &(*place)->nextpool;
    pool->nextpool = *place;
    *place = pool;
  }
  arena->freepools = sorted;
}

void settle_pools(void) {
  struct _obmalloc_state *state = _PyInterpreterState_GET()->obmalloc;
  for (size_t size = 0; size < OBMALLOC_USED_POOLS_SIZE / 2; size++)
    close_pools(&state->pools.used[2 * size]);
  for (struct arena_object *arena = state->mgmt.usable_arenas; arena; arena = arena->nextarena)
    order_free_pools(arena);
}
