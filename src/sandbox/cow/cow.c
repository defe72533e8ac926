/* cow.c - the list of a sandbox's copy-on-write mounts, and the record of changes already applied (cow.h). */
#include "sandbox/cow/cow.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/vfs/mount.h"
#include "sandbox/sandbox.h"

#include <stdatomic.h>
#include <string.h>

K_UNCHECKED static void cow_unref(sb_cow *c) {
  if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  for (size_t i = 0; i < c->applied_cap; i++) {
    mem_free(c->applied[i].path);
    mem_node_unref(c->applied[i].node);
  }
  mem_free(c->applied);
  mem_tree_unref(c->base);
  pthread_mutex_destroy(&c->mu);
  mem_free(c);
}

cay_status sb_cow_add(cay_sandbox *box, const k_inode *root, mem_tree *base, cay_error *err) {
  sb_cow *c = mem_zalloc(sizeof *c);
  if (c == NULL) return err_no_memory(err);
  atomic_init(&c->refs, 1);
  c->root = root;
  c->base = mem_tree_ref(base);
  pthread_mutex_init(&c->mu, NULL);
  pthread_mutex_lock(&box->runs_mu);
  list_push(&box->cows, &c->in_box);
  pthread_mutex_unlock(&box->runs_mu);
  return CAY_OK;
}

/* A reference, or NULL. */
static sb_cow *cow_find(cay_sandbox *box, const k_inode *root, bool take_out) {
  sb_cow *found = NULL;
  pthread_mutex_lock(&box->runs_mu);
  LIST_EACH (c, &box->cows, sb_cow, in_box) {
    if (c->root != root) continue;
    found = c;
    break;
  }
  if (found != NULL && take_out) list_remove(&found->in_box);
  if (found != NULL && !take_out) atomic_fetch_add(&found->refs, 1);
  pthread_mutex_unlock(&box->runs_mu);
  return found;
}

void sb_cow_remove(cay_sandbox *box, const k_inode *root) {
  sb_cow *c = cow_find(box, root, true);
  if (c != NULL) cow_unref(c);
}

void sb_cows_free(cay_sandbox *box) {
  LIST_EACH_SAFE (c, &box->cows, sb_cow, in_box) {
    list_remove(&c->in_box);
    cow_unref(c);
  }
}

/* ---- applied changes ---- */

static sb_applied *applied_slot(const sb_cow *c, const char *path) {
  size_t at = mem_hash((k_name){ path, strlen(path) }) & (c->applied_cap - 1);
  while (c->applied[at].path != NULL && strcmp(c->applied[at].path, path) != 0)
    at = (at + 1) & (c->applied_cap - 1);
  return &c->applied[at];
}

static bool applied_grow(sb_cow *c) {
  if (2 * (c->applied_count + 1) <= c->applied_cap) return true;
  size_t old_cap = c->applied_cap, cap = old_cap != 0 ? 2 * old_cap : 32;
  sb_applied *old = c->applied, *applied = mem_zalloc_array(cap, sizeof *applied);
  if (applied == NULL) return false;
  c->applied = applied;
  c->applied_cap = cap;
  for (size_t i = 0; i < old_cap; i++)
    if (old[i].path != NULL) *applied_slot(c, old[i].path) = old[i];
  mem_free(old);
  return true;
}

cay_status sb_cow_reserve(sb_cow *c, const char *path, cay_error *err) {
  if (!applied_grow(c)) return err_no_memory(err);
  sb_applied *a = applied_slot(c, path);
  if (a->path != NULL) return CAY_OK;
  a->path = mem_strdup(path);
  if (a->path == NULL) return err_no_memory(err);
  c->applied_count++;
  return CAY_OK;
}

K_UNCHECKED void sb_cow_applied(sb_cow *c, const char *path, mem_node *node, const cow_seen *seen) {
  sb_applied *a = applied_slot(c, path);
  mem_node *old = a->node;
  a->node = node != NULL ? mem_node_ref(node) : NULL;
  a->seen = seen != NULL ? *seen : (cow_seen){ 0 };
  a->seen_known = seen != NULL;
  a->set = true;
  a->round = c->round;
  mem_node_unref(old);
}

/* ---- which mount ---- */

static cay_status not_there(const char *path, cay_error *err) {
  return err_set(err, CAY_NOT_FOUND, "there is no copy-on-write mount at %s", TEXT_NAME(path));
}

cay_status sb_cow_open(cay_sandbox *box, const char *path, sb_cow **out, k_inode **root, cay_error *err) {
  const char *type = "";
  k_inode *found = NULL;
  if (path == NULL || path[0] != '/') return err_set(err, CAY_INVALID, "the path of a mount is absolute");
  k_lock(box->kernel);
  k_ret r = vfs_mount_find(box->kernel, path, &found, &type);
  k_unlock(box->kernel);
  sb_cow *c = r >= 0 && strcmp(type, "overlay") == 0 ? cow_find(box, found, false) : NULL;
  if (c == NULL) {
    if (r >= 0) sb_cow_close(box, NULL, found);
    return not_there(path, err);
  }
  *out = c;
  *root = found;
  return CAY_OK;
}

void sb_cow_close(cay_sandbox *box, sb_cow *c, k_inode *root) {
  if (root != NULL) {
    k_lock(box->kernel);
    k_inode_unref(root);
    k_unlock(box->kernel);
  }
  if (c != NULL) cow_unref(c);
}
