/* vfs_path.c - path resolution (path_resolution(7)).
 *
 * A walk keeps the directory it is in and the text still ahead; a symlink puts its target in front of that
 * text. So depth needs no stack, and one counter bounds all links of a walk. */
#include "kernel/vfs/vfs_internal.h"

#include "base/alloc.h"
#include "kernel/proc/process.h"

#include <string.h>

enum { STEP = 64 /* one name, in units of k_work */ };

typedef struct walk {
  const vfs_view *view;
  k_inode *dir;         /* a reference */
  const k_inode *bound; /* the walk stays beneath it; NULL: no bounds. Borrowed */
  char *text;           /* the rest of the path; mem_alloc once a link was followed, else the caller's path */
  const char *ahead;
  unsigned links;
  bool reads;        /* the file is to be opened for reading: */
  k_inode *prepared; /* the directory that is prepared for that, a reference; or NULL */
} walk;

K_LOCKED static k_inode *root_of(const vfs_view *v) {
  return v->root != NULL ? v->root : vfs_mounts_root(v->kernel);
}

K_LOCKED static void walk_clear(walk *w) {
  k_inode_unref(w->dir);
  mem_free(w->text);
}

K_LOCKED static void move_to(walk *w, k_inode *dir) {
  k_inode_unref(w->dir);
  w->dir = dir;
}

K_LOCKED static k_ret start(walk *w, const vfs_view *v, k_inode *at, const char *path) {
  *w = (walk){ .view = v, .ahead = path };
  if (v->beneath != 0) w->bound = at;
  if (path[0] == '\0') return -K_ENOENT;
  if (w->bound != NULL && path[0] == '/') return v->beneath;
  if (strnlen(path, K_PATH_MAX) == K_PATH_MAX) return -K_ENAMETOOLONG;
  k_inode *from = path[0] == '/' ? root_of(v) : at != NULL ? at : v->cwd != NULL ? v->cwd : root_of(v);
  if (!k_is_dir(from)) return -K_ENOTDIR;
  w->dir = k_inode_ref(from);
  return 0;
}

/* The next component; len 0: there is none. *last: nothing but slashes follows. */
static k_ret next(walk *w, k_name *out, bool *last, bool *slash) {
  while (*w->ahead == '/') w->ahead++;
  size_t len = strcspn(w->ahead, "/");
  if (len > K_NAME_MAX) return -K_ENAMETOOLONG;
  *out = (k_name){ w->ahead, len };
  const char *after = w->ahead + len;
  *slash = *after == '/';
  *last = after[strspn(after, "/")] == '\0';
  w->ahead = after;
  return 0;
}

K_LOCKED static k_ret up(walk *w) {
  const vfs_view *v = w->view;
  if (w->dir == w->bound) return v->beneath;
  if (w->dir == root_of(v)) return 0;
  k_inode *dir = k_inode_ref(w->dir);
  for (;;) { /* out of every mount whose root we stand on */
    vfs_mount *m = vfs_mount_of(v->kernel, dir);
    if (dir != m->root || m->covered == NULL) break;
    k_inode *covered = k_inode_ref(m->covered);
    k_inode_unref(dir);
    dir = covered;
  }
  k_inode *parent = NULL;
  k_ret r = dir->ops->parent != NULL ? dir->ops->parent(dir, &parent) : -K_ENOTDIR;
  k_inode_unref(dir);
  if (r < 0) return r;
  move_to(w, parent);
  return 0;
}

static bool is_dot(k_name n) { return n.len == 1 && n.data[0] == '.'; }
static bool is_dotdot(k_name n) { return n.len == 2 && n.data[0] == '.' && n.data[1] == '.'; }

k_ret vfs_lookup(const vfs_view *v, k_inode *dir, const char *name, size_t len, k_inode **out) {
  if (dir->ops->lookup == NULL) return -K_ENOTDIR;
  k_inode *found = NULL;
  K_TRY(dir->ops->lookup(dir, (k_name){ name, len }, v->process, &found));
  while (found->mounted_here != NULL) {
    k_inode *root = k_inode_ref(found->mounted_here->root);
    k_inode_unref(found);
    found = root;
  }
  *out = found;
  return 0;
}

/* Puts the target of `link` in front of the rest. */
K_LOCKED static k_ret splice(walk *w, k_inode *link) {
  char target[K_PATH_MAX];
  if (link->ops->readlink == NULL) return -K_EINVAL;
  k_ret n = link->ops->readlink(link, target, sizeof target);
  if (n < 0) return n;
  if (n == 0) return -K_ENOENT;
  size_t len = (size_t)n, rest = strlen(w->ahead);
  if (len >= K_PATH_MAX || len + rest >= 2 * K_PATH_MAX) return -K_ENAMETOOLONG;
  char *text = mem_alloc(len + rest + 1);
  if (text == NULL) return -K_ENOMEM;
  memcpy(text, target, len);
  memcpy(text + len, w->ahead, rest + 1);
  mem_free(w->text);
  w->text = text;
  w->ahead = text;
  if (text[0] == '/' && w->bound != NULL) return w->view->beneath;
  if (text[0] == '/') move_to(w, k_inode_ref(root_of(w->view)));
  return 0;
}

/* Follows a link in the middle of a path, or at its end. `link` is given up. 1: *direct is its target;
 * 0: the walk goes on with its text. */
K_LOCKED static k_ret follow(walk *w, k_inode *link, k_inode **direct) {
  k_ret r;
  if (++w->links > K_SYMLOOP_MAX) {
    r = -K_ELOOP;
  } else if (link->ops->follow != NULL) {
    r = w->bound != NULL ? w->view->beneath : link->ops->follow(link, w->view->process, direct);
    if (r >= 0) r = 1;
  } else {
    r = splice(w, link);
  }
  k_inode_unref(link);
  return r;
}

/* Walks to the last component. Then `name` is it (a pointer into the text), or has length 0 when the path is
 * only slashes. */
K_LOCKED static k_ret walk_to_last(walk *w, k_name *name, bool *slash) {
  for (;;) {
    bool last;
    K_TRY(next(w, name, &last, slash));
    if (last) return 0;
    (void)k_work(w->view->kernel, NULL, STEP);
    K_TRY(vfs_may(w->view, w->dir, 1));
    if (is_dot(*name)) continue;
    if (is_dotdot(*name)) {
      K_TRY(up(w));
      continue;
    }
    k_inode *found = NULL, *direct = NULL;
    K_TRY(vfs_lookup(w->view, w->dir, name->data, name->len, &found));
    if (k_is_link(found)) {
      k_ret r = follow(w, found, &direct);
      if (r < 0) return r;
      if (r == 0) continue;
      found = direct;
    }
    if (!k_is_dir(found)) {
      k_inode_unref(found);
      return -K_ENOTDIR;
    }
    move_to(w, found);
  }
}

K_LOCKED static k_ret prepare(walk *w, k_name name) {
  if (!w->reads || w->dir->ops->prepare == NULL || w->prepared != NULL) return 0;
  k_ret r = w->dir->ops->prepare(w->dir, name);
  if (r > 0) w->prepared = k_inode_ref(w->dir);
  return r;
}

/* One component, the last: a reference in *out, or *out stays NULL and the walk goes on with the text of a
 * link. */
K_LOCKED static k_ret take_last(walk *w, k_name name, bool follow_it, k_inode **out) {
  if (name.len == 0 || is_dot(name) || is_dotdot(name)) {
    if (name.len != 0) K_TRY(vfs_may(w->view, w->dir, 1));
    if (is_dotdot(name)) K_TRY(up(w));
    *out = k_inode_ref(w->dir);
    return 0;
  }
  K_TRY(vfs_may(w->view, w->dir, 1));
  K_TRY(prepare(w, name));
  k_inode *found = NULL;
  K_TRY(vfs_lookup(w->view, w->dir, name.data, name.len, &found));
  if (!k_is_link(found) || !follow_it) {
    *out = found;
    return 0;
  }
  k_ret r = follow(w, found, out);
  return r < 0 ? r : 0;
}

K_LOCKED static k_ret resolve(walk *w, uint32_t how, k_inode **out) {
  bool need_dir = (how & VFS_DIRECTORY) != 0;
  k_inode *found = NULL;
  while (found == NULL) {
    k_name name;
    bool slash;
    K_TRY(walk_to_last(w, &name, &slash));
    need_dir = need_dir || slash;
    K_TRY(take_last(w, name, !(how & VFS_NOFOLLOW) || slash, &found));
  }
  if (need_dir && !k_is_dir(found)) {
    k_inode_unref(found);
    return -K_ENOTDIR;
  }
  *out = found;
  return 0;
}

k_ret vfs_resolve(const vfs_view *v, k_inode *at, const char *path, uint32_t how, k_inode **out) {
  if (path[0] == '\0' && (how & VFS_EMPTY_PATH)) {
    k_inode *self = at != NULL ? at : v->cwd;
    if ((how & VFS_DIRECTORY) && !k_is_dir(self)) return -K_ENOTDIR;
    *out = k_inode_ref(self);
    return 0;
  }
  walk w;
  k_ret r = start(&w, v, at, path);
  if (r >= 0) r = resolve(&w, how, out);
  walk_clear(&w);
  return r;
}

K_LOCKED k_ret vfs_resolve_last(const vfs_view *v, k_inode *at, const char *path, vfs_last *out) {
  walk w;
  k_name name;
  bool slash = false;
  k_ret r = start(&w, v, at, path);
  if (r >= 0) r = walk_to_last(&w, &name, &slash);
  if (r >= 0 && is_dotdot(name)) r = up(&w);
  if (r >= 0) {
    *out = (vfs_last){ .dir = k_inode_ref(w.dir), .len = name.len, .slash = slash };
    out->dot = name.len == 0 || is_dot(name) || is_dotdot(name);
    memcpy(out->name, name.data, name.len);
  }
  walk_clear(&w);
  return r;
}

k_ret vfs_resolve_to_read(const vfs_view *v, k_inode *at, const char *path, uint32_t how, k_inode **out,
                          k_inode **prepared) {
  walk w;
  k_ret r = start(&w, v, at, path);
  w.reads = true;
  if (r >= 0) r = resolve(&w, how, out);
  *prepared = w.prepared;
  walk_clear(&w);
  return r;
}

void vfs_last_clear(vfs_last *last) {
  k_inode_unref(last->dir);
  last->dir = NULL;
}

/* ---- the other way: from a directory to its path ---- */

k_ret vfs_path_of(const vfs_view *v, k_inode *dir, char *buf, size_t cap) {
  char text[K_PATH_MAX + 1];
  size_t at = K_PATH_MAX;
  text[at] = '\0';
  k_inode *root = root_of(v);
  k_inode *here = k_inode_ref(dir);
  k_ret r = 0;
  while (here != root) {
    vfs_mount *m = vfs_mount_of(v->kernel, here);
    k_inode *above = NULL;
    if (here == m->root) {
      if (m->covered == NULL) break; /* outside of the view's root */
      above = k_inode_ref(m->covered);
    } else {
      char name[K_NAME_MAX];
      r = here->ops->name_of != NULL ? here->ops->name_of(here, name, sizeof name) : -K_ENOTDIR;
      if (r >= 0 && (size_t)r + 1 > at) r = -K_ENAMETOOLONG;
      if (r < 0) break;
      at -= (size_t)r;
      memcpy(text + at, name, (size_t)r);
      text[--at] = '/';
      r = here->ops->parent(here, &above);
      if (r < 0) break;
    }
    k_inode_unref(here);
    here = above;
  }
  k_inode_unref(here);
  if (r < 0) return r;
  if (at == K_PATH_MAX) text[--at] = '/';
  size_t len = K_PATH_MAX - at;
  if (len + 1 > cap) return -K_ERANGE;
  memcpy(buf, text + at, len + 1);
  return (k_ret)len;
}
