/* apply.c - the changes of a copy-on-write mount made on the host (cay_mount_apply).
 *
 * All is compared first. Then, in this order:
 *   1. directories and files that are new or changed, parents first;
 *   2. removed files, and files whose type changed, entries before their directory;
 *   3. files in the place of something of another type, with all below them;
 *   4. the modes of directories, entries first.
 * So a file that was moved is written before its old name goes: its bytes are still under that one. For those of step 3
 * the bytes are copied into the sandbox's memory before. */
#include "sandbox/cow/cow.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/fs/mem/mem_source.h"
#include "sandbox/sandbox.h"
#include "sandbox/status.h"

#include <string.h>

enum how { SKIP, DONE, PLAIN, REPLACED /* of another type, or below one that is */ };

typedef struct applying {
  sb_cow_changes changes;
  enum how *how;     /* of each change */
  mem_node **copies; /* of files whose bytes must be read before anything is done; or NULL */
  sb_links links;
  size_t applied;
  cay_error *err;
} applying;

/* ---- before anything is done ---- */

static cay_status refuse(const sb_cow_change *c, cay_error *err) {
  return err_set(err, CAY_EXISTS,
                 "%s was changed on the host since the sandbox looked at it; nothing was applied",
                 TEXT_NAME(c->path));
}

static bool is_special(const mem_node *n) {
  return n != NULL && !sb_node_is(n, K_S_IFREG) && !sb_node_is(n, K_S_IFDIR) && !sb_node_is(n, K_S_IFLNK);
}

static bool is_retyped(const sb_cow_change *c) {
  return c->kind == CAY_CHANGED && (c->before->mode & K_S_IFMT) != (c->after->mode & K_S_IFMT);
}

static bool is_below(const char *path, const char *dir) {
  size_t len = strlen(dir);
  return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* A repeated call finds what the one before has done. */
static bool is_done(const applying *a, const sb_cow_change *c) {
  cow_seen now;
  if (c->after == NULL) return sb_host_look(a->changes.root_fd, c->path, &now) == -K_ENOENT;
  return sb_host_is(a->changes.root_fd, c->path, c->after);
}

/* A directory that a call before has made, or the host: it is added to. */
static bool is_merged(const applying *a, const sb_cow_change *c) {
  cow_seen now;
  return c->before == NULL && sb_node_is(c->after, K_S_IFDIR) &&
         sb_host_look(a->changes.root_fd, c->path, &now) >= 0 && (now.mode & K_S_IFMT) == K_S_IFDIR;
}

static cay_status check_one(const applying *a, size_t i, const char *retyped) {
  const sb_cow_change *c = &a->changes.items[i];
  if (is_special(c->after))
    return err_set(a->err, CAY_UNSUPPORTED, "%s is a FIFO or a socket: it cannot be applied",
                   TEXT_NAME(c->path));
  if (c->host_changed && !is_done(a, c) && !is_merged(a, c) && !(retyped != NULL && c->before == NULL))
    return refuse(c, a->err);
  a->how[i] = c->host_changed && is_done(a, c)      ? DONE
              : retyped != NULL && c->after != NULL ? REPLACED
                                                    : PLAIN;
  return CAY_OK;
}

static cay_status check_all(applying *a, const cay_apply_options *o) {
  const char *retyped = NULL;
  for (size_t i = 0; i < a->changes.count; i++) {
    const sb_cow_change *c = &a->changes.items[i];
    cay_entry entries[2];
    cay_change change;
    sb_cow_change_show(c, entries, &change);
    if (o->agree != NULL && !o->agree(o->ctx, &change)) continue; /* SKIP */
    if (is_retyped(c))
      retyped = c->path;
    else if (retyped != NULL && !is_below(c->path, retyped))
      retyped = NULL;
    S_TRY(check_one(a, i, retyped));
  }
  return CAY_OK;
}

/* ---- one change ---- */

/* Everything that can fail, before the host is changed. */
static cay_status prepare(applying *a, const sb_cow_change *c, char **moved) {
  *moved = NULL;
  S_TRY(sb_cow_reserve(a->changes.cow, c->path, a->err));
  if (!sb_node_is(c->after, K_S_IFREG)) return CAY_OK;
  return cow_move_prepare(c->after, c->path, moved) >= 0 ? CAY_OK : err_no_memory(a->err);
}

/* The host has it. */
static void remember(applying *a, const sb_cow_change *c, char *moved) {
  cow_seen now;
  bool known = c->after != NULL && sb_host_look(a->changes.root_fd, c->path, &now) >= 0;
  if (sb_node_is(c->after, K_S_IFREG)) cow_moved(c->after, moved, known ? &now : NULL);
  sb_cow_applied(a->changes.cow, c->path, (mem_node *)(uintptr_t)c->after, known ? &now : NULL);
  a->applied++;
}

static cay_status failed(const applying *a, const sb_cow_change *c, k_ret r) {
  if (r == -K_ESTALE)
    return err_set(a->err, CAY_EXISTS, "%s was changed on the host meanwhile", TEXT_NAME(c->path));
  return sb_status(a->err, r, c->path);
}

static k_ret write_file(const applying *a, const sb_cow_change *c, bool replaces, const char *same_as,
                        bool *done) {
  const mem_node *copy = a->copies[c - a->changes.items];
  int root = a->changes.root_fd;
  *done = false;
  if (!replaces || c->contents) {
    const cow_seen *there = replaces && c->seen_known ? &c->seen : NULL;
    cow_seen now;
    if (replaces && there == NULL && sb_host_look(root, c->path, &now) >= 0) there = &now;
    return sb_host_put(root, c->path, copy != NULL ? copy : c->after, there, same_as, done);
  }
  k_ret r = sb_host_chmod(root, c->path, c->after->mode);
  *done = r >= 0;
  return r;
}

static cay_status put_file(applying *a, const sb_cow_change *c, bool replaces) {
  const char *first = NULL;
  char *moved;
  bool done;
  S_TRY(sb_links_meet(&a->links, c->after, c->path, &first, a->err));
  S_TRY(prepare(a, c, &moved));
  k_ret r = write_file(a, c, replaces, first, &done);
  if (done)
    remember(a, c, moved);
  else
    cow_move_drop(moved);
  return r < 0 ? failed(a, c, r) : CAY_OK;
}

/* Directories may be written to until all is done; their modes come last. */
static cay_status put(applying *a, const sb_cow_change *c, bool replaces) {
  if (!sb_node_is(c->after, K_S_IFDIR)) return put_file(a, c, replaces);
  if (replaces) return CAY_OK;
  k_ret r = sb_host_mkdir(a->changes.root_fd, c->path);
  return r < 0 ? failed(a, c, r) : CAY_OK;
}

static cay_status take_away(applying *a, const sb_cow_change *c) {
  bool directory = sb_node_is(c->before, K_S_IFDIR);
  const cow_seen *there = c->seen_known && !directory ? &c->seen : NULL;
  S_TRY(sb_cow_reserve(a->changes.cow, c->path, a->err));
  k_ret r = sb_host_remove(a->changes.root_fd, c->path, directory, there);
  if (r < 0) return failed(a, c, r);
  if (c->after == NULL) remember(a, c, NULL);
  return CAY_OK;
}

static cay_status set_mode(applying *a, const sb_cow_change *c) {
  S_TRY(sb_cow_reserve(a->changes.cow, c->path, a->err));
  k_ret r = sb_host_chmod(a->changes.root_fd, c->path, c->after->mode);
  if (r < 0) return failed(a, c, r);
  remember(a, c, NULL);
  return CAY_OK;
}

/* ---- all of them ---- */

static cay_status remember_done(applying *a, const sb_cow_change *c) {
  char *moved;
  S_TRY(prepare(a, c, &moved));
  remember(a, c, moved);
  return CAY_OK;
}

static cay_status apply_all(applying *a) {
  const sb_cow_changes *all = &a->changes;
  for (size_t i = 0; i < all->count; i++) {
    const sb_cow_change *c = &all->items[i];
    if (a->how[i] == DONE) S_TRY(remember_done(a, c));
    if (a->how[i] == PLAIN && c->after != NULL) S_TRY(put(a, c, c->before != NULL));
  }
  for (size_t i = all->count; i > 0; i--) {
    const sb_cow_change *c = &all->items[i - 1];
    if ((a->how[i - 1] == PLAIN && c->after == NULL) || (a->how[i - 1] == REPLACED && c->before != NULL))
      S_TRY(take_away(a, c));
  }
  for (size_t i = 0; i < all->count; i++)
    if (a->how[i] == REPLACED) S_TRY(put(a, &all->items[i], false));
  for (size_t i = all->count; i > 0; i--) {
    const sb_cow_change *c = &all->items[i - 1];
    if (a->how[i - 1] >= PLAIN && sb_node_is(c->after, K_S_IFDIR)) S_TRY(set_mode(a, c));
  }
  return CAY_OK;
}

/* ---- bytes that are under a path which is about to change ---- */

static bool is_overwritten(const applying *a, const char *path) {
  for (size_t i = 0; i < a->changes.count; i++)
    if (a->how[i] >= PLAIN && a->changes.items[i].kind == CAY_CHANGED &&
        strcmp(a->changes.items[i].path, path) == 0)
      return true;
  return false;
}

static bool wants_copy(const applying *a, size_t i) {
  const sb_cow_change *c = &a->changes.items[i];
  cow_seen seen;
  const char *path;
  if (a->how[i] < PLAIN || !sb_node_is(c->after, K_S_IFREG) || !cow_seen_of(c->after, &seen, &path))
    return false;
  return a->how[i] == REPLACED || (strcmp(path, c->path) != 0 && is_overwritten(a, path));
}

/* A block of the file; 0 at its end. */
static k_ret copy_block(const mem_reader *r, mem_contents *to) {
  mem_block *b = mem_block_new(MEM_BLOCK);
  if (b == NULL) return -K_ENOMEM;
  memset(b->data, 0, MEM_BLOCK);
  size_t len = 0;
  k_ret n = 1;
  while (len < MEM_BLOCK && n > 0) {
    n = mem_reader_read(r, b->data + len, MEM_BLOCK - len, to->size + len);
    if (n > 0) len += (size_t)n;
  }
  if (n >= 0 && len != 0) n = mem_map_put(&to->own, to->size / MEM_BLOCK, b) ? (k_ret)len : -K_ENOMEM;
  if (n <= 0 || len == 0) mem_block_unref(b);
  if (n < 0) return n;
  to->size += len;
  to->held += len;
  return (k_ret)len;
}

static k_ret copy_bytes(const mem_reader *r, mem_contents *to) {
  k_ret n;
  do n = copy_block(r, to);
  while (n == MEM_BLOCK);
  return n < 0 ? n : 0;
}

K_UNCHECKED static k_ret copy_node(const mem_node *n, mem_node **out) {
  mem_reader r;
  mem_node *copy = mem_node_new(n->mode, n->uid, n->gid, n->ino);
  if (copy == NULL) return -K_ENOMEM;
  copy->mtime_ns = n->mtime_ns;
  k_ret status = mem_reader_begin(&r, n);
  if (status >= 0) {
    status = copy_bytes(&r, &copy->contents);
    mem_reader_end(&r);
  }
  *out = copy;
  return status;
}

static cay_status copy_all(applying *a) {
  for (size_t i = 0; i < a->changes.count; i++) {
    if (!wants_copy(a, i)) continue;
    const sb_cow_change *c = &a->changes.items[i];
    S_TRY(sb_status(a->err, copy_node(c->after, &a->copies[i]), c->path));
  }
  return CAY_OK;
}

static cay_status apply(applying *a, const cay_apply_options *o) {
  a->how = mem_zalloc_array(a->changes.count + 1, sizeof *a->how);
  a->copies = mem_zalloc_array(a->changes.count + 1, sizeof(mem_node *));
  if (a->how == NULL || a->copies == NULL) return err_no_memory(a->err);
  S_TRY(check_all(a, o));
  S_TRY(copy_all(a));
  return apply_all(a);
}

K_UNCHECKED static void applying_free(applying *a) {
  for (size_t i = 0; a->copies != NULL && i < a->changes.count; i++) mem_node_unref(a->copies[i]);
  sb_links_free(&a->links);
  mem_free(a->copies);
  mem_free(a->how);
  sb_cow_changes_free(&a->changes);
}

cay_status cay_mount_apply(cay_sandbox *box, const char *path, const cay_apply_options *options,
                           size_t *applied, cay_error *err) {
  cay_apply_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "apply options: from a newer version of snapshot.h");
  applying a = { .err = err };
  S_TRY(sb_cow_changes_take(box, path, &a.changes, err));
  cay_status status = apply(&a, &o);
  if (status == CAY_OK && applied != NULL) *applied = a.applied;
  applying_free(&a);
  return status;
}
