/* changes.c - what differs between a copy-on-write mount and the host (cay_mount_changes, cay_mount_patch). */
#include "sandbox/cow/cow.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/fs/mem/mem_source.h"
#include "sandbox/sandbox.h"
#include "sandbox/status.h"

#include <stdio.h>
#include <string.h>

typedef struct comparing {
  sb_cow_changes *out;
  cay_status status;
  cay_error *err;
} comparing;

/* ---- one path ---- */

static bool same_target(const mem_node *a, const mem_node *b) {
  return a->target != NULL && b->target != NULL && strcmp(a->target, b->target) == 0;
}

/* What cannot be read on the host any more is not as it was. */
static bool contents_differ(const mem_node *a, const mem_node *b) {
  bool equal = true;
  if ((a->mode & K_S_IFMT) != (b->mode & K_S_IFMT)) return true;
  if (sb_node_is(a, K_S_IFLNK)) return !same_target(a, b);
  if (!sb_node_is(a, K_S_IFREG)) return false;
  return mem_nodes_equal(a, b, &equal) < 0 || !equal;
}

static bool host_differs(const sb_cow_changes *c, const sb_cow_change *change) {
  cow_seen now;
  k_ret r = sb_host_look(c->root_fd, change->path, &now);
  if (change->before == NULL) return r != -K_ENOENT;
  if (r < 0) return true;
  if (!change->seen_known) return !sb_host_is(c->root_fd, change->path, change->before);
  bool directory = sb_node_is(change->before, K_S_IFDIR);
  if (!directory) return !cow_seen_same(&now, &change->seen);
  if (now.dev != change->seen.dev || now.ino != change->seen.ino || now.mode != change->seen.mode)
    return true;
  return !sb_node_is(change->after, K_S_IFDIR) &&
         !sb_host_lists_only(c->root_fd, change->path, change->before);
}

static bool change_add(sb_cow_changes *c, const sb_cow_change *change) {
  if (c->count == c->cap) {
    size_t cap = c->cap != 0 ? 2 * c->cap : 64;
    sb_cow_change *items = mem_realloc_array(c->items, cap, sizeof *items);
    if (items == NULL) return false;
    c->items = items;
    c->cap = cap;
  }
  sb_cow_change *to = &c->items[c->count];
  *to = *change;
  to->path = mem_strdup(change->path);
  if (to->path == NULL) return false;
  to->host_changed = host_differs(c, to);
  c->count++;
  return true;
}

static bool compare(comparing *w, sb_cow_change *c) {
  if (c->before == NULL && c->after == NULL) return true;
  c->kind = c->before == NULL ? CAY_ADDED : c->after == NULL ? CAY_REMOVED : CAY_CHANGED;
  c->contents = c->kind != CAY_CHANGED || contents_differ(c->before, c->after);
  if (!c->contents && (c->before->mode & 07777) == (c->after->mode & 07777)) return true;
  if (change_add(w->out, c)) return true;
  w->status = err_no_memory(w->err);
  return false;
}

/* ---- all of them ---- */

static sb_applied *applied_at(const sb_cow *cow, const char *path) {
  for (size_t i = mem_hash((k_name){ path, strlen(path) }); cow->applied_cap != 0; i++) {
    sb_applied *a = &cow->applied[i & (cow->applied_cap - 1)];
    if (a->path == NULL || strcmp(a->path, path) == 0) return a->path != NULL && a->set ? a : NULL;
  }
  return NULL;
}

static void was_applied(const sb_applied *a, sb_cow_change *c) {
  c->before = a->node;
  c->seen_known = a->node != NULL && a->seen_known;
  c->seen = a->seen;
}

static enum sb_walk comparing_visit(void *ctx, const sb_pair *pair) {
  comparing *w = ctx;
  const char *path = pair->path + 1;
  if (path[0] == '\0') return SB_WALK_INTO;
  sb_cow_change c = { .path = (char *)(uintptr_t)path, .before = pair->before, .after = pair->after };
  const char *host_path;
  if (c.before != NULL) c.seen_known = cow_seen_of(c.before, &c.seen, &host_path);
  sb_applied *a = applied_at(w->out->cow, path);
  if (a != NULL) {
    a->round = w->out->cow->round;
    was_applied(a, &c);
  }
  return compare(w, &c) ? SB_WALK_INTO : SB_WALK_STOP;
}

/* Applied changes that are since again as in the first tree. */
static cay_status compare_unmet(comparing *w) {
  const sb_cow *cow = w->out->cow;
  for (size_t i = 0; i < cow->applied_cap && w->status == CAY_OK; i++) {
    const sb_applied *a = &cow->applied[i];
    if (a->path == NULL || !a->set || a->round == cow->round) continue;
    char path[K_PATH_MAX];
    sb_cow_change c = { .path = a->path };
    (void)snprintf(path, sizeof path, "/%s", a->path);
    S_TRY(sb_tree_find(w->out->after->root, path, &c.after, w->err));
    was_applied(a, &c);
    (void)compare(w, &c);
  }
  return w->status;
}

static enum sb_walk filling_visit(void *ctx, const sb_pair *pair) {
  (void)ctx, (void)pair;
  return SB_WALK_INTO;
}

static cay_status tree_freeze(cay_sandbox *box, k_inode *root, sb_cow *cow, mem_tree **out, cay_error *err) {
  k_lock(box->kernel);
  bool all = memfs_wants_all(root);
  k_unlock(box->kernel);
  if (all) S_TRY(sb_trees_walk(NULL, cow->base->root, NULL, true, filling_visit, NULL, err));
  k_lock(box->kernel);
  k_ret r = memfs_freeze(root, out);
  k_unlock(box->kernel);
  return sb_status(err, r, NULL);
}

cay_status sb_cow_changes_take(cay_sandbox *box, const char *path, sb_cow_changes *out, cay_error *err) {
  k_inode *root = NULL;
  *out = (sb_cow_changes){ 0 };
  S_TRY(sb_cow_open(box, path, &out->cow, &root, err));
  pthread_mutex_lock(&out->cow->mu);
  out->cow->round++;
  out->root_fd = cow_root_fd(out->cow->base);
  comparing w = { .out = out, .err = err };
  cay_status status = tree_freeze(box, root, out->cow, &out->after, err);
  if (status == CAY_OK)
    status = sb_trees_walk(out->cow->base->root, out->after->root, NULL, false, comparing_visit, &w, err);
  if (status == CAY_OK) status = w.status;
  if (status == CAY_OK) status = compare_unmet(&w);
  sb_cow_close(box, NULL, root);
  if (status != CAY_OK) sb_cow_changes_free(out);
  return status;
}

void sb_cow_changes_free(sb_cow_changes *c) {
  for (size_t i = 0; i < c->count; i++) mem_free(c->items[i].path);
  mem_free(c->items);
  mem_tree_unref(c->after);
  pthread_mutex_unlock(&c->cow->mu);
  sb_cow_close(NULL, c->cow, NULL);
  *c = (sb_cow_changes){ 0 };
}

void sb_cow_change_show(const sb_cow_change *c, cay_entry entries[2], cay_change *out) {
  if (c->before != NULL) sb_entry_of(c->before, c->path, &entries[0]);
  if (c->after != NULL) sb_entry_of(c->after, c->path, &entries[1]);
  *out = (cay_change){ .kind = c->kind,
                       .path = c->path,
                       .before = c->before != NULL ? &entries[0] : NULL,
                       .after = c->after != NULL ? &entries[1] : NULL,
                       .contents = c->contents,
                       .host_changed = c->host_changed };
}

/* ---- for the embedder ---- */

cay_status cay_mount_changes(cay_sandbox *box, const char *path, cay_change_fn *each, void *ctx,
                             cay_error *err) {
  sb_cow_changes changes;
  S_TRY(sb_cow_changes_take(box, path, &changes, err));
  for (size_t i = 0; i < changes.count; i++) {
    cay_entry entries[2];
    cay_change change;
    sb_cow_change_show(&changes.items[i], entries, &change);
    if (!each(ctx, &change)) break;
  }
  sb_cow_changes_free(&changes);
  return CAY_OK;
}

static cay_status patch_one(const sb_cow_change *c, cay_write_fn *write, void *ctx, cay_error *err) {
  if (c->host_changed && !sb_node_is(c->before, K_S_IFDIR))
    return err_set(err, CAY_EXISTS, "%s was changed on the host since the sandbox looked at it",
                   TEXT_NAME(c->path));
  return sb_patch_file(c->path, c->before, c->after, write, ctx, err);
}

cay_status cay_mount_patch(cay_sandbox *box, const char *path, cay_write_fn *write, void *ctx,
                           cay_error *err) {
  sb_cow_changes changes;
  S_TRY(sb_cow_changes_take(box, path, &changes, err));
  cay_status status = CAY_OK;
  for (size_t i = 0; i < changes.count && status == CAY_OK; i++)
    status = patch_one(&changes.items[i], write, ctx, err);
  sb_cow_changes_free(&changes);
  return status;
}
