/* tree.c - listing and removing trees of directories. */
#include "base/alloc.h"
#include "base/buf.h"
#include "sandbox/status.h"
#include "sandbox/view.h"

#include <string.h>

/* Names of a directory, each ended by a NUL, without "." and "..". */
struct names {
  buf text;
  size_t count, most;
  int64_t pos; /* where the next reading goes on */
  bool no_memory;
};

static bool add_name(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  struct names *names = ctx;
  (void)ino, (void)mode;
  bool dot = (name.len == 1 && name.data[0] == '.') || (name.len == 2 && memcmp(name.data, "..", 2) == 0);
  if (!dot) {
    if (names->count == names->most) return false;
    if (buf_append(&names->text, name.data, name.len) != CAY_OK ||
        buf_append_byte(&names->text, 0) != CAY_OK) {
      names->no_memory = true;
      return false;
    }
    names->count++;
  }
  names->pos = next_pos;
  return true;
}

/* Reads on from names->pos until the end, or until `most` names are there. */
K_LOCKED static k_ret read_names(const vfs_view *v, k_inode *dir, struct names *names) {
  k_file *f = NULL;
  K_TRY(vfs_open_inode(v, dir, K_O_RDONLY | K_O_DIRECTORY, &f));
  k_ret r;
  int64_t before;
  do {
    before = names->pos;
    r = f->ops->readdir != NULL ? f->ops->readdir(f, names->pos, add_name, names) : -K_ENOTDIR;
  } while (r >= 0 && names->pos != before && !names->no_memory && names->count < names->most);
  k_file_unref(f);
  if (names->no_memory) return -K_ENOMEM;
  return r < 0 ? r : 0;
}

/* ---- listing ---- */

struct listing {
  buf text;
  buf stats; /* of cay_stat, one for each name */
};

static k_ret stat_names(const vfs_view *v, k_inode *dir, const struct names *names, struct listing *out) {
  const char *name = (const char *)names->text.data;
  for (size_t i = 0; i < names->count; i++, name += strlen(name) + 1) {
    k_stat st;
    k_ret r = vfs_stat(v, dir, name, VFS_NOFOLLOW, &st);
    if (r == -K_ENOENT) continue; /* gone meanwhile */
    if (r < 0) return r;
    cay_stat shown;
    sb_public_stat(&st, &shown);
    if (buf_append(&out->text, name, strlen(name) + 1) != CAY_OK) return -K_ENOMEM;
    if (buf_append(&out->stats, &shown, sizeof shown) != CAY_OK) return -K_ENOMEM;
  }
  return 0;
}

K_LOCKED static k_ret list_names(const vfs_view *v, const char *path, struct listing *out) {
  OWNED(k_inode_unref) k_inode *dir = NULL;
  K_TRY(vfs_resolve(v, NULL, path, VFS_DIRECTORY, &dir));
  struct names names = { .text = BUF_INIT(BUF_UNLIMITED), .most = SIZE_MAX };
  k_ret r = read_names(v, dir, &names);
  if (r >= 0) r = stat_names(v, dir, &names, out);
  buf_free(&names.text);
  return r;
}

K_LOCKED static k_ret list_body(const vfs_view *v, const char *path, void *arg) {
  return list_names(v, path, arg);
}

cay_status cay_file_list(cay_sandbox *box, const char *path, cay_list_fn *each, void *ctx, cay_error *err) {
  struct listing found = { BUF_INIT(BUF_UNLIMITED), BUF_INIT(BUF_UNLIMITED) };
  k_ret r = sb_with_view(box, path, list_body, &found);
  if (r >= 0) { /* the callback runs without any lock */
    const char *name = (const char *)found.text.data;
    for (size_t at = 0; at < found.stats.len; at += sizeof(cay_stat), name += strlen(name) + 1) {
      cay_stat st;
      memcpy(&st, found.stats.data + at, sizeof st);
      if (!each(ctx, name, &st)) break;
    }
  }
  buf_free(&found.text);
  buf_free(&found.stats);
  return sb_status(err, r, path);
}

/* ---- removing ---- */

/* The directories from the one to remove down to the one being emptied: a tree as deep as the inode quota
 * allows needs no stack. */
struct walk {
  k_inode **dirs;
  size_t depth, cap;
};

K_LOCKED static k_ret walk_down(struct walk *w, k_inode *dir) {
  if (w->depth == w->cap) {
    size_t cap = w->cap != 0 ? 2 * w->cap : 16;
    k_inode **dirs = mem_realloc_array(w->dirs, cap, sizeof *dirs);
    if (dirs == NULL) {
      k_inode_unref(dir);
      return -K_ENOMEM;
    }
    w->dirs = dirs;
    w->cap = cap;
  }
  w->dirs[w->depth++] = dir;
  return 0;
}

/* Removes files of the innermost directory; goes into the first directory it meets. 1: it is empty now. */
K_LOCKED static k_ret empty_some(const vfs_view *v, struct walk *w) {
  k_inode *dir = w->dirs[w->depth - 1];
  struct names names = { .text = BUF_INIT(BUF_UNLIMITED), .most = 64 };
  k_ret r = read_names(v, dir, &names);
  if (r >= 0) r = names.count == 0;
  const char *name = (const char *)names.text.data;
  for (size_t i = 0; r == 0 && i < names.count; i++, name += strlen(name) + 1) {
    r = vfs_unlink(v, dir, name);
    if (r == -K_ENOENT) r = 0;
    if (r != -K_EISDIR && r != -K_EPERM) continue;
    k_inode *below = NULL;
    r = vfs_resolve(v, dir, name, VFS_NOFOLLOW | VFS_DIRECTORY, &below);
    if (r >= 0) r = walk_down(w, below);
    if (r >= 0) break;
  }
  buf_free(&names.text);
  return r;
}

K_LOCKED static k_ret remove_emptied(const vfs_view *v, struct walk *w) {
  k_inode *dir = w->dirs[--w->depth];
  char name[K_NAME_MAX + 1];
  k_ret r = dir->ops->name_of(dir, name, K_NAME_MAX);
  if (r >= 0) {
    name[r] = '\0';
    r = vfs_rmdir(v, w->dirs[w->depth - 1], name);
  }
  k_inode_unref(dir);
  return r == -K_ENOENT ? 0 : r;
}

K_LOCKED static k_ret remove_below(const vfs_view *v, k_inode *top) {
  struct walk w = { 0 };
  k_ret r = walk_down(&w, k_inode_ref(top));
  while (r >= 0) {
    r = empty_some(v, &w);
    if (r == 1 && w.depth == 1) break;
    if (r == 1) r = remove_emptied(v, &w);
  }
  while (w.depth > 0) k_inode_unref(w.dirs[--w.depth]);
  mem_free(w.dirs);
  return r < 0 ? r : 0;
}

K_LOCKED static k_ret remove_one(const vfs_view *v, const char *path, void *arg) {
  bool recursive = *(bool *)arg;
  k_stat st;
  K_TRY(vfs_stat(v, NULL, path, VFS_NOFOLLOW, &st));
  if ((st.mode & K_S_IFMT) != K_S_IFDIR) return vfs_unlink(v, NULL, path);
  if (recursive) {
    OWNED(k_inode_unref) k_inode *dir = NULL;
    K_TRY(vfs_resolve(v, NULL, path, VFS_NOFOLLOW | VFS_DIRECTORY, &dir));
    K_TRY(remove_below(v, dir));
  }
  return vfs_rmdir(v, NULL, path);
}

cay_status cay_file_remove(cay_sandbox *box, const char *path, bool recursive, cay_error *err) {
  return sb_status(err, sb_with_view(box, path, remove_one, &recursive), path);
}
