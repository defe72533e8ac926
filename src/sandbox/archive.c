/* archive.c - directories of guests, filled from a mapped tar archive at the first look (archive.h). */
#include "sandbox/archive.h"

#include "base/alloc.h"
#include "kernel/fs/mem/mem_source.h"
#include "sandbox/status.h"
#include "sandbox/tar.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { BLOCK = 512, FURTHER = 64 /* directories that are named in paths alone */ };

typedef struct archive_source {
  mem_source base; /* first */
  const sb_archives *archives;
  const cay_engine *engine;
  const char *root; /* of the directory: that of the archive, and of those in folders below */
  uint64_t first_ino, inos;
  pthread_mutex_t mu;
} archive_source;

/* ---- one archive ---- */

static k_ret add_member(mem_builder *b, const char *path, const sb_tar_entry *member) {
  switch (member->type) {
  case '5': return mem_builder_dir(b, path, member->mode, 0, 0);
  case '2': return mem_builder_symlink(b, path, member->target);
  default:
    return mem_builder_file(b, path, member->mode, 0, 0, member->data.data, member->data.len, NULL, NULL,
                            NULL);
  }
}

/* All of it below the directory `root` of the builder: "" for its own. */
static cay_status add_members(mem_builder *b, const char *root, const sb_mapped *file, cay_error *err) {
  const cay_slice archive = { file->data, file->len };
  sb_tar_entry member;
  cay_status status;
  char path[K_PATH_MAX];
  size_t root_len = strlen(root);
  if (root_len + 1 >= sizeof path) return err_set(err, CAY_CORRUPT, "archive: a name is too long");
  memcpy(path, root, root_len);
  path[root_len] = '/';
  for (size_t at = 0; (status = sb_tar_next(archive, &at, &member, err)) == CAY_OK;) {
    size_t len = strlen(member.name);
    if (root_len + 1 + len >= sizeof path) return err_set(err, CAY_CORRUPT, "archive: a name is too long");
    memcpy(path + root_len + 1, member.name, len + 1);
    S_TRY(sb_status(err, add_member(b, path, &member), path));
  }
  return status == CAY_NOT_FOUND ? CAY_OK : status;
}

/* ---- those of one folder ---- */

/* Where it is below `root`: "" for that itself; NULL: elsewhere. */
static const char *path_below(const char *root, const char *path) {
  size_t len = strlen(root);
  bool below = strncmp(root, path, len) == 0 && (path[len] == '\0' || path[len] == '/');
  return below ? path + len : NULL;
}

/* `skip` characters of the paths are above the builder's root. */
static cay_status add_below(const sb_archives *a, const char *root, size_t skip, mem_builder *b,
                            cay_error *err) {
  for (size_t i = 0; i < a->count; i++)
    if (path_below(root, a->list[i].path) != NULL)
      S_TRY(add_members(b, a->list[i].path + skip, &a->list[i].file, err));
  return CAY_OK;
}

/* No other stands above it, nor before it at the same place. */
static bool is_outermost(const sb_archives *a, size_t which) {
  for (size_t i = 0; i < a->count; i++) {
    const char *below = path_below(a->list[i].path, a->list[which].path);
    if (below != NULL && (below[0] != '\0' || i < which)) return false;
  }
  return true;
}

static uint64_t files_at_most(const sb_archives *a, const char *root) {
  uint64_t count = FURTHER;
  for (size_t i = 0; i < a->count; i++)
    if (path_below(root, a->list[i].path) != NULL) count += a->list[i].file.len / BLOCK;
  return count;
}

/* ---- the source ---- */

static k_ret archive_k_ret(cay_status status) { return status == CAY_NO_MEMORY ? -K_ENOMEM : -K_EIO; }

K_UNCHECKED static k_ret archive_fill_held(archive_source *s, mem_node *node) {
  mem_builder *b = NULL;
  cay_error err;
  K_TRY(mem_builder_below(node, s->first_ino, s->inos, &b));
  cay_status status = add_below(s->archives, s->root, strlen(s->root), b, &err);
  mem_builder_free(b);
  if (status != CAY_OK) {
    mem_node_empty(node);
    sb_log(s->engine, CAY_LOG_ERROR, "guests", "%s: %s", s->root, err.message);
    return archive_k_ret(status);
  }
  atomic_store_explicit(&s->base.filled, true, memory_order_release);
  return 1;
}

static k_ret archive_fill(mem_source *source, mem_node *node, uint64_t most) {
  (void)most; /* all sandboxes share it: none is charged */
  archive_source *s = CONTAINER_OF(source, archive_source, base);
  pthread_mutex_lock(&s->mu);
  k_ret r = atomic_load(&source->filled) ? 0 : archive_fill_held(s, node);
  pthread_mutex_unlock(&s->mu);
  return r;
}

static void archive_source_free(mem_source *source) {
  archive_source *s = CONTAINER_OF(source, archive_source, base);
  pthread_mutex_destroy(&s->mu);
  mem_free(s);
}

static const mem_source_ops archive_ops = { .fill = archive_fill,
                                            .free = archive_source_free,
                                            .in_memory = true };

static k_ret add_later(const sb_archives *a, const cay_engine *engine, const char *root, mem_builder *b) {
  archive_source *s = mem_zalloc(sizeof *s);
  if (s == NULL) return -K_ENOMEM;
  atomic_init(&s->base.refs, 1);
  s->base.ops = &archive_ops;
  s->archives = a;
  s->engine = engine;
  s->root = root;
  s->inos = files_at_most(a, root);
  pthread_mutex_init(&s->mu, NULL);
  k_ret r = mem_builder_later(b, root, &s->base, s->inos, &s->first_ino);
  if (r < 0) mem_source_unref(&s->base);
  return r;
}

cay_status sb_archives_add(const sb_archives *a, const cay_engine *engine, mem_builder *b, cay_error *err) {
  for (size_t i = 0; i < a->count; i++) {
    if (!is_outermost(a, i)) continue;
    const char *root = a->list[i].path;
    k_ret r = add_later(a, engine, root, b);
    if (r == -K_EEXIST)
      S_TRY(add_below(a, root, 0, b, err));
    else
      S_TRY(sb_status(err, r, root));
  }
  return CAY_OK;
}

void sb_archives_free(sb_archives *a) {
  for (size_t i = 0; i < a->count; i++) sb_unmap(&a->list[i].file);
  mem_free(a->list);
}
