/* pool.c - spare instances, the last returned first, looked up by image (pool.h). */
#include "engine/pool.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"
#include "engine/stop.h"

enum { MOST = 64 };

struct eng_pool {
  pthread_mutex_t mu;
  eng_instance *spare[MOST]; /* the last one given is taken first: its pages are still in the cache */
  size_t count, most;
};

cay_status eng_pool_new(size_t most, eng_pool **out, cay_error *err) {
  eng_pool *pool = mem_zalloc(sizeof *pool);
  if (pool == NULL) return err_no_memory(err);
  pthread_mutex_init(&pool->mu, NULL);
  pool->most = most < MOST ? most : MOST;
  *out = pool;
  return CAY_OK;
}

void eng_pool_free(eng_pool *pool) {
  if (pool == NULL) return;
  for (size_t i = 0; i < pool->count; i++) eng_instance_free(pool->spare[i]);
  pthread_mutex_destroy(&pool->mu);
  mem_free(pool);
}

static eng_instance *pool_find(eng_pool *pool, const eng_image *image) {
  for (size_t n = pool->count; n-- > 0;) {
    eng_instance *found = pool->spare[n];
    if (found->origin != image) continue;
    pool->count--;
    for (size_t later = n; later < pool->count; later++) pool->spare[later] = pool->spare[later + 1];
    return found;
  }
  return NULL;
}

eng_instance *eng_pool_take(eng_pool *pool, const eng_image *image, const eng_instance_options *options) {
  if (pool == NULL || (options->memory_max != 0 && options->memory_max < eng_image_memory_len(image)))
    return NULL;
  pthread_mutex_lock(&pool->mu);
  eng_instance *found = pool_find(pool, image);
  pthread_mutex_unlock(&pool->mu);
  if (found != NULL) eng_instance_renew(found, options);
  return found;
}

/* One whose memory has grown would begin with more than its image. */
static bool can_be_kept(const eng_pool *pool, eng_instance *i) {
  return pool != NULL && pool->most > 0 && i->origin != NULL && eng_memory_is_alone(i) &&
         eng_memory_len(i) == eng_image_memory_len(i->origin) &&
         eng_module_why_not_imageable(i->module) == NULL;
}

void eng_pool_give(eng_pool *pool, eng_instance *i) {
  if (i == NULL) return;
  bool kept = can_be_kept(pool, i) && eng_instance_reset(i, NULL) == CAY_OK;
  if (kept) {
    eng_kick_clear(i);
    pthread_mutex_lock(&pool->mu);
    kept = pool->count < pool->most;
    if (kept) pool->spare[pool->count++] = i;
    pthread_mutex_unlock(&pool->mu);
  }
  if (!kept) eng_instance_free(i);
}
