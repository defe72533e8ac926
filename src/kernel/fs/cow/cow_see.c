/* cow_see.c - the first look at a file of which the listing of its directory is all that was known (cow_source.h). */
#include "kernel/fs/cow/cow_source.h"
#include "kernel/fs/host/host_call.h"

#include <fcntl.h>
#include <sys/stat.h>

/* mount.mu. Without `st` it is gone, or something else has its name: it was there, and cannot be opened. */
static k_ret see_held(cow_source *s, mem_node *n, const struct statx *st) {
  cow_link *link = NULL;
  if (!mem_node_is_unseen(n)) return 0;
  if (st != NULL) K_TRY(cow_link_for(s->mount, st, &link));
  if (link != NULL && link->node != NULL)
    n->same = mem_node_ref(link->node);
  else if (link != NULL)
    cow_link_set(s->mount, link, st, n);
  if (st != NULL) {
    s->seen = cow_seen_from(st);
    cow_node_show(n, st);
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

k_ret cow_see(mem_source *source, mem_node *n) {
  cow_source *s = cow_of(source);
  struct statx st;
  k_ret fd = cow_mount_open(s->mount, cow_source_path(s), O_PATH);
  k_ret r = fd < 0 ? fd : host_stat((int)fd, &st);
  if (fd >= 0) cow_mount_close(s->mount, (int)fd);
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

k_ret cow_see_below(mem_source *source, mem_node *dir) {
  cow_source *s = cow_of(source);
  k_ret fd = cow_mount_open(s->mount, cow_source_path(s), O_PATH | O_DIRECTORY);
  pthread_mutex_lock(&s->mount->mu);
  k_ret r = see_children(dir, fd);
  pthread_mutex_unlock(&s->mount->mu);
  if (fd >= 0) cow_mount_close(s->mount, (int)fd);
  return r;
}

k_ret cow_see_open(mem_source *source, mem_node *n, mem_source_state *now) {
  cow_source *s = cow_of(source);
  struct statx st = { 0 };
  k_ret fd = cow_mount_open(s->mount, cow_source_path(s), O_RDONLY);
  if (fd < 0) return fd;
  k_ret r = host_stat((int)fd, &st);
  if (r >= 0 && (st.stx_mode & K_S_IFMT) != K_S_IFREG) r = -K_ESTALE;
  cow_seen seen = cow_seen_from(&st);
  pthread_mutex_lock(&s->mount->mu);
  if (r >= 0) r = see_held(s, n, &st);
  *now = cow_state(s, &seen, st.stx_blocks);
  pthread_mutex_unlock(&s->mount->mu);
  if (r >= 0) return fd;
  cow_mount_close(s->mount, (int)fd);
  return r;
}
