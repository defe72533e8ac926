/* snapshot_tree.c - `cay snapshot tree`: which snapshot was made from which, as branches. */
#include "cli/snapshot.h"

#include "base/text.h"
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct branch {
  const char *path;
  uint8_t id[32], parent[32];
  int64_t created_ns;
  char label[201];
  bool shown;
} branch;

typedef struct branches {
  branch *list;
  size_t count;
} branches;

static bool branch_read(cay_engine *engine, const char *path, branch *out) {
  cay_snapshot_info info;
  cay_snapshot *s = snapshot_open(engine, path, NULL);
  if (s == NULL) return false;
  cay_snapshot_info_get(s, &info);
  *out = (branch){ .path = path, .created_ns = info.created_ns };
  memcpy(out->id, info.id, sizeof out->id);
  memcpy(out->parent, info.parent, sizeof out->parent);
  (void)snprintf(out->label, sizeof out->label, "%s", info.label);
  cay_snapshot_free(s);
  return true;
}

static int branch_compare(const void *a, const void *b) {
  const branch *x = a, *y = b;
  return x->created_ns < y->created_ns ? -1 : x->created_ns > y->created_ns;
}

static bool branch_is_root(const branches *all, const branch *b) {
  for (size_t i = 0; i < all->count; i++)
    if (&all->list[i] != b && memcmp(all->list[i].id, b->parent, sizeof b->parent) == 0) return false;
  return true;
}

/* The next that was made from this one and is not shown. */
static branch *branch_child(const branches *all, const branch *of) {
  for (size_t i = 0; i < all->count; i++) {
    branch *b = &all->list[i];
    if (!b->shown && b != of && memcmp(b->parent, of->id, sizeof of->id) == 0) return b;
  }
  return NULL;
}

static void branch_show(branch *b, int depth) {
  b->shown = true;
  printf("%*s%s", 2 * depth, "", TEXT_NAME(b->path));
  if (b->label[0] != '\0') printf("  (%s)", TEXT_NAME(b->label));
  (void)putchar('\n');
}

/* Without recursion: a line of thousands of snapshots is as deep. Each is shown once, also when a file was copied. */
static void branch_show_all(const branches *all, branch *root) {
  branch **path = calloc(all->count + 1, sizeof(branch *));
  if (path == NULL) return;
  int depth = 0;
  path[0] = root;
  branch_show(root, 0);
  while (depth >= 0) {
    branch *child = branch_child(all, path[depth]);
    if (child == NULL) {
      depth--;
      continue;
    }
    path[++depth] = child;
    branch_show(child, depth);
  }
  free(path);
}

int snapshot_tree(cay_engine *engine, char **paths, int count) {
  branches all = { .list = calloc((size_t)count, sizeof(branch)) };
  bool read = all.list != NULL;
  for (int i = 0; read && i < count; i++, all.count++) read = branch_read(engine, paths[i], &all.list[i]);
  if (read) qsort(all.list, all.count, sizeof(branch), branch_compare);
  for (size_t i = 0; read && i < all.count; i++)
    if (!all.list[i].shown && branch_is_root(&all, &all.list[i])) branch_show_all(&all, &all.list[i]);
  for (size_t i = 0; read && i < all.count; i++) /* of a circle, which only a made file can have */
    if (!all.list[i].shown) branch_show(&all.list[i], 0);
  free(all.list);
  return read ? 0 : EXIT_WRONG;
}
